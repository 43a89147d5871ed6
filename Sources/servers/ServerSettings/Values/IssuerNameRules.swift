// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The comparison of an issuer's name in a metadata document with the expected name.
///
/// Only discovery compares in this way. The spelling in the document is then the issuer, and ID tokens and
/// authorization responses must match it byte by byte.
package enum IssuerNameRules {
    /// The required similarity of the names.
    package enum Strictness: Sendable {
        /// Byte by byte, except that an empty path and `/` are the same (RFC 3986 §6.2.3).
        case exact
        /// The same except for a slash at the end, the case of the host and the default port.
        case spelling
        /// Any name, because the user configured the address of the document.
        case any
    }

    /// Returns whether both names are the same byte by byte, except for an empty path written as `/`.
    package static func areSame(_ name: String, _ other: String) -> Bool {
        withoutEmptyPath(name) == withoutEmptyPath(other)
    }

    package static func areSame(_ name: String, _ expected: String?, _ match: Strictness) -> Bool {
        guard let expected else { return match == .any }
        return switch match {
        case .exact: areSame(name, expected)
        case .spelling: areSame(name, expected) || differInSpelling(name, expected)
        case .any: true
        }
    }

    /// Returns whether the names differ only in a slash at the end, the case of the host or the default port.
    package static func differInSpelling(_ name: String, _ other: String) -> Bool {
        guard !areSame(name, other), let one = try? EndpointURL(name), let two = try? EndpointURL(other),
            one.query == nil, two.query == nil
        else { return false }
        return one.origin.bytewise == two.origin.bytewise
            && WellKnownURL.trimmed(one.path).bytewise == WellKnownURL.trimmed(two.path).bytewise
    }

    /// Returns whether `name` is a template with one issuer per tenant, such as that of Entra's `common`.
    package static func isTemplate(_ name: String) -> Bool { name.utf8.contains(UInt8(ascii: "{")) }

    private static func withoutEmptyPath(_ name: String) -> ByteText {
        guard let url = try? EndpointURL(name), url.path == "/", url.query == nil else {
            return name.bytewise
        }
        return Substring(name.utf8.dropLast()).bytewise
    }
}
