// SPDX-License-Identifier: MIT

import Text

/// A request to the resource, without the token.
struct ResourceRequest: Sendable {
    enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case delete = "DELETE"
    }

    var method: Method
    /// The fields, with names in lower case.
    var fields: [(name: String, value: String)] = []
    var body: [UInt8] = []
}

/// The head of a response, with access to its body.
struct ResourceResponse: Sendable {
    var status: Int
    /// The fields in the server's order, with names in lower case.
    ///
    /// There are at most ``BridgeLimits/fields``.
    var fields: [(name: String, value: String)]
    var body: ReplyBody

    /// Returns the first value of the field `name`, which is given in lower case.
    func field(_ name: ByteText) -> String? {
        fields.first { $0.name.bytewise == name }?.value
    }

    /// Returns all values of a field that is a list, joined by commas (RFC 9110 §5.3).
    func list(_ name: ByteText) -> String {
        fields.filter { $0.name.bytewise == name }.map(\.value).joined(separator: ", ")
    }

    /// The type of the body without its parameters, in lower case.
    var mediaType: ByteText {
        let type = (field("content-type") ?? "").utf8.prefix { $0 != UInt8(ascii: ";") }
        return String(decoding: Array(type)[...].trimmedOfBlanks, as: UTF8.self).bytewise.lowercased
    }

    /// Reads the whole body.
    ///
    /// - Throws: ``RPCFailure`` if the body exceeds the maximum size of a message, or breaks off.
    func collected(within budget: ByteBudget) async throws(RPCFailure) -> [UInt8] {
        var share = ByteBudget.Share(of: budget)
        var bytes: [UInt8] = []
        var body = body.makeAsyncIterator()
        while let piece = try await body.next() {
            guard bytes.count + piece.count <= budget.message else {
                throw RPCFailure(.failed, "the server's response is larger than \(budget.message >> 20) MiB")
            }
            try share.hold(bytes.count + piece.count)
            bytes += piece
        }
        return bytes
    }

    /// The maximum time to read the beginning of a body.
    ///
    /// Some servers never end the body of a rejection.
    private static let timeout = Duration.seconds(2)

    /// Reads the beginning of the body, as far as it arrives in time.
    func bodyPrefix(upTo limit: Int = BridgeLimits.refusal) async -> [UInt8] {
        let reading = Task { await read(upTo: limit) }
        await LimitedWait.wait(for: ResourceResponse.timeout) { _ = await reading.value }
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
