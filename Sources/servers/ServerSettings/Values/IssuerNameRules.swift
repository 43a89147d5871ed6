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

    /// The part of a template that stands for a tenant.
    private static let tenant: ByteText = "{tenantid}"

    /// Returns the texts around the tenant of a template, or `nil` if `name` is not a template.
    private static func parts(_ name: String) -> (before: Substring, after: Substring)? {
        name.bytewise.parts(around: tenant)
    }

    /// Returns whether `name` is a template with one tenant in it, and nothing else to fill in.
    package static func isTemplateOfTenants(_ name: String) -> Bool {
        guard let (before, after) = parts(name) else { return false }
        return !isTemplate(String(before)) && !isTemplate(String(after))
    }

    /// Returns whether `name` is `issuer`, or the issuer of a tenant if `issuer` is a template.
    ///
    /// - Parameters:
    ///   - name: The name in an ID token or an authorization response.
    ///   - issuer: The name in the metadata.
    ///   - tenant: The tenant that must be in the name (the claim `tid` of an ID token), or `nil` for any.
    /// - Returns: Whether an ID token or a response with this name is from the issuer.
    package static func isName(_ name: String, of issuer: String, tenant: String?) -> Bool {
        guard let (before, after) = parts(issuer) else { return name.bytewise == issuer.bytewise }
        let bytes = name.utf8
        guard bytes.count > before.utf8.count + after.utf8.count, bytes.starts(with: before.utf8),
            bytes.reversed().starts(with: after.utf8.reversed())
        else { return false }
        let middle = bytes.dropFirst(before.utf8.count).dropLast(after.utf8.count)
        guard middle.allSatisfy({ $0.isASCIILetter || $0.isASCIIDigit || "-.".utf8.contains($0) }) else {
            return false
        }
        return tenant.map { middle.elementsEqual($0.utf8) } ?? true
    }

    private static func withoutEmptyPath(_ name: String) -> ByteText {
        guard let url = try? EndpointURL(name), url.path == "/", url.query == nil else {
            return name.bytewise
        }
        return Substring(name.utf8.dropLast()).bytewise
    }
}
