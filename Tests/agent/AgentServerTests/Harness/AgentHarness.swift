// SPDX-License-Identifier: MIT

import AgentProtocol
import Logging
import SealedStore
import SecretMemory
import Synchronization
import TestSupport
import Text
import TokenCore

@testable import AgentServer

/// A whole agent on a real socket.
///
/// The test simulates the authorization servers, the disk and the clocks.
final class AgentHarness: Sendable {
    let directory: TemporaryDirectory
    let path: String
    let time = ManualTimekeeper()
    let serving = FakeServing()
    let memory: SealedMemory
    let store: MemoryStore
    let observed = EventLog()
    let rests = Count()
    let log = LogRecorder()
    let configuration: ScriptedConfiguration
    let loop: AgentLoop
    let runtime: RunningAgent

    static let work = known("work")
    static let home = known("home")

    private static func known(_ text: String) -> SessionName {
        guard let name = SessionName(text) else { preconditionFailure("no session name: \(text)") }
        return name
    }

    /// Starts an agent with the sessions `work` and `home`.
    init(
        policy: SessionPolicy = SessionPolicy(),
        commands: any CommandRunning = NoCommands(),
        processes: (any ProcessExamining)? = nil,
        diagnostics: any DiagnosticsProviding = FixedDiagnostics(),
        auditLimit: Int? = nil,
        chance: Double = 0,
        memory: SealedMemory? = nil,
        fleet: FleetDependencies? = nil,
        reserve: MovedSockets? = nil,
        prepare: (MemoryStore, SealedMemory) throws -> Void = { _, _ in },
        configure: (inout AgentConfiguration, TemporaryDirectory) -> Void = { _, _ in },
        beforeStart: (String, TemporaryDirectory) throws -> Void = { _, _ in }
    ) async throws {
        directory = try TemporaryDirectory()
        path = directory.path("run/agent.sock")
        let memory = try memory ?? SealedMemory()
        self.memory = memory
        store = MemoryStore(memory: memory)
        try prepare(store, memory)
        let settings = SessionSettings(
            policy: policy,
            kind: "oidc",
            issuer: "https://id.example",
            fingerprint: "1",
            refreshCodes: ["access_token_expired"],
            endCodes: ["token_revoked"],
            reauthCommand: ["print-password"]
        )
        var initial = AgentConfiguration(sessions: [Self.work: settings, Self.home: settings])
        configure(&initial, directory)
        configuration = ScriptedConfiguration(initial)
        loop = try AgentLoop.start()
        runtime = RunningAgent(
            configuration: initial,
            ports: AgentPorts(
                timekeeper: time,
                authorization: serving,
                store: store,
                memory: memory,
                commands: commands,
                processes: processes,
                configuration: configuration,
                diagnostics: diagnostics,
                observer: observed,
                fleet: fleet,
                logger: log.logger,
                chance: { chance },
                onQuiet: { [rests] in rests.increment() }
            ),
            identity: AgentDescription(
                version: "1.2.3",
                isMemoryLocked: true,
                store: "/state",
                configuration: "/config.toml",
                socket: "/run/agent.sock"
            ),
            auditFile: AuditFile(path: directory.path("audit.log"), limit: auditLimit),
            reserve: reserve?.socket(in: directory),
            loop: loop
        )
        let socket = try ListeningSocket.bind(to: path)
        try beforeStart(path, directory)
        try await runtime.start(on: socket)
    }

    /// Starts an agent whose configuration is changed first.
    static func configured(
        commands: any CommandRunning = NoCommands(),
        processes: (any ProcessExamining)? = nil,
        _ configure: (inout AgentConfiguration, TemporaryDirectory) -> Void
    ) async throws -> AgentHarness {
        try await AgentHarness(commands: commands, processes: processes, configure: configure)
    }

    func peer() throws -> SocketPeer { try SocketPeer(path) }

    /// Returns the lines of the audit log about tokens, after all pending lines have been written.
    func auditLines() async throws -> [JSONObject] {
        try await wholeAudit().filter { $0["action"] == nil }
    }

    /// Returns all lines of the audit log, after all pending lines have been written.
    func wholeAudit() async throws -> [JSONObject] {
        let answer = try await peer().exchange("GET", "/v1/audit")
        return try answer.body.split(separator: "\n").map { line in
            guard let object = try JSONValue(parsing: line.utf8).object else {
                throw SystemFailure("no object: \(line)", code: 0)
            }
            return object
        }
    }

    /// Advances the clocks, then performs all work that is due.
    func advance(by duration: Duration) async {
        time.advance(by: duration)
        await runtime.agent.timeReached()
    }

    /// Logs `name` in, with an access token that is valid for one hour.
    func logIn(
        _ name: SessionName = work,
        token: String = "token-1",
        lifetime: Duration? = .seconds(3600),
        isRenewable: Bool = true,
        account: String? = nil,
        isBound: Bool = false,
        idToken: (text: String, lifetime: Duration)? = nil
    ) async throws {
        let peer = try peer()
        try peer.send(SocketPeer.request("POST", "/v1/sessions/\(name)/login", body: "{}"))
        let call = await serving.nextLogIn()
        let grant = LoginGrant(
            tokens: try granted(token, lifetime: lifetime, idToken: idToken),
            renewal: isRenewable
                ? .refreshToken(try seal("refresh-\(token)", as: .refreshToken)) : .impossible,
            tokenEndpoint: "https://id.example/token",
            account: account,
            proofKey: isBound ? try seal("key", as: .proofKey) : nil
        )
        call.answer(.granted(grant))
        _ = try await peer.streamHead()
        let last = try await peer.chunk()
        guard last.contains("\"done\"") else { throw SystemFailure("login: \(last)", code: 0) }
    }

    func stop() async {
        await runtime.shutdown()
    }
}

/// Internal state of the agent that tests wait for.
extension SessionAgent {
    var storeJobs: Int { parts.storeThread.jobs }
    var isLocked: Bool { parts.phase.isLocked }
    var waitingCalls: Int { requests.tokens.waitingCount }
    var waitingPreparations: Int { requests.tokens.preparations.count }
    var waitingArrivals: Int { requests.arrivals.count }
    var subscriberCount: Int { parts.events.count }
    /// The number of peers that are being inspected for the audit log.
    var looksUnderWay: Int { requests.examiner.looksUnderWay }
    /// The number of requests that wait because of the limit of their socket or program.
    var turnsAwaited: Int { requests.waitingForTurn }
    var heldAttempts: Int { parts.refreshes.count(at: .held) }

    /// The number of attempts that count against the limits of their issuers.
    var admittedAttempts: Int { parts.refreshes.count(at: .admitted) }
}

/// A log of all events.
final class EventLog: EventObserving {
    private let events = Mutex<[AgentEvent]>([])

    var names: [EventName] { events.withLock { $0.map(\.name) } }

    func observe(_ event: AgentEvent) {
        events.withLock { $0.append(event) }
    }
}

/// A configuration file whose contents the test chooses.
final class ScriptedConfiguration: ConfigurationProviding {
    private struct State {
        var next: Result<AgentConfiguration, RequestFailure>
        var inForce: AgentConfiguration
        var hasChanged = false
        var looks = 0
        var loads = 0
    }

    private let state: Mutex<State>

    init(_ configuration: AgentConfiguration) {
        state = Mutex(State(next: .success(configuration), inForce: configuration))
    }

    /// The number of times the agent checked the file for changes.
    var looks: Int { state.withLock { $0.looks } }
    /// The number of times the agent loaded the file.
    var loads: Int { state.withLock { $0.loads } }

    func change(_ change: (inout AgentConfiguration) -> Void) {
        state.withLock { state in
            guard case .success(var configuration) = state.next else { return }
            change(&configuration)
            state.next = .success(configuration)
            state.hasChanged = true
        }
    }

    func fail(_ failure: RequestFailure) {
        state.withLock { state in
            state.next = .failure(failure)
            state.hasChanged = true
        }
    }

    func preview() throws(RequestFailure) -> AgentConfiguration {
        try state.withLock { $0.next }.get()
    }

    func load() throws(RequestFailure) -> LoadedConfiguration {
        let (changes, result) = state.withLock { state in
            state.loads += 1
            state.hasChanged = false
            let changes = Self.changes(state)
            if case .success(let configuration) = state.next { state.inForce = configuration }
            return (changes, state.next)
        }
        return LoadedConfiguration(try result.get(), changes)
    }

    func changes() throws(RequestFailure) -> ConfigurationChanges {
        let (changes, result) = state.withLock { (Self.changes($0), $0.next) }
        _ = try result.get()
        return changes
    }

    func hasChanged() -> Bool {
        state.withLock { state in
            state.looks += 1
            defer { state.hasChanged = false }
            return state.hasChanged
        }
    }

    private static func changes(_ state: State) -> ConfigurationChanges {
        guard case .success(let new) = state.next else { return ConfigurationChanges(file: "config.toml") }
        let names = Set(new.sessions.keys).union(state.inForce.sessions.keys).sorted()
        let changes = names.compactMap { name -> ConfigurationChange? in
            let (old, new) = (state.inForce.sessions[name], new.sessions[name])
            guard old != new else { return nil }
            let kind: ConfigurationChange.Kind =
                old == nil ? .added : new == nil ? .removed : .changed
            return ConfigurationChange(kind, "session.\(name)", session: name)
        }
        return ConfigurationChanges(file: "config.toml", changes: changes)
    }
}

struct NoCommands: CommandRunning {
    func run(
        _ command: [String],
        environment: [String: String],
        timeLimit: Duration
    ) async throws(CommandFailure) -> CommandResult {
        throw CommandFailure(message: "unexpected: \(command)")
    }
}

/// A counter of events.
final class Count: Sendable {
    private let count = Mutex(0)
    var value: Int { count.withLock { $0 } }
    func increment() { count.withLock { $0 += 1 } }
}
