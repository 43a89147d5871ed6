// SPDX-License-Identifier: MIT

import AgentProtocol
import StrictJSON

/// What `tokenctl get` was asked to do.
struct GetOrder {
    var demand: TokenDemand
    var format = TokenFormat.token
    /// Whom a mail server knows; needed by the `sasl-` formats.
    var user: String?
    var endpoint = AgentEndpoint()

    /// Asks for the token and prints it.
    ///
    /// The bare token takes no JSON on either side.
    func carryOut() throws(AgentError) {
        try check()
        var agent = try endpoint.connect()
        let isBare = format == .token
        let body: [UInt8]
        do {
            body = try agent.exchange(demand.request(plainText: isBare), timeout: demand.patience).body
        } catch {
            throw error.about(demand.session)
        }
        if isBare { return try StandardOutput.write(GetOrder.checkedLine(body)) }
        let about =
            format == .json
            ? try? agent.object(AgentRequest(.get, "sessions", demand.session), timeout: .seconds(5)) : nil
        try StandardOutput.write(
            format.render(body, wantsProof: demand.proof != nil, user: user, about: about ?? JSONObject())
        )
    }

    /// Checks that the options fit together.
    private func check() throws(AgentError) {
        try format.check(user: user)
        guard demand.proof != nil else { return }
        guard format.hasPlaceForProof else {
            throw AgentError(.badRequest, "--dpop-url needs --format json, header or curl")
        }
        guard demand.wantsIDToken == false else {
            throw AgentError(.badRequest, "--dpop-url is for access tokens and excludes --id-token")
        }
    }

    /// The bare token as the agent sent it, if it is one line of visible ASCII.
    private static func checkedLine(_ body: [UInt8]) throws(AgentError) -> [UInt8] {
        guard body.count > 1, body.last == 0x0A, body.dropLast().allSatisfy({ (0x21..<0x7F).contains($0) })
        else { throw AgentError(.internal, "the agent's answer is not a token") }
        return body
    }
}

extension AgentError {
    /// The same failure with the session it is about, if the agent did not say.
    func about(_ session: String) -> AgentError {
        var error = self
        error.session = error.session ?? session
        return error
    }
}
