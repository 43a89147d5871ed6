// SPDX-License-Identifier: MIT

import AgentProtocol
import Text
import TokenCore

extension SessionAgent {
    /// Serves `POST …/report`: a resource server refused a token; says what helps.
    func serveReport(_ request: HTTPRequest, _ call: TokenCall) throws(RequestFailure) {
        let members: Set<ByteText> = [
            "token", "status", "www_authenticate", "body", "scope", "audience", "host",
        ]
        let body = try RequestBody(request.body, members: members)
        guard let kept = sessions[call.session] else { throw unknown(call.session) }
        let refusal = ResourceRefusal(
            status: try body.integer("status") ?? 0,
            challenge: try body.string("www_authenticate") ?? "",
            body: try body.string("body") ?? "",
            host: try body.string("host")
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
        var call = call
        call.format = .retry
        // Whoever is late with a token gets the one that has replaced it.
        guard token.isHeld else { return forceRefresh(token.variant, rejecting: token.secret, call) }
        if verdict == .sessionOver {
            let message = "the resource server says that the session is over: \(refusal.code ?? "no code")"
            return endSession(message, call)
        }
        if verdict == .tokenRefused(isStated: false), !kept.session.canRefresh,
            !isRepeated(refusal, token, call)
        {
            return answerNone(
                "a refusal without a reason does not end a login that cannot be refreshed",
                to: call
            )
        }
        if kept.settings.endsWithSecondRefusal, kept.session.isFreshReplacement(token.secret, at: moment.now)
        {
            return endSession("the resource server refused a fresh token too", call)
        }
        refuse(token, call)
    }

    /// Whether one of the session's own servers has refused the token without a reason before, a short time ago.
    private func isRepeated(_ refusal: ResourceRefusal, _ token: RejectedToken, _ call: TokenCall) -> Bool {
        guard let settings = sessions[call.session]?.settings, let host = refusal.host,
            let place = HostName(host),
            settings.hosts.contains(where: { HostRule($0)?.closeness(to: place) != nil })
        else { return false }
        return sessions[call.session]?.bareRefusals.add(token.secret, of: place, at: moment.now) ?? false
    }

    private func endSession(_ message: String, _ call: TokenCall) {
        apply(call.session) { session, moment in session.endReported(message, at: moment) }
        answer(RequestFailure(.loginRequired(.grantDead, message: message), of: call.session), to: call)
    }

    private var moment: Moment { ports.timekeeper.moment }
}

/// Refusals without a reason of tokens that cannot be replaced, by the session's own servers.
struct BareRefusals {
    private struct Entry {
        var secret: SecretID
        var place: HostName
        var at: Instant
    }

    /// The second one within this time counts.
    private static let window = Duration.seconds(60)
    /// The newest are remembered.
    private static let limit = 16

    private var entries: [Entry] = []

    /// Remembers one; true if the same server has refused the same token within the last minute.
    mutating func add(_ secret: SecretID, of place: HostName, at now: Instant) -> Bool {
        entries.removeAll { now - $0.at > BareRefusals.window }
        let isSecond = entries.contains { $0.secret == secret && $0.place == place }
        entries.append(Entry(secret: secret, place: place, at: now))
        if entries.count > BareRefusals.limit { entries.removeFirst() }
        return isSecond
    }
}

/// What a resource server answered instead of serving.
struct ResourceRefusal: Equatable {
    enum Verdict: Equatable {
        /// A new token would not change the answer.
        case unrelated
        /// The token is no longer accepted; `isStated`: for a reason that is about the token.
        case tokenRefused(isStated: Bool)
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
    /// The server that was asked, where the report tells.
    var host: String?

    func verdict(for settings: SessionSettings) -> Verdict {
        // A server that fails, or that served after all, says nothing about token or session.
        guard (400...499).contains(status) else { return .unrelated }
        if demandsLogin(settings.loginDemandMember) { return .sessionOver }
        let said = (codes + [challengeError].compactMap(\.self)).map(\.bytewise)
        let ends = Set(settings.endCodes.map(\.bytewise))
        let refreshes = Set(settings.refreshCodes.map(\.bytewise))
        if let known = said.first(where: { ends.contains($0) || refreshes.contains($0) }) {
            return ends.contains(known) ? .sessionOver : .tokenRefused(isStated: true)
        }
        guard status == 401 else { return .unrelated }
        let reason = challengeError?.bytewise
        guard !ResourceRefusal.otherReasons.contains(where: { $0 == reason }) else { return .unrelated }
        return .tokenRefused(isStated: reason == "invalid_token")
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

    private func demandsLogin(_ member: String?) -> Bool {
        guard let member else { return false }
        return [object, object?["error"]?.object].contains { $0?[member]?.bool == true }
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
