// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser

/// The options for a proof of possession (DPoP, RFC 9449).
struct ProofOptions: ParsableArguments {
    @Option(
        name: .customLong("dpop-url"),
        help: ArgumentHelp("Also print a proof of possession (DPoP) for this URL.", valueName: "url")
    )
    var url: String?

    @Option(
        name: .customLong("dpop-method"),
        help: ArgumentHelp("The HTTP method of the proof; GET by default.", valueName: "method")
    )
    var method: String?

    @Option(
        name: .customLong("dpop-nonce"),
        // A nonce may begin with a hyphen.
        parsing: .unconditional,
        help: ArgumentHelp("The nonce that the server requires in the proof.", valueName: "nonce")
    )
    var nonce: String?

    func validate() throws {
        guard url != nil || method == nil && nonce == nil else {
            throw ValidationError("--dpop-method and --dpop-nonce require --dpop-url")
        }
    }

    /// The requested proof, or `nil` without `--dpop-url`.
    var tokenRequest: TokenRequest.ProofTarget? {
        url.map { TokenRequest.ProofTarget(url: $0, method: method, nonce: nonce) }
    }
}
