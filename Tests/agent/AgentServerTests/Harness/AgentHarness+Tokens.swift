// SPDX-License-Identifier: MIT

import SecretMemory
import TokenCore

extension AgentHarness {
    /// Tokens as a server would give them.
    func granted(
        _ token: String,
        lifetime: Duration? = .seconds(3600),
        idToken: (text: String, lifetime: Duration)? = nil
    ) throws -> GrantedTokens {
        let secret = try seal(token, as: .accessToken)
        return GrantedTokens(
            accessToken: secret,
            idToken: try idToken.map { idToken in
                let life = ValidityPeriod(obtainedAt: time.now, expiresAt: time.now + idToken.lifetime)
                return IDToken(secret: try seal(idToken.text, as: .idToken), life: life)
            },
            refreshToken: nil,
            scope: ["read", "write"],
            lifetime: lifetime,
            requestedAt: time.now,
            fingerprint: memory.fingerprint(of: secret)
        )
    }

    func seal(_ text: String, as kind: SecretKind) throws -> SecretID {
        try Array(text.utf8).withUnsafeBytes { try memory.seal($0, as: kind) }
    }

    func text(_ id: SecretID) throws -> String {
        try memory.open(id) { String(decoding: $0, as: UTF8.self) }
    }
}
