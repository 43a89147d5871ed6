// SPDX-License-Identifier: MIT

import NIOCore
import SealedStore
import TokenCore

/// Waits; throws when the task is cancelled meanwhile.
package typealias Sleeping = @Sendable (Duration) async throws -> Void

/// What every kind of server works with.
struct ServerDependencies: Sendable {
    var memory: SealedMemory
    var timekeeper: any Timekeeper
    var commands: any CommandRunning
    var exchange: any HTTPExchanging
    var eventLoop: any EventLoop
    var sleep: Sleeping
    /// Where the job of GitHub Actions that started the agent gets its tokens.
    var workflow: WorkflowIdentity?
    /// Shared by all servers made with these tools.
    var proofNonces = ProofNonces()
    /// Shared as well: servers of one issuer have the same clients.
    var registrar = Registrar()
    /// Shared as well: they have the ports of this machine.
    var lingering = LingeringListeners()
    /// `User-Agent` of every request: web firewalls answer 403 to requests without one.
    var userAgent = "tokenagent"
}

extension ServerDependencies {
    /// The same tools for the server of `profile`.
    func serving(_ profile: ServerProfile) -> ServerDependencies {
        var tools = self
        tools.userAgent = profile.userAgent ?? userAgent
        return tools
    }

    /// Sends `request`, reads the answer's body, and notes the secrets of both.
    func exchanged(_ request: OutgoingRequest) async throws(TransportFailure) -> ServerResponse {
        var request = request
        request.headers.append(("user-agent", userAgent))
        ExchangeSecrets.current?.remember(request)
        var reply = try await exchange.send(request)
        reply.reading = await ResponseBodyParser.read(reply.body)
        ExchangeSecrets.current?.remember(reply.reading)
        return reply
    }

    /// ``exchanged(_:)``, with a transport failure turned into what it means for the session.
    func send(_ request: OutgoingRequest) async throws(RefreshFailure) -> ServerResponse {
        do throws(TransportFailure) {
            return try await exchanged(request)
        } catch {
            throw error.refreshFailure(at: request.url)
        }
    }
}
