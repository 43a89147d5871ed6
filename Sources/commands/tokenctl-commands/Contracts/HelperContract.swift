// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// The contract with another program: its requests, and the format of responses and errors.
///
/// A new contract is one file with a type that conforms to this protocol, and its line in ``RootCommand``.
protocol HelperContract {
    /// Parses the request of the program, or returns `nil` if the agent cannot have such a credential.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest` if the request does not follow the contract.
    func question() throws(AgentError) -> CredentialRequest?
    /// The way in which the program shows that its server rejected the last credential.
    var refusalSign: RejectionSign { get }
    /// Formats `credential` for standard output.
    func answer(_ credential: HelperCredential) -> String
    /// The response if no session is for the server.
    var nothing: HelperResponse { get }
    /// Returns the response if there is a session but no token.
    func failure(_ error: AgentError) -> HelperResponse
}

extension HelperContract {
    var refusalSign: RejectionSign { .none }

    var nothing: HelperResponse { HelperResponse() }

    func failure(_ error: AgentError) -> HelperResponse {
        HelperResponse(complaint: error, status: error.code.exitStatus)
    }
}

/// A token and the user name for it.
struct HelperCredential {
    var token: AgentToken
    /// The user name for Basic authentication; most servers that accept tokens there ignore it.
    var user: String
}

/// The response to the other program.
struct HelperResponse {
    var output = ""
    /// The error to print on standard error.
    var complaint: AgentError?
    var status: Int32 = 0
}

/// A run of a helper command, which responds to one request as the contract requires.
struct HelperRun {
    var endpoint: AgentEndpoint
    var timeout: Duration?
    /// Whether a session without `hosts` may be used for every server.
    var isForAnyHost = false

    /// Responds to one request.
    ///
    /// - Returns: The exit status.
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
        var tokenRequest = TokenRequest(session: choice.session, wantsIDToken: question.wantsIDToken)
        tokenRequest.timeout = timeout
        let token: AgentToken
        do {
            let ask = RejectionAwareRequest(
                tokenRequest: tokenRequest,
                sign: contract.refusalSign,
                endpoint: endpoint
            )
            token = try ask.token()
        } catch {
            throw error.about(choice.session)
        }
        let user = question.user ?? choice.user ?? HostAndUser.commonUser
        guard user.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw AgentError(.badRequest, "the user name contains a control character")
        }
        return HelperResponse(output: contract.answer(HelperCredential(token: token, user: user)))
    }

    /// Adds an error to `reply` if no request without a session can succeed, because no session has `hosts`.
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
            "no session lists \(host) in hosts",
            remedy: ConfigurationRemedy.change(.set("hosts in [session.NAME]"))
        )
        return reply
    }

    private func give(_ reply: HelperResponse) throws(AgentError) -> Int32 {
        if !reply.output.isEmpty { try StandardOutput.write(Array(reply.output.utf8)) }
        if let complaint = reply.complaint.map({ ConfigurationRemedy.rest(of: $0, at: endpoint) }) {
            FailureReport.tell(complaint)
        }
        return reply.status
    }
}
