// SPDX-License-Identifier: MIT

import ServerSettings
import Text

/// The classification of a request to the redirect listener (RFC 8252 §7.3), decided by its text alone.
enum CallbackRequest: Equatable {
    /// More bytes are needed.
    case incomplete
    /// `GET /callback?…` or a form: the form-encoded parameters, not yet validated.
    case callback(String)
    /// `GET /callback` without a query, so the response is not in the request.
    case empty
    /// A `GET` of the page that shows the outcome of the login.
    case outcome
    /// A `GET` of the page that says why another request was rejected.
    case explanation(CallbackError)
    case refused(status: Int)

    /// The maximum number of bytes of request line and headers.
    ///
    /// Browsers send the cookies of all servers on this machine.
    static let headLimit = 64 << 10
    /// The maximum number of bytes of a form: the longest code and the parameters that servers add.
    static let formLimit = 32 << 10

    /// Parses the bytes received so far of a request to `place`, from the start of the connection.
    ///
    /// `outcome` is the path of the page that shows the outcome of the login.
    init(_ bytes: some Collection<UInt8>, to place: LoopbackRedirect, outcome: String? = nil) {
        let limit = CallbackRequest.headLimit + 4
        guard let head = CallbackRequest.head(of: Array(bytes.prefix(limit))) else {
            self = bytes.count >= limit ? .refused(status: 431) : .incomplete
            return
        }
        let rest = bytes.dropFirst(head.count + 4).prefix(CallbackRequest.formLimit)
        self = CallbackRequest.read(Array(HTTPSyntax.lines(head)), Array(rest), place, outcome)
    }

    /// Returns whether the request line in `bytes` has a query, which may hold a code.
    static func hasQuery(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.prefix { $0 != UInt8(ascii: "\n") }.contains(UInt8(ascii: "?"))
    }

    /// Returns the bytes before the empty line, or `nil` if there is none yet.
    private static func head(of bytes: [UInt8]) -> ArraySlice<UInt8>? {
        let end = Array("\r\n\r\n".utf8)
        var rest = bytes[...]
        while let start = rest.firstIndex(of: end[0]) {
            rest = rest[start...]
            if rest.starts(with: end) { return bytes[..<start] }
            rest = rest.dropFirst()
        }
        return nil
    }

    private typealias Field = (name: ArraySlice<UInt8>, value: ArraySlice<UInt8>)

    private static func read(
        _ lines: [ArraySlice<UInt8>],
        _ rest: [UInt8],
        _ place: LoopbackRedirect,
        _ outcome: String?
    ) -> CallbackRequest {
        let fields = lines.dropFirst().map(HTTPSyntax.field)
        guard let request = HTTPSyntax.requestLine(lines[0]),
            request.isVersion("HTTP/1.1") || request.isVersion("HTTP/1.0"),
            !fields.contains(where: { $0 == nil })
        else { return .refused(status: 400) }
        if let error = CallbackError(target: request.target), request.method.elementsEqual("GET".utf8) {
            return .explanation(error)
        }
        let known = fields.compactMap(\.self)
        let hosts = known.filter { $0.name.says("host") }.map(\.value)
        guard hosts.count == 1, hosts[0].elementsEqual(place.authority.utf8) else {
            return .refused(status: 400)
        }
        let isForm = place.takesForms && request.method.elementsEqual("POST".utf8)
        guard isForm || request.method.elementsEqual("GET".utf8) else { return .refused(status: 405) }
        let parts = request.target.split(
            separator: UInt8(ascii: "?"),
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        if let outcome, !isForm, request.target.elementsEqual(outcome.utf8) { return .outcome }
        guard parts[0].elementsEqual(place.path.utf8) else { return .refused(status: 404) }
        if isForm { return form(known, rest) }
        return parts.count == 2 ? .callback(String(decoding: parts[1], as: UTF8.self)) : .empty
    }

    /// Reads the form of a POST, which must announce its length and contain only characters of a form.
    private static func form(_ fields: [Field], _ rest: [UInt8]) -> CallbackRequest {
        let types = fields.filter { $0.name.says("content-type") }.map(\.value)
        let type = types.first?.prefix { $0 != UInt8(ascii: ";") }.trimmedOfBlanks
        guard types.count == 1, type?.says("application/x-www-form-urlencoded") == true else {
            return .refused(status: 415)
        }
        let lengths = fields.filter { $0.name.says("content-length") }.map(\.value)
        guard lengths.count == 1, !fields.contains(where: { $0.name.says("transfer-encoding") }),
            lengths[0].allSatisfy(\.isASCIIDigit),
            let length = Int(String(decoding: lengths[0].prefix(10), as: UTF8.self))
        else { return .refused(status: 400) }
        guard length <= formLimit else { return .refused(status: 413) }
        guard rest.count >= length else { return .incomplete }
        let body = rest.prefix(length)
        guard body.allSatisfy(\.isVisibleASCII) else { return .refused(status: 400) }
        return .callback(String(decoding: body, as: UTF8.self))
    }
}
