// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// Requests with a token, and once more where the agent has a better one.
struct AuthorizedRequests: Sendable {
    /// Reports about one request: another token, then more of the login; or more of the login, with two tokens.
    private static let mostReports = 2

    private let transport: ResourceTransport
    private let tokens: ResourceTokens
    private let place: HostName
    /// When there was no token to send requests with.
    let outage = AgentOutage()

    init(_ transport: ResourceTransport, _ tokens: ResourceTokens, at place: HostName) {
        self.transport = transport
        self.tokens = tokens
        self.place = place
    }

    /// Sends `request` and returns when the head of its answer has come, whatever its status.
    ///
    /// On 401 and 403 the agent is told, and the request is sent once more if that may help. Once for a refused token; what
    /// the server wants beside another token is told too, as the remedy depends on it.
    ///
    /// - Throws: ``RPCFailure`` with the agent's remedy if there is no token, or the server wants more of the login.
    func send(_ request: ResourceRequest) async throws(RPCFailure) -> ResourceResponse {
        let result: Result<ResourceResponse, RPCFailure>
        do throws(AgentError) {
            result = try await sendWithToken(request)
        } catch {
            // A request that was given up has not been refused a token.
            if !Task.isCancelled { outage.noTokenCame(error) }
            throw RPCFailure(error)
        }
        outage.tokenObtained()
        return try result.get()
    }

    private func sendWithToken(
        _ request: ResourceRequest
    ) async throws(AgentError) -> Result<ResourceResponse, RPCFailure> {
        var reported: [RefusalSubject] = []
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
                // The token itself was not refused, and the agent has nothing to judge.
                hasTakenNonce = true
                continue
            }
            let body = await reply.beginning(upTo: 8192)
            let subject = RefusalSubject(reply)
            guard reported.count < AuthorizedRequests.mostReports,
                subject == .login || !reported.contains(.token)
            else {
                return .failure(RPCFailure(refusal: reply, body))
            }
            reported.append(subject)
            let report = RefusalReport(
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

    /// Keeps the nonce of an answer (RFC 9449 §8.1); whether it is another one.
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

/// What a server has something against.
enum RefusalSubject {
    /// The token, which may be too old.
    case token
    /// What the login is good for (RFC 6750 §3.1, RFC 9470 §3).
    case login

    private static let wantsOfLogin: [ByteText] = ["insufficient_scope", "insufficient_user_authentication"]

    init(_ reply: ResourceResponse) {
        let challenges = Challenges(reply.list("www-authenticate"))
        let error =
            challenges.value(of: "error", scheme: "Bearer") ?? challenges.value(of: "error", scheme: "DPoP")
        let isOfLogin = RefusalSubject.wantsOfLogin.contains { $0 == error?.bytewise }
        self = reply.status == 403 || isOfLogin ? .login : .token
    }
}
