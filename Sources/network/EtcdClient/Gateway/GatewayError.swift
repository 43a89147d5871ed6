// SPDX-License-Identifier: MIT

import Text

/// An error response of the gateway, which contains a gRPC status (`google.rpc.Code`) and etcd's message.
struct GatewayError: Equatable, Sendable {
    /// The HTTP status.
    let status: Int
    /// The gRPC code, or `nil` if the body is not the gateway's JSON.
    let code: Int64?
    let message: String

    /// The maximum length of the shown part of etcd's message, in bytes.
    private static let longest = 300

    init(status: Int, body: [UInt8]) {
        guard let answer = try? ParsedGatewayResponse(parsing: body) else {
            // Before it parses a request, the gateway responds in plain text.
            let beginning = body.prefix(GatewayError.longest)
            self.init(status, nil, String(decoding: beginning, as: UTF8.self))
            return
        }
        self.init(status: status, answer)
    }

    /// Parses an error from JSON, which may be a response or a line of a stream.
    init(status: Int, _ answer: ParsedGatewayResponse) {
        let code = (try? answer.number("code")).flatMap { $0 == 0 ? try? answer.number("grpc_code") : $0 }
        let words = (try? answer.text("message")) ?? (try? answer.text("error"))
        self.init(status, code, words ?? "")
    }

    /// Creates an error from the reason with which etcd ends a watch that it has accepted with status 200.
    init(ending reason: String) {
        self.init(200, nil, reason)
    }

    private init(_ status: Int, _ code: Int64?, _ words: String) {
        self.status = status
        self.code = code
        message = GatewayError.cleaned(words)
    }

    /// Whether the authentication token is no longer valid.
    ///
    /// It ends with the member that issued it, or after five idle minutes.
    ///
    /// A token also becomes invalid when users or permissions change.
    var wantsNewToken: Bool {
        status == 401 || code == 16 || says("invalid auth token") || says("revision of auth store is old")
    }

    /// The failure of the call that this error means.
    ///
    /// Only messages that etcd sends before it proposes a request to the other members prove that nothing was
    /// done.
    var failure: EtcdFailure {
        if says("CommonName of client") { return .unauthenticated(message) }
        if wantsNewToken { return .unauthenticated(message) }
        if says("database space exceeded") { return .outOfSpace }
        if says("authentication is not enabled") || says("authentication failed")
            || says("user name is empty")
        {
            return .unauthenticated(message)
        }
        if says("permission denied") { return .denied(message) }
        if says("failed to write client preface") || says("bad certificate") {
            return .insecure(.gateway(message))
        }
        if code == 14, says("connection closed") || says("broken pipe") {
            return .unanswered("the gateway has no connection to its own member (\(message))")
        }
        if says("no leader") || says("too many requests") { return .unreachable(message) }
        switch (status, code) {
        case (404, nil): return .noGateway
        case (_, 7), (403, nil): return .denied(message)
        case (_, 3), (_, 5), (_, 9), (_, 11), (_, 12), (404, _), (400, _): return .refused(message)
        default: return .unanswered(message.isEmpty ? "status \(status)" : message)
        }
    }

    private func says(_ words: ByteText) -> Bool { message.bytewise.contains(words) }

    /// Returns a server's text with at most 300 bytes, and without characters that could manipulate a
    /// terminal or a log.
    static func cleaned(_ text: String) -> String {
        let isBlank = { (byte: UInt8) in [0x20, 0x09, 0x0A, 0x0D].contains(byte) }
        var words = text.utf8.prefix(longest).drop(while: isBlank)
        while words.last.map(isBlank) == true { words.removeLast() }
        return String(
            decoding: words.map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: "?") },
            as: UTF8.self
        )
    }
}
