// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser

/// The options for a proof of possession (DPoP, RFC 9449).
struct ProofOptions: ParsableArguments {
    @Option(
        name: .customLong("dpop-url"),
        help: ArgumentHelp("Print a proof of possession (DPoP) for this URL too.", valueName: "url")
    )
    var url: String?

    @Option(
        name: .customLong("dpop-method"),
        help: ArgumentHelp("The method the proof is for; GET unless given.", valueName: "method")
    )
    var method: String?

    @Option(
        name: .customLong("dpop-nonce"),
        // A nonce may begin with a hyphen.
        parsing: .unconditional,
        help: ArgumentHelp("The nonce the server wants in the proof.", valueName: "nonce")
    )
    var nonce: String?

    func validate() throws {
        guard url != nil || method == nil && nonce == nil else {
            throw ValidationError("--dpop-method and --dpop-nonce need --dpop-url")
        }
    }

    /// The requested proof, or `nil` without `--dpop-url`.
    var demand: TokenRequest.Proof? { url.map { TokenRequest.Proof(url: $0, method: method, nonce: nonce) } }
}
