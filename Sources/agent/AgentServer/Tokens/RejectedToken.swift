// SPDX-License-Identifier: MIT

import SecretMemory
import TokenCore

/// A token that a server has rejected, as far as the agent knows it.
struct RejectedToken: Equatable {
    private static let nothing = SecretID(rawValue: 0)

    let variant: TokenVariant
    /// The token's secret, or an ID that no secret has if the token is not, or no longer, the session's.
    let secret: SecretID
    let isHeld: Bool

    /// Finds `text` among the tokens of `session`.
    ///
    /// A token that is not found has already been replaced. Then `variant` selects the token that replaces
    /// it.
    init(_ text: String, _ variant: TokenVariant?, of session: Session, in memory: SealedMemory) {
        let candidates = session.heldTokens.filter { variant == nil || $0.key == variant }
        let found = candidates.first { memory.holds(text, in: $0.value.secret) }
        self.variant = found?.key ?? variant ?? .primary
        secret = found?.value.secret ?? Self.nothing
        isHeld = found != nil
    }
}

extension SealedMemory {
    fileprivate func holds(_ candidate: String, in secret: SecretID) -> Bool {
        var candidate = candidate
        return candidate.withUTF8 { bytes in
            unsafe (try? holds(UnsafeRawBufferPointer(bytes), in: secret)) ?? false
        }
    }
}

extension TokenVariant {
    /// Creates the variant of `scope` (values separated by spaces) and `audience`, or `nil` if both are
    /// missing.
    init?(scope: String?, audience: String?) throws(RequestFailure) {
        guard scope != nil || audience != nil else { return nil }
        self.init(
            scopes: try TokenQuery.scopes(scope ?? ""),
            audience: try audience.flatMap { text throws(RequestFailure) in try TokenQuery.audience(text) }
        )
    }
}
