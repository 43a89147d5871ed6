// SPDX-License-Identifier: MIT

import Text

/// A request of a client, parsed strictly.
///
/// A request that two readers might interpret differently is rejected.
struct ProxiedRequest: Sendable {
    let method: ArraySlice<UInt8>
    /// The path and query as written, beginning with a slash.
    let target: ArraySlice<UInt8>
    let isHTTP11: Bool
    let fields: [MessageField]
    let framing: BodyFraming
    /// The host as written.
    ///
    /// Only HTTP/1.0 may omit it.
    let host: ArraySlice<UInt8>?
    /// The names of fields that are about this connection only (RFC 9110 §7.6.1).
    let connectionOptions: [ArraySlice<UInt8>]
    /// Whether the client waits for 100 (Continue) before it sends the body (RFC 9110 §10.1.1).
    let expectsContinue: Bool
    let wantsWebSocket: Bool

    /// The bytes that end a host in a URL, or could make two readers see two hosts.
    private static let separators = Array("/\\@?#,".utf8)
    private static let methodsRefused: [StaticString] = ["connect", "trace", "track"]
    private static let methodsIdempotent =
        ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "PROPFIND", "REPORT"].map { Array($0.utf8) }

    init(_ head: MessageHead) throws(ForwardingError) {
        guard let line = HTTPSyntax.requestLine(head.startLine) else {
            throw .malformed("the first line is not a request line")
        }
        let isHTTP11 = line.isVersion("HTTP/1.1")
        guard isHTTP11 || line.isVersion("HTTP/1.0") else {
            throw ForwardingError(505, "this listener supports only HTTP/1.1 and HTTP/1.0")
        }
        // TRACE would return a response with the token in it. The comparison ignores case, as some servers
        // do.
        guard !ProxiedRequest.methodsRefused.contains(where: line.method.says) else {
            throw ForwardingError(405, "the method \(line.method.text) is not forwarded")
        }
        guard line.target.first == UInt8(ascii: "/") else {
            throw .malformed("the request target is not a path")
        }
        let options = head.values(.connection).flatMap(\.listElements)
        let framing = try ProxiedRequest.framing(head, isHTTP11)
        let expects = try ProxiedRequest.expectation(head.values(.expect))
        let upgrades = head.values(.upgrade).flatMap(\.listElements)
        wantsWebSocket =
            isHTTP11 && upgrades.count == 1 && upgrades[0].says("websocket") && line.method.spells("GET")
            && framing == .none && options.contains { $0.says("upgrade") }
        self.isHTTP11 = isHTTP11
        self.framing = framing
        method = line.method
        target = line.target
        fields = head.fields
        host = try ProxiedRequest.host(head.values(.host), isHTTP11)
        connectionOptions = options
        expectsContinue = expects && isHTTP11
    }

    var path: ArraySlice<UInt8> { target.prefix { $0 != UInt8(ascii: "?") } }

    /// The query without the question mark, or `nil` if there is none.
    var query: ArraySlice<UInt8>? {
        target.firstIndex(of: UInt8(ascii: "?")).map { target[($0 + 1)...] }
    }

    var isHead: Bool { method.elementsEqual("HEAD".utf8) }

    /// Whether sending the request twice has the same effect as sending it once (RFC 9110 §9.2.2).
    var isIdempotent: Bool {
        ProxiedRequest.methodsIdempotent.contains(where: method.elementsEqual)
    }

    /// Whether the client may send more requests on this connection.
    var keepsAlive: Bool {
        if connectionOptions.contains(where: { $0.says("close") }) { return false }
        return isHTTP11 || connectionOptions.contains { $0.says("keep-alive") }
    }

    /// Returns the value of a field that occurs exactly once.
    ///
    /// - Returns: the value, or `nil` if the field is missing or repeated.
    func only(_ name: StaticString) -> ArraySlice<UInt8>? {
        let values = fields.filter { $0.name.says(name) }
        return values.count == 1 ? values[0].value : nil
    }

    /// Whether the client is git, which shows the body of an error if it is plain text.
    var isOfGit: Bool { only("user-agent")?.starts(with: "git/".utf8) == true }

    func has(_ name: KnownField) -> Bool { fields.contains { $0.meaning == name } }

    private static func host(
        _ values: [ArraySlice<UInt8>],
        _ isHTTP11: Bool
    ) throws(ForwardingError) -> ArraySlice<UInt8>? {
        guard values.count <= 1, !isHTTP11 || values.count == 1 else {
            throw .malformed("exactly one Host is required")
        }
        guard let host = values.first else { return nil }
        let isPlain = host.allSatisfy { $0.isVisibleASCII && !ProxiedRequest.separators.contains($0) }
        guard !host.isEmpty, isPlain else { throw .malformed("Host is not a host name") }
        return host
    }

    private static func framing(_ head: MessageHead, _ isHTTP11: Bool) throws(ForwardingError) -> BodyFraming
    {
        let lengths = head.values(.contentLength)
        let codings = head.values(.transferEncoding)
        guard lengths.count <= 1, codings.count <= 1, lengths.isEmpty || codings.isEmpty else {
            throw .malformed("the length of the body is stated twice")
        }
        if let coding = codings.first {
            guard isHTTP11, coding.says("chunked") else {
                throw ForwardingError(isHTTP11 ? 501 : 400, "the body's Transfer-Encoding is not chunked")
            }
            return .chunked
        }
        guard let length = lengths.first else { return .none }
        guard let number = length.decimalNumber else { throw .malformed("Content-Length is not a number") }
        return .length(number)
    }

    private static func expectation(_ values: [ArraySlice<UInt8>]) throws(ForwardingError) -> Bool {
        guard let first = values.first else { return false }
        guard values.count == 1, first.says("100-continue") else {
            throw ForwardingError(417, "the only supported expectation is 100-continue")
        }
        return true
    }
}

extension ArraySlice<UInt8> {
    /// Returns whether the bytes equal those of `text`.
    func spells(_ text: String) -> Bool { elementsEqual(text.utf8) }
}
