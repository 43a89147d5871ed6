// SPDX-License-Identifier: MIT

import SecretMemory
import ServerSettings
import Text
import TokenCore

extension AssertionGrant {
    static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"

    /// Adds the grant to `form`, with the assertion if another session provides it.
    ///
    /// - Throws: `sourceUnavailable` if that session has no token, or `busy` while sealed memory is locked.
    func add(
        _ tokens: SubjectAndActorTokens,
        to form: FormBody,
        _ memory: SealedMemory
    ) throws(RefreshFailure) {
        form.add("grant_type", AssertionGrant.grantType)
        // Other assertions are made when the request is sent (``GrantAssertions``).
        guard case .session = source else { return }
        guard let assertion = tokens.subject else {
            let message = "no assertion is available"
            throw RefreshFailure(kind: .sourceUnavailable, message: message)
        }
        try form.add("assertion", assertion, from: memory)
    }
}
