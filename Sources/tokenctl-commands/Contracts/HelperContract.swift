// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore

/// A contract with another program: how it asks for a credential, and how it wants the answer or the failure.
///
/// A new contract is one file with a type that conforms to this, and its line in ``CommandTree``.
protocol HelperContract {
    /// What the program asks; nil if it wants nothing that we have.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest` if the question does not follow the contract.
    func question() throws(AgentError) -> CredentialRequest?
    /// How the program shows that its server refused the last credential.
    var refusalSign: RefusalSign { get }
    /// The answer for standard output.
    func answer(_ credential: HelperCredential) -> String
    /// What is said when no session is for the server.
    var nothing: HelperResponse { get }
    /// What is said when there is a session, but no token.
    func failure(_ error: AgentError) -> HelperResponse
}

extension HelperContract {
    var refusalSign: RefusalSign { .none }

    var nothing: HelperResponse { HelperResponse() }

    func failure(_ error: AgentError) -> HelperResponse {
        HelperResponse(complaint: error, status: error.code.exitStatus)
    }
}

/// What another program asks for.
struct CredentialRequest {
    /// Nil: whichever session is for ``server``.
    var session: String?
    /// The server the token is for, if the program says.
    var server: ServerAddress?
    /// The user name that the program wants to use there.
    var user: String?
    var wantsIDToken = false
}

/// A token, and the user name to give with it.
struct HelperCredential {
    var token: AgentToken
    /// For Basic authentication; servers that take tokens there hardly look at it.
    var user: String
}

/// What goes to the other program.
struct HelperResponse {
    var output = ""
    /// Said on standard error.
    var complaint: AgentError?
    var status: Int32 = 0
}

/// Answers another program as its contract says.
struct HelperRun {
    var endpoint: AgentEndpoint
    var timeout: Duration?
    /// Whether a session that names no servers is for all of them.
    var isForAnyHost = false

    /// Answers one question and returns the exit status.
    func answer(_ contract: some HelperContract) throws(AgentError) -> Int32 {
        guard let question = try contract.question() else { return try give(contract.nothing) }
        let reply: HelperResponse
        do {
            reply = try self.reply(to: question, contract)
        } catch {
            reply = contract.failure(question.session.map { error.about($0) } ?? error)
        }
        return try give(reply)
    }

    private func reply(
        to question: CredentialRequest,
        _ contract: some HelperContract
    ) throws(AgentError) -> HelperResponse {
        guard let choice = try SessionChoice(for: question, isForAnyHost: isForAnyHost, endpoint) else {
            return try silence(contract.nothing, of: question)
        }
        var demand = TokenRequest(session: choice.session, wantsIDToken: question.wantsIDToken)
        demand.timeout = timeout
        let token: AgentToken
        do {
            let ask = RejectionAwareRequest(demand: demand, sign: contract.refusalSign, endpoint: endpoint)
            token = try ask.token()
        } catch {
            throw error.about(choice.session)
        }
        let user = question.user ?? choice.user ?? TokenDestination.commonUser
        guard user.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw AgentError(.badRequest, "the user name holds a control character, which would end its line")
        }
        return HelperResponse(output: contract.answer(HelperCredential(token: token, user: user)))
    }

    /// `reply`, with what a person has forgotten where no question could ever be answered.
    private func silence(
        _ reply: HelperResponse,
        of question: CredentialRequest
    ) throws(AgentError) -> HelperResponse {
        guard reply.complaint == nil, question.session == nil else { return reply }
        let sessions = try endpoint.sessions()
        guard !sessions.isEmpty, sessions.allSatisfy({ SessionChoice.rules($0).isEmpty }) else {
            return reply
        }
        let host = question.server.map(\.hostRule) ?? "a server"
        var reply = reply
        reply.complaint = AgentError(
            .notFound,
            "no session names a server in hosts",
            remedy: ConfigurationRemedy.change("add \(host) to hosts of the session that is for it")
        )
        return reply
    }

    private func give(_ reply: HelperResponse) throws(AgentError) -> Int32 {
        if !reply.output.isEmpty { try StandardOutput.write(Array(reply.output.utf8)) }
        if let complaint = reply.complaint.map({ ConfigurationRemedy.rest(of: $0, at: endpoint) }) {
            StandardError.write("tokenctl: \(FailureReport.line(for: complaint))\n")
        }
        return reply.status
    }
}
