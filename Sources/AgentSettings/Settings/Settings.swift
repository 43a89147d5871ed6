// SPDX-License-Identifier: MIT

import TokenCore

/// Everything the configuration file says, checked and with its defaults filled in.
package struct Settings: Equatable, Sendable {
    package var logLevel: LogLevel
    /// The administrator may connect to the socket of another user's agent.
    package var allowsRoot: Bool
    /// Each token given out is written down.
    package var keepsAudit: Bool
    package var hooks: HookSettings
    package var vault: VaultSettings
    /// In the order of the file.
    package var sessions: [ConfiguredSession]
    /// In the order of the file.
    package var sockets: [SocketSettings]

    package init(
        logLevel: LogLevel = .notice,
        allowsRoot: Bool = false,
        keepsAudit: Bool = true,
        hooks: HookSettings = HookSettings(),
        vault: VaultSettings = VaultSettings(),
        sessions: [ConfiguredSession] = [],
        sockets: [SocketSettings] = []
    ) {
        self.logLevel = logLevel
        self.allowsRoot = allowsRoot
        self.keepsAudit = keepsAudit
        self.hooks = hooks
        self.vault = vault
        self.sessions = sessions
        self.sockets = sockets
    }
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
    /// The command that a slot may name which opens the store, as argv; empty: no slot may run any.
    package var unlockCommand: [String]
    /// The program that reads and moves the counter which tells an old copy of the store, as argv; empty: none.
    package var rollbackCounter: [String]
    /// The value with which a store that is refused for its counter is taken all the same.
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
