// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// The parsed options of `tokenctl get`.
///
/// This folder is the part of the command line client that `tokenctl` and `tokenctl-commands` share.
///
/// - Entry points: ``GetOptions`` for `get`, ``AgentEndpoint`` for requests to the agent,
///   ``CommandLineRun`` for errors and exit statuses.
/// - May not: link the argument parser or Foundation, because every `tokenctl get` pays for the start.
package struct GetOptions: Equatable {
    package internal(set) var tokenRequest: TokenRequest
    var format: TokenFormat
    var place: HostAndUser
    package internal(set) var endpoint: AgentEndpoint

    package init(
        tokenRequest: TokenRequest,
        format: TokenFormat = .token,
        place: HostAndUser = HostAndUser(),
        endpoint: AgentEndpoint = AgentEndpoint()
    ) {
        self.tokenRequest = tokenRequest
        self.format = format
        self.place = place
        self.endpoint = endpoint
    }

    /// Requests the token and prints it.
    ///
    /// For the bare token, neither side writes or parses JSON.
    ///
    /// - Throws: ``AgentError`` from the checks, the agent, or the write to standard output.
    package func carryOut() throws(AgentError) {
        try check()
        var agent = try endpoint.waiting(as: tokenRequest).connect()
        let isBare = format == .token
        let body: [UInt8]
        do {
            body = try agent.exchange(tokenRequest, plainText: isBare).body
        } catch {
            throw error.about(tokenRequest.session)
        }
        if isBare { return try StandardOutput.write(GetOptions.checkedLine(body)) }
        let status = AgentRequest(.get, "sessions", tokenRequest.session)
        let about: SessionMessage? =
            format == .json ? try? agent.message(status, timeout: .seconds(5)) : nil
        try StandardOutput.write(
            format.render(body, wantsProof: tokenRequest.proof != nil, for: place, about: about)
        )
    }

    /// Checks that the options can be combined.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest`.
    package func check() throws(AgentError) {
        try format.check(place)
        guard tokenRequest.proof != nil else { return }
        guard format.hasPlaceForProof else {
            throw AgentError(.badRequest, "--dpop-url requires --format json, header or curl")
        }
        guard !tokenRequest.wantsIDToken else {
            throw AgentError(.badRequest, "--dpop-url cannot be combined with --id-token")
        }
    }

    /// Returns the bare token as the agent sent it, and requires one line of visible ASCII.
    private static func checkedLine(_ body: [UInt8]) throws(AgentError) -> [UInt8] {
        guard body.last == 0x0A, body.dropLast().isVisibleWord else {
            throw AgentError(.internal, "the agent's response is not a token")
        }
        return body
    }
}

extension AgentError {
    /// Returns this error with `session` as its session unless the agent named one.
    package func about(_ session: String) -> AgentError {
        var error = self
        error.session = error.session ?? session
        return error
    }
}
