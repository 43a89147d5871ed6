// SPDX-License-Identifier: MIT

import Text

/// The header fields of one request, checked together after the last one.
struct RequestHeadBuilder {
    private let isHTTP11: Bool
    private var isOurHost: Bool?
    private var contentLength: Int?
    private var isChunked = false
    private var keepsAlive: Bool
    private var expectsContinue = false
    private var prefersPlainText = false
    private var isFromBrowser = false
    private var listener: String?
    private var claimedCaller: String?

    init(isHTTP11: Bool) {
        self.isHTTP11 = isHTTP11
        keepsAlive = isHTTP11
    }

    /// Adds one header line.
    ///
    /// - Throws: ``RequestError`` if the field is malformed, repeated or not allowed.
    mutating func add(_ line: ArraySlice<UInt8>) throws(RequestError) {
        guard let (name, value) = HTTPSyntax.field(line) else { throw .malformed }
        try read(RecognizedField(name), value)
    }

    /// Returns the head after all fields have been added.
    ///
    /// - Throws: ``RequestError`` if the request is not allowed as a whole, such as one from a browser.
    func head(
        method: HTTPRequest.Method,
        target: ArraySlice<UInt8>,
        limits: RequestLimits
    ) throws(RequestError) -> HTTPRequestHead {
        guard !isFromBrowser else { throw .fromBrowser }
        guard isOurHost == true else { throw .wrongHost }
        if isChunked { throw contentLength == nil ? .chunkedBody : .malformed }
        let length = contentLength ?? 0
        guard length <= limits.body else { throw .bodyTooLong }
        return HTTPRequestHead(
            method: method,
            address: ParsedRequestTarget(try originForm(target)),
            isHTTP11: isHTTP11,
            keepsAlive: keepsAlive,
            contentLength: length,
            expectsContinue: expectsContinue && isHTTP11,
            prefersPlainText: prefersPlainText,
            listener: listener,
            claimedCaller: claimedCaller
        )
    }

    private mutating func read(_ name: RecognizedField, _ value: ArraySlice<UInt8>) throws(RequestError) {
        switch name {
        case .host:
            guard isOurHost == nil else { throw .wrongHost }
            isOurHost = Self.isExpectedHost(value)
        case .contentLength:
            guard contentLength == nil else { throw .malformed }
            contentLength = try length(value)
        case .transferEncoding: isChunked = true
        case .origin, .referer: isFromBrowser = true
        // `none` is an address that the user typed or opened; all other values come from a page (Fetch
        // Metadata §2.4).
        case .fetchSite: if !value.elementsEqual("none".utf8) { isFromBrowser = true }
        case .connection: takeConnection(value)
        case .expect:
            guard value.says("100-continue") else { throw .unknownExpectation }
            expectsContinue = true
        case .accept: prefersPlainText = value.prefersPlainText
        case .listener:
            guard listener == nil else { throw .malformed }
            listener = String(decoding: value, as: UTF8.self)
        case .caller:
            guard claimedCaller == nil else { throw .malformed }
            claimedCaller = PercentCoding.decoded(value, plusIsBlank: false)
        case .unimportant: break
        }
    }

    private func length(_ value: ArraySlice<UInt8>) throws(RequestError) -> Int {
        guard !value.isEmpty, value.allSatisfy({ (0x30...0x39).contains($0) }) else { throw .malformed }
        // Nine digits exceed the maximum body, and keep the number in range.
        guard value.count <= 9, let length = Int(String(decoding: value, as: UTF8.self)) else {
            throw .bodyTooLong
        }
        return length
    }

    private mutating func takeConnection(_ value: ArraySlice<UInt8>) {
        for option in value.split(separator: .comma).map(\.trimmedOfBlanks) {
            if option.says("close") {
                keepsAlive = false
            } else if !isHTTP11, option.says("keep-alive") {
                keepsAlive = true
            }
        }
    }

    /// Returns the target as `/path`, also if it is `http://tokenagent/path` (RFC 9112 §3.2).
    private func originForm(_ target: ArraySlice<UInt8>) throws(RequestError) -> String {
        if target.first == UInt8(ascii: "/") { return String(decoding: target, as: UTF8.self) }
        let scheme: StaticString = "http://"
        guard target.prefix(scheme.utf8CodeUnitCount).says(scheme) else { throw .malformed }
        let rest = target.dropFirst(scheme.utf8CodeUnitCount)
        let slash = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
        guard Self.isExpectedHost(rest[..<slash]) else { throw .wrongHost }
        return slash == rest.endIndex ? "/" : String(decoding: rest[slash...], as: UTF8.self)
    }

    private static func isExpectedHost(_ host: ArraySlice<UInt8>) -> Bool {
        host.says("tokenagent") || host.says("localhost")
    }
}

extension RequestHeadBuilder {
    /// The fields that affect the agent.
    private enum RecognizedField {
        case host
        case contentLength
        case transferEncoding
        case origin
        case referer
        case fetchSite
        case connection
        case expect
        case accept
        case listener
        case caller
        case unimportant

        init(_ name: ArraySlice<UInt8>) {
            // Lengths are compared first, as most fields are not used.
            self =
                switch name.count {
                case 4 where name.says("host"): .host
                case 6 where name.says("accept"): .accept
                case 6 where name.says("expect"): .expect
                case 6 where name.says("origin"): .origin
                case 7 where name.says("referer"): .referer
                case 10 where name.says("connection"): .connection
                case 14 where name.says("content-length"): .contentLength
                case 14 where name.says("sec-fetch-site"): .fetchSite
                case 17 where name.says("transfer-encoding"): .transferEncoding
                case 17 where name.says("tokenagent-caller"): .caller
                case 19 where name.says("tokenagent-listener"): .listener
                default: .unimportant
                }
        }
    }
}

extension ArraySlice<UInt8> {
    /// Whether `text/plain` comes first among the media types that the agent knows.
    ///
    /// Weights are ignored (RFC 9110 §12.5.1).
    fileprivate var prefersPlainText: Bool {
        for range in split(separator: .comma) {
            let type = range.prefix { $0 != UInt8(ascii: ";") }.trimmedOfBlanks
            if type.says("text/plain") || type.says("text/*") { return true }
            if type.says("application/json") || type.says("application/*") || type.says("*/*") {
                return false
            }
        }
        return false
    }
}

extension UInt8 {
    fileprivate static let comma = UInt8(ascii: ",")
}
