// SPDX-License-Identifier: MIT

/// Which variables each process of ours is given.
package enum EnvironmentScrub {
    /// For the agent itself: what it reads, and nothing that changes how its libraries behave.
    package static func forAgent(_ environment: [String: String]) -> [String: String] {
        environment.filter { name, _ in
            agentNames.contains(name) || agentPrefixes.contains { name.hasPrefix($0) }
        }
    }

    /// For programs run on the person's behalf: the person's variables, without those that would load code or
    /// belong to the agent and its service manager.
    package static func forCommands(_ environment: [String: String]) -> [String: String] {
        environment.filter { name, _ in
            !commandNames.contains(name) && !commandPrefixes.contains { name.hasPrefix($0) }
        }
    }

    /// For an agent that is started in the background: everything but what a service manager hands over,
    /// which is for this process and not for that one.
    package static func forBackground(_ environment: [String: String]) -> [String: String] {
        environment.filter { name, _ in !serviceNames.contains(name) }
    }

    private static let serviceNames: Set<String> = [
        "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC",
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
