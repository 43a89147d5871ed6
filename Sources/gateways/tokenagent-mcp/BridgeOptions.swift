// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore

/// The arguments that `tokenctl mcp connect` passes to this program.
struct BridgeOptions {
    private(set) var endpoint = AgentEndpoint()
    private(set) var authorities: String?
    let address: ResourceAddress

    /// Reads the words of this process, which are not a person's.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest` if they are none that `tokenctl` writes.
    init(_ words: some Sequence<String>) throws(AgentError) {
        var words = words.makeIterator()
        var address: ResourceAddress?
        while let word = words.next() {
            switch word {
            case "--socket": endpoint.socket = words.next()
            case "--no-autostart": endpoint.mayStartAgent = false
            case "--ca-file": authorities = words.next()
            default: address = ResourceAddress(word)
            }
        }
        guard let address else {
            throw AgentError(
                .badRequest,
                "tokenagent-mcp is started by tokenctl, not by hand",
                remedy: .run("tokenctl mcp connect URL")
            )
        }
        self.address = address
    }
}
