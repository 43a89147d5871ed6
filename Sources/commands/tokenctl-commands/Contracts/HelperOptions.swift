// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore

/// The options of all commands that other programs call.
struct HelperOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The session; by default the one that lists the server in hosts.",
            valueName: "name"
        )
    )
    var session: SessionArgument?

    @Flag(name: .customLong("any-host"), help: "Allow every server if the session lists none in hosts.")
    var isForAnyHost = false

    @OptionGroup var agent: AgentEndpointOptions

    private var endpoint: AgentEndpoint { agent.endpoint }

    /// Responds to one request as `contract` requires.
    ///
    /// - Throws: ``ExitCode`` if the exit status is not 0, or ``AgentError`` if the request is invalid.
    func answer(_ contract: some HelperContract, timeout: Duration? = nil) throws {
        let run = HelperRun(endpoint: endpoint, timeout: timeout, isForAnyHost: isForAnyHost)
        let status = try run.answer(contract)
        if status != 0 { throw ExitCode(status) }
    }

    /// Reports to the agent that a server rejected `token`, and ignores errors.
    func report(_ token: String, for question: CredentialRequest) {
        guard let choice = choice(for: question),
            let secret = try? Secret(Array(token.utf8), of: "token")
        else { return }
        var json = AgentRequestBody<RejectionReportRequestMembers>()
        json.add(\.token, secret: secret)
        json.add(\.status, 401)
        if let place = question.server?.place { json.add(\.host, place.text) }
        var request = AgentRequest(.post, "sessions", choice.session, "report", body: json.finished())
        defer { request.wipeBody() }
        try? endpoint.send(request)
    }

    /// Replaces the session's token for later requests, at most once a minute, and ignores errors.
    func replaceToken(for question: CredentialRequest) {
        guard let choice = choice(for: question),
            RecentRequestCache(of: endpoint)?.mayRefresh(choice.session) == true
        else { return }
        let tokenRequest = TokenRequest(session: choice.session)
        guard let token = try? endpoint.token(tokenRequest) else { return }
        endpoint.replace(token, tokenRequest)
    }

    private func choice(for question: CredentialRequest) -> SessionChoice? {
        try? SessionChoice(for: question, isForAnyHost: isForAnyHost, endpoint)
    }

    /// Returns the servers in the `hosts` of all sessions.
    func sessions() throws(AgentError) -> SessionsOfHosts {
        SessionsOfHosts(try endpoint.sessions())
    }
}
