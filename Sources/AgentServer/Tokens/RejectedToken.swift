// SPDX-License-Identifier: MIT

import TokenCore

/// A token that some server refused, as far as the agent knows it.
struct RejectedToken: Equatable {
    var variant: TokenVariant
    /// A name no secret has when it is not, or no longer, one of the session's.
    var secret: SecretID
    var isHeld: Bool
}

extension SessionAgent {
    /// Finds `text` among the session's tokens.
    ///
    /// One that is not found has been replaced already; then `variant` says which token takes its place.
    func rejectedToken(
        _ text: String,
        _ variant: TokenVariant?,
        in kept: KeptSession
    ) throws(RequestFailure) -> RejectedToken {
        let held = kept.session.heldTokens
        if let variant {
            guard let current = held[variant]?.secret, isToken(text, current) else {
                return RejectedToken(variant: variant, secret: Self.nothing, isHeld: false)
            }
            return RejectedToken(variant: variant, secret: current, isHeld: true)
        }
        if let (variant, token) = held.first(where: { isToken(text, $0.value.secret) }) {
            return RejectedToken(variant: variant, secret: token.secret, isHeld: true)
        }
        return RejectedToken(variant: .primary, secret: Self.nothing, isHeld: false)
    }

    private static let nothing = SecretID(rawValue: 0)

    private func isToken(_ candidate: String, _ secret: SecretID) -> Bool {
        let vault = ports.vault
        var candidate = candidate
        return candidate.withUTF8 { bytes in
            unsafe (try? vault.holds(UnsafeRawBufferPointer(bytes), in: secret)) ?? false
        }
    }
}

extension TokenVariant {
    /// The variant that `scope` (words separated by spaces) and `audience` name; `nil` when neither is there.
    init?(_ body: RequestBody) throws(RequestFailure) {
        let scope = try body.string("scope")
        let audience = try body.string("audience")
        guard scope != nil || audience != nil else { return nil }
        self.init(
            scopes: try TokenQuery.scopes(scope ?? ""),
            audience: try audience.flatMap { text throws(RequestFailure) in try TokenQuery.audience(text) }
        )
    }
}
