// SPDX-License-Identifier: MIT

import Text

/// The configured way to reach the servers of a session.
package enum ProxySetting: Hashable, Sendable {
    /// The proxy that the environment at the agent's start names.
    ///
    /// Used if the configuration says nothing.
    case environment
    /// Without a proxy, regardless of the environment.
    case direct
    case proxy(ConfiguredProxy)
}

/// A proxy that the configuration names.
package struct ConfiguredProxy: Hashable, Sendable {
    package var proxy: ForwardProxy
    package var credentials: CredentialSource
    /// Whether the session itself names the proxy.
    ///
    /// Servers of this machine and of private networks then use it too.
    package var coversInternal: Bool

    /// The source of the proxy's user name and password, `USER:PASSWORD`.
    package enum CredentialSource: Hashable, Sendable {
        case none
        case file(String)
        /// The argument vector of a program that prints the credentials.
        case command([String])
    }

    package init(_ proxy: ForwardProxy, credentials: CredentialSource = .none, coversInternal: Bool) {
        self.proxy = proxy
        self.credentials = credentials
        self.coversInternal = coversInternal
    }
}

extension ProxySetting {
    /// The file with credentials, by its configuration key.
    package var files: [(key: String, path: String)] {
        guard case .proxy(let configured) = self, case .file(let path) = configured.credentials else {
            return []
        }
        return [(ConfiguredProxy.fileKey, path)]
    }

    /// The command that prints credentials.
    package var commands: [[String]] {
        guard case .proxy(let configured) = self, case .command(let command) = configured.credentials else {
            return []
        }
        return [command]
    }
}

extension ConfiguredProxy {
    package static let key = "proxy"
    package static let fileKey = "proxy_credentials_file"
    package static let commandKey = "proxy_credentials_command"
}
