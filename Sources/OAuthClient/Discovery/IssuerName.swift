// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// How an issuer's name in a metadata document is compared with the expected one.
///
/// Only discovery compares like this. The document's own spelling is then the issuer, with which ID tokens and
/// authorization responses are compared byte by byte.
enum IssuerName {
    /// How close the names have to be.
    enum Match: Sendable {
        /// Byte by byte; only an empty path and `/` are the same path (RFC 3986 §6.2.3).
        case exact
        /// Apart from a slash at the end, the case of the host and the default port.
        case spelling
        /// Any name: a person has written the address of the document.
        case any
    }

    /// Whether both name the same issuer byte by byte, apart from an empty path written as `/`.
    static func areSame(_ name: String, _ other: String) -> Bool {
        withoutEmptyPath(name) == withoutEmptyPath(other)
    }

    static func areSame(_ name: String, _ expected: String?, _ match: Match) -> Bool {
        guard let expected else { return match == .any }
        return switch match {
        case .exact: areSame(name, expected)
        case .spelling: areSame(name, expected) || differInSpelling(name, expected)
        case .any: true
        }
    }

    /// Whether the names differ, but only in a slash at the end, the case of the host or the default port.
    static func differInSpelling(_ name: String, _ other: String) -> Bool {
        guard !areSame(name, other), let one = try? EndpointURL(name), let two = try? EndpointURL(other),
            one.query == nil, two.query == nil
        else { return false }
        return one.origin.bytewise == two.origin.bytewise
            && WellKnownURL.trimmed(one.path).bytewise == WellKnownURL.trimmed(two.path).bytewise
    }

    /// Whether `name` stands for many issuers, one for each tenant, as that of Entra's `common`.
    static func isTemplate(_ name: String) -> Bool { name.utf8.contains(UInt8(ascii: "{")) }

    private static func withoutEmptyPath(_ name: String) -> ByteText {
        guard let url = try? EndpointURL(name), url.path == "/", url.query == nil else {
            return name.bytewise
        }
        return Substring(name.utf8.dropLast()).bytewise
    }
}
