// SPDX-License-Identifier: MIT

import ServerSettings
import Text

/// The keys for a forward proxy and its credentials.
enum ForwardProxyReader {
    /// Reads the keys of a session or, for all sessions, of `[agent]`.
    ///
    /// - Parameters:
    ///   - table: the session's table, or `[agent]`.
    ///   - home: the home directory, for `~/`.
    ///   - coversInternal: whether the proxy also applies to servers on this machine and in private networks.
    ///   - fallback: the choice if the key is not set.
    /// - Returns: how servers are reached.
    static func read(
        _ table: inout TableReader,
        home: String?,
        coversInternal: Bool,
        else fallback: ProxySetting
    ) -> ProxySetting {
        let text = table.string("proxy")
        let file = table.path("proxy_credentials_file", home: home)
        let command = table.command("proxy_credentials_command")
        let sources = [ConfiguredProxy.fileKey, ConfiguredProxy.commandKey]
        table.permitsOne(of: sources)
        let hasProxy = text != nil && text?.bytewise != "direct"
        for key in sources where table.has(key) && !hasProxy {
            table.report(key, "has no effect: the key proxy does not set a proxy")
        }
        guard let text else { return fallback }
        guard hasProxy else { return .direct }
        do throws(ForwardProxyURLError) {
            let credentials: ConfiguredProxy.CredentialSource =
                if let command {
                    .command(command)
                } else if let file {
                    .file(file)
                } else {
                    .none
                }
            return .proxy(
                ConfiguredProxy(
                    try ForwardProxy(text),
                    credentials: credentials,
                    coversInternal: coversInternal
                )
            )
        } catch {
            table.report(ConfiguredProxy.key, error.description)
            return fallback
        }
    }
}
