// SPDX-License-Identifier: MIT

import CommandExecution
import OAuthClient
import SecretMemory
import Text

/// The variables with which a GitHub Actions job gets tokens, removed from the environment.
///
/// Any program with the variables can act as the job, so no program that the agent starts gets them.
final class GitHubActionsVariables {
    private let address: [UInt8]
    private var bearer: [UInt8]

    /// Takes the variables from the environment, or returns `nil` unless a job with permission for tokens has
    /// started this process.
    init?() {
        let address = CurrentProcess.take("ACTIONS_ID_TOKEN_REQUEST_URL")
        let bearer = CurrentProcess.take("ACTIONS_ID_TOKEN_REQUEST_TOKEN")
        guard let address, let bearer, !bearer.isEmpty else { return nil }
        self.address = address
        self.bearer = bearer
    }

    deinit {
        bearer.wipe()
    }

    /// Seals the secret.
    ///
    /// - Returns: The identity of the job, or `nil` while `memory` is locked.
    func identity(in memory: SealedMemory) -> GitHubActionsTokenService? {
        guard
            let secret = try? unsafe bearer.withUnsafeBytes({ unsafe try memory.seal($0, as: .clientSecret) })
        else { return nil }
        return GitHubActionsTokenService(address: String(decoding: address, as: UTF8.self), bearer: secret)
    }
}
