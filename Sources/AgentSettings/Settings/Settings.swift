// SPDX-License-Identifier: MIT

import OAuthClient
import TokenCore

/// Everything the configuration file says, and those beside it, checked and with its defaults filled in.
package struct Settings: Equatable, Sendable {
    package var logLevel: LogLevel
    /// Whether root may connect to the agent of another user.
    package var allowsRoot: Bool
    /// Whether the audit log gets a line for each token given out.
    package var keepsAudit: Bool
    /// How servers are reached where a session says nothing else.
    package var proxy: ProxyChoice
    /// `User-Agent` of the sessions that name none; `nil`: the program's name and version.
    package var userAgent: String?
    package var hooks: HookSettings
    package var vault: VaultSettings
    /// `nil`: this host is in no fleet.
    package var fleet: FleetSettings?
    /// In the order of the file, then those beside it in the order of their names.
    package var sessions: [ConfiguredSession]
    /// Where the table of each session is.
    package var places: [SessionName: SessionTableLocation]
    /// In the order of the file.
    package var sockets: [SocketSettings]
    /// In the order of the file.
    package var files: [FileSettings]
    /// In the order of the file, those of `[[proxy]]` first.
    package var listeners: [ListenerSettings]
    /// What is wrong with the files beside the configuration file; each mistake costs one session, or all of them.
    package var mistakes: [ConfigurationProblem]
    /// Whether files beside the configuration file were left unread without looking at them.
    package var lacksFiles: Bool

    package init(
        logLevel: LogLevel = .notice,
        allowsRoot: Bool = false,
        keepsAudit: Bool = true,
        proxy: ProxyChoice = .environment,
        hooks: HookSettings = HookSettings(),
        vault: VaultSettings = VaultSettings(),
        fleet: FleetSettings? = nil,
        sessions: [ConfiguredSession] = [],
        places: [SessionName: SessionTableLocation] = [:],
        sockets: [SocketSettings] = [],
        files: [FileSettings] = [],
        listeners: [ListenerSettings] = [],
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

/// Where the table of a session begins.
package struct SessionTableLocation: Equatable, Sendable {
    /// The file beside the configuration file; `nil`: that file itself.
    package var file: String?
    /// Counted from 1.
    package var line: Int
}

/// How much is logged; the words of swift-log.
package enum LogLevel: String, CaseIterable, Sendable {
    case critical
    case error
    case warning
    case notice
    case info
    case debug
    case trace
}

/// `[hooks]`: programs told about events, as argv; empty: none.
package struct HookSettings: Equatable, Sendable {
    package var loginRequired: [String]
    package var event: [String]
    /// Asks a person whether a peer may have a token; exit status 0 means yes.
    package var confirm: [String]
    /// `desktop`: a person at a desktop sees that a login is needed, or will be soon.
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

/// `[vault]`: how the store is unlocked without a person.
package struct VaultSettings: Equatable, Sendable {
    /// The key file made with a new store.
    ///
    /// Default: `keyfile` in the state directory.
    package var keyFile: String?
    /// Refuse to start when key memory cannot be locked, instead of warning.
    package var requiresLockedMemory: Bool
    /// The command that a slot may run to open the store, as argv; empty: no slot may run any.
    package var unlockCommand: [String]
    /// Reads and moves the counter that detects old copies of the store; a program as argv, empty: none.
    package var rollbackCounter: [String]
    /// The number that a refusal because of the counter names; with it the store is opened all the same.
    package var acceptedCounter: UInt64?

    package init(
        keyFile: String? = nil,
        requiresLockedMemory: Bool = false,
        unlockCommand: [String] = [],
        rollbackCounter: [String] = [],
        acceptedCounter: UInt64? = nil
    ) {
        self.keyFile = keyFile
        self.requiresLockedMemory = requiresLockedMemory
        self.unlockCommand = unlockCommand
        self.rollbackCounter = rollbackCounter
        self.acceptedCounter = acceptedCounter
    }
}
