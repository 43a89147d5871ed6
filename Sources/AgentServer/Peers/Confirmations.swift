// SPDX-License-Identifier: MIT

import AgentProtocol
import Logging
import TokenCore

/// What a peer wants and a person is asked about.
enum ConfirmedAction: String, Hashable {
    /// A token, also one from a refresh.
    case token
    case login
    case logout

    /// The words between the name of the program and that of the session.
    fileprivate var phrase: String {
        switch self {
        case .token: "asks for a token of"
        case .login: "wants to log in to"
        case .logout: "wants to log out of"
        }
    }
}

/// What a person is asked once: all requests of one process for one thing share a question while it is open.
struct ConfirmationKey: Hashable {
    var action: ConfirmedAction
    var process: Int32
    /// Tells the process from a later one of the same number.
    var startedAt: Instant?
    /// Tells the program that the question names from one that the process has become since.
    var image: String?
    var session: SessionName
    var variant: TokenVariant
    var restriction: String?

    init(_ call: PendingTokenRequest, _ action: ConfirmedAction, _ variant: TokenVariant) {
        let connection = call.connection
        self.action = action
        process = connection.caller.peer.processID
        startedAt = connection.caller.witness.facts?.startedAt
        image = connection.caller.witness.facts?.image
        session = call.session
        self.variant = variant
        restriction = connection.caller.restriction?.name
    }
}

/// A request that goes on once a person has said yes.
struct UnconfirmedRequest {
    var call: PendingTokenRequest
    var proceed: @Sendable (isolated SessionAgent, PendingTokenRequest) throws(RequestFailure) -> Void
}

/// The questions that a person is asked before something is given out or done.
///
/// Confined to the agent's event loop.
final class Confirmations {
    /// Longest a person may take; shorter when the request itself waits less.
    static let patience = Duration.seconds(30)

    private let commands: any CommandRunning
    private let logger: Logger
    private let tokens: TokenRequests
    private var questions = PendingConfirmations()

    init(commands: any CommandRunning, logger: Logger, tokens: TokenRequests) {
        self.commands = commands
        self.logger = logger
        self.tokens = tokens
    }

    /// How many requests wait for a person.
    var waitingCount: Int { questions.waiting }

    /// Asks a person first, if the session's rules want it; then `serve` goes on.
    ///
    /// The person may take as long as the request waits (`timeout`), and no longer than ``patience``.
    func confirmed(
        _ call: PendingTokenRequest,
        to action: ConfirmedAction = .token,
        _ variant: TokenVariant = .primary,
        within timeout: Duration? = nil,
        in agent: isolated SessionAgent,
        _ serve:
            @escaping @Sendable (isolated SessionAgent, PendingTokenRequest) throws(RequestFailure) -> Void
    ) throws(RequestFailure) {
        guard agent.configuration.needsConfirmation(call.session, for: call.connection) else {
            return try serve(agent, call)
        }
        ask(call, action, variant, within: timeout, in: agent, then: serve)
    }

    /// Asks the person, or joins the question that is open already.
    private func ask(
        _ call: PendingTokenRequest,
        _ action: ConfirmedAction,
        _ variant: TokenVariant,
        within timeout: Duration?,
        in agent: isolated SessionAgent,
        then proceed:
            @escaping @Sendable (isolated SessionAgent, PendingTokenRequest) throws(RequestFailure) -> Void
    ) {
        var call = call
        call.consent = .given(call.connection.caller.witness.facts)
        let key = ConfirmationKey(call, action, variant)
        let limit = min(Self.patience, timeout ?? Self.patience)
        guard limit > .zero else {
            return deny(call, action, "A person must confirm it, and the request does not wait.", in: agent)
        }
        switch questions.add(UnconfirmedRequest(call: call, proceed: proceed), to: key) {
        case .asked:
            call.connection.awaited = .confirmation(key)
            let environment = Self.environment(of: call, action)
            Task { finish(key, await ask(environment, within: limit, in: agent), in: agent) }
        case .joined: call.connection.awaited = .confirmation(key)
        case .refused:
            let failure = RequestFailure(
                code: .temporarilyUnavailable,
                message: "Too many questions wait for an answer.",
                session: call.session,
                retryAfter: limit
            )
            tokens.answer(failure, to: call, in: agent)
        }
    }

    /// Runs the command that asks; returns `nil` if the person agrees, else the reason for the refusal.
    func ask(
        _ environment: [String: String],
        within limit: Duration,
        in agent: isolated SessionAgent
    ) async -> String? {
        let command = agent.configuration.current.confirmCommand
        guard !command.isEmpty else { return "There is no command that asks for confirmation." }
        do throws(CommandFailure) {
            let result = try await commands.run(command, environment: environment, timeLimit: limit)
            if let complaint = result.complaint {
                let text: Logger.Metadata = ["status": "\(result.status)", "error": "\(complaint)"]
                logger.info("confirm_command wrote to its standard error", metadata: text)
            }
            return result.status == 0 ? nil : "It was not confirmed."
        } catch {
            logger.warning("no confirmation", metadata: ["reason": "\(error.message)"])
            return "Nobody confirmed it."
        }
    }

    private func finish(_ key: ConfirmationKey, _ objection: String?, in agent: isolated SessionAgent) {
        for request in questions.close(key) {
            request.call.connection.awaited = nil
            if let objection {
                deny(request.call, key.action, objection, in: agent)
                continue
            }
            // The person has agreed to the program that was named, not to one that the process may be by now.
            tokens.lookAgain(at: request.call, in: agent) { [tokens] call in
                do throws(RequestFailure) {
                    try request.proceed(agent, call)
                } catch {
                    tokens.answer(error, to: call, in: agent)
                }
            }
        }
    }

    private func deny(
        _ call: PendingTokenRequest,
        _ action: ConfirmedAction,
        _ message: String,
        in agent: isolated SessionAgent
    ) {
        let origin = AuditRecord.Origin.peer(of: call.connection)
        switch action {
        case .token: agent.audit.add(.denied, call.session, call.connection, isIDToken: call.wantsIDToken)
        case .login: agent.audit.add(.login, .denied, call.session, by: origin)
        case .logout: agent.audit.add(.logout, .denied, call.session, by: origin)
        }
        let metadata: Logger.Metadata = [
            "action": "\(action.rawValue)", "pid": "\(call.connection.caller.peer.processID)",
        ]
        agent.journal.write(.notice, "a request was not confirmed", call.session, metadata)
        let failure = RequestFailure(code: .denied, message: message, session: call.session)
        tokens.answer(failure, to: call, in: agent)
    }

    /// The peer of `connection` left.
    func withdraw(_ connection: Connection, from key: ConfirmationKey) {
        questions.withdraw(connection, from: key)
    }

    /// Answers all requests about which a person is being asked.
    func refuseAll(_ failure: RequestFailure, in agent: isolated SessionAgent) {
        for request in questions.closeAll() { tokens.answer(failure, to: request.call, in: agent) }
    }

    /// What the command is told, all of it safe to show on a screen.
    private static func environment(
        of call: PendingTokenRequest,
        _ action: ConfirmedAction
    ) -> [String: String] {
        let caller = call.connection.caller
        let program = caller.witness.facts?.programs.first.map { ServerText.cleaned($0.executable) }
        var environment = ["TOKENAGENT_SESSION": call.session.description]
        environment["TOKENAGENT_ACTION"] = action.rawValue
        environment["TOKENAGENT_PEER_PID"] = "\(caller.peer.processID)"
        environment["TOKENAGENT_PEER_UID"] = "\(caller.peer.userID)"
        environment["TOKENAGENT_PEER_EXE"] = program
        environment["TOKENAGENT_PEER_UNIT"] = caller.witness.facts?.unit.map { ServerText.cleaned($0) }
        var place = ""
        switch caller.restriction {
        case .socket(let path):
            environment["TOKENAGENT_PEER_SOCKET"] = ServerText.cleaned(path)
            place = " through \(ServerText.cleaned(path))"
        case .forwarding(let forwarding):
            environment["TOKENAGENT_PEER_HOST"] = forwarding.host
            place = " for \(forwarding.host)"
        case nil: break
        }
        let who =
            "\(program ?? "A program") (process \(caller.peer.processID), user \(caller.peer.userID))"
        environment["TOKENAGENT_QUESTION"] = "\(who) \(action.phrase) \(call.session)\(place). Allow it?"
        return environment
    }
}
