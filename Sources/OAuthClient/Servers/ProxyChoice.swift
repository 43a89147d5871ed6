// SPDX-License-Identifier: MIT

import ForwardProxy

/// How the servers of a session are reached, as the configuration says.
package enum ProxyChoice: Hashable, Sendable {
    /// It says nothing: as the environment of the agent's start says.
    case environment
    /// Without a proxy, whatever the environment says.
    case direct
    case proxy(ConfiguredProxy)
}

/// A proxy that the configuration names.
package struct ConfiguredProxy: Hashable, Sendable {
    package var proxy: ForwardProxy
    package var credentials: Credentials
    /// Whether the session itself names it, so that servers of this machine and of private networks are behind it too.
    package var coversInternal: Bool

    /// Where `USER:PASSWORD` comes from.
    package enum Credentials: Hashable, Sendable {
        case none
        case file(String)
        /// argv of a program that prints them.
        case command([String])
    }

    package init(_ proxy: ForwardProxy, credentials: Credentials = .none, coversInternal: Bool) {
        self.proxy = proxy
        self.credentials = credentials
        self.coversInternal = coversInternal
    }
}

extension ProxyChoice {
    /// The file with credentials, by its key.
    package var files: [(key: String, path: String)] {
        guard case .proxy(let configured) = self, case .file(let path) = configured.credentials else {
            return []
        }
        return [(ConfiguredProxy.fileKey, path)]
    }

    /// The program that prints credentials.
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
