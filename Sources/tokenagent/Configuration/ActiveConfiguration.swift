// SPDX-License-Identifier: MIT

import AgentServer
import AgentSettings
import Glibc
import Logging
import OAuthClient
import SecretMemory
import ServerSettings
import Synchronization
import Text
import TokenCore

/// The active configuration and everything that depends on it: servers, hooks, the log and the agent's
/// sessions.
///
/// - Entry points: ``load()``, ``changes()``, ``adopt(_:keeping:)``.
/// - May not: hold client secrets in its settings. They are sealed in memory.
/// - Runs on: any thread, but ``load()`` and ``adopt(_:keeping:)`` block, so never on an event loop.
final class ActiveConfiguration: ConfigurationProviding {
    let file: ConfigurationFile
    private let home: String?
    private let memory: SealedMemory
    private let servers: AuthorizationServers
    private let hooks: EventHooks
    private let commands: ConfiguredCommands
    private let threshold: LogThreshold
    private let logger: Logger
    /// The directories that the sandbox permits, or `nil` if nothing is restricted.
    private let reach: SandboxWritableDirectories?
    /// The sealed client secrets that are written in the file.
    private let secrets = Mutex<[SessionName: SecretID]>([:])
    private let addresses = Mutex<[ServerCheckTarget: [SessionName]]>([:])
    private let standing: Mutex<LoadedSettings>

    /// The active settings without client secrets, and the stamp of the file they came from.
    private struct LoadedSettings {
        var settings = Settings()
        /// The settings that are read only at the start.
        var atStart: SettingsAtStart?
        var stamp: ConfigurationStamp
    }

    init(
        file: ConfigurationFile,
        home: String?,
        memory: SealedMemory,
        servers: AuthorizationServers,
        hooks: EventHooks,
        commands: ConfiguredCommands,
        threshold: LogThreshold,
        reach: SandboxWritableDirectories?,
        logger: Logger
    ) {
        self.file = file
        self.home = home
        self.memory = memory
        self.servers = servers
        self.hooks = hooks
        self.commands = commands
        self.threshold = threshold
        self.reach = reach
        self.logger = logger
        standing = Mutex(LoadedSettings(stamp: ConfigurationStamp(of: file.path)))
    }

    /// The servers that sessions use, each with its sessions, for diagnostics.
    var serverPlaces: [ServerCheckTarget: [SessionName]] { addresses.withLock { $0 } }

    /// The proxy for servers that no session uses yet.
    var proxy: ProxySetting { standing.withLock { $0.settings.proxy } }

    /// Whether any active session is hidden from some peers.
    var hasRules: Bool { standing.withLock { $0.settings.sessions.contains { !$0.rules.isEmpty } } }

    /// The files of client secrets, with their sessions.
    var secretFiles: [(session: SessionName, path: String)] {
        standing.withLock { $0.settings.sessions }.compactMap { session in
            guard case .file(let path) = session.client.secret else { return nil }
            return (session: session.name, path: path)
        }
    }

    /// The ages of the provider files that sessions use, each with its sessions, in the order of their names.
    var providerAges: [(age: ProviderAge, sessions: [SessionName])] {
        let sessions = standing.withLock { $0.settings.sessions }
        return Dictionary(grouping: sessions.filter { $0.providerAge != nil }) { $0.providerAge?.name ?? "" }
            .sorted { $0.key < $1.key }
            .compactMap { _, sessions in
                sessions.first?.providerAge.map { (age: $0, sessions: sessions.map(\.name)) }
            }
    }

    /// Returns whether the session `name` is active.
    func holds(_ name: SessionName) -> Bool {
        standing.withLock { $0.settings.sessions.contains { $0.name == name } }
    }

    func load() throws(RequestFailure) -> LoadedConfiguration {
        // Taken before reading, so that a change made meanwhile is noticed at the next check.
        let stamp = ConfigurationStamp(of: file.path)
        standing.withLock { $0.stamp = stamp }
        let settings: Settings
        do throws(RequestFailure) {
            settings = try read()
        } catch {
            let lines = error.message.split(separator: "\n")
            for line in lines { logger.mistake(String(line)) }
            throw error
        }
        let kept = kept(beside: settings)
        let changes = changes(to: settings, keeping: kept)
        return LoadedConfiguration(try adopt(settings, keeping: kept), changes)
    }

    func preview() throws(RequestFailure) -> AgentConfiguration {
        let settings = try read()
        let kept = kept(beside: settings)
        return AgentConfiguration(
            settings.keeping(kept, of: standing.withLock { $0.settings }),
            in: file.path
        )
    }

    func changes() throws(RequestFailure) -> ConfigurationChanges {
        let settings = try read()
        var changes = changes(to: settings, keeping: kept(beside: settings))
        // A reload tries to create these sockets and files, and reports those that failed.
        changes.restarts += reach?.restarts(for: settings) ?? []
        return changes
    }

    /// Returns the active sessions whose files cannot be read now.
    private func kept(beside settings: Settings) -> Set<SessionName> {
        let old = standing.withLock { $0.settings }
        return settings.unread(of: old).filter { name in
            // An erased secret can only be read again.
            old.sessions.first { $0.name == name }?.holdsLiteralSecret != true
                || secrets.withLock { $0[name] }.flatMap { memory.kind(of: $0) } != nil
        }
    }

    func hasChanged() -> Bool {
        let stamp = ConfigurationStamp(of: file.path)
        return standing.withLock { standing in
            defer { standing.stamp = stamp }
            return standing.stamp != stamp
        }
    }

    private func read() throws(RequestFailure) -> Settings {
        do throws(ConfigurationProblems) {
            return try file.settings(home: home)
        } catch {
            throw RequestFailure(
                code: .misconfigured,
                message: error.lines.joined(separator: "\n"),
                remedy: .run("tokenctl config check")
            )
        }
    }

    /// Makes settings the active ones.
    ///
    /// - Parameters:
    ///   - written: The settings as they were read.
    ///   - kept: The sessions that keep their current settings.
    /// - Returns: The agent's part of the settings.
    /// - Throws: ``RequestFailure`` with the code `locked` while no client secret can be sealed.
    func adopt(
        _ written: Settings,
        keeping kept: Set<SessionName> = []
    ) throws(RequestFailure) -> AgentConfiguration {
        for mistake in written.mistakes { logger.mistake(mistake.description(in: file.path)) }
        let settings = written.keeping(kept, of: standing.withLock { $0.settings })
        var profiles: [SessionName: ServerProfile] = [:]
        profiles.reserveCapacity(settings.sessions.count)
        var sealed: [SessionName: SecretID] = [:]
        var places: [ServerCheckTarget: [SessionName]] = [:]
        do throws(SealedMemoryError) {
            for session in settings.sessions {
                let name = session.name
                if session.server.word.isServer {
                    places[ServerCheckTarget(session), default: []].append(name)
                }
                profiles[name] = try session.profile { text throws(SealedMemoryError) in
                    let old = kept.contains(name) ? secrets.withLock { $0[name] } : nil
                    let secret = if let old { old } else { try seal(text, for: name) }
                    sealed[name] = secret
                    return secret
                }
            }
        } catch {
            throw RequestFailure(code: .locked, message: "agent is locked", remedy: .run("tokenctl unlock"))
        }
        servers.replaceProfiles(profiles)
        eraseAll(but: sealed)
        let derived = settings.sessions.filter { !$0.sources.all.isEmpty }.map(\.name)
        hooks.adopt(settings.hooks, derived: Set(derived))
        commands.adopt(written, keepsFormer: !kept.isEmpty)
        threshold.adopt(settings.logLevel)
        addresses.withLock { $0 = places }
        standing.withLock { standing in
            standing.settings = settings.withoutSecrets
            if standing.atStart == nil { standing.atStart = SettingsAtStart(settings) }
        }
        return AgentConfiguration(settings, in: file.path)
    }

    /// Reads the client secrets in the file again, which were erased with the keys when the agent was locked.
    func restoreSecrets() {
        guard secrets.withLock({ !$0.isEmpty }) else { return }
        do throws(RequestFailure) {
            _ = try load()
        } catch {
            logger.warning("client secrets not loaded: the configuration is invalid")
        }
    }

    /// Returns the differences between the active settings and `settings` with the sessions that are `kept`.
    private func changes(
        to settings: Settings,
        keeping kept: Set<SessionName>
    ) -> ConfigurationChanges {
        let (old, atStart) = standing.withLock { ($0.settings, $0.atStart) }
        let sealed = secrets.withLock { $0 }
        let difference = ConfigurationDifference(
            old: old,
            atStart: atStart,
            isLevelFixed: threshold.isFixed
        ) { [memory] text, name in
            // Nothing can be compared while the agent is locked.
            guard !memory.isLocked, !kept.contains(name) else { return true }
            guard let secret = sealed[name] else { return false }
            var text = text
            return text.withUTF8 { bytes in
                unsafe (try? memory.holds(UnsafeRawBufferPointer(bytes), in: secret)) ?? false
            }
        }
        return difference.changes(to: settings.keeping(kept, of: old), in: file.path)
    }

    /// Seals `text`.
    ///
    /// If it has not changed, the old secret is returned, so that its server keeps what it has learned.
    ///
    /// The text is sealed directly from the configuration's own copy, which is erased with the configuration.
    /// A copy in guarded memory would cost a dozen system calls per session.
    private func seal(_ text: String, for name: SessionName) throws(SealedMemoryError) -> SecretID {
        let old = secrets.withLock { $0[name] }
        var text = text
        let sealed: Result<SecretID, SealedMemoryError> = text.withUTF8 { bytes in
            let bytes = UnsafeRawBufferPointer(bytes)
            if let old, unsafe (try? memory.holds(bytes, in: old)) ?? false { return .success(old) }
            do throws(SealedMemoryError) {
                return .success(try unsafe memory.seal(bytes, as: .clientSecret))
            } catch {
                return .failure(error)
            }
        }
        return try sealed.get()
    }

    private func eraseAll(but sealed: [SessionName: SecretID]) {
        let old = secrets.withLock { secrets in
            defer { secrets = sealed }
            return secrets
        }
        for (name, secret) in old where sealed[name] != secret { memory.erase(secret) }
    }
}

extension Logger {
    /// Logs an error in the configuration with its location.
    func mistake(_ line: String) {
        error("configuration invalid", metadata: ["at": "\(line)"])
    }
}

extension Settings {
    /// Returns the errors in the files next to the configuration file at `path`.
    func mistakes(beside path: String) -> [SessionConfigurationError] {
        mistakes.map { SessionConfigurationError(session: $0.session, line: $0.description(in: path)) }
    }
}

extension AgentConfiguration {
    fileprivate init(_ settings: Settings, in file: String) {
        var sessions: [SessionName: SessionSettings] = [:]
        sessions.reserveCapacity(settings.sessions.count)
        for session in settings.sessions {
            var own = SessionSettings(session)
            own.policy.isReader = session.isShared && settings.fleet?.role == .reader
            sessions[session.name] = own
        }
        lazy var lineage = DerivationGraph(settings.sessions)
        for session in settings.sessions where session.hasNoLogin {
            let givers = lineage.ruleGivers(of: session)
            let rules = givers.compactMap { sessions[$0]?.rules }.filter { !$0.isEmpty }
            sessions[session.name]?.sources.rules = rules
            sessions[session.name]?.fingerprint = lineage.fingerprint(of: session)
            sessions[session.name]?.loginSubstitute = lineage.loginSubstitute(for: session)
        }
        self.init(
            sessions: sessions,
            sockets: settings.sockets.map(RestrictedSocket.init),
            files: settings.files.map(TokenFileTarget.init),
            listeners: Dictionary(settings.listeners.map { ($0.name.bytewise, $0.digest) }) { first, _ in
                first
            },
            allowsRoot: settings.allowsRoot,
            keepsAudit: settings.keepsAudit,
            confirmCommand: settings.hooks.confirm,
            mistakes: settings.mistakes(beside: file)
        )
    }
}

extension RestrictedSocket {
    fileprivate init(_ socket: RestrictedSocketSettings) {
        self.init(
            path: socket.path,
            sessions: Set(socket.sessions),
            scopes: Set(socket.scopes.map(\.bytewise)),
            audiences: Set(socket.audiences.map(\.bytewise)),
            mode: socket.mode,
            group: socket.group,
            users: Set(socket.users),
            writesToken: socket.answer == .token
        )
    }
}

extension TokenFileTarget {
    fileprivate init(_ file: TokenFileSettings) {
        self.init(
            path: file.path,
            session: file.session,
            variant: TokenVariant(scopes: file.scopes, audience: file.audience),
            wantsIDToken: file.wantsIDToken,
            form: file.format.form
        )
    }
}

extension AllowRule {
    /// The rule with the symbolic links in its path resolved, as the kernel reports programs.
    fileprivate var resolved: AllowRule {
        guard let executable, let path = unsafe realpath(executable, nil) else { return self }
        defer { unsafe free(path) }
        var rule = self
        rule.executable = unsafe String(cString: path)
        return rule
    }
}

extension SessionSettings {
    init(_ session: ConfiguredSession) {
        let errors = session.server.settings.resourceErrors
        self.init(
            policy: session.policy,
            kind: session.server.word.rawValue,
            issuer: session.issuerShown,
            // Any server's metadata may name any issuer, which must not be slowed down by that.
            pacedAs: session.server.metadataAddress,
            fingerprint: session.fingerprint,
            endings: session.endings,
            hosts: session.hostsServed,
            responseMembers: session.responseMembers,
            resource: session.server.resourceAddress,
            resources: session.resources,
            hasHostsOfResource: session.hasHostsOfResource,
            refreshCodes: Set(errors.refreshCodes),
            endCodes: Set(errors.logoutCodes),
            jsonResponsePaths: errors.paths,
            endsWithSecondRefusal: errors.endsWithSecondRefusal,
            reauthCommand: session.reauthenticationCommand,
            rules: session.rules.map(\.resolved),
            scopes: session.scopes,
            sources: SessionSources(session.sources),
            fleetBinding: session.isShared ? session.fleetBinding : nil
        )
    }
}

extension SessionSources {
    fileprivate init(_ sources: ConfiguredSources) {
        self.init(
            subject: sources.subject.map {
                Source(session: $0, usesIDToken: sources.usesIDToken, isShownOnce: sources.areAssertions)
            },
            actor: sources.actor.map { Source(session: $0) }
        )
    }
}

/// A server in the diagnostics.
///
/// Sessions with the same address may have different trust settings.
struct ServerCheckTarget: Hashable, Sendable {
    var address: String
    var trust: ServerTrust

    init(_ session: ConfiguredSession) {
        address = session.server.identity.address
        trust = session.trust
    }
}
