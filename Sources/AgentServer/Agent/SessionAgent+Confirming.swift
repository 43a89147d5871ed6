// SPDX-License-Identifier: MIT

import AgentProtocol
import Logging
import NIOCore
import TokenCore

/// What somebody wants that a person is asked about.
enum ConfirmedAction: String, Hashable {
    /// A token, be it a refreshed one.
    case token
    case login
    case logout

    /// After the name of the program, before that of the session.
    fileprivate var phrase: String {
        switch self {
        case .token: "asks for a token of"
        case .login: "wants to log in to"
        case .logout: "wants to log out of"
        }
    }
}

/// What a person is asked once: all requests of one process for one thing while the question is open.
struct ConfirmationKey: Hashable {
    var action: ConfirmedAction
    var process: Int32
    /// Tells the process from a later one of the same number.
    var startedAt: Instant?
    /// Tells the program that the question names from one that the process became since.
    var image: String?
    var session: SessionName
    var variant: TokenVariant
    var socket: String?
}

/// A request that goes on once a person has said yes.
struct UnconfirmedRequest {
    var call: TokenCall
    var proceed: @Sendable (isolated SessionAgent, TokenCall) throws(RequestFailure) -> Void
}

extension SessionAgent {
    /// Longest a person may take; shorter when the request itself waits less.
    private static let patience = Duration.seconds(30)

    /// Whether a person is to be asked before `connection` gets a token of `name`.
    func needsConfirmation(_ name: SessionName, for connection: Connection) -> Bool {
        rules.exist && admission(of: connection, to: name) == .askingFirst
    }

    /// Asks the person, or joins the question that is open already, then goes on.
    func confirm(
        _ call: TokenCall,
        _ action: ConfirmedAction,
        _ variant: TokenVariant,
        within timeout: Duration?,
        then proceed: @escaping @Sendable (isolated SessionAgent, TokenCall) throws(RequestFailure) -> Void
    ) {
        var call = call
        call.consent = .given(call.connection.witness.facts)
        let key = ConfirmationKey(
            action: action,
            process: call.connection.peer.processID,
            startedAt: call.connection.witness.facts?.startedAt,
            image: call.connection.witness.facts?.image,
            session: call.session,
            variant: variant,
            socket: call.connection.restrictedPath
        )
        let limit = min(Self.patience, timeout ?? Self.patience)
        guard limit > .zero else {
            return deny(call, action, "A person must confirm it, and the request does not wait.")
        }
        switch questions.add(UnconfirmedRequest(call: call, proceed: proceed), to: key) {
        case .asked:
            call.connection.awaited = .confirmation(key)
            let environment = environment(of: call, action)
            Task { finish(key, await ask(environment, within: limit)) }
        case .joined: call.connection.awaited = .confirmation(key)
        case .refused:
            let message = "Too many questions wait for an answer."
            answer(
                RequestFailure(
                    code: .temporarilyUnavailable,
                    message: message,
                    session: call.session,
                    retryAfter: limit
                ),
                to: call
            )
        }
    }

    /// Runs the command that asks; `nil`: the person agrees, else why there is no token.
    func ask(_ environment: [String: String], within limit: Duration) async -> String? {
        let command = configuration.confirmCommand
        guard !command.isEmpty else { return "There is no command that asks for confirmation." }
        do throws(CommandFailure) {
            let result = try await ports.commands.run(command, environment: environment, timeLimit: limit)
            return result.status == 0 ? nil : "It was not confirmed."
        } catch {
            ports.logger.warning("no confirmation", metadata: ["reason": "\(error.message)"])
            return "Nobody confirmed it."
        }
    }

    private func finish(_ key: ConfirmationKey, _ objection: String?) {
        for request in questions.close(key) {
            request.call.connection.awaited = nil
            if let objection {
                deny(request.call, key.action, objection)
                continue
            }
            // The person has agreed to the program that was named, not to what the process may be by now.
            lookAgain(at: request.call) { agent, call in
                do throws(RequestFailure) {
                    try request.proceed(agent, call)
                } catch {
                    agent.answer(error, to: call)
                }
            }
        }
    }

    private func deny(_ call: TokenCall, _ action: ConfirmedAction, _ message: String) {
        switch action {
        case .token: audit(.denied, call.session, call.connection, isIDToken: call.wantsIDToken)
        case .login: audit(.login, .denied, call.session, by: AuditRecord.Origin(call.connection))
        case .logout: audit(.logout, .denied, call.session, by: AuditRecord.Origin(call.connection))
        }
        let metadata: Logger.Metadata = [
            "action": "\(action.rawValue)", "pid": "\(call.connection.peer.processID)",
        ]
        log(.notice, "a request was not confirmed", call.session, metadata)
        answer(RequestFailure(code: .denied, message: message, session: call.session), to: call)
    }

    /// Answers everybody for whom a person is being asked.
    func refuseUnconfirmed(_ failure: RequestFailure) {
        for request in questions.closeAll() { answer(failure, to: request.call) }
    }

    /// What the command is told, all of it fit for a screen.
    private func environment(of call: TokenCall, _ action: ConfirmedAction) -> [String: String] {
        let connection = call.connection
        let program = connection.witness.facts?.programs.first.map { ServerText.cleaned($0.executable) }
        let socket = connection.restrictedPath.map { ServerText.cleaned($0) }
        var environment = ["TOKENAGENT_SESSION": call.session.description]
        environment["TOKENAGENT_ACTION"] = action.rawValue
        environment["TOKENAGENT_PEER_PID"] = "\(connection.peer.processID)"
        environment["TOKENAGENT_PEER_UID"] = "\(connection.peer.userID)"
        environment["TOKENAGENT_PEER_EXE"] = program
        environment["TOKENAGENT_PEER_UNIT"] = connection.witness.facts?.unit.map { ServerText.cleaned($0) }
        environment["TOKENAGENT_PEER_SOCKET"] = socket
        let who =
            "\(program ?? "A program") (process \(connection.peer.processID), user \(connection.peer.userID))"
        let place = socket.map { " through \($0)" } ?? ""
        environment["TOKENAGENT_QUESTION"] = "\(who) \(action.phrase) \(call.session)\(place). Allow it?"
        return environment
    }
}
