// SPDX-License-Identifier: MIT

import AgentProtocol
import StrictJSON
import TokenCore

extension SessionAgent {
    /// Serves `POST …/report`: a resource server refused a token; says what helps.
    func serveReport(_ request: HTTPRequest, _ call: TokenCall) throws(RequestFailure) {
        let members: Set<ByteText> = ["token", "status", "www_authenticate", "body", "scope", "audience"]
        let body = try RequestBody(request.body, members: members)
        guard let kept = sessions[call.session] else { throw unknown(call.session) }
        let refusal = ResourceRefusal(
            status: try body.integer("status") ?? 0,
            challenge: try body.string("www_authenticate") ?? "",
            body: try body.string("body") ?? ""
        )
        let token = try body.requiredString("token")
        let variant = try TokenVariant(body)
        if let path = call.connection.restrictedPath {
            var refusal = refusal
            refusal.body = ""
            return try follow(refusal, of: token, variant, atSocket: path, call)
        }
        let verdict = refusal.verdict(for: kept.settings)
        guard verdict != .unrelated else {
            return call.connection.answer(.json(["action": "none"]))
        }
        // No person is bothered with a refusal that means nothing here.
        try confirmed(call) { agent, call throws(RequestFailure) in
            try agent.follow(refusal, verdict, of: token, variant, call)
        }
    }

    private func follow(
        _ refusal: ResourceRefusal,
        _ verdict: ResourceRefusal.Verdict,
        of text: String,
        _ variant: TokenVariant?,
        _ call: TokenCall
    ) throws(RequestFailure) {
        guard let kept = sessions[call.session] else { throw unknown(call.session) }
        let token = try rejectedToken(text, variant, in: kept)
        guard verdict == .sessionOver, token.isHeld else {
            return replace(token, call)
        }
        endSession("the resource server says that the session is over: \(refusal.code ?? "no code")", call)
    }

    /// How long the token that a report brought is not replaced because of another report: 10 seconds.
    ///
    /// A server that refuses every token must not make the agent refresh at the rate of the requests; one that
    /// revokes a token now and then must not be taken for such a server.
    private static let shortestReplacement = Duration.seconds(10)

    /// Refreshes unless the token is already another one; twice in a row does not help.
    private func replace(_ token: RejectedToken, _ call: TokenCall) {
        if token.isHeld, let kept = sessions[call.session] {
            let replacement = kept.replacements[token.variant]
            let isFresh =
                replacement?.came.map { moment.now - $0 < SessionAgent.shortestReplacement } ?? false
            if isFresh, replacement?.brought == token.secret { return refusedAgain(kept, call) }
            sessions[call.session]?.replacements[token.variant] = ReportedReplacement(refused: token.secret)
        }
        var call = call
        call.format = .retry
        forceRefresh(token.variant, rejecting: token.secret, call)
    }

    /// The token that a report has brought is refused too.
    private func refusedAgain(_ kept: KeptSession, _ call: TokenCall) {
        guard kept.settings.endsWithSecondRefusal else {
            return call.connection.answer(.json(["action": "none"]))
        }
        endSession("the resource server refused a fresh token too", call)
    }

    /// Remembers which tokens the reported refusals have brought.
    func noteRefreshed(_ name: SessionName) {
        guard let kept = sessions[name], !kept.replacements.isEmpty else { return }
        sessions[name]?.replacements = kept.replacements.filter { kept.session.heldTokens[$0.key] != nil }
        for (variant, replacement) in kept.replacements where replacement.brought == nil {
            guard let token = kept.session.heldTokens[variant], token.secret != replacement.refused else {
                continue
            }
            sessions[name]?.replacements[variant]?.brought = token.secret
            sessions[name]?.replacements[variant]?.came = token.obtainedAt
        }
    }

    private func endSession(_ message: String, _ call: TokenCall) {
        apply(call.session) { session, moment in session.endReported(message, at: moment) }
        answer(RequestFailure(.loginRequired(.grantDead, message: message), of: call.session), to: call)
    }

    private var moment: Moment { ports.timekeeper.moment }
}

/// What a report of a refused token led to.
struct ReportedReplacement: Equatable {
    var refused: SecretID
    /// The token that came in its place: refused again at once, another refresh would not help.
    var brought: SecretID?
    var came: Instant?
}

/// What a resource server answered instead of serving.
struct ResourceRefusal: Equatable {
    enum Verdict: Equatable {
        /// A new token would not change the answer.
        case unrelated
        /// The token is no longer accepted.
        case tokenRefused
        /// Only a new login helps.
        case sessionOver
    }

    /// Errors of a challenge that are not about the token's age: RFC 6750 §3.1, and RFC 9449 §7.1 and §9, where
    /// another proof helps.
    private static let otherReasons: [ByteText] = [
        "insufficient_scope", "invalid_request", "invalid_dpop_proof", "use_dpop_nonce",
    ]

    var status: Int64
    /// `WWW-Authenticate`.
    var challenge: String
    var body: String

    func verdict(for settings: SessionSettings) -> Verdict {
        // A server that fails, or that served after all, says nothing about token or session.
        guard (400...499).contains(status) else { return .unrelated }
        if demandsLogin(settings.loginDemandMember) { return .sessionOver }
        let said = (codes + [challengeError].compactMap(\.self)).map(\.bytewise)
        let ends = Set(settings.endCodes.map(\.bytewise))
        let known = said.first { ends.contains($0) || settings.refreshCodes.map(\.bytewise).contains($0) }
        if let known { return ends.contains(known) ? .sessionOver : .tokenRefused }
        guard status == 401 else { return .unrelated }
        let reason = challengeError?.bytewise
        return ResourceRefusal.otherReasons.contains { $0 == reason } ? .unrelated : .tokenRefused
    }

    /// The error code in the body.
    var code: String? { codes.first }

    /// Every code in the body, the most specific first: `error` may be no more than a word for the status.
    private var codes: [String] {
        [object?["error"]?.object, object].compactMap(\.self).flatMap { object in
            ["code", "errorCode", "error_code", "error"].compactMap { object[$0]?.string }
        }
    }

    private var object: JSONObject? { (try? JSONValue(parsing: body.utf8))?.object }

    private func demandsLogin(_ member: String) -> Bool {
        [object, object?["error"]?.object].contains { $0?[member]?.bool == true }
    }

    /// `error="…"` of the challenge (RFC 6750 §3, RFC 9449 §7.1).
    private var challengeError: String? {
        let text = challenge.utf8
        guard let start = text.firstRange(of: "error=\"".utf8)?.upperBound,
            let end = text[start...].firstIndex(of: UInt8(ascii: "\""))
        else { return nil }
        return String(text[start..<end])
    }
}
