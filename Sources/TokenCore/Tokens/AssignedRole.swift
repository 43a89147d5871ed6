// SPDX-License-Identifier: MIT

/// A role of Amazon Web Services as IAM Identity Center assigns it to people: one of an account.
package struct AssignedRole: Hashable, Sendable, CustomStringConvertible {
    /// Twelve digits.
    package let account: String
    /// 1 to 64 letters, digits or characters of `_+=,.@-`.
    package let name: String

    /// `nil` if Amazon has no such account, or no role by such a name.
    package init?(account: String, name: String) {
        guard Self.isAccount(account), Self.isName(name) else { return nil }
        self.account = account
        self.name = name
    }

    /// The role that a token of `variant` stands for; `nil`: none.
    package init?(_ variant: TokenVariant) {
        guard variant.scopes.isEmpty, let audience = variant.audience,
            let slash = audience.utf8.firstIndex(of: UInt8(ascii: "/"))
        else { return nil }
        self.init(account: String(audience[..<slash]), name: String(audience[slash...].dropFirst()))
    }

    /// `123456789012/ReadOnly`.
    package var description: String { "\(account)/\(name)" }

    /// The token by that name, of a session whose variants are roles (``RoleTokens/variants``).
    package var variant: TokenVariant { TokenVariant(scopes: [], audience: description) }

    /// Whether `text` can be the number of an account.
    package static func isAccount(_ text: String) -> Bool {
        text.utf8.count == 12 && text.utf8.allSatisfy { isDigit($0) }
    }

    /// Whether `text` can be the name of a role.
    package static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { isDigit($0) || isLetter($0) || "_+=,.@-".utf8.contains($0) }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
}

/// Which of a session's tokens are the credentials of a role, which take the place of a token.
package enum RoleTokens: Equatable, Sendable {
    case none
    /// The one it has: the session is a role.
    case own
    /// Those beside the login's own token, a role each (``AssignedRole``).
    ///
    /// They are had for the login's own token, without its refresh token, and live on when that token is replaced.
    case variants

    /// The type of credentials that stand in the place of a token.
    package static let tokenType = "aws"
    /// The life that credentials have left when they are handed out; the SDKs ask for others soon after.
    package static let leastValidity = Duration.seconds(900)
    /// From then on they are renewed without being missed, so that nobody waits.
    package static let refreshBefore = leastValidity + .seconds(300)

    /// Whether the token of `variant` is the credentials of a role.
    func include(_ variant: TokenVariant) -> Bool {
        switch self {
        case .none: false
        case .own: true
        case .variants: variant != .primary
        }
    }
}
