// SPDX-License-Identifier: MIT

import NIOCore
import ServerSettings
import Text

/// A client for etcd's JSON gateway (etcd 3.4 and later, `/v3/…`).
///
/// Every call has a deadline. A call that etcd cannot have processed is sent to the next endpoint within that
/// time, and so is one that only reads or grants a lease. A transaction that etcd may have processed is never
/// repeated. It fails with an error for which ``EtcdFailure/mayHaveActed`` is true, such as
/// ``EtcdFailure/unanswered(_:)``, and the caller must read to find out. An endpoint that does not respond
/// uses up only its share of the time.
///
/// - Entry points: ``EtcdClient``, ``EtcdWatch``.
/// - May not: know about fleets or sessions, or repeat a transaction that etcd may have processed.
/// - Safe to call from any thread.
package final class EtcdClient: Sendable {
    /// The time limit from the call to the complete response: 5 seconds.
    static let callTime = Duration.seconds(5)
    /// The minimum time that each endpoint gets to respond: half a second.
    private static let minimumTimeout = Duration.milliseconds(500)

    let transport: GatewayTransport
    let order: EndpointPreference
    private let pass: EtcdAuthTokenCache

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - endpoints: the endpoints of the members, at least one.
    ///   - door: the trusted CAs and this host's credentials.
    ///   - group: the event loops to use.
    ///   - first: any number, which spreads the hosts over the endpoints.
    /// - Throws: ``EtcdFailure/insecure(_:)`` if the certificates cannot be parsed.
    package init(
        _ endpoints: [EtcdEndpoint],
        _ door: EtcdCredentials,
        on group: any EventLoopGroup,
        first: Int = .random(in: 0..<1024)
    ) throws(EtcdFailure) {
        transport = try GatewayTransport(to: endpoints, door, on: group)
        order = EndpointPreference(endpoints, first: first)
        pass = EtcdAuthTokenCache(door.user)
    }

    /// Closes all connections.
    ///
    /// No calls may follow.
    package func shutDown() async {
        await transport.shutDown()
    }

    // MARK: Calls

    /// Reads keys.
    ///
    /// The read is linearizable: the result was current when etcd responded.
    package func range(
        _ keys: EtcdKeyRange,
        limit: Int64 = 0,
        within time: Duration = callTime
    ) async throws(EtcdFailure) -> EtcdResponse<EtcdRangeResult> {
        try await call(.range(keys, limit: limit), isRepeatable: true, within: time) {
            answer throws(EtcdFailure) in try answer.range(of: keys)
        }
    }

    /// Returns whether one of the existing keys was written after `revision`.
    package func hasChanged(
        _ keys: EtcdKeyRange,
        after revision: Int64
    ) async throws(EtcdFailure) -> EtcdResponse<Bool> {
        let request = GatewayRequest.range(keys, limit: 1, changedAfter: revision)
        return try await call(request, isRepeatable: true, within: EtcdClient.callTime) {
            answer throws(EtcdFailure) in
            try answer.range(of: keys).pairs.contains { $0.modRevision > revision }
        }
    }

    /// Sends a transaction.
    ///
    /// - Returns: `true` if its conditions held.
    package func transact(
        _ transaction: EtcdTransaction,
        within time: Duration = callTime
    ) async throws(EtcdFailure) -> EtcdResponse<Bool> {
        try await call(.transact(transaction), isRepeatable: false, within: time) {
            answer throws(EtcdFailure) in try answer.truth("succeeded")
        }
    }

    /// Creates a lease.
    ///
    /// A lease whose response is lost expires by itself.
    package func grantLease(
        _ lifetime: Duration,
        within time: Duration = callTime
    ) async throws(EtcdFailure) -> EtcdResponse<EtcdLease> {
        try await call(.grantLease(lifetime), isRepeatable: true, within: time) {
            answer throws(EtcdFailure) in try answer.lease()
        }
    }

    /// Returns the status of the member at `endpoint`.
    ///
    /// No other endpoint is tried.
    package func status(
        of endpoint: EtcdEndpoint,
        within time: Duration = callTime
    ) async throws(EtcdFailure) -> EtcdResponse<EtcdStatus> {
        try await ask(.status, at: endpoint, within: time) {
            answer throws(EtcdFailure) in try answer.status()
        }
    }

    /// Checks that the member at `endpoint` permits this host to read the keys.
    ///
    /// No other endpoint is tried.
    ///
    /// - Throws: ``EtcdFailure`` if it does not.
    package func checkReading(
        _ keys: EtcdKeyRange,
        at endpoint: EtcdEndpoint,
        within time: Duration = callTime
    ) async throws(EtcdFailure) {
        _ = try await ask(.range(keys, limit: 1), at: endpoint, within: time) {
            answer throws(EtcdFailure) in try answer.range(of: keys)
        }
    }

    package var endpoints: [EtcdEndpoint] { order.endpoints }

    private func call<Content>(
        _ request: GatewayRequest,
        isRepeatable: Bool,
        within time: Duration,
        _ read: (ParsedGatewayResponse) throws(EtcdFailure) -> Content
    ) async throws(EtcdFailure) -> EtcdResponse<Content> {
        let end = ContinuousClock.now + time
        let endpoints = order.present
        var latest = EtcdFailure.unreachable("timed out before any endpoint was tried")
        var absent = 0
        for (index, endpoint) in endpoints.enumerated() {
            let left = end - ContinuousClock.now
            guard left > .zero, !Task.isCancelled else { break }
            let turn = min(left, max(EtcdClient.minimumTimeout, left / (endpoints.count - index)))
            do throws(EtcdFailure) {
                let answer = try await ask(request, at: endpoint, within: turn, read)
                order.prefer(endpoint)
                return answer
            } catch {
                // The error of another member tells more than a port on which nobody listens.
                if index == 0 || error != .closedPort { latest = error }
                guard error.isOfOneMember else { throw error }
                order.avoid(endpoint)
                if !error.mayHaveActed { absent += 1 }
                guard isRepeatable || !error.mayHaveActed else { throw error }
            }
        }
        if absent == endpoints.count { await wasAway() }
        throw latest
    }

    /// Drops the token for etcd, because no member can be reached.
    ///
    /// A member that comes back may not know the token, or may wait for its log to reach it.
    func wasAway() async {
        await pass.forget()
    }

    /// Sends a request to one member, and once more with a new token if the member rejects the current one.
    private func ask<Content>(
        _ request: GatewayRequest,
        at endpoint: EtcdEndpoint,
        within time: Duration,
        _ read: (ParsedGatewayResponse) throws(EtcdFailure) -> Content
    ) async throws(EtcdFailure) -> EtcdResponse<Content> {
        let end = ContinuousClock.now + time
        let token = request.isAboutMember ? nil : try await token(at: endpoint, until: end)
        var reply = try await send(request, to: endpoint, showing: token, until: end)
        if reply.status != 200, GatewayError(status: reply.status, body: reply.body).wantsNewToken,
            let fresh = try await self.token(besides: token, at: endpoint, until: end)
        {
            reply = try await send(request, to: endpoint, showing: fresh, until: end)
        }
        guard reply.status == 200 else {
            throw GatewayError(status: reply.status, body: reply.body).failure
        }
        let answer = try ParsedGatewayResponse(parsing: reply.body)
        return EtcdResponse(
            header: try answer.header(),
            date: reply.date.flatMap { HTTPDate.read($0) },
            content: try read(answer)
        )
    }

    private func send(
        _ request: GatewayRequest,
        to endpoint: EtcdEndpoint,
        showing token: String?,
        until end: ContinuousClock.Instant
    ) async throws(EtcdFailure) -> GatewayResponse {
        do throws(EtcdFailure) {
            return try await transport.send(request, to: endpoint, token: token, until: end)
        } catch {
            if case .unanswered = error { await pass.doubt(token) }
            throw error
        }
    }

    func token(
        besides refused: String? = nil,
        at endpoint: EtcdEndpoint,
        until end: ContinuousClock.Instant
    ) async throws(EtcdFailure) -> String? {
        // A program that prints the password may take longer than the first caller waits.
        let turn = end - ContinuousClock.now
        return try await pass.token(besides: refused, until: end) {
            [transport] name, password throws(EtcdFailure) in
            let request = GatewayRequest.authenticate(name: name, password: password)
            let reply = try await transport.send(request, to: endpoint, token: nil, until: .now + turn)
            guard reply.status == 200 else {
                throw GatewayError(status: reply.status, body: reply.body).failure
            }
            guard let token = try ParsedGatewayResponse(parsing: reply.body).text("token"),
                (1...4096).contains(token.utf8.count), token.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            else { throw EtcdFailure.malformed("no authentication token for the user") }
            return token
        }
    }

    /// Drops `token`, which etcd has rejected for a watch.
    func forget(_ token: String?) async {
        await pass.forget(token)
    }

    /// Drops `token`, with which a watch got no response.
    func doubt(_ token: String?) async {
        await pass.doubt(token)
    }
}
