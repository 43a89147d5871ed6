// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser

/// The options of every command that another program calls.
struct HelperOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The session; else the one whose hosts name the server.", valueName: "name"))
    var session: SessionArgument?

    @OptionGroup var agent: EndpointOptions

    private var endpoint: AgentEndpoint { agent.endpoint }

    /// Does what `contract` says.
    ///
    /// - Throws: the exit status, unless it is 0.
    func answer(_ contract: some HelperContract, timeout: Duration? = nil) throws {
        let status = try HelperRun(endpoint: endpoint, timeout: timeout).answer(contract)
        if status != 0 { throw ExitCode(status) }
    }

    /// Tells the agent that a server refused `token`, whatever comes of it.
    func report(_ token: String, for question: HelperQuestion) {
        guard let choice = try? SessionChoice(for: question, endpoint),
            let secret = try? Secret(Array(token.utf8), of: "token")
        else { return }
        var json = JSONBody()
        json.add("token", secret: secret)
        json.add("status", 401)
        var request = AgentRequest(.post, "sessions", choice.session, "report", body: json.finished())
        defer { request.wipeBody() }
        _ = try? endpoint.object(request)
    }

    /// The sessions that say which servers they are for.
    func sessions() throws(AgentError) -> SessionsOfHosts {
        SessionsOfHosts(try endpoint.object(AgentRequest(.get, "sessions")).sessions)
    }
}
