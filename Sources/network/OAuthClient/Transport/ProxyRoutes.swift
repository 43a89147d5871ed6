// SPDX-License-Identifier: MIT

import ForwardProxy
import Glibc
import ServerSettings
import Synchronization
import SystemCalls
import Text
import Threads
import TokenCore

/// Selects the proxy for each server, and provides the credentials for the proxy.
///
/// Safe to call from any thread.
package final class ProxyRoutes: Sendable {
    /// A proxy and the setting that names it.
    private struct SelectedProxy {
        var proxy: ForwardProxy
        var credentials: CredentialLookup
        /// The configuration key or environment variable that names the proxy.
        var origin: String

        enum CredentialLookup: Hashable {
            case known(ProxyCredentials?)
            case configured(ConfiguredProxy.CredentialSource)
        }
    }

    /// The maximum run time of the program that prints credentials.
    private static let commandTimeLimit: Duration = .seconds(10)
    /// The maximum wait for the resolver, which may never respond if only the proxy resolves public names.
    private static let resolverLimit: Duration = .seconds(1)

    private let variables: ProxyVariables
    private let commands: (any CommandRunning)?
    /// The credentials that programs have printed, cached until a proxy rejects them.
    private let printed: Mutex<[[String]: ProxyCredentials]> = Mutex([:])
    /// The credentials that each proxy has rejected.
    ///
    /// Sending them repeatedly can lock an account.
    private let rejected: Mutex<[ForwardProxy: ProxyCredentials]> = Mutex([:])

    /// Creates the routes of the agent.
    ///
    /// - Parameters:
    ///   - variables: The environment at the agent's start.
    ///   - commands: Runs `proxy_credentials_command`.
    package init(_ variables: ProxyVariables = .none, commands: (any CommandRunning)? = nil) {
        self.variables = variables
        self.commands = commands
    }

    /// Returns the tunnel to the host of `url`.
    ///
    /// - Parameters:
    ///   - url: The URL of a request.
    ///   - choice: The setting of the session.
    ///   - credentials: The authorities that are trusted for a proxy too.
    /// - Returns: The tunnel, or `nil` if the connection is direct.
    /// - Throws: `misconfigured` if the proxy cannot be used as configured, or `helperFailed` if there are no
    ///   credentials for it now.
    func tunnel(
        to url: EndpointURL,
        _ choice: ProxySetting,
        _ credentials: LoadedServerTrust
    ) async throws(TransportFailure) -> ProxyTunnel? {
        guard let route = try route(to: url, choice) else { return nil }
        let shown = try await shown(at: route)
        if let shown, rejected.withLock({ $0[route.proxy] }) == shown {
            throw .proxy(.loginRequired, route.proxy)
        }
        do throws(ProxyFailure) {
            return try ProxyTunnel(route.proxy, credentials: shown, authorities: credentials.extraRoots)
        } catch {
            throw .proxy(error, route.proxy)
        }
    }

    /// Converts a failure of the proxy for `url`.
    ///
    /// Credentials that the proxy rejected are not sent to it again.
    func explained(
        _ failure: ProxyFailure,
        at url: EndpointURL,
        _ choice: ProxySetting
    ) async -> TransportFailure {
        do throws(TransportFailure) {
            guard let route = try route(to: url, choice) else {
                return .unreachable("the proxy is no longer configured")
            }
            if failure == .loginRequired, let shown = try await shown(at: route) {
                rejected.withLock { $0[route.proxy] = shown }
                if case .configured(.command(let command)) = route.credentials {
                    printed.withLock { $0[command] = nil }
                }
            }
            return .proxy(failure, route.proxy)
        } catch {
            return error
        }
    }

    /// Describes how the host of `address` is reached, or returns `nil` if no proxy is configured for any
    /// server.
    func description(of address: String, _ choice: ProxySetting) -> String? {
        guard choice != .environment || variables.exist, let url = try? EndpointURL(address) else {
            return nil
        }
        do throws(TransportFailure) {
            guard let route = try route(to: url, choice) else { return "without a proxy" }
            return "through the proxy \(route.proxy) (\(route.origin))"
        } catch {
            return nil
        }
    }

    private func route(to url: EndpointURL, _ choice: ProxySetting) throws(TransportFailure) -> SelectedProxy?
    {
        switch choice {
        case .direct: return nil
        case .proxy(let configured):
            guard configured.coversInternal || !ForwardProxy.isInternal(url.host) else { return nil }
            return SelectedProxy(
                proxy: configured.proxy,
                credentials: .configured(configured.credentials),
                origin: configured.coversInternal ? ConfiguredProxy.key : "agent.\(ConfiguredProxy.key)"
            )
        case .environment:
            do throws(ForwardProxyURLError) {
                guard let found = try variables.proxy(for: url.host, port: url.port) else { return nil }
                return SelectedProxy(
                    proxy: found.proxy,
                    credentials: .known(found.credentials),
                    origin: variables.name
                )
            } catch {
                throw .misconfigured("\(variables.name) of the agent's environment \(error)")
            }
        }
    }

    private func shown(at route: SelectedProxy) async throws(TransportFailure) -> ProxyCredentials? {
        let key: String
        var bytes: [UInt8]
        switch route.credentials {
        case .known(let credentials): return credentials
        case .configured(.none): return nil
        case .configured(.file(let path)):
            key = ConfiguredProxy.fileKey
            do throws(SmallFile.Failure) {
                bytes = try SmallFile.read(path)
            } catch {
                throw .helperFailed(RefreshFailure(error, of: "\(key) \(path)"))
            }
        case .configured(.command(let command)):
            key = ConfiguredProxy.commandKey
            if let known = printed.withLock({ $0[command] }) { return known }
            guard let commands else { throw .misconfigured("\(key): programs cannot be run here") }
            do throws(CommandFailure) {
                bytes = try await commands.output(of: command, within: ProxyRoutes.commandTimeLimit)
            } catch {
                throw .helperFailed(RefreshFailure(error, of: key))
            }
        }
        defer { bytes.wipe() }
        bytes.removeLineEnd()
        guard let credentials = ProxyCredentials(bytes) else {
            let message = "\(key): must contain USER:PASSWORD on one line"
            throw .helperFailed(RefreshFailure(kind: .helperFailed, message: message))
        }
        if case .configured(.command(let command)) = route.credentials {
            printed.withLock { $0[command] = credentials }
        }
        return credentials
    }

    /// Returns whether `host`, which a proxy will resolve, is in a private network as far as this machine
    /// knows.
    ///
    /// A name that is unknown here is left to the proxy: in a network that needs one, there is often no other
    /// resolver.
    static func leadsInside(_ host: String) async -> Bool {
        if ForwardProxy.isInternal(host) { return true }
        guard IPAddress(host) == nil else { return false }
        let (answers, answer) = AsyncStream.makeStream(of: Bool.self)
        // The resolver cannot be cancelled, and its thread ends when it returns.
        guard
            let thread = try? SystemThread({
                answer.yield(resolved(host).contains { $0.isInternal })
                answer.finish()
            })
        else { return false }
        thread.detach()
        let limit = Task {
            try? await Task.sleep(for: resolverLimit, clock: .continuous)
            answer.finish()
        }
        defer { limit.cancel() }
        for await isInside in answers { return isInside }
        return false
    }

    private static func resolved(_ host: String) -> [IPAddress] {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(host, nil, &hints, &list) == 0 else { return [] }
        defer { unsafe freeaddrinfo(list) }
        var addresses: [IPAddress] = []
        var next = unsafe list
        while let entry = unsafe next {
            var name = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let info = unsafe entry.pointee
            let status = unsafe getnameinfo(
                info.ai_addr,
                info.ai_addrlen,
                &name,
                socklen_t(name.count),
                nil,
                0,
                NI_NUMERICHOST
            )
            // Leave out the zone of a link-local address.
            let text = name.prefix { $0 != 0 && $0 != CChar(UInt8(ascii: "%")) }.map { UInt8(bitPattern: $0) }
            if status == 0, let address = IPAddress(String(decoding: text, as: UTF8.self)) {
                addresses.append(address)
            }
            unsafe next = info.ai_next
        }
        return addresses
    }
}

extension TransportFailure {
    /// Converts a failure of `proxy`.
    static func proxy(_ failure: ProxyFailure, _ proxy: ForwardProxy) -> TransportFailure {
        let message = failure.message(of: proxy)
        switch failure {
        case .unreachable, .timedOut, .rejected, .notAProxy: return .unreachable(message)
        case .insecure: return .insecure(message)
        case .loginRequired:
            return .misconfigured(
                message,
                remedy: .set("\(ConfiguredProxy.fileKey) to a file with USER:PASSWORD")
            )
        }
    }
}
