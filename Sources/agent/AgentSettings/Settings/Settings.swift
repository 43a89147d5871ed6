// SPDX-License-Identifier: MIT

import ServerSettings
import TokenCore

/// The content of the configuration file and of `sessions.d`, checked and with defaults filled in.
package struct Settings: Equatable, Sendable {
    package var logLevel: LogLevel
    /// Whether root may connect to the agent of another user.
    package var allowsRoot: Bool
    /// Whether each token served is recorded in the audit log.
    package var keepsAudit: Bool
    /// The proxy for servers of sessions that do not set one.
    package var proxy: ProxySetting
    /// The `User-Agent` of sessions that do not set one, or `nil` for the program's name and version.
    package var userAgent: String?
    package var hooks: HookSettings
    package var vault: VaultSettings
    /// The fleet, or `nil` if this host is not in one.
    package var fleet: FleetSettings?
    /// The sessions of the configuration file in its order, then those of `sessions.d` by name.
    package var sessions: [ConfiguredSession]
    /// The location of each session's table.
    package var places: [SessionName: SessionTableLocation]
    /// The sockets in the order of the file.
    package var sockets: [RestrictedSocketSettings]
    /// The token files in the order of the file.
    package var files: [TokenFileSettings]
    /// The listeners in the order of the file, all `[[proxy]]` first.
    package var listeners: [ProxyListenerSettings]
    /// The keys of the tables of which there is one, by which changes are named.
    var written: [SettingsTable: TableValueHashes] = [:]
    /// The errors in `sessions.d`, each of which makes one session unavailable, or all of them.
    package var mistakes: [ConfigurationProblem]
    /// Whether `sessions.d` could not be read completely, so that it may define more sessions than
    /// ``sessions`` contains.
    var lacksFiles: Bool

    package init(
        logLevel: LogLevel = .notice,
        allowsRoot: Bool = false,
        keepsAudit: Bool = true,
        proxy: ProxySetting = .environment,
        hooks: HookSettings = HookSettings(),
        vault: VaultSettings = VaultSettings(),
        fleet: FleetSettings? = nil,
        sessions: [ConfiguredSession] = [],
        places: [SessionName: SessionTableLocation] = [:],
        sockets: [RestrictedSocketSettings] = [],
        files: [TokenFileSettings] = [],
        listeners: [ProxyListenerSettings] = [],
        mistakes: [ConfigurationProblem] = [],
        lacksFiles: Bool = false
    ) {
        self.logLevel = logLevel
        self.allowsRoot = allowsRoot
        self.keepsAudit = keepsAudit
        self.proxy = proxy
        self.hooks = hooks
        self.vault = vault
        self.fleet = fleet
        self.sessions = sessions
        self.places = places
        self.sockets = sockets
        self.files = files
        self.listeners = listeners
        self.mistakes = mistakes
        self.lacksFiles = lacksFiles
    }
}

/// The location of a session's table.
package struct SessionTableLocation: Equatable, Sendable {
    /// The file in `sessions.d`, or `nil` for the configuration file.
    package var file: String?
    /// The line, counted from 1.
    package var line: Int
}

/// The minimum level of log messages, named as in swift-log.
package enum LogLevel: String, CaseIterable, Sendable {
    case critical
    case error
    case warning
    case notice
    case info
    case debug
    case trace
}

/// `[hooks]`: commands run on events, as argv; an empty one means none.
package struct HookSettings: Equatable, Sendable {
    package var loginRequired: [String]
    package var event: [String]
    /// The command that asks the user whether a peer may have a token; exit status 0 means yes.
    package var confirm: [String]
    /// Whether the desktop shows that a login is required, or will be soon (`desktop`).
    package var isOnDesktop: Bool

    package init(
        loginRequired: [String] = [],
        event: [String] = [],
        confirm: [String] = [],
        isOnDesktop: Bool = true
    ) {
        self.loginRequired = loginRequired
        self.event = event
        self.confirm = confirm
        self.isOnDesktop = isOnDesktop
    }
}

/// `[vault]`: how the store is unlocked without a user.
package struct VaultSettings: Equatable, Sendable {
    /// The key file created with a new store.
    ///
    /// Default: `keyfile` in the state directory.
    package var keyFile: String?
    /// Whether the agent refuses to start, instead of warning, if key memory cannot be locked.
    package var requiresLockedMemory: Bool = false
    /// The command that an unlock method may run, as argv; empty if none may run one.
    package var unlockCommand: [String] = []
    /// The command that reads and advances the counter against old copies of the store, as argv; empty for
    /// none.
    package var rollbackCounter: [String] = []
    /// The number from an error about the counter; with it, the store is opened despite that error.
    package var acceptedCounter: UInt64?
}
