// SPDX-License-Identifier: MIT

import AgentProtocol
import NIOCore
import TokenCore

/// What a person is asked once: all requests of one process for one token while the question is open.
struct ConfirmationKey: Hashable {
    var process: Int32
    /// Tells the process from a later one of the same number.
    var startedAt: Instant?
    var session: SessionName
    var variant: TokenVariant
    var socket: String?
}

/// A request that goes on once a person has said yes.
struct UnconfirmedRequest {
    var call: TokenCall
    var proceed: @Sendable (isolated SessionAgent) throws(RequestFailure) -> Void
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
        _ variant: TokenVariant,
        within timeout: Duration?,
        then proceed: @escaping @Sendable (isolated SessionAgent) throws(RequestFailure) -> Void
    ) {
        let key = ConfirmationKey(
            process: call.connection.peer.processID,
            startedAt: call.connection.facts?.startedAt,
            session: call.session,
            variant: variant,
            socket: call.connection.restrictedPath
        )
        let limit = min(Self.patience, timeout ?? Self.patience)
        guard limit > .zero else {
            return deny(call, "A person must confirm it, and the request does not wait.")
        }
        switch questions.add(UnconfirmedRequest(call: call, proceed: proceed), to: key) {
        case .asked:
            call.connection.awaited = .confirmation(key)
            let environment = environment(of: call)
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
                deny(request.call, objection)
                continue
            }
            do throws(RequestFailure) {
                guard isServing else { throw stopping }
                guard isShown(key.session, to: request.call.connection) else { throw unknown(key.session) }
                try request.proceed(self)
            } catch {
                answer(error, to: request.call)
            }
        }
    }

    private func deny(_ call: TokenCall, _ message: String) {
        audit(.denied, call.session, call.connection, isIDToken: call.wantsIDToken)
        log(.notice, "a token was not confirmed", call.session, ["pid": "\(call.connection.peer.processID)"])
        answer(RequestFailure(code: .denied, message: message, session: call.session), to: call)
    }

    /// Answers everybody for whom a person is being asked.
    func refuseUnconfirmed(_ failure: RequestFailure) {
        for request in questions.closeAll() { answer(failure, to: request.call) }
    }

    /// What the command is told, all of it fit for a screen.
    private func environment(of call: TokenCall) -> [String: String] {
        let connection = call.connection
        let program = connection.facts?.programs.first.map { ServerText.cleaned($0.executable) }
        let socket = connection.restrictedPath.map { ServerText.cleaned($0) }
        var environment = ["TOKENAGENT_SESSION": call.session.description]
        environment["TOKENAGENT_PEER_PID"] = "\(connection.peer.processID)"
        environment["TOKENAGENT_PEER_UID"] = "\(connection.peer.userID)"
        environment["TOKENAGENT_PEER_EXE"] = program
        environment["TOKENAGENT_PEER_UNIT"] = connection.facts?.unit.map { ServerText.cleaned($0) }
        environment["TOKENAGENT_PEER_SOCKET"] = socket
        let who =
            "\(program ?? "A program") (process \(connection.peer.processID), user \(connection.peer.userID))"
        let place = socket.map { " through \($0)" } ?? ""
        environment["TOKENAGENT_QUESTION"] = "\(who) asks for a token of \(call.session)\(place). Allow it?"
        return environment
    }
}
