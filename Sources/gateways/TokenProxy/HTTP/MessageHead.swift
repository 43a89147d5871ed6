// SPDX-License-Identifier: MIT

import Text

/// A field of a head as written, without the whitespace around its value.
struct MessageField: Equatable, Sendable {
    let name: ArraySlice<UInt8>
    let value: ArraySlice<UInt8>
    /// The role of the field in this program.
    let meaning: KnownField

    init(name: ArraySlice<UInt8>, value: ArraySlice<UInt8>) {
        self.name = name
        self.value = value
        meaning = KnownField(name)
    }
}

/// The reason bytes are not accepted as a head.
enum HTTPHeadError: Error {
    /// A line is not a field.
    case noField
    case tooManyFields
}

/// The lines of a head: the start line and the fields.
struct MessageHead: Sendable {
    /// The maximum number of fields, more than any legitimate sender uses.
    static let maximumFields = 256
    private static let usualFields = 16

    let startLine: ArraySlice<UInt8>
    let fields: [MessageField]

    /// Parses a head.
    ///
    /// - Parameter bytes: the head without the empty line at its end.
    /// - Throws: ``HTTPHeadError``.
    init(_ bytes: [UInt8]) throws(HTTPHeadError) {
        var lines = HTTPSyntax.lines(bytes[...])
        guard let startLine = lines.next() else { throw .noField }
        self.startLine = startLine
        var fields: [MessageField] = []
        fields.reserveCapacity(MessageHead.usualFields)
        while let line = lines.next() {
            guard fields.count < MessageHead.maximumFields else { throw .tooManyFields }
            guard let (name, value) = HTTPSyntax.field(line) else { throw .noField }
            fields.append(MessageField(name: name, value: value))
        }
        self.fields = fields
    }

    /// Returns the values of all fields with a name.
    func values(_ name: KnownField) -> [ArraySlice<UInt8>] {
        fields.lazy.filter { $0.meaning == name }.map(\.value)
    }
}

/// The fields that affect the proxy.
enum KnownField {
    case accessTokenProof
    case authorization
    case connection
    case contentLength
    case contentLocation
    case destination
    case expect
    case fetchSite
    case forwarded
    case forwardedPart
    case host
    case http2Settings
    case keepAlive
    case location
    case methodOverride
    case origin
    case pathOverride
    case proofNonce
    case proxyAuthenticate
    case proxyAuthorization
    case proxyConnection
    case te
    case transferEncoding
    case upgrade
    case challenge
    case unimportant

    /// Classifies a name, by its length first: most fields do not matter here.
    init(_ name: ArraySlice<UInt8>) {
        self =
            switch name.count {
            case 2 where name.says("te"): .te
            case 4: name.says("host") ? .host : name.says("dpop") ? .accessTokenProof : .unimportant
            case 6: name.says("expect") ? .expect : name.says("origin") ? .origin : .unimportant
            case 7 where name.says("upgrade"): .upgrade
            case 8 where name.says("location"): .location
            case 9 where name.says("forwarded"): .forwarded
            case 10:
                name.says("connection")
                    ? .connection
                    : name.says("keep-alive")
                        ? .keepAlive
                        : name.says("dpop-nonce") ? .proofNonce : .unimportant
            case 11 where name.says("destination"): .destination
            case 13 where name.says("authorization"): .authorization
            case 14: KnownField(ofFourteen: name)
            case 16:
                name.says("content-location")
                    ? .contentLocation
                    : name.says("proxy-connection")
                        ? .proxyConnection
                        : name.says("www-authenticate") ? .challenge : KnownField(rare: name)
            case 17 where name.says("transfer-encoding"): .transferEncoding
            case 18 where name.says("proxy-authenticate"): .proxyAuthenticate
            case 19 where name.says("proxy-authorization"): .proxyAuthorization
            default: KnownField(rare: name)
            }
    }

    private init(ofFourteen name: ArraySlice<UInt8>) {
        self =
            if name.says("content-length") {
                .contentLength
            } else if name.says("http2-settings") {
                .http2Settings
            } else if name.says("sec-fetch-site") {
                .fetchSite
            } else {
                KnownField(rare: name)
            }
    }

    /// Classifies names that frameworks treat as another path, another method or another client.
    ///
    /// An underscore is treated as a hyphen, as where fields become variables (RFC 3875 §4.1.18).
    private init(rare name: ArraySlice<UInt8>) {
        let start = name.prefix(2)
        guard name.count > 2, start.says("x-") || start.says("x_") else {
            self = .unimportant
            return
        }
        let name = name.map { $0 == UInt8(ascii: "_") ? UInt8(ascii: "-") : $0 }[...]
        self =
            if name.prefix(12).says("x-forwarded-") {
                .forwardedPart
            } else if name.says("x-original-url") || name.says("x-original-uri") || name.says("x-rewrite-url")
            {
                .pathOverride
            } else if name.says("x-http-method-override") || name.says("x-http-method")
                || name.says("x-method-override")
            {
                .methodOverride
            } else {
                .unimportant
            }
    }

    /// Whether the field is about one connection only, or about the framing of the body (RFC 9110 §7.6.1).
    var isHopByHop: Bool {
        switch self {
        case .connection, .contentLength, .http2Settings, .keepAlive, .proxyAuthenticate, .proxyAuthorization,
            .proxyConnection, .te, .transferEncoding, .upgrade:
            true
        default: false
        }
    }
}

extension ArraySlice<UInt8> {
    /// The elements of a comma-separated list, without whitespace and empty elements (RFC 9110 §5.6.1).
    var listElements: [ArraySlice<UInt8>] {
        split(separator: UInt8(ascii: ",")).map(\.trimmedOfBlanks).filter { !$0.isEmpty }
    }

    /// Returns whether the bytes equal those of `other`, ignoring ASCII case.
    func saysTheSame(as other: ArraySlice<UInt8>) -> Bool {
        count == other.count && zip(self, other).allSatisfy { $0.lowercasedASCII == $1.lowercasedASCII }
    }

    /// The value of 1 to 18 decimal digits, or `nil` for anything else, such as a sign or whitespace.
    var decimalNumber: Int64? {
        guard (1...18).contains(count), allSatisfy(\.isASCIIDigit) else { return nil }
        return reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    }

    var text: String { String(decoding: self, as: UTF8.self) }
}
