// SPDX-License-Identifier: MIT

import AgentProtocol
import Logging
import TokenCore

/// A request that continues once the user has agreed.
struct RequestToConfirm {
    var call: PendingTokenRequest
    var proceed: (PendingTokenRequest) throws(RequestFailure) -> Void
}

/// The confirmations that the user gives before a token is served or an action is taken.
///
/// - Entry points: ``confirmed(_:to:_:within:_:)``.
/// - Runs on: the agent's event loop, to which it is confined.
final class Confirmations {
    /// The maximum time for the user's reply: 30 seconds, or less if the request itself waits less.
    static let maximumTimeout = Duration.seconds(30)

    private let commands: any CommandRunning
    private let configuration: LiveConfiguration
    private let tokens: TokenRequests
    private let audit: AuditLog
    private let log: SessionLog
    private let tasks: LoopTasks
    private var questions = PendingConfirmations()

    init(
        commands: any CommandRunning,
        configuration: LiveConfiguration,
        tokens: TokenRequests,
        audit: AuditLog,
        log: SessionLog,
        tasks: LoopTasks
    ) {
        self.commands = commands
        self.configuration = configuration
        self.tokens = tokens
        self.audit = audit
        self.log = log
        self.tasks = tasks
    }

    /// The number of requests that wait for the user.
    var waitingCount: Int { questions.waiting }

    /// Calls `serve`, after the user's confirmation if the session's rules require it.
    ///
    /// The user has as much time as the request waits (`timeout`), but at most ``maximumTimeout``.
    func confirmed(
        _ call: PendingTokenRequest,
        to action: ConfirmedAction = .token,
        _ variant: TokenVariant = .primary,
        within timeout: Duration? = nil,
        then serve: @escaping (PendingTokenRequest) throws(RequestFailure) -> Void
    ) throws(RequestFailure) {
        guard configuration.needsConfirmation(call.session, for: call.connection) else {
            return try serve(call)
        }
        ask(call, action, variant, within: timeout, then: serve)
    }

    /// Prompts the user, or adds the request to the prompt that is already open.
    private func ask(
        _ call: PendingTokenRequest,
        _ action: ConfirmedAction,
        _ variant: TokenVariant,
        within timeout: Duration?,
        then proceed: @escaping (PendingTokenRequest) throws(RequestFailure) -> Void
    ) {
        var call = call
        call.consent = .given(call.connection.caller.witness.facts)
        let key = ConfirmationKey(of: call.connection, call.session, action, variant)
        let limit = min(Self.maximumTimeout, timeout ?? Self.maximumTimeout)
        guard limit > .zero else {
            let message = "requires confirmation, and the request does not wait"
            return deny(call, action, message)
        }
        switch questions.add(RequestToConfirm(call: call, proceed: proceed), to: key) {
        case .asked:
            call.connection.awaited = .confirmation(key)
            let environment = Self.environment(of: call, action)
            tasks.start { self.finish(key, await self.ask(environment, within: limit)) }
        case .joined: call.connection.awaited = .confirmation(key)
        case .refused:
            let failure = RequestFailure(
                code: .temporarilyUnavailable,
                message: "too many confirmation prompts open",
                session: call.session,
                retryAfter: limit
            )
            tokens.answer(failure, to: call)
        }
    }

    /// Runs the command that prompts the user.
    ///
    /// - Returns: `nil` if the user agrees, otherwise the reason for the denial.
    func ask(_ environment: [String: String], within limit: Duration) async -> String? {
        let command = configuration.current.confirmCommand
        guard !command.isEmpty else { return "requires confirmation, and hooks.confirm is not set" }
        do throws(CommandFailure) {
            let result = try await commands.run(command, environment: environment, timeLimit: limit)
            if let complaint = result.complaint {
                let text: Logger.Metadata = ["status": "\(result.status)", "error": "\(complaint)"]
                log.logger.info("confirm_command wrote to its standard error", metadata: text)
            }
            return result.status == 0 ? nil : "denied at the confirmation prompt"
        } catch {
            log.logger.warning("confirmation prompt failed", metadata: ["reason": "\(error.message)"])
            return "confirmation prompt timed out"
        }
    }

    private func finish(_ key: ConfirmationKey, _ objection: String?) {
        for request in questions.close(key) {
            request.call.connection.awaited = nil
            if let objection {
                deny(request.call, key.action, objection)
                continue
            }
            // The user has agreed to the program named in the prompt. The process may have executed another
            // one since.
            tokens.lookAgain(at: request.call) { [tokens] call in
                do throws(RequestFailure) {
                    try request.proceed(call)
                } catch {
                    tokens.answer(error, to: call)
                }
            }
        }
    }

    private func deny(_ call: PendingTokenRequest, _ action: ConfirmedAction, _ message: String) {
        let origin = RequestInitiator.peer(of: call.connection)
        switch action {
        case .token: audit.add(.denied, call.session, call.connection, isIDToken: call.wantsIDToken)
        case .login: audit.add(.login, .denied, call.session, by: origin)
        case .logout: audit.add(.logout, .denied, call.session, by: origin)
        }
        let metadata: Logger.Metadata = [
            "action": "\(action.rawValue)", "pid": "\(call.connection.caller.peer.processID)",
        ]
        log.write(.notice, "request denied: not confirmed", call.session, metadata)
        let failure = RequestFailure(code: .denied, message: message, session: call.session)
        tokens.answer(failure, to: call)
    }

    /// Removes the requests of `connection`, whose peer left.
    func withdraw(_ connection: Connection, from key: ConfirmationKey) {
        questions.withdraw(connection, from: key)
    }

    /// Fails all requests that wait for the user.
    func refuseAll(_ failure: RequestFailure) {
        for request in questions.closeAll() { tokens.answer(failure, to: request.call) }
    }

    /// Returns the environment of the command.
    ///
    /// All values are safe to show on a screen.
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
