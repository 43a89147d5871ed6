// SPDX-License-Identifier: MIT

/// A role that AWS IAM Identity Center assigns to users, in one AWS account.
package struct AssignedAWSRole: Hashable, Sendable, CustomStringConvertible {
    /// The account number, twelve digits.
    package let account: String
    /// The role's name: 1 to 64 letters, digits or characters of `_+=,.@-`.
    package let name: String

    /// Creates a role, or `nil` if AWS allows no such account number or role name.
    package init?(account: String, name: String) {
        guard Self.isAccount(account), Self.isName(name) else { return nil }
        self.account = account
        self.name = name
    }

    /// Creates the role that a token of `variant` represents, or `nil` if it represents none.
    package init?(_ variant: TokenVariant) {
        guard variant.scopes.isEmpty, let audience = variant.audience,
            let slash = audience.utf8.firstIndex(of: UInt8(ascii: "/"))
        else { return nil }
        self.init(account: String(audience[..<slash]), name: String(audience[slash...].dropFirst()))
    }

    /// The account and the name, for example `123456789012/ReadOnly`.
    package var description: String { "\(account)/\(name)" }

    /// The key under which a session stores the tokens of this role, if it stores tokens per role
    /// (``AWSRoleUse/variants``).
    package var variant: TokenVariant { TokenVariant(scopes: [], audience: description) }

    /// Returns whether `text` can be the number of an account.
    package static func isAccount(_ text: String) -> Bool {
        text.utf8.count == 12 && text.utf8.allSatisfy { isDigit($0) }
    }

    /// Returns whether `text` can be the name of a role.
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

/// The tokens of a session that are AWS role credentials instead of access tokens.
package enum AWSRoleTokens: Equatable, Sendable {
    case none
    /// The session's only token: the session is a role.
    case own
    /// All variants except the login's own token, one role each (``AssignedAWSRole``).
    ///
    /// They are obtained with the login's own token, without its refresh token, and outlive that token.
    case variants

    /// The token type that marks role credentials.
    package static let tokenType = "aws"
    /// The minimum remaining validity of served credentials, 900 seconds.
    ///
    /// The SDKs request new ones soon after.
    package static let minimumValidity = Duration.seconds(900)
    /// The remaining validity at which credentials are refreshed in advance, so that no request waits.
    package static let refreshBefore = minimumValidity + .seconds(300)

    /// Returns whether the token of `variant` is a set of role credentials.
    func include(_ variant: TokenVariant) -> Bool {
        switch self {
        case .none: false
        case .own: true
        case .variants: variant != .primary
        }
    }
}
