// SPDX-License-Identifier: MIT

import Text

/// One request to the resource, without the token.
struct ResourceRequest: Sendable {
    enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case delete = "DELETE"
    }

    var method: Method
    /// Names in lower case.
    var fields: [(name: String, value: String)] = []
    var body: [UInt8] = []
}

/// The head of an answer, and the way to its body.
struct ResourceResponse: Sendable {
    var status: Int
    /// Names in lower case, in the server's order; at most ``BridgeLimits/fields``.
    var fields: [(name: String, value: String)]
    var body: ReplyBody

    /// The first value of the field `name`, which is given in lower case.
    func field(_ name: ByteText) -> String? {
        fields.first { $0.name.bytewise == name }?.value
    }

    /// All values of a field that is a list (RFC 9110 §5.3).
    func list(_ name: ByteText) -> String {
        fields.filter { $0.name.bytewise == name }.map(\.value).joined(separator: ", ")
    }

    /// The type of the body without its parameters, in lower case.
    var mediaType: ByteText {
        let type = (field("content-type") ?? "").utf8.prefix { $0 != UInt8(ascii: ";") }
        return String(decoding: Array(type)[...].trimmedOfBlanks, as: UTF8.self).bytewise.lowercased
    }

    /// The whole body.
    ///
    /// - Throws: ``RPCFailure`` if it is longer than a message may be, or breaks off.
    func collected(within budget: ByteBudget) async throws(RPCFailure) -> [UInt8] {
        var share = ByteBudget.Share(of: budget)
        var bytes: [UInt8] = []
        var body = body.makeAsyncIterator()
        while let piece = try await body.next() {
            guard bytes.count + piece.count <= budget.message else {
                throw RPCFailure(.failed, "the server's answer is larger than \(budget.message >> 20) MiB")
            }
            try share.hold(bytes.count + piece.count)
            bytes += piece
        }
        return bytes
    }

    /// Some servers leave a refusal without its end.
    private static let patience = Duration.seconds(2)

    /// The beginning of the body, as far as it comes in time.
    func beginning(upTo limit: Int = BridgeLimits.refusal) async -> [UInt8] {
        let reading = Task { await read(upTo: limit) }
        await Bridge.limited(to: ResourceResponse.patience) { _ = await reading.value }
        reading.cancel()
        return await reading.value
    }

    private func read(upTo limit: Int) async -> [UInt8] {
        var bytes: [UInt8] = []
        var body = body.makeAsyncIterator()
        while bytes.count < limit, let piece = try? await body.next() { bytes += piece }
        return Array(bytes.prefix(limit))
    }
}
