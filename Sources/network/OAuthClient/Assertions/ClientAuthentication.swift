// SPDX-License-Identifier: MIT

import SecretMemory
import ServerSettings
import Text
import TokenCore

/// A proof of the client's identity, which is added to a request in exactly one way (RFC 6749 §2.3).
struct ClientAuthentication: Sendable {
    /// The ways to prove the identity.
    enum Proof: Sendable {
        /// No proof: a public client, which only sends its ID.
        case none
        case basic(SecretID)
        case post(SecretID)
        /// Basic credentials without a secret.
        case basicID
        /// Basic credentials with the secret as the user name, and an empty password.
        case basicSecret(SecretID)
        case assertion(ClientAssertions)
        case certificate(ClientCertificate)
    }

    /// The client ID, or an empty text if the assertion of a grant names the client (RFC 7523 §2.1).
    let clientID: String
    var proof: Proof
    /// The certificate that is shown besides the proof.
    var certificate: ClientCertificate?
    /// The way that the server has accepted before, or `nil` if the configuration fixes the way.
    var learned: LearnedAuthentication?

    /// The other way to send a client secret, or `nil` if only one way is to be tried.
    ///
    /// Every server must support Basic, but some support only the body.
    var alternative: ClientAuthentication? {
        guard case .basic(let secret) = proof, let learned, learned.placement == nil else { return nil }
        var other = self
        other.proof = .post(secret)
        return other
    }

    /// Records that the server accepted the proof.
    func wasAccepted() {
        if case .basic = proof { learned?.learn(.basic) }
        if case .post = proof { learned?.learn(.post) }
    }

    /// Chooses between Basic and the body for a client secret.
    ///
    /// Servers must support Basic (RFC 6749 §2.3.1), so Basic is tried first unless metadata lists only the
    /// body.
    static func proof(_ secret: SecretID, _ method: ClientSecretMethod, listed: [ByteText]?) -> Proof {
        switch method {
        case .basic: .basic(secret)
        case .post: .post(secret)
        case .basicSecret: .basicSecret(secret)
        case .automatic:
            listed.map { $0.contains("client_secret_basic") || !$0.contains("client_secret_post") } ?? true
                ? .basic(secret) : .post(secret)
        }
    }

    /// Whether the client proves nothing.
    var isPublic: Bool { if case .none = proof { true } else { false } }

    /// Whether the client sends assertions that are signed here, dated by this machine's clock.
    var signsAssertions: Bool {
        if case .assertion(let assertions) = proof { assertions.areOurs } else { false }
    }

    /// The secret shared with the server, with which the server may sign ID tokens.
    var sharedSecret: SecretID? {
        switch proof {
        case .basic(let secret), .post(let secret), .basicSecret(let secret): secret
        case .assertion(let assertions): assertions.sharedSecret
        case .none, .basicID, .certificate: nil
        }
    }

    /// Adds the proof to `request`.
    ///
    /// The form is copied, because a request that is sent again has another proof.
    ///
    /// - Parameters:
    ///   - request: A form, for an endpoint where the client authenticates.
    ///   - tools: The clock, and the memory with the secrets.
    ///   - time: The date of an assertion by the server's clock, or `nil` for now by this machine's clock.
    /// - Throws: The reason there is no proof. Nothing must be sent then.
    func prove(
        _ request: inout OutgoingRequest,
        _ tools: ServerDependencies,
        at time: WallTime? = nil
    ) async throws(RefreshFailure) {
        let form = request.form.map { FormBody(copying: $0) } ?? FormBody()
        // With Basic and assertions the parameter proves nothing, but some servers read the client ID only
        // here.
        if !clientID.utf8.isEmpty { form.add("client_id", clientID) }
        do {
            switch proof {
            case .none: break
            case .basic, .basicID, .basicSecret:
                request.headers.append(("authorization", try basicCredentials(tools.memory)))
            case .post(let secret):
                try unsafe tools.memory.open(secret) { unsafe form.add("client_secret", secret: $0) }
            case .assertion(let assertions):
                form.add("client_assertion_type", ClientAssertions.type)
                let time = time ?? tools.timekeeper.wallTime
                form.add("client_assertion", try await assertions.make(for: request.url, at: time, tools))
            case .certificate(let certificate): request.identity = try await certificate.identity(tools)
            }
            if let certificate { request.identity = try await certificate.identity(tools) }
        } catch {
            throw error as? RefreshFailure ?? .locked
        }
        request.form = form
    }

    /// Sends `request` with the proof, and again with another proof if the server rejects the first and
    /// another may help.
    ///
    /// The other proof is the secret in the body, or an assertion with another audience.
    ///
    /// - Parameters:
    ///   - request: A request to an endpoint that returns no tokens. Token requests have proofs of possession
    ///     of their own.
    ///   - tools: Sends the request.
    ///   - audiences: The audiences for an assertion, in the order to try them, or empty for the assertion's
    ///     own audience.
    /// - Returns: The response to the last request, or to the first if all were rejected.
    /// - Throws: The reason there is no proof or no response.
    func send(
        _ request: OutgoingRequest,
        _ tools: ServerDependencies,
        audiences: [String] = []
    ) async throws(RefreshFailure) -> ServerResponse {
        var ways = attempts(at: request.url, audiences)[...]
        let way = ways.popFirst() ?? self
        let first = try await way.sendOnce(request, tools)
        // Some servers send no error code for an assertion with another audience.
        func isRejected(_ answer: ServerResponse) -> Bool {
            answer.isRejectedClient || !audiences.isEmpty && answer.status == 401
        }
        guard isRejected(first) else { return way.accepted(first, at: request.url) }
        for way in ways {
            let answer = try await way.sendOnce(request, tools)
            if !isRejected(answer) { return way.accepted(answer, at: request.url) }
        }
        // Return the first response: the first way is the one that should work.
        return first
    }

    private func accepted(_ answer: ServerResponse, at url: EndpointURL) -> ServerResponse {
        guard (200..<300).contains(answer.status) else { return answer }
        wasAccepted()
        if case .assertion(let assertions) = proof, case .other(let name) = assertions.audience {
            learned?.learn(audience: name, at: url)
        }
        return answer
    }

    private func attempts(at url: EndpointURL, _ audiences: [String]) -> [ClientAuthentication] {
        guard case .assertion(let assertions) = proof, assertions.areOurs, assertions.audience == .endpoint,
            !audiences.isEmpty
        else { return [self] + [alternative].compactMap(\.self) }
        let names = learned?.audience(at: url).map { [$0] } ?? audiences
        return names.map { name in
            var other = self
            var named = assertions
            named.audience = .other(name)
            other.proof = .assertion(named)
            return other
        }
    }

    /// Sends `request` with the proof, and once more with an assertion dated by the server's clock if that
    /// may help.
    ///
    /// - Parameters:
    ///   - request: A request to an endpoint that returns no tokens, as for ``send(_:_:audiences:)``.
    ///   - tools: Sends the request.
    /// - Returns: The response to the last request sent.
    /// - Throws: The reason there is no proof or no response.
    private func sendOnce(
        _ request: OutgoingRequest,
        _ tools: ServerDependencies
    ) async throws(RefreshFailure) -> ServerResponse {
        var first = request
        try await prove(&first, tools)
        let reply = try await tools.send(first)
        guard let time = timeForAnother(after: reply, refusedWith: reply.oauthCode, tools) else {
            return reply
        }
        var second = request
        try await prove(&second, tools, at: time)
        return try await tools.send(second)
    }

    /// Returns the date for a second assertion, by the server's clock, after `reply` rejected one dated by
    /// this machine's.
    ///
    /// The caller sends only one more: a server that is never satisfied must not keep the agent busy.
    ///
    /// - Returns: The date, or `nil` if another assertion would not help.
    func timeForAnother(
        after reply: ServerResponse,
        refusedWith code: String?,
        _ tools: ServerDependencies
    ) -> WallTime? {
        guard signsAssertions, let code, code.bytewise == "invalid_client" else { return nil }
        return reply.timeOfOtherClock(than: tools.timekeeper.wallTime)
    }

    /// Returns the setting to check when a server rejects the proof, or `nil` if there is none beyond the
    /// credentials.
    ///
    /// A server may accept a client secret in only one of two places without saying which, so the remedy names
    /// the setting for the place. By RFC 6749 §2.3.1 both halves of Basic credentials are encoded, and some
    /// servers do not decode them. All servers decode a body.
    func rejectionRemedy(_ memory: SealedMemory) -> Remedy? {
        switch proof {
        case .none, .basicID, .basicSecret, .certificate: return nil
        case .assertion: return ClientAssertions.rejectionRemedy
        case .post: return ClientAuthentication.remedy(suggesting: "basic")
        case .basic(let secret):
            let isChanged = try? unsafe memory.open(secret) { bytes in
                unsafe bytes.contains { !FormEncoding.keeps($0) }
            }
            guard isChanged == true || clientID.utf8.contains(where: { !FormEncoding.keeps($0) }) else {
                return ClientAuthentication.remedy(suggesting: "post")
            }
            return .set("client_authentication = \"post\" (some servers misread / + = % with basic)")
        }
    }

    private static func remedy(suggesting method: String) -> Remedy {
        .set("client_id, the client secret, or client_authentication = \"\(method)\"")
    }

    /// Whether the client sends its secret, so that Basic credentials may contain it too.
    var sendsSecret: Bool {
        if case .assertion = proof { false } else { sharedSecret != nil }
    }

    /// Returns the client's Basic credentials (RFC 7617 §2), whatever the way to send its secret.
    func basicCredentials(_ memory: SealedMemory) throws(RefreshFailure) -> String {
        guard let secret = sharedSecret else { return basic(clientID.utf8, "".utf8) }
        do {
            return try unsafe memory.open(secret) { secret in
                if case .basicSecret = proof { return unsafe basic(secret, "".utf8) }
                return unsafe basic(clientID.utf8, secret)
            }
        } catch {
            throw .locked
        }
    }

    /// Returns Basic credentials.
    ///
    /// Both halves are form-encoded before they are joined, so that `:` and UTF-8 survive.
    private func basic(_ user: some Collection<UInt8>, _ password: some Collection<UInt8>) -> String {
        var pair: [UInt8] = []
        pair.reserveCapacity(3 * (user.count + password.count) + 1)
        defer { pair.wipe() }
        for byte in user { FormEncoding.encode(byte) { pair.append($0) } }
        pair.append(UInt8(ascii: ":"))
        for byte in password { FormEncoding.encode(byte) { pair.append($0) } }
        return "Basic " + Base64.encoded(pair)
    }
}

extension ServerResponse {
    /// The code of an OAuth error, or `nil` if the response is not one.
    var oauthCode: String? { jsonObject.flatMap { ReportedOAuthError($0) }?.code }

    fileprivate var isRejectedClient: Bool { oauthCode?.bytewise == "invalid_client" }

    /// Returns the server's time if an assertion dated `now` may have been rejected because of the
    /// difference.
    ///
    /// A difference of a day or more is not believed.
    func timeOfOtherClock(than now: WallTime) -> WallTime? {
        guard let time = serverTime else { return nil }
        let difference = max(time - now, now - time)
        return difference > .seconds(30) && difference < .seconds(86_400) ? time : nil
    }
}
