// SPDX-License-Identifier: MIT

import AgentServer
import AgentSettings
import Logging
import OAuthClient
import SealedStore
import Synchronization
import TokenCore

/// The configuration file and everything that follows it: servers, hooks and the agent's sessions.
final class ConfigurationInForce: ConfigurationProviding {
    private let file: ConfigurationFile
    private let home: String?
    private let vault: Vault
    private let servers: AuthorizationServers
    private let hooks: EventHooks
    private let logger: Logger
    private let wasLocked = Mutex(false)
    private let issuers = Mutex<[String]>([])

    init(
        file: ConfigurationFile,
        home: String?,
        vault: Vault,
        servers: AuthorizationServers,
        hooks: EventHooks,
        logger: Logger
    ) {
        self.file = file
        self.home = home
        self.vault = vault
        self.servers = servers
        self.hooks = hooks
        self.logger = logger
    }

    /// The addresses sessions depend on, for diagnostics.
    var serverAddresses: [String] { issuers.withLock { $0 } }

    func load() throws(RequestFailure) -> AgentConfiguration {
        let settings: Settings
        do throws(ConfigurationProblems) {
            settings = try file.settings(home: home)
        } catch {
            for line in error.lines { logger.error("configuration mistake", metadata: ["at": "\(line)"]) }
            throw RequestFailure(
                code: .misconfigured,
                message: error.lines.joined(separator: "\n"),
                remedy: "tokenctl config check"
            )
        }
        return try adopt(settings)
    }

    /// Puts `settings` in force and answers what the agent itself needs of them.
    func adopt(_ settings: Settings) throws(RequestFailure) -> AgentConfiguration {
        var profiles: [SessionName: ServerProfile] = [:]
        do throws(VaultError) {
            for session in settings.sessions {
                profiles[session.name] = try session.profile { text throws(VaultError) in
                    try unsafe GuardedBytes(holding: text.utf8).read { bytes throws(VaultError) in
                        try unsafe vault.seal(bytes, as: .clientSecret)
                    }
                }
            }
        } catch {
            throw RequestFailure(code: .locked, message: "the agent is locked", remedy: "tokenctl unlock")
        }
        servers.replaceProfiles(profiles)
        hooks.adopt(settings.hooks)
        issuers.withLock { $0 = Set(settings.sessions.map(\.serverAddress)).sorted() }
        let sessions = settings.sessions.map { ($0.name, SessionSettings($0)) }
        return AgentConfiguration(sessions: Dictionary(sessions) { first, _ in first })
    }

    /// Client secrets written in the file went with the keys when the agent was locked: reads them again.
    func restoreSecrets() {
        do throws(RequestFailure) {
            _ = try load()
        } catch {
            logger.warning("client secrets are missing until the configuration is corrected")
        }
    }
}

extension SessionSettings {
    init(_ session: ConfiguredSession) {
        self.init(
            policy: session.policy,
            kind: session.server.kind.rawValue,
            issuer: session.issuerShown,
            fingerprint: session.fingerprint,
            reauthCommand: session.reauthenticationCommand
        )
    }
}
