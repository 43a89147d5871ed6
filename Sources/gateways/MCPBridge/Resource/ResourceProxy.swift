// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import ServerSettings
import Text

/// The forward proxy through which a server is reached.
package struct ResourceProxy: Sendable {
    let proxy: ForwardProxy
    let credentials: ProxyCredentials?

    package init(_ proxy: ForwardProxy, _ credentials: ProxyCredentials? = nil) {
        self.proxy = proxy
        self.credentials = credentials
    }

    /// Finds the proxy for `address` in this user's configuration, otherwise in the environment.
    ///
    /// The program that reads the configuration also reads the credentials, so nothing else of the
    /// configuration gets into this process.
    ///
    /// - Returns: the proxy, or `nil` if the server is reached directly.
    /// - Throws: ``AgentError`` with the code `misconfigured`. A configured proxy is never bypassed.
    package static func find(
        for address: ResourceAddress,
        _ variables: ProxyVariables
    ) throws(AgentError) -> ResourceProxy? {
        // A server without TLS is on this machine, so no proxy is used.
        guard !address.server.isClear, let port = address.server.place.port else { return nil }
        guard AgentStarter.executable != nil else {
            do throws(ForwardProxyURLError) {
                let name = address.server.place.host
                let host = name.hasPrefix("[") ? String(name.dropFirst().dropLast()) : name
                return try variables.proxy(for: host, port: port).map {
                    ResourceProxy($0.proxy, $0.credentials)
                }
            } catch {
                throw AgentError(.misconfigured, "\(variables.name) \(error)")
            }
        }
        let run = try TokenagentRun(["--show-proxy", address.text])
        guard let message = run.answer.flatMap({ ProxyListenerMessage($0) }), run.status == 0 else {
            throw run.failure
        }
        guard let text = message.forwardProxy else { return nil }
        guard let proxy = try? ForwardProxy(text) else {
            throw AgentError(.internal, "tokenagent printed no proxy")
        }
        return ResourceProxy(proxy, message.forwardProxyCredentials.flatMap { ProxyCredentials($0.utf8) })
    }
}
