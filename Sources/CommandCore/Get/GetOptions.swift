// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// What `tokenctl get` was asked to do.
package struct GetOptions: Equatable {
    package internal(set) var demand: TokenRequest
    var format: TokenFormat
    var place: TokenDestination
    package internal(set) var endpoint: AgentEndpoint

    package init(
        demand: TokenRequest,
        format: TokenFormat = .token,
        place: TokenDestination = TokenDestination(),
        endpoint: AgentEndpoint = AgentEndpoint()
    ) {
        self.demand = demand
        self.format = format
        self.place = place
        self.endpoint = endpoint
    }

    /// Asks for the token and prints it.
    ///
    /// The bare token takes no JSON on either side.
    package func carryOut() throws(AgentError) {
        try check()
        var agent = try endpoint.waiting(as: demand).connect()
        let isBare = format == .token
        let body: [UInt8]
        do {
            body = try agent.exchange(demand, plainText: isBare).body
        } catch {
            throw error.about(demand.session)
        }
        if isBare { return try StandardOutput.write(GetOptions.checkedLine(body)) }
        let status = AgentRequest(.get, "sessions", demand.session)
        let about: SessionMessage? =
            format == .json ? try? agent.message(status, timeout: .seconds(5)) : nil
        try StandardOutput.write(
            format.render(body, wantsProof: demand.proof != nil, for: place, about: about)
        )
    }

    /// Checks that the options fit together.
    package func check() throws(AgentError) {
        try format.check(place)
        guard demand.proof != nil else { return }
        guard format.hasPlaceForProof else {
            throw AgentError(.badRequest, "--dpop-url needs --format json, header or curl")
        }
        guard !demand.wantsIDToken else {
            throw AgentError(.badRequest, "--dpop-url is for access tokens and excludes --id-token")
        }
    }

    /// The bare token as the agent sent it, if it is one line of visible ASCII.
    private static func checkedLine(_ body: [UInt8]) throws(AgentError) -> [UInt8] {
        guard body.last == 0x0A, body.dropLast().isVisibleWord else {
            throw AgentError(.internal, "the agent's answer is not a token")
        }
        return body
    }
}

extension AgentError {
    /// The same failure with the session it is about, if the agent did not say.
    package func about(_ session: String) -> AgentError {
        var error = self
        error.session = error.session ?? session
        return error
    }
}
