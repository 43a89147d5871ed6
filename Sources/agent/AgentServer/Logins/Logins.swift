// SPDX-License-Identifier: MIT

import AgentProtocol
import NIOCore
import SecretMemory
import Text
import TokenCore

/// The active logins that need the user.
///
/// The response to `POST …/login` is a stream of progress lines. Prompts in it are answered by further
/// requests.
///
/// - Entry points: ``serve(_:_:on:)``, ``serveAnswer(_:_:_:)``, ``cancel(_:)``.
/// - May not: talk to authorization servers; ``AuthorizationServing`` does.
///
/// Confined to the agent's event loop.
final class Logins {
    let authorization: any AuthorizationServing
    private let memory: SealedMemory
    let registry: SessionRegistry
    let configuration: LiveConfiguration
    let phase: AgentPhase
    private let fleet: any SessionSharing
    private let files: TokenFiles
    private let erasure: DeferredSecretErasure
    let audit: AuditLog
    private let log: SessionLog
    private let timekeeper: any Timekeeper
    private let chance: @Sendable () -> Double
    let tasks: LoopTasks
    private var logins: [LoginNumber: ActiveLogin] = [:]
    /// The logins that wait until the record of an earlier login has been written.
    private let waiters: ConditionWaiters

    init(
        ports: AgentPorts,
        registry: SessionRegistry,
        configuration: LiveConfiguration,
        phase: AgentPhase,
        fleet: any SessionSharing,
        files: TokenFiles,
        erasure: DeferredSecretErasure,
        audit: AuditLog,
        log: SessionLog,
        tasks: LoopTasks,
        eventLoop: any EventLoop
    ) {
        authorization = ports.authorization
        memory = ports.memory
        timekeeper = ports.timekeeper
        chance = ports.chance
        self.registry = registry
        self.configuration = configuration
        self.phase = phase
        self.fleet = fleet
        self.files = files
        self.erasure = erasure
        self.audit = audit
        self.log = log
        self.tasks = tasks
        waiters = ConditionWaiters(eventLoop: eventLoop)
    }

    /// The number of active logins.
    var count: Int { logins.count }

    /// Serves `POST …/login`; the response is the login's progress, line by line.
    ///
    /// - Throws: ``RequestFailure`` if the login cannot begin.
    func serve(
        _ request: HTTPRequest,
        _ name: SessionName,
        on connection: Connection
    ) throws(RequestFailure) {
        let body = try ParsedRequestBody(request.body, LoginRequestMembers.self)
        guard let kept = registry[name] else { throw .unknown(name) }
        guard phase.current == .working else { throw phase.refusal }
        if let remedy = kept.settings.policy.loginElsewhere(to: name) {
            throw RequestFailure(
                code: .misconfigured,
                message: "this host is a reader of the fleet and cannot log in",
                session: name,
                remedy: remedy
            )
        }
        if let failure = fleet.loginObstacle(to: name) { throw failure }
        if let remedy = kept.settings.loginSubstitute {
            let hidden = configuration.hiddenSources(of: name, from: connection)
            throw .noLogin(to: name, kept.settings, instead: remedy, without: hidden)
        }
        let flow = try Self.flow(body.value(\.flow))
        var login = LoginRequest(flow: flow, pastesRedirect: try body.value(\.paste) ?? false)
        login.present = kept.session.currentLogin
        login.stepUp = try Self.stepUp(body)
        login.agreedIssuer = try body.value(\.issuer)
        guard login.agreedIssuer == nil || kept.settings.resource != nil else {
            throw RequestFailure(
                code: .badRequest,
                message: "issuer is not supported: the session has no resource",
                session: name
            )
        }
        login.username = try body.value(\.username)
        if let secret = try body.value(\.secret) {
            login.secret = try seal(secret, as: flow == .import ? .refreshToken : .password)
        }
        begin(login, name, on: connection)
    }

    /// Returns a number that other programs cannot guess, because it suffices to answer the login's prompts.
    private func unguessableNumber() -> LoginNumber {
        // The upper half is for logins without the user.
        var number: LoginNumber
        repeat { number = LoginNumber(rawValue: .random(in: 1...(.max / 2))) } while logins[number] != nil
        return number
    }

    private func begin(_ request: LoginRequest, _ name: SessionName, on connection: Connection) {
        let number = unguessableNumber()
        connection.awaited = .login(number)
        connection.beginStream("application/x-ndjson")
        let given = [request.secret].compactMap(\.self)
        logins[number] = ActiveLogin(
            session: name,
            connection: connection,
            stepUp: request.stepUp,
            given: given
        )
        log.write(.debug, "login started", name)
        if let words = configuration.mistake(for: connection) {
            logins[number]?.tell(.notice(NoticeMessage { $0.message = words }))
        }
        guard isCommitting(name) || fleet.delaysLogin(to: name) else { return start(number, request, name) }
        logins[number]?.task = tasks.start {
            do throws(RequestFailure) {
                // Meanwhile the user may leave, and the agent may lock.
                repeat {
                    while self.logins[number] != nil, self.isCommitting(name) { await self.waiters.wait() }
                    try await self.fleet.waitUntilLoginAllowed(to: name)
                } while self.logins[number] != nil && self.isCommitting(name)
                if self.logins[number] != nil { self.start(number, request, name) }
            } catch {
                self.refuse(number, error)
            }
        }
    }

    /// Returns whether an earlier login of the session is being written to disk.
    ///
    /// A new login waits for that, so that the user's earlier work is not lost.
    private func isCommitting(_ name: SessionName) -> Bool {
        registry[name]?.session.isAdopting == true
    }

    private func start(_ number: LoginNumber, _ request: LoginRequest, _ name: SessionName) {
        registry.apply(name) { session, moment in session.loginStarted(number, at: moment) }
        logins[number]?.task = tasks.start {
            let conversation = SocketLoginPrompter(logins: self.tasks.bound(self), number: number)
            let outcome = await self.authorization.logIn(name, request, conversation: conversation)
            self.eraseGiven(in: number, unlessKeptBy: outcome)
            let jitter = self.chance()
            self.registry.apply(name) { session, moment in
                session.loginFinished(number, outcome, jitter: jitter, at: moment)
            }
        }
    }

    /// Erases the secrets that the user entered, except an imported refresh token that the session now uses.
    private func eraseGiven(in number: LoginNumber, unlessKeptBy outcome: LoginOutcome) {
        var kept: SecretID?
        if case .granted(let grant) = outcome, case .refreshToken(let secret) = grant.renewal {
            kept = secret
        }
        for secret in logins[number]?.given ?? [] where secret != kept { erasure.erase(secret) }
        logins[number]?.given = []
    }

    /// Serves `POST …/login/ID`: the user's answer to a prompt.
    ///
    /// - Throws: ``RequestFailure`` if the login has no open prompt.
    func serveAnswer(
        _ request: HTTPRequest,
        _ number: LoginNumber,
        _ name: SessionName
    ) throws(RequestFailure) -> HTTPResponse {
        let value = try ParsedRequestBody(request.body, LoginAnswerRequestMembers.self).required(\.value)
        guard let login = logins[number], login.session == name, let question = login.question else {
            throw RequestFailure(
                code: .notFound,
                message: "no login with this number is waiting for input",
                session: name
            )
        }
        let secret = try seal(value, as: question.kind == .refreshToken ? .refreshToken : .password)
        logins[number]?.question = nil
        logins[number]?.given.append(secret)
        question.answer.resume(returning: secret)
        return .message(LoginAnswerMessage { $0.login = String(number.rawValue) })
    }

    /// Sends a step as a progress line.
    func tell(_ step: LoginMessage, in number: LoginNumber) {
        logins[number]?.tell(step.line(in: number))
    }

    /// Sends a prompt and waits for the user's answer.
    ///
    /// - Throws: `CancellationError` if the login ends first.
    func ask(_ question: LoginInputPrompt, in number: LoginNumber, ) async throws -> SecretID {
        guard let login = logins[number], login.question == nil else { throw CancellationError() }
        return try await withCheckedThrowingContinuation { continuation in
            logins[number]?.question = (question.kind, continuation)
            login.tell(question.line(in: number))
        }
    }

    /// Calls `show` when the login ends, or at once if it has ended.
    func whenEnded(_ number: LoginNumber, _ show: @escaping @Sendable (LoginResultForBrowser) -> Void) {
        guard logins[number] != nil else { return show(.cancelled) }
        logins[number]?.show = show
    }

    /// Shows the end of a login in the user's browser, once: with the current account, or with `failure`.
    private func showEnd(of number: LoginNumber, _ failure: LoginResultForBrowser.Failure?) {
        guard let login = logins[number], let show = login.show else { return }
        logins[number]?.show = nil
        let kept = registry[login.session]
        let status = kept?.session.status
        show(
            LoginResultForBrowser(
                session: login.session.description,
                account: failure == nil ? status?.account ?? status?.subject : nil,
                server: kept?.settings.issuer ?? "",
                failure: failure
            )
        )
    }

    /// Cancels a login whose user left: requests to the server stop, and the session does not change.
    func cancel(_ number: LoginNumber) {
        guard let login = logins[number] else { return }
        showEnd(of: number, LoginResultForBrowser.cancelled.failure)
        registry.apply(login.session) { session, moment in
            session.loginFinished(number, .cancelled, jitter: 0, at: moment)
        }
        end(number)
    }

    /// Ends all logins with `failure`, except those that are being written to disk and end soon.
    func refuseUnstored(_ failure: RequestFailure) {
        for (number, login) in logins where !isStoring(number, login.session) {
            refuse(number, failure)
        }
    }

    private func isStoring(_ number: LoginNumber, _ name: SessionName) -> Bool {
        registry[name]?.session.isStoring(number) == true
    }

    /// Ends all logins with `failure`, or only those to one session.
    func refuseAll(_ failure: RequestFailure, of session: SessionName? = nil) {
        for (number, login) in logins where session == nil || login.session == session {
            refuse(number, failure)
        }
    }

    private func refuse(_ number: LoginNumber, _ failure: RequestFailure) {
        // A login that has ended sends its own last line.
        guard let login = logins[number], !login.hasEnded else { return }
        login.tell(.failed(FailedMessage { $0.error = failure.wire }))
        showEnd(
            of: number,
            LoginResultForBrowser.Failure(message: failure.message, remedy: failure.remedy)
        )
        end(number)
        registry.apply(login.session) { session, moment in
            session.loginFinished(number, .cancelled, jitter: 0, at: moment)
        }
    }

    /// Ends a login: logs its result and sends its last line.
    func finish(_ number: LoginNumber, _ result: LoginReply, for name: SessionName) {
        logins[number]?.hasEnded = true
        log.loginEnded(result, of: name)
        let origin = logins[number].map { RequestInitiator.peer(of: $0.connection) } ?? .agent
        audit.add(.login, result.decision, name, by: origin)
        // The last line comes after the token files, so that its reader finds the token in them.
        files.whenWritten { [self] in
            if let login = logins[number] {
                let line = line(for: result, of: number, name)
                login.tell(line)
                showEnd(of: number, line.failure)
            }
            end(number)
        }
    }

    private func end(_ number: LoginNumber) {
        waiters.resumeAll()
        guard let login = logins.removeValue(forKey: number) else { return }
        login.task?.cancel()
        erasure.erase(login.given)
        login.question?.answer.resume(throwing: CancellationError())
        login.connection.awaited = nil
        login.connection.endStream()
    }

    private func line(for result: LoginReply, of number: LoginNumber, _ name: SessionName) -> LoginProgress {
        let failure: RequestFailure
        switch result {
        case .done(let token):
            let (kept, timekeeper) = (registry[name], timekeeper)
            let stepUp = logins[number]?.stepUp ?? StepUp()
            let notes = kept.map {
                fleet.status(of: $0.session).notes(on: $0.settings, afterLogin: stepUp)
            }
            let message = DoneMessage {
                $0.session = name.description
                $0.expiresAt = token.expiresAt.map { timekeeper.wallTime(at: $0).secondsSince1970 }
                $0.scope = token.scope
                $0.notes = notes?.wire
            }
            return .done(message)
        case .failed(let reason): failure = RequestFailure(reason, of: name)
        case .cancelled:
            failure = RequestFailure(
                code: .denied,
                message: "login cancelled",
                session: name,
                remedy: .run("tokenctl login \(name)")
            )
        case .superseded:
            failure = RequestFailure(
                code: .denied,
                message: "superseded by another login or logout",
                session: name,
                // Another login would end the one that came first.
                remedy: .see("tokenctl status \(name)")
            )
        }
        return .failed(FailedMessage { $0.error = failure.wire })
    }

    /// Seals text from a request.
    ///
    /// - Throws: ``RequestFailure`` if the memory is locked.
    func seal(_ text: String, as kind: SecretKind) throws(RequestFailure) -> SecretID {
        var text = text
        let sealed = text.withUTF8 { bytes in
            unsafe try? memory.seal(UnsafeRawBufferPointer(bytes), as: kind)
        }
        guard let sealed else { throw RequestFailure.lockedAgent }
        return sealed
    }

    /// Returns the login's scopes, context classes and maximum age beyond the configuration, or `nil` if
    /// there are none.
    private static func stepUp(
        _ body: ParsedRequestBody<LoginRequestMembers>
    ) throws(RequestFailure) -> StepUp? {
        let scopes = try body.value(\.scope)?.bytewise.split(on: " ").map(String.init) ?? []
        let classes = try body.value(\.contextClasses)?.bytewise.split(on: " ").map(String.init) ?? []
        let age = try body.value(\.maximumAge)
        guard scopes.allSatisfy({ $0.utf8.allSatisfy(\.isNQChar) }),
            classes.allSatisfy({ $0.utf8.allSatisfy(\.isVisibleASCII) }),
            age.map({ (0...StepUpChallenge.maximumAge).contains($0) }) ?? true
        else {
            throw RequestFailure(code: .badRequest, message: "invalid scope, acr_values or max_age")
        }
        let stepUp = StepUp(scopes: scopes, contextClasses: classes, maximumAge: age.map { .seconds($0) })
        return stepUp.isEmpty ? nil : stepUp
    }

    private static func flow(_ text: String?) throws(RequestFailure) -> LoginFlow? {
        guard let text else { return nil }
        guard let flow = LoginFlow.allCases.first(where: { $0.rawValue.bytewise == text.bytewise }) else {
            let flows = LoginFlow.allCases.map(\.rawValue).joined(separator: ", ")
            throw RequestFailure(code: .badRequest, message: "unknown flow (flows: \(flows))")
        }
        return flow
    }
}

extension RequestFailure {
    /// Returns the failure for a session that gets its tokens from another source and so has no login.
    fileprivate static func noLogin(
        to name: SessionName,
        _ settings: SessionSettings,
        instead remedy: Remedy,
        without hidden: HiddenSources
    ) -> RequestFailure {
        let origin =
            if let source = settings.sources.subject?.session {
                "its tokens are made from those of "
                    + (hidden.names.contains(source) ? "another session" : "session \(source)")
            } else if settings.kind == "command" {
                "its tokens come from a program"
            } else {
                "its tokens are issued without one"
            }
        let message = "login not supported: \(origin)"
        return RequestFailure(
            code: .badRequest,
            message: message,
            session: name,
            remedy: hidden.remedy(remedy, for: message)
        )
    }
}

extension LoginReply {
    /// The outcome in the audit log.
    fileprivate var decision: AuditRecord.AuditedOutcome {
        switch self {
        case .done: .done
        case .failed: .failed
        case .cancelled, .superseded: .cancelled
        }
    }
}

extension LoginProgress {
    /// The reason of a failed login, for the browser.
    fileprivate var failure: LoginResultForBrowser.Failure? {
        guard case .failed(let message) = self, let error = message.error else { return nil }
        return LoginResultForBrowser.Failure(message: error.message ?? "", remedy: error.remedy)
    }
}

extension LoginResultForBrowser {
    fileprivate static let cancelled = LoginResultForBrowser(
        session: "",
        server: "",
        failure: Failure(message: "the login was cancelled in the terminal")
    )
}
