// SPDX-License-Identifier: MIT

import SealedStore
import Text
import TokenCore

/// The client's proof of who it is, put into a request in exactly one way (RFC 6749 §2.3).
struct ClientAuthentication: Sendable {
    /// The ways.
    enum Proof: Sendable {
        /// A public client, which only names itself.
        case none
        case basic(SecretID)
        case post(SecretID)
        case assertion(ClientAssertions)
        case certificate(ClientCertificate)
    }

    /// Empty: the assertion of a grant names whoever asks (RFC 7523 §2.1).
    let clientID: String
    let proof: Proof

    /// Chooses between Basic and the body for a client secret.
    ///
    /// Servers must support Basic (RFC 6749 §2.3.1), so it is first unless metadata lists only the other.
    static func proof(_ secret: SecretID, _ method: ClientSecretMethod, listed: [ByteText]?) -> Proof {
        switch method {
        case .basic: .basic(secret)
        case .post: .post(secret)
        case .automatic:
            listed.map { $0.contains("client_secret_basic") || !$0.contains("client_secret_post") } ?? true
                ? .basic(secret) : .post(secret)
        }
    }

    /// Whether the client proves nothing.
    var isPublic: Bool { if case .none = proof { true } else { false } }

    /// Whether it shows assertions that are signed here, by our clock.
    var signsAssertions: Bool {
        if case .assertion(let assertions) = proof { assertions.areOurs } else { false }
    }

    /// The secret that the server knows too, with which it may sign ID tokens.
    var sharedSecret: SecretID? {
        switch proof {
        case .basic(let secret), .post(let secret): secret
        case .assertion(let assertions): assertions.sharedSecret
        case .none, .certificate: nil
        }
    }

    /// Adds the proof to `request`, whose form is copied for that: a request that is sent again has another one.
    ///
    /// - Parameters:
    ///   - request: a form, for an endpoint where the client authenticates.
    ///   - tools: the clock, and the memory that has the secrets.
    ///   - time: when an assertion is made, by the server's clock; `nil`: now, by ours.
    /// - Throws: why there is no proof; nothing is to be sent then.
    func prove(
        _ request: inout OutgoingRequest,
        _ tools: ServerTools,
        at time: WallTime? = nil
    ) async throws(RefreshFailure) {
        let form = request.form.map { FormBody(copying: $0) } ?? FormBody()
        // Beside Basic and assertions it proves nothing, but there are servers that look for it there alone.
        if !clientID.utf8.isEmpty { form.add("client_id", clientID) }
        do {
            switch proof {
            case .none: break
            case .basic(let secret):
                let value = try unsafe tools.memory.open(secret) { unsafe basic($0) }
                request.headers.append(("authorization", value))
            case .post(let secret):
                try unsafe tools.memory.open(secret) { unsafe form.add("client_secret", secret: $0) }
            case .assertion(let assertions):
                form.add("client_assertion_type", ClientAssertions.type)
                let time = time ?? tools.timekeeper.wallTime
                form.add("client_assertion", try await assertions.make(for: request.url, at: time, tools))
            case .certificate(let certificate): request.identity = try await certificate.identity(tools)
            }
        } catch {
            throw error as? RefreshFailure ?? .locked
        }
        request.form = form
    }

    /// Sends `request` with the proof, and once more with an assertion dated by the server's clock if that may help.
    ///
    /// - Parameters:
    ///   - request: as for ``prove(_:_:at:)``; to an endpoint that gives no tokens, as those have proofs of their own beside.
    ///   - tools: send it.
    /// - Returns: the answer, to the second request if there was one.
    /// - Throws: why there is no proof or no answer.
    func send(_ request: OutgoingRequest, _ tools: ServerTools) async throws(RefreshFailure) -> HTTPReply {
        var first = request
        try await prove(&first, tools)
        let reply = try await tools.send(first)
        let code = reply.jsonObject.flatMap { OAuthError($0) }?.code
        guard let time = timeForAnother(after: reply, refusedWith: code, tools) else { return reply }
        var second = request
        try await prove(&second, tools, at: time)
        return try await tools.send(second)
    }

    /// When to date another assertion, by the server's clock, after `reply` has refused one dated by ours; `nil`: another
    /// would not help.
    ///
    /// Only once more: a server that is never satisfied must not keep us busy.
    func timeForAnother(
        after reply: HTTPReply,
        refusedWith code: String?,
        _ tools: ServerTools
    ) -> WallTime? {
        guard signsAssertions, let code, code.bytewise == "invalid_client" else { return nil }
        return reply.timeOfOtherClock(than: tools.timekeeper.wallTime)
    }

    /// What to check when a server refuses the proof; `nil`: nothing beyond the credentials themselves.
    ///
    /// A server may take a client secret in one of two places alone, and not say which: the setting for that is named.
    ///
    /// By RFC 6749 §2.3.1 both halves of Basic credentials are encoded, and some servers do not decode them.
    /// All servers decode a body.
    func hint(_ memory: SealedMemory) -> String? {
        switch proof {
        case .none, .certificate: return nil
        case .assertion: return ClientAssertions.hint
        case .post: return ClientAuthentication.hint(suggesting: "basic")
        case .basic(let secret):
            let isChanged = try? unsafe memory.open(secret) { bytes in
                unsafe bytes.contains { !FormEncoding.keeps($0) }
            }
            guard isChanged == true || clientID.utf8.contains(where: { !FormEncoding.keeps($0) }) else {
                return ClientAuthentication.hint(suggesting: "post")
            }
            return
                "check client_id and client secret; if they are right, set client_authentication = \"post\": the secret "
                + "has characters such as / + = % that not every server decodes"
        }
    }

    private static func hint(suggesting method: String) -> String {
        "check client_id and client secret; if they are right, set client_authentication = \"\(method)\""
    }

    /// Both halves are form-encoded before they are joined, so that `:` and UTF-8 survive.
    private func basic(_ secret: UnsafeRawBufferPointer) -> String {
        var pair = Array(FormEncoding.encoded(clientID).utf8)
        defer { pair.wipe() }
        pair.reserveCapacity(pair.count + 1 + 3 * secret.count)
        pair.append(UInt8(ascii: ":"))
        for index in 0..<secret.count { FormEncoding.encode(unsafe secret[index]) { pair.append($0) } }
        return "Basic " + Base64.encoded(pair)
    }
}

extension HTTPReply {
    /// The server's time, if an assertion of the time `now` may have been refused because of it; another day is not
    /// believed.
    func timeOfOtherClock(than now: WallTime) -> WallTime? {
        guard let time = serverTime else { return nil }
        let difference = max(time - now, now - time)
        return difference > .seconds(30) && difference < .seconds(86_400) ? time : nil
    }
}
