// SPDX-License-Identifier: MIT

import NIOCore
import SecretMemory
import ServerSettings
import TokenCore

/// A function that waits, and throws if the task is cancelled before the time is over.
package typealias Sleeping = @Sendable (Duration) async throws -> Void

/// The services used by servers of every kind.
struct ServerDependencies: Sendable {
    var memory: SealedMemory
    var timekeeper: any Timekeeper
    var commands: any CommandRunning
    var exchange: any HTTPExchanging
    var eventLoop: any EventLoop
    var sleep: Sleeping
    /// The tokens of the GitHub Actions job that started the agent, or `nil` if none did.
    var workflow: GitHubActionsTokenService?
    /// The nonces for proofs, shared by all servers with these dependencies.
    var proofNonces = ProofNonces()
    /// The registered clients, which are shared as well: servers of one issuer have the same clients.
    var registrar = Registrar()
    /// The listeners that still respond after a login, which are shared as well because they use the ports of
    /// this machine.
    var lingering = LingeringListeners()
    /// The `User-Agent` of every request.
    ///
    /// Web firewalls respond 403 to requests without one.
    var userAgent = "tokenagent"
}

extension ServerDependencies {
    /// Returns the dependencies for the server of `profile`.
    func serving(_ profile: ServerProfile) -> ServerDependencies {
        var tools = self
        tools.userAgent = profile.userAgent ?? userAgent
        return tools
    }

    /// Sends `request`, parses the body of the response, and records the secrets of both.
    func exchanged(_ request: OutgoingRequest) async throws(TransportFailure) -> ServerResponse {
        var request = request
        request.headers.append(("user-agent", userAgent))
        ExchangeSecrets.current?.remember(request)
        var reply = try await exchange.send(request)
        reply.reading = await ResponseBodyParser.read(reply.body)
        ExchangeSecrets.current?.remember(reply.reading)
        return reply
    }

    /// Sends `request` like ``exchanged(_:)``, with a transport failure converted to one of the session.
    func send(_ request: OutgoingRequest) async throws(RefreshFailure) -> ServerResponse {
        do throws(TransportFailure) {
            return try await exchanged(request)
        } catch {
            throw error.refreshFailure(at: request.url)
        }
    }
}
