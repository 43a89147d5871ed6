// SPDX-License-Identifier: MIT

import AgentProtocol
import ServerSettings
import SystemCalls
import Text
import TokenCore

/// One `[[proxy]]` or `[[endpoint]]`: an address at which another program serves a session's tokens.
package struct ListenerSettings: Equatable, Sendable {
    package var session: SessionName
    /// The settings passed to the program that listens.
    package var message: ListenerMessage
    /// The forward proxy for the upstream.
    package var proxy: ProxySetting = .environment

    /// The name, unique among all listeners.
    package var name: String { message.name ?? "" }

    /// The SHA-256 hash of ``AgentProtocol/WireMessage/identity`` in hexadecimal digits, which identifies the
    /// table.
    package var digest: String { Hex.encoded(SHA256.digest(of: message.identity)) }

    /// The table's header and name, for the user.
    package var title: String {
        "[[\(message.kind == .proxy ? "proxy" : "endpoint")]] \(name)"
    }

    /// Returns the message with the content of its files, for a process that opens none.
    ///
    /// - Parameter variables: the proxies of the environment.
    /// - Returns: the message.
    /// - Throws: ``ConfigurationProblem`` with a key of this table if a file cannot be read.
    package func filled(_ variables: ProxyVariables) throws(ConfigurationProblem) -> ListenerMessage {
        var message = message
        if let path = message.authorityFile {
            let text = try ListenerSettings.text("ca_file", path)
            guard text.bytewise.contains("-----BEGIN CERTIFICATE-----") else {
                throw ConfigurationProblem(key: "ca_file", message: "\(path) contains no PEM certificate")
            }
            message.authorities = text
        }
        try fillProxy(of: &message, variables)
        return message
    }

    /// Adds the forward proxy to the message: the program that listens has neither the session nor this
    /// environment.
    private func fillProxy(
        of message: inout ListenerMessage,
        _ variables: ProxyVariables
    ) throws(ConfigurationProblem) {
        // An upstream without TLS is on this machine.
        guard let upstream = message.upstream.flatMap({ try? EndpointURL($0) }), upstream.isTLS else {
            return
        }
        switch proxy {
        case .direct: return
        case .environment:
            do throws(ForwardProxyURLError) {
                let found = try variables.proxy(for: upstream.host, port: upstream.port)
                message.forwardProxy = found?.proxy.description
                message.forwardProxyCredentials = found?.credentials?.text
            } catch {
                throw ConfigurationProblem(key: variables.name, message: "\(error)")
            }
        case .proxy(let configured):
            guard configured.coversInternal || !ForwardProxy.isInternal(upstream.host) else { return }
            message.forwardProxy = configured.proxy.description
            switch configured.credentials {
            case .none: break
            case .file(let path):
                var text = try ListenerSettings.text(ConfiguredProxy.fileKey, path)
                while text.utf8.last == UInt8(ascii: "\n") || text.utf8.last == UInt8(ascii: "\r") {
                    text = String(decoding: text.utf8.dropLast(), as: UTF8.self)
                }
                guard ProxyCredentials(text.utf8) != nil else {
                    let message = "\(path) must contain USER:PASSWORD on one line"
                    throw ConfigurationProblem(key: ConfiguredProxy.fileKey, message: message)
                }
                message.forwardProxyCredentials = text
            case .command:
                let remedy = Remedy.set("proxy_credentials_file")
                throw ConfigurationProblem(
                    key: ConfiguredProxy.commandKey,
                    message: "cannot be used for listeners \(remedy.parenthesized)"
                )
            }
        }
    }

    private static func text(_ key: String, _ path: String) throws(ConfigurationProblem) -> String {
        do throws(ConfigurationFileError) {
            let file = try OpenedFile(path)
            guard file.size <= OpenedFile.maximumSize else {
                throw ConfigurationFileError(message: "is larger than 4 MiB")
            }
            return String(decoding: try file.contents(), as: UTF8.self)
        } catch {
            throw ConfigurationProblem(key: key, message: "\(path) \(error.message)")
        }
    }
}
