// SPDX-License-Identifier: MIT

/// The environment variables passed to each process.
package enum EnvironmentFilter {
    /// Returns the variables that the agent reads, and none that change how its libraries behave.
    package static func forAgent(_ environment: [String: String]) -> [String: String] {
        environment.filter { name, _ in
            agentNames.contains(name) || agentPrefixes.contains { name.hasPrefix($0) }
        }
    }

    /// Returns the variables for commands run on the user's behalf.
    ///
    /// Variables that would load code, or that belong to the agent and its service manager, are removed.
    package static func forCommands(_ environment: [String: String]) -> [String: String] {
        environment.filter { name, _ in
            !commandNames.contains(name) && !commandPrefixes.contains { name.hasPrefix($0) }
        }
    }

    /// Returns the variables for an agent started in the background.
    ///
    /// Variables from a service manager are removed: they are meant for this process only.
    package static func forBackground(_ environment: [String: String]) -> [String: String] {
        environment.filter { name, _ in !serviceNames.contains(name) }
    }

    private static let serviceNames: Set<String> = [
        "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC",
        "SYSTEMD_EXEC_PID",
    ]
    private static let agentNames: Set<String> = serviceNames.union([
        "HOME", "PATH", "LANG", "LANGUAGE", "TZ", "USER", "LOGNAME", "STATE_DIRECTORY", "RUNTIME_DIRECTORY",
        "CREDENTIALS_DIRECTORY", "JOURNAL_STREAM", "INVOCATION_ID", "SUDO_UID", "SSL_CERT_FILE",
    ])
    private static let agentPrefixes = ["XDG_", "LC_", "TOKENAGENT_"]
    private static let commandNames: Set<String> = serviceNames.union([
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_URL", "CREDENTIALS_DIRECTORY",
        "STATE_DIRECTORY", "RUNTIME_DIRECTORY", "SSLKEYLOGFILE", "GCONV_PATH",
        "LOCPATH", "NLSPATH", "HOSTALIASES", "RESOLV_HOST_CONF",
    ])
    private static let commandPrefixes = ["LD_", "MALLOC_", "GLIBC_TUNABLES", "SWIFT_"]
}
