// SPDX-License-Identifier: MIT

import ForwardProxy
import OAuthClient
import Text

extension TableReader {
    /// `proxy` and where its credentials are, of a session or, for all sessions, of `[agent]`.
    ///
    /// - Parameters:
    ///   - home: what `~/` means.
    ///   - coversInternal: whether servers of this machine and of private networks are behind the proxy too.
    ///   - fallback: what holds where the key is not written.
    /// - Returns: how servers are reached.
    mutating func proxy(home: String?, coversInternal: Bool, else fallback: ProxyChoice) -> ProxyChoice {
        let text = self.string(ConfiguredProxy.key)
        let file = self.path(ConfiguredProxy.fileKey, home: home)
        let command = self.command(ConfiguredProxy.commandKey)
        permitsOne(of: [ConfiguredProxy.fileKey, ConfiguredProxy.commandKey])
        let hasProxy = text != nil && text?.bytewise != "direct"
        for key in [ConfiguredProxy.fileKey, ConfiguredProxy.commandKey] where has(key) && !hasProxy {
            report(key, "has no effect: proxy names no proxy")
        }
        guard let text else { return fallback }
        guard hasProxy else { return .direct }
        do throws(ForwardProxyProblem) {
            let credentials: ConfiguredProxy.Credentials =
                command.map { .command($0) } ?? file.map { .file($0) } ?? ConfiguredProxy.Credentials.none
            return .proxy(
                ConfiguredProxy(
                    try ForwardProxy(text),
                    credentials: credentials,
                    coversInternal: coversInternal
                )
            )
        } catch {
            report(ConfiguredProxy.key, error.description)
            return fallback
        }
    }
}
