// SPDX-License-Identifier: MIT

import NIOCore
import NIOPosix
import SecretMemory
import ServerSettings
import Synchronization
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Clocks that do not advance until they are moved.
final class ManualClock: Timekeeper {
    private let elapsed = Mutex(Duration.zero)
    private let pauses = Mutex<[Duration]>([])

    var now: Instant { .seconds(1_000) + elapsed.withLock { $0 } }
    var wallTime: WallTime { WallTime(secondsSince1970: 1_800_000_000) + elapsed.withLock { $0 } }

    func advance(by duration: Duration) {
        elapsed.withLock { $0 += duration }
    }

    /// The sleeps of the code under test.
    ///
    /// Each one moves the clock at once.
    var slept: [Duration] { pauses.withLock { $0 } }

    var sleeping: Sleeping {
        { duration in
            try Task.checkCancellation()
            self.pauses.withLock { $0.append(duration) }
            self.advance(by: duration)
        }
    }
}

/// A network that answers from a list; a request nobody expected fails the test.
final class ScriptedExchange: HTTPExchanging {
    struct Sent: Sendable {
        var url: String
        var method: String
        var headers: [String: String]
        var form: [String: String]
        var formNames: [String]
        var json: JSONObject?
        var contentType: String?
        var publicAddressOnly: Bool
        /// The number of certificates that the client presents in the handshake.
        var certificates = 0
    }

    enum Answer: Sendable {
        case reply(ServerResponse)
        case failure(TransportFailure)
    }

    private struct Contents {
        var script: [(address: String, answer: Answer)] = []
        var standing: [String: Answer] = [:]
        var sent: [Sent] = []
    }

    private let contents = Mutex(Contents())

    var sent: [Sent] { contents.withLock { $0.sent } }
    var isExhausted: Bool { contents.withLock { $0.script.isEmpty } }

    func posts(to address: String) -> [Sent] {
        sent.filter { $0.method == "POST" && $0.url == address }
    }

    /// The next request must be to `address`.
    func expect(_ address: String, _ answer: Answer) {
        contents.withLock { $0.script.append((address, answer)) }
    }

    func expect(_ address: String, status: Int = 200, _ body: String, headers: [String: String] = [:]) {
        expect(address, .json(body, status: status, headers: headers))
    }

    /// Sets the response to all requests to `address`.
    func always(_ address: String, _ answer: Answer) {
        contents.withLock { $0.standing[address] = answer }
    }

    func send(_ request: OutgoingRequest) async throws(TransportFailure) -> ServerResponse {
        // As the server gets it.
        let names = request.format.names
        let isJSON = request.format.placement == .json
        let json = isJSON ? request.form?.json(names: names) : request.json
        let body = request.form.map { $0.withBytes(names: names) { String(decoding: $0, as: UTF8.self) } }
        let pairs = isJSON ? [] : body.flatMap { FormEncoding.decoded($0) } ?? []
        let isGet = OutgoingBody(of: request) == nil || request.format.placement == .get
        let sent = Sent(
            url: request.url.description,
            method: request.deletes ? "DELETE" : isGet ? "GET" : "POST",
            headers: Dictionary(request.headers.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
                .merging(request.format.headers) { $1 },
            form: Dictionary(pairs.map { ($0.name, $0.value) }, uniquingKeysWith: { $0 + " " + $1 }),
            formNames: pairs.map(\.name),
            json: json.flatMap { $0.withBytes { try? JSONValue(parsing: $0).object } },
            contentType: OutgoingBody(of: request)?.contentType,
            publicAddressOnly: request.publicAddressOnly,
            certificates: request.identity?.chain.count ?? 0
        )
        let answer: Answer? = contents.withLock { contents in
            contents.sent.append(sent)
            if let standing = contents.standing[sent.url] { return standing }
            guard let next = contents.script.first, next.address == sent.url else { return nil }
            return contents.script.removeFirst().answer
        }
        switch answer {
        case .reply(let reply): return reply
        case .failure(let failure): throw failure
        case nil:
            Issue.record("unexpected request: \(sent.method) \(sent.url) \(sent.form)")
            throw .unreachable("unexpected request")
        }
    }
}

extension ScriptedExchange.Answer {
    static func json(_ body: String, status: Int = 200, headers: [String: String] = [:]) -> Self {
        let list = headers.map { ServerResponse.Header(name: $0.key, value: $0.value) }
        return .reply(ServerResponse(status: status, headers: list, body: Array(body.utf8)))
    }
}

/// Commands that print what the test says, and are counted.
final class ScriptedCommands: CommandRunning {
    private let runs = Mutex<[[String]]>([])
    private let result: Result<CommandResult, CommandFailure>

    init(prints output: String = "", status: Int32 = 0, complains complaint: String = "") {
        result = .success(
            CommandResult(
                status: status,
                standardOutput: Array(output.utf8),
                complaint: StandardErrorLine(standardError: Array(complaint.utf8))
            )
        )
    }

    var commands: [[String]] { runs.withLock { $0 } }

    func run(
        _ command: [String],
        environment: [String: String],
        timeLimit: Duration
    ) async throws(CommandFailure) -> CommandResult {
        runs.withLock { $0.append(command) }
        return try result.get()
    }
}

/// A user who answers prompts as scripted and performs `whenTold`.
final class ScriptedPerson: LoginPrompting {
    private let memory: SealedMemory
    private let answers: @Sendable (LoginInputPrompt) -> String?
    private let whenTold: @Sendable (LoginMessage) async -> Void
    private let questionsAsked = Mutex<[LoginInputPrompt]>([])
    private let stepsTold = Mutex<[LoginMessage]>([])
    private let shows = Mutex<[@Sendable (LoginResultForBrowser) -> Void]>([])

    init(
        memory: SealedMemory,
        answers: @escaping @Sendable (LoginInputPrompt) -> String? = { _ in nil },
        whenTold: @escaping @Sendable (LoginMessage) async -> Void = { _ in }
    ) {
        self.memory = memory
        self.answers = answers
        self.whenTold = whenTold
    }

    var questions: [LoginInputPrompt] { questionsAsked.withLock { $0 } }
    var steps: [LoginMessage] { stepsTold.withLock { $0 } }

    func tell(_ step: LoginMessage) async {
        stepsTold.withLock { $0.append(step) }
        await whenTold(step)
    }

    func ask(_ question: LoginInputPrompt) async throws -> SecretID {
        questionsAsked.withLock { $0.append(question) }
        guard let answer = answers(question) else { throw CancellationError() }
        return try memory.sealing(answer, as: .password)
    }

    func whenEnded(_ show: @escaping @Sendable (LoginResultForBrowser) -> Void) async {
        shows.withLock { $0.append(show) }
    }

    /// Ends the login as the agent does.
    func end(_ ending: LoginResultForBrowser) {
        for show in shows.withLock({ $0 }) { show(ending) }
    }
}

/// A server under test with everything around it.
struct Bench {
    let memory: SealedMemory
    let clock = ManualClock()
    let exchange = ScriptedExchange()
    let commands: ScriptedCommands
    let server: StandardServer

    /// - Parameters:
    ///   - profile: of the server.
    ///   - commands: what programs print.
    ///   - sleep: the clock's own, which passes at once, unless somebody else has to be waited for.
    ///   - workflow: makes the job of GitHub Actions that started the agent.
    /// - Throws: what `workflow` throws, or why there is no sealed memory.
    init(
        _ profile: ServerProfile,
        commands: ScriptedCommands = ScriptedCommands(),
        sleep: Sleeping? = nil,
        workflow: (SealedMemory) throws -> GitHubActionsTokenService? = { _ in nil }
    ) throws {
        memory = try SealedMemory()
        self.commands = commands
        let tools = ServerDependencies(
            memory: memory,
            timekeeper: clock,
            commands: commands,
            exchange: exchange,
            eventLoop: MultiThreadedEventLoopGroup.singleton.next(),
            sleep: sleep ?? clock.sleeping,
            workflow: try workflow(memory)
        )
        let issuer = Issuer(Issuer.Description(profile), tools: tools)
        server = StandardServer(profile: profile, issuer: issuer, tools: tools)
    }

    func secret(_ text: String, _ kind: SecretKind = .refreshToken) throws -> SecretID {
        try memory.sealing(text, as: kind)
    }

    func text(_ secret: SecretID?) throws -> String? {
        try secret.map { try memory.text(of: $0) }
    }

    func refresh(
        _ refreshToken: String = "rt-1",
        variant: TokenVariant = .primary,
        idToken: String? = nil,
        tokenEndpoint: String? = nil,
        grantedScope: [String] = []
    ) async throws -> RefreshOutcome {
        await server.refresh(
            RefreshRequest(
                attempt: AttemptNumber(rawValue: 1),
                renewal: .refreshToken(try secret(refreshToken)),
                variant: variant,
                idToken: try idToken.map { try secret($0, .idToken) },
                tokenEndpoint: tokenEndpoint,
                grantedScope: grantedScope
            )
        )
    }
}

extension RefreshOutcome {
    var granted: GrantedTokens? {
        guard case .granted(let tokens) = self else { return nil }
        return tokens
    }

    var failure: RefreshFailure? {
        switch self {
        case .granted: nil
        case .failed(let failure), .unusable(let failure, _): failure
        }
    }

    var saved: RescuedRefreshToken? {
        guard case .unusable(_, let saved) = self else { return nil }
        return saved
    }
}

extension LoginOutcome {
    var granted: LoginGrant? {
        guard case .granted(let grant) = self else { return nil }
        return grant
    }

    var failure: RefreshFailure? {
        guard case .failed(let failure) = self else { return nil }
        return failure
    }
}

extension ServerProfile {
    /// OAuth 2.0 at tokens.example, all endpoints by hand.
    static func fixed(secret: SecretSource? = nil, scopes: [String] = ["api"]) -> ServerProfile {
        ServerProfile(
            kind: .oauth2(
                FixedEndpoints(
                    token: "https://tokens.example/token",
                    authorization: "https://tokens.example/authorize?tenant=1",
                    deviceAuthorization: "https://tokens.example/device",
                    revocation: "https://tokens.example/revoke"
                )
            ),
            client: ClientIdentity("cli", proof: ClientProof(secret: secret)),
            scopes: scopes
        )
    }
}
