// SPDX-License-Identifier: MIT

import AgentServer
import AgentSettings
import Glibc
import Logging
import OAuthClient
import SealedStore
import Synchronization
import Text
import TokenCore

/// The configuration file and everything that follows it: servers, hooks, the log and the agent's sessions.
final class ConfigurationInForce: ConfigurationProviding {
    private let file: ConfigurationFile
    private let home: String?
    private let memory: SealedMemory
    private let servers: AuthorizationServers
    private let hooks: EventHooks
    private let commands: CommandsInForce
    private let threshold: LogThreshold
    private let logger: Logger
    /// Where the client secrets written in the file are sealed.
    private let secrets = Mutex<[SessionName: SecretID]>([:])
    private let addresses = Mutex<[ServerPlace: [SessionName]]>([:])
    private let standing: Mutex<Standing>

    /// What is in force, without client secrets, and the file it came from.
    private struct Standing {
        var settings = Settings()
        /// `[vault]` as it was at the start: most of it is only read then.
        var vaultSettings: VaultSettings?
        var stamp: ConfigurationStamp
    }

    init(
        file: ConfigurationFile,
        home: String?,
        memory: SealedMemory,
        servers: AuthorizationServers,
        hooks: EventHooks,
        commands: CommandsInForce,
        threshold: LogThreshold,
        logger: Logger
    ) {
        self.file = file
        self.home = home
        self.memory = memory
        self.servers = servers
        self.hooks = hooks
        self.commands = commands
        self.threshold = threshold
        self.logger = logger
        standing = Mutex(Standing(stamp: ConfigurationStamp(of: file.path)))
    }

    /// The servers sessions depend on, each with its sessions, for diagnostics.
    var serverPlaces: [ServerPlace: [SessionName]] { addresses.withLock { $0 } }

    func load() throws(RequestFailure) -> LoadedConfiguration {
        // Taken before reading, so that a change made meanwhile is noticed at the next look.
        let stamp = ConfigurationStamp(of: file.path)
        standing.withLock { $0.stamp = stamp }
        let settings: Settings
        do throws(RequestFailure) {
            settings = try read()
        } catch {
            let lines = error.message.split(separator: "\n")
            for line in lines { logger.error("configuration mistake", metadata: ["at": "\(line)"]) }
            throw error
        }
        let changes = changes(to: settings)
        return LoadedConfiguration(try adopt(settings), changes)
    }

    func changes() throws(RequestFailure) -> ConfigurationChanges {
        changes(to: try read())
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
                remedy: "tokenctl config check"
            )
        }
    }

    /// Puts `settings` in force and returns what the agent itself needs of them.
    func adopt(_ settings: Settings) throws(RequestFailure) -> AgentConfiguration {
        var profiles: [SessionName: ServerProfile] = [:]
        profiles.reserveCapacity(settings.sessions.count)
        var sealed: [SessionName: SecretID] = [:]
        var places: [ServerPlace: [SessionName]] = [:]
        do throws(SealedMemoryError) {
            for session in settings.sessions {
                let name = session.name
                places[ServerPlace(session), default: []].append(name)
                profiles[name] = try session.profile { text throws(SealedMemoryError) in
                    let secret = try seal(text, for: name)
                    sealed[name] = secret
                    return secret
                }
            }
        } catch {
            throw RequestFailure(code: .locked, message: "the agent is locked", remedy: "tokenctl unlock")
        }
        servers.replaceProfiles(profiles)
        eraseAll(but: sealed)
        hooks.adopt(settings.hooks)
        commands.adopt(settings)
        threshold.adopt(settings.logLevel)
        addresses.withLock { $0 = places }
        standing.withLock { standing in
            standing.settings = settings.withoutSecrets
            if standing.vaultSettings == nil { standing.vaultSettings = settings.vault }
        }
        return AgentConfiguration(settings)
    }

    /// Reads the client secrets in the file again, which were wiped with the keys when the agent was locked.
    func restoreSecrets() {
        guard secrets.withLock({ !$0.isEmpty }) else { return }
        do throws(RequestFailure) {
            _ = try load()
        } catch {
            logger.warning("client secrets are missing until the configuration is corrected")
        }
    }

    /// How `settings` differ from those in force.
    private func changes(to settings: Settings) -> ConfigurationChanges {
        let (old, atStart) = standing.withLock { ($0.settings, $0.vaultSettings) }
        let sealed = secrets.withLock { $0 }
        let difference = ConfigurationDifference(
            old: old,
            vaultAtStart: atStart,
            isLevelFixed: threshold.isFixed
        ) { [memory] text, name in
            // While the agent is locked nothing can be compared.
            guard !memory.isLocked else { return true }
            guard let secret = sealed[name] else { return false }
            var text = text
            return text.withUTF8 { bytes in
                unsafe (try? memory.holds(UnsafeRawBufferPointer(bytes), in: secret)) ?? false
            }
        }
        return difference.changes(to: settings, in: file.path)
    }

    /// Seals `text`; if it has not changed, returns the old secret, so that its server keeps what it learned.
    ///
    /// Seals straight from the configuration's own copy, which is wiped with the configuration: a copy in
    /// guarded memory would cost a dozen system calls for each session.
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

extension AgentConfiguration {
    fileprivate init(_ settings: Settings) {
        var sessions: [SessionName: SessionSettings] = [:]
        sessions.reserveCapacity(settings.sessions.count)
        for session in settings.sessions { sessions[session.name] = SessionSettings(session) }
        self.init(
            sessions: sessions,
            sockets: settings.sockets.map(RestrictedSocket.init),
            allowsRoot: settings.allowsRoot,
            keepsAudit: settings.keepsAudit,
            confirmCommand: settings.hooks.confirm
        )
    }
}

extension RestrictedSocket {
    fileprivate init(_ socket: SocketSettings) {
        self.init(
            path: socket.path,
            sessions: Set(socket.sessions),
            scopes: Set(socket.scopes.map(\.bytewise)),
            audiences: Set(socket.audiences.map(\.bytewise)),
            mode: socket.mode,
            group: socket.group,
            users: Set(socket.users)
        )
    }
}

extension AllowRule {
    /// The rule with the symbolic links in its path resolved, as the kernel names programs.
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
        self.init(
            policy: session.policy,
            kind: session.server.identity.kind.rawValue,
            issuer: session.issuerShown,
            fingerprint: session.fingerprint,
            hosts: session.hosts,
            refreshCodes: Set(session.refreshCodes),
            endCodes: Set(session.logoutCodes),
            answerPlaces: session.answerPlaces,
            endsWithSecondRefusal: session.endsWithSecondRefusal,
            reauthCommand: session.reauthenticationCommand,
            rules: session.rules.map(\.resolved),
            scopes: session.scopes
        )
    }
}

/// A server as diagnostics see it: sessions with the same address may trust it in different ways.
struct ServerPlace: Hashable, Sendable {
    var address: String
    var trust: ServerTrust

    init(_ session: ConfiguredSession) {
        address = session.server.identity.address
        trust = session.trust
    }
}
