// SPDX-License-Identifier: MIT

import Text

/// The head of the upstream's response, parsed strictly.
struct UpstreamResponse: Sendable {
    let status: Int
    /// The reason phrase, which may be empty.
    let reason: ArraySlice<UInt8>
    let fields: [MessageField]
    let framing: BodyFraming
    let connectionOptions: [ArraySlice<UInt8>]
    /// Whether the upstream accepts another request on this connection.
    let keepsAlive: Bool

    /// Parses a head.
    ///
    /// - Parameters:
    ///   - head: its lines.
    ///   - isHead: whether the request was `HEAD`, so that the response has no body.
    /// - Throws: ``ForwardingError`` if the response cannot be forwarded.
    init(_ head: MessageHead, toHead isHead: Bool) throws(ForwardingError) {
        let line = head.startLine
        let isHTTP11 = line.starts(with: "HTTP/1.1 ".utf8)
        let rest = line.dropFirst(9)
        guard isHTTP11 || line.starts(with: "HTTP/1.0 ".utf8), let status = rest.prefix(3).decimalNumber,
            rest.prefix(3).count == 3, (100...999).contains(status),
            rest.dropFirst(3).first ?? UInt8(ascii: " ") == UInt8(ascii: " "),
            rest.allSatisfy(\.isFieldByte)
        else { throw .badAnswer("has no status line") }
        self.status = Int(status)
        reason = rest.dropFirst(4)
        fields = head.fields
        let options = head.values(.connection).flatMap(\.listElements)
        let framing = try UpstreamResponse.framing(head, Int(status), isHTTP11: isHTTP11, isHead: isHead)
        keepsAlive = isHTTP11 && framing != .untilClose && !options.contains { $0.says("close") }
        connectionOptions = options
        self.framing = framing
    }

    /// Whether another response to the same request follows (RFC 9110 §15.2).
    var isInterim: Bool { (100..<200).contains(status) && status != 101 }

    /// Whether both sides use the websocket protocol from now on (RFC 6455 §4.1).
    var opensWebSocket: Bool {
        let upgrades = fields.filter { $0.meaning == .upgrade }.flatMap(\.value.listElements)
        return status == 101 && upgrades.count == 1 && upgrades[0].says("websocket")
            && connectionOptions.contains { $0.says("upgrade") }
    }

    /// The server's authentication challenges, joined by commas (RFC 9110 §11.6.1).
    var challenge: String {
        fields.filter { $0.meaning == .challenge }.map(\.value.text).joined(separator: ", ")
    }

    /// The nonce required in the next proof (RFC 9449 §8).
    var nonce: String? {
        fields.first { $0.meaning == .proofNonce && $0.value.isVisibleWord && $0.value.count <= 1024 }
            .map(\.value.text)
    }

    private static func framing(
        _ head: MessageHead,
        _ status: Int,
        isHTTP11: Bool,
        isHead: Bool
    ) throws(ForwardingError) -> BodyFraming {
        let lengths = head.values(.contentLength)
        let codings = head.values(.transferEncoding)
        guard lengths.count <= 1, codings.count <= 1, lengths.isEmpty || codings.isEmpty else {
            throw .badAnswer("states the length of its body twice")
        }
        var framing = BodyFraming.untilClose
        if let coding = codings.first {
            guard isHTTP11, coding.says("chunked") else {
                throw .badAnswer("has a Transfer-Encoding other than chunked")
            }
            framing = .chunked
        } else if let length = lengths.first {
            guard let number = length.decimalNumber else {
                throw .badAnswer("has a Content-Length that is not a number")
            }
            framing = .length(number)
        }
        return isHead || status < 200 || status == 204 || status == 304 ? .none : framing
    }
}
