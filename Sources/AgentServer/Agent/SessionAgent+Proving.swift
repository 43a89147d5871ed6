// SPDX-License-Identifier: MIT

import TokenCore

extension SessionAgent {
    /// A proof that whoever shows `token` holds the session's key (RFC 9449 §4.2).
    func proof(
        for demand: ProofDemand,
        showing token: SecretID,
        of session: SessionName
    ) throws(RequestFailure) -> String {
        guard let key = sessions[session]?.session.proofKey else {
            throw RequestFailure(
                code: .misconfigured,
                message: "The tokens of \(session) are not bound to a key: set dpop = true and log in again.",
                session: session
            )
        }
        guard let proof = ports.authorization.proof(for: demand, showing: token, by: key) else {
            throw .lockedAgent
        }
        return proof
    }
}
