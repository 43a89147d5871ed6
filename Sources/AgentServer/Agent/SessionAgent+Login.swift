// SPDX-License-Identifier: MIT

import AgentProtocol
import SealedStore
import Text
import TokenCore

extension SessionAgent {
    /// Serves `POST …/login`: the answer is the login's progress, line by line.
    func serveLogin(
        _ request: HTTPRequest,
        _ name: SessionName,
        on connection: Connection
    ) throws(RequestFailure) {
        let body = try RequestBody(request.body, members: ["flow", "paste", "username", "secret"])
        guard sessions[name] != nil else { throw unknown(name) }
        guard phase == .working else { throw stopping }
        let flow = try Self.flow(body.string("flow"))
        var login = LoginRequest(flow: flow, pastesRedirect: try body.bool("paste") ?? false)
        login.username = try body.string("username")
        if let secret = try body.string("secret") {
            login.secret = try seal(secret, as: flow == .import ? .refreshToken : .password)
        }
        begin(login, name, on: connection)
    }

    /// Whoever knows the number of a login can answer its questions: no other program may guess it.
    private func unguessableNumber() -> LoginNumber {
        // The highest numbers are those of logins without a person.
        var number: LoginNumber
        repeat { number = LoginNumber(rawValue: .random(in: 1...(.max / 2))) } while logins[number] != nil
        return number
    }

    private func begin(_ login: LoginRequest, _ name: SessionName, on connection: Connection) {
        let number = unguessableNumber()
        connection.awaited = .login(number)
        connection.beginStream("application/x-ndjson")
        logins[number] = LoginConversation(
            session: name,
            connection: connection,
            given: [login.secret].compactMap(\.self)
        )
        log(.debug, "login started", name)
        if let words = mistake(for: connection) {
            logins[number]?.tell(["event": "notice", "message": .string(words)])
        }
        apply(name) { session, moment in session.loginStarted(number, at: moment) }
        logins[number]?.task = Task {
            let conversation = SocketConversation(agent: self, number: number)
            let outcome = await ports.authorization.logIn(name, login, conversation: conversation)
            eraseGiven(in: number, unlessKeptBy: outcome)
            loginFinished(number, outcome, for: name)
        }
    }

    /// Erases what the person gave; an imported refresh token may have become the session's own.
    private func eraseGiven(in number: LoginNumber, unlessKeptBy outcome: LoginOutcome) {
        var kept: SecretID?
        if case .granted(let grant) = outcome, case .refreshToken(let secret) = grant.renewal {
            kept = secret
        }
        for secret in logins[number]?.given ?? [] where secret != kept { erase(secret) }
        logins[number]?.given = []
    }

    private func loginFinished(_ number: LoginNumber, _ outcome: LoginOutcome, for name: SessionName) {
        let jitter = ports.chance()
        apply(name) { session, moment in
            session.loginFinished(number, outcome, jitter: jitter, at: moment)
        }
    }

    /// Serves `POST …/login/ID`: the answer to a question.
    func serveLoginAnswer(
        _ request: HTTPRequest,
        _ number: LoginNumber,
        _ name: SessionName
    ) throws(RequestFailure)
        -> Answer
    {
        let value = try RequestBody(request.body, members: ["value"]).requiredString("value")
        guard let login = logins[number], login.session == name, let question = login.question else {
            throw RequestFailure(
                code: .notFound,
                message: "No login of that number asks anything.",
                session: name
            )
        }
        let secret = try seal(value, as: question.kind == .refreshToken ? .refreshToken : .password)
        logins[number]?.question = nil
        logins[number]?.given.append(secret)
        question.answer.resume(returning: secret)
        return .json(["login": .string(String(number.rawValue))])
    }

    func tell(_ step: LoginStep, in number: LoginNumber) {
        logins[number]?.tell(step.line(in: number))
    }

    func ask(_ question: LoginQuestion, in number: LoginNumber) async throws -> SecretID {
        guard let login = logins[number], login.question == nil else { throw CancellationError() }
        return try await withCheckedThrowingContinuation { continuation in
            logins[number]?.question = (question.kind, continuation)
            login.tell(question.line(in: number))
        }
    }

    /// The person left: the server is no longer asked, and the session is as it was.
    func cancelLogin(_ number: LoginNumber) {
        guard let login = logins[number] else { return }
        apply(login.session) { session, moment in
            session.loginFinished(number, .cancelled, jitter: 0, at: moment)
        }
        end(number)
    }

    /// Writes the last line of a login.
    func finishLogin(_ number: LoginNumber, _ result: LoginResult, for name: SessionName) {
        journal.loginEnded(result, of: name)
        let origin = logins[number].map { AuditRecord.Origin($0.connection) } ?? .agent
        audit(.login, result.decision, name, by: origin)
        logins[number]?.tell(line(for: result, name))
        end(number)
    }

    private func end(_ number: LoginNumber) {
        guard let login = logins.removeValue(forKey: number) else { return }
        login.task?.cancel()
        for secret in login.given { erase(secret) }
        login.question?.answer.resume(throwing: CancellationError())
        login.connection.awaited = nil
        login.connection.endStream()
    }

    private func line(for result: LoginResult, _ name: SessionName) -> JSONObject {
        var line = JSONObject()
        line["event"] = "failed"
        switch result {
        case .done(let token):
            line["event"] = "done"
            line["session"] = .string(name.description)
            line["expires_at"] = token.expiresAt.map { end in
                .integer(ports.timekeeper.wallTime(at: end).secondsSince1970)
            }
            line["scope"] = .strings(token.scope)
            if let kept = sessions[name] { line["notes"] = kept.session.status.notes(on: kept.settings).json }
        case .failed(let failure): line["error"] = RequestFailure(failure, of: name).json
        case .cancelled:
            line["error"] =
                RequestFailure(code: .denied, message: "The login was cancelled.", session: name).json
        case .superseded:
            let message = "Another login or a logout came first."
            line["error"] = RequestFailure(code: .denied, message: message, session: name).json
        }
        return line
    }

    /// Seals text that came in a request.
    private func seal(_ text: String, as kind: SecretKind) throws(RequestFailure) -> SecretID {
        var text = text
        let vault = ports.vault
        let sealed = text.withUTF8 { bytes in
            unsafe try? vault.seal(UnsafeRawBufferPointer(bytes), as: kind)
        }
        guard let sealed else { throw RequestFailure.lockedAgent }
        return sealed
    }

    private static func flow(_ text: String?) throws(RequestFailure) -> LoginFlow? {
        guard let text else { return nil }
        guard let flow = LoginFlow.allCases.first(where: { $0.rawValue.bytewise == text.bytewise }) else {
            let flows = LoginFlow.allCases.map(\.rawValue).joined(separator: ", ")
            throw RequestFailure(code: .badRequest, message: "The flows are \(flows).")
        }
        return flow
    }

    var stopping: RequestFailure {
        phase == .stopping
            ? RequestFailure(code: .temporarilyUnavailable, message: "The agent is stopping.") : .lockedAgent
    }
}

extension LoginResult {
    /// For the audit log.
    fileprivate var decision: AuditRecord.Decision {
        switch self {
        case .done: .done
        case .failed: .failed
        case .cancelled, .superseded: .cancelled
        }
    }
}
