// SPDX-License-Identifier: MIT

import CommandExecution
import OAuthClient
import SealedStore
import Text

/// The variables with which a job of GitHub Actions gets tokens, taken out of the environment.
///
/// Whoever has them can be the job, so nothing that the agent starts is given them.
final class WorkflowVariables {
    private let address: [UInt8]
    private var bearer: [UInt8]

    /// Takes them; `nil` if no job has started this process, or it may not have tokens.
    init?() {
        let address = ProcessEnvironment.take("ACTIONS_ID_TOKEN_REQUEST_URL")
        let bearer = ProcessEnvironment.take("ACTIONS_ID_TOKEN_REQUEST_TOKEN")
        guard let address, let bearer, !bearer.isEmpty else { return nil }
        self.address = address
        self.bearer = bearer
    }

    deinit {
        bearer.wipe()
    }

    /// Seals the secret; `nil` while `memory` is locked.
    func identity(in memory: SealedMemory) -> WorkflowIdentity? {
        guard
            let secret = try? unsafe bearer.withUnsafeBytes({ unsafe try memory.seal($0, as: .clientSecret) })
        else { return nil }
        return WorkflowIdentity(address: String(decoding: address, as: UTF8.self), bearer: secret)
    }
}
