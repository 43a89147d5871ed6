// SPDX-License-Identifier: MIT

import AgentProtocol
import ServerSettings
import SystemCalls
import Text
import TokenCore

/// One `[[proxy]]` or `[[endpoint]]`: an address at which another program serves a session's tokens.
package struct ProxyListenerSettings: Equatable, Sendable {
    package var session: SessionName
    /// The settings passed to the program that listens.
    package var message: ProxyListenerMessage
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
    /// - Parameters:
    ///   - variables: the proxies of the environment.
    ///   - run: runs a program that prints credentials for the forward proxy.
    /// - Returns: the message.
    /// - Throws: ``ConfigurationProblem`` with a key of this table if a file cannot be read or the program
    ///   fails.
    package func filled(
        _ variables: ProxyVariables,
        _ run: ([String]) throws(CommandFailure) -> [UInt8]
    ) throws(ConfigurationProblem) -> ProxyListenerMessage {
        var message = message
        if let path = message.authorityFile {
            let text = try ProxyListenerSettings.text("ca_file", path)
            guard text.bytewise.contains("-----BEGIN CERTIFICATE-----") else {
                throw ConfigurationProblem(key: "ca_file", message: "\(path) contains no PEM certificate")
            }
            message.authorities = text
        }
        // An upstream without TLS is on this machine.
        if let upstream = message.upstream.flatMap({ try? EndpointURL($0) }), upstream.isTLS {
            try proxy.fill(&message, for: upstream, variables, run)
        }
        return message
    }

    fileprivate static func text(_ key: String, _ path: String) throws(ConfigurationProblem) -> String {
        do throws(ConfigurationFileError) {
            let file = try OpenConfigurationFile(path)
            guard file.size <= OpenConfigurationFile.maximumSize else {
                throw ConfigurationFileError(message: "is larger than 4 MiB")
            }
            return String(decoding: try file.contents(), as: UTF8.self)
        } catch {
            throw ConfigurationProblem(key: key, message: "\(path) \(error.message)")
        }
    }
}

extension ProxySetting {
    /// Adds the forward proxy for `url` and its credentials to `message`: the program that connects has neither
    /// the configuration nor the agent's environment.
    ///
    /// - Parameters:
    ///   - message: the message, which is unchanged for direct connections.
    ///   - url: the server.
    ///   - variables: the proxies of the environment.
    ///   - run: runs a program that prints credentials.
    /// - Throws: ``ConfigurationProblem`` with the key of the proxy or of its credentials.
    package func fill(
        _ message: inout ProxyListenerMessage,
        for url: EndpointURL,
        _ variables: ProxyVariables,
        _ run: ([String]) throws(CommandFailure) -> [UInt8]
    ) throws(ConfigurationProblem) {
        switch self {
        case .direct: return
        case .environment:
            do throws(ForwardProxyURLError) {
                let found = try variables.proxy(for: url.host, port: url.port)
                message.forwardProxy = found?.proxy.description
                message.forwardProxyCredentials = found?.credentials?.text
            } catch {
                throw ConfigurationProblem(key: variables.name, message: "\(error)")
            }
        case .proxy(let configured):
            guard configured.coversInternal || !ForwardProxy.isInternal(url.host) else { return }
            message.forwardProxy = configured.proxy.description
            message.forwardProxyCredentials = try configured.credentials.read(run)?.text
        }
    }
}

extension ConfiguredProxy.CredentialSource {
    fileprivate func read(
        _ run: ([String]) throws(CommandFailure) -> [UInt8]
    ) throws(ConfigurationProblem) -> ProxyCredentials? {
        let (key, origin): (String, String)
        var bytes: [UInt8]
        switch self {
        case .none: return nil
        case .file(let path):
            (key, origin) = (ConfiguredProxy.fileKey, path)
            bytes = Array(try ProxyListenerSettings.text(key, path).utf8)
        case .command(let command):
            (key, origin) = (ConfiguredProxy.commandKey, command[0])
            do throws(CommandFailure) {
                bytes = try run(command)
            } catch {
                throw ConfigurationProblem(key: key, message: error.message)
            }
        }
        defer { bytes.wipe() }
        bytes.removeLineEnd()
        guard let credentials = ProxyCredentials(bytes) else {
            throw ConfigurationProblem(key: key, message: "\(origin) must contain USER:PASSWORD on one line")
        }
        return credentials
    }
}
