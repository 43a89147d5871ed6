// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// A sender of requests with a token, which tries again if the agent has a better token.
struct AuthorizedRequests: Sendable {
    /// The maximum number of reports about one request: one about the token and one about the login, or two
    /// about the login.
    private static let maximumReports = 2

    private let transport: ResourceTransport
    private let tokens: ResourceTokenSource
    private let place: HostAndPort
    /// The periods without a token.
    let outage = AgentOutage()

    init(_ transport: ResourceTransport, _ tokens: ResourceTokenSource, at place: HostAndPort) {
        self.transport = transport
        self.tokens = tokens
        self.place = place
    }

    /// Sends `request` and returns when the head of its response has arrived, whatever its status.
    ///
    /// A 401 or 403 is reported to the agent, and the request is sent again if that may help. That happens
    /// once for a rejected token. Further requirements of the server are reported too, because the remedy
    /// depends on them.
    ///
    /// - Throws: ``RPCFailure`` with the agent's remedy if there is no token, or if the server requires a
    ///   login with more rights or stronger authentication.
    func send(_ request: ResourceRequest) async throws(RPCFailure) -> ResourceResponse {
        let result: Result<ResourceResponse, RPCFailure>
        do throws(AgentError) {
            result = try await sendWithToken(request)
        } catch {
            // A cancelled request says nothing about the availability of tokens.
            if !Task.isCancelled { outage.noTokenCame(error) }
            throw RPCFailure(error)
        }
        outage.tokenObtained()
        return try result.get()
    }

    private func sendWithToken(
        _ request: ResourceRequest
    ) async throws(AgentError) -> Result<ResourceResponse, RPCFailure> {
        var reported: [RejectionSubject] = []
        var hasTakenNonce = false
        while true {
            let token = try await tokens.token(for: request.method.rawValue)
            let result = await attempt(request, with: token)
            guard case .success(let reply) = result, reply.status == 401 || reply.status == 403 else {
                if case .success(let reply) = result { _ = await takeNonce(of: reply, token) }
                return result
            }
            let isNew = await takeNonce(of: reply, token)
            if isNew, !hasTakenNonce, AuthorizedRequests.wantsNonce(reply) {
                // The token itself was not rejected, so there is nothing to report to the agent.
                hasTakenNonce = true
                continue
            }
            let body = await reply.bodyPrefix(upTo: 8192)
            let subject = RejectionSubject(reply)
            guard reported.count < AuthorizedRequests.maximumReports,
                subject == .login || !reported.contains(.token)
            else {
                return .failure(RPCFailure(refusal: reply, body))
            }
            reported.append(subject)
            let report = TokenRejectionReport(
                status: reply.status,
                challenge: reply.list("www-authenticate"),
                body: body,
                place: place
            )
            guard try await tokens.replace(token, report, subject) else {
                return .failure(RPCFailure(refusal: reply, body))
            }
        }
    }

    private func attempt(
        _ request: ResourceRequest,
        with token: AgentToken
    ) async -> Result<ResourceResponse, RPCFailure> {
        var request = request
        let scheme = TokenOutputFormat.scheme(ofType: token.type)
        request.fields.append(("authorization", "\(scheme) \(token.value)"))
        if let proof = token.proof { request.fields.append(("dpop", proof)) }
        do throws(RPCFailure) {
            return .success(try await transport.send(request))
        } catch {
            return .failure(error)
        }
    }

    /// Stores the nonce of a response (RFC 9449 §8.1).
    ///
    /// - Returns: whether the nonce is a new one.
    private func takeNonce(of reply: ResourceResponse, _ token: AgentToken) async -> Bool {
        guard token.isBoundToKey, let nonce = reply.field("dpop-nonce"),
            (1...512).contains(nonce.utf8.count), nonce.utf8.allSatisfy(\.isNQChar)
        else { return false }
        return await tokens.take(nonce: nonce)
    }

    private static func wantsNonce(_ reply: ResourceResponse) -> Bool {
        let challenges = Challenges(reply.list("www-authenticate"))
        return reply.status == 401
            && challenges.value(of: "error", scheme: "DPoP")?.bytewise == "use_dpop_nonce"
    }
}

/// The subject of a server's rejection.
enum RejectionSubject {
    /// The token, which may be too old.
    case token
    /// The rights or the strength of the login (RFC 6750 §3.1, RFC 9470 §3).
    case login

    private static let wantsOfLogin: [ByteText] = ["insufficient_scope", "insufficient_user_authentication"]

    init(_ reply: ResourceResponse) {
        let challenges = Challenges(reply.list("www-authenticate"))
        let error =
            challenges.value(of: "error", scheme: "Bearer") ?? challenges.value(of: "error", scheme: "DPoP")
        let isOfLogin = RejectionSubject.wantsOfLogin.contains { $0 == error?.bytewise }
        self = reply.status == 403 || isOfLogin ? .login : .token
    }
}
