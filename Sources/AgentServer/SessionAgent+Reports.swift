// SPDX-License-Identifier: MIT

import AgentProtocol
import StrictJSON
import TokenCore

extension SessionAgent {
    /// Serves `POST …/report`: a resource server refused a token; says what helps.
    func serveReport(_ request: HTTPRequest, _ call: TokenCall) throws(RequestFailure) {
        let body = try RequestBody(request.body, members: ["token", "status", "www_authenticate", "body"])
        guard let kept = sessions[call.session] else { throw unknown(call.session) }
        let refusal = ResourceRefusal(
            status: try body.integer("status") ?? 0,
            challenge: try body.string("www_authenticate") ?? "",
            body: try body.string("body") ?? ""
        )
        let reported = secret(matching: try body.requiredString("token"), in: kept)
        switch refusal.verdict(for: kept.settings) {
        case .unrelated: call.connection.answer(.json(["action": "none"]))
        case .sessionOver: endSession(reported, refusal, call)
        case .tokenRefused: replaceToken(reported, call)
        }
    }

    /// How long the token that a report brought is not replaced because of another report: 1 minute.
    ///
    /// A server that refuses every token must not make the agent refresh at the rate of the requests.
    private static let shortestReplacement = Duration.seconds(60)

    /// Refreshes unless the token is already another one; twice in a row does not help.
    private func replaceToken(_ reported: SecretID, _ call: TokenCall) {
        let kept = sessions[call.session]
        if kept?.session.primaryToken?.secret == reported {
            let age = kept?.reportedTokenCame.map { ports.timekeeper.moment.now - $0 }
            guard kept?.reportedToken != reported || (age ?? .zero) >= SessionAgent.shortestReplacement else {
                return call.connection.answer(.json(["action": "none"]))
            }
            sessions[call.session]?.refreshedByReport = true
        }
        var call = call
        call.format = .retry
        forceRefresh(rejecting: reported, call)
    }

    /// Remembers which token a reported refusal brought.
    func noteRefreshed(_ name: SessionName) {
        guard let kept = sessions[name], kept.refreshedByReport else { return }
        sessions[name]?.refreshedByReport = false
        sessions[name]?.reportedToken = kept.session.primaryToken?.secret
        sessions[name]?.reportedTokenCame = ports.timekeeper.moment.now
    }

    /// The server says that the whole session is over; only the holder of its present token can say so.
    private func endSession(_ reported: SecretID, _ refusal: ResourceRefusal, _ call: TokenCall) {
        guard sessions[call.session]?.session.primaryToken?.secret == reported else {
            return replaceToken(reported, call)
        }
        let message = "the resource server says that the session is over: \(refusal.code ?? "no code")"
        apply(call.session) { session, moment in session.endReported(message, at: moment) }
        answer(RequestFailure(.loginRequired(.grantDead, message: message), of: call.session), to: call)
    }
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

    var status: Int64
    /// `WWW-Authenticate`.
    var challenge: String
    var body: String

    func verdict(for settings: SessionSettings) -> Verdict {
        if requiresReauthentication { return .sessionOver }
        let known = (codes + [challengeError].compactMap(\.self)).first { code in
            settings.endCodes.contains(code) || settings.refreshCodes.contains(code)
        }
        if let known { return settings.endCodes.contains(known) ? .sessionOver : .tokenRefused }
        guard status == 401 else { return .unrelated }
        // RFC 6750 §3.1: insufficient_scope and invalid_request are not about the token's age.
        return ["insufficient_scope", "invalid_request"].contains(challengeError ?? "")
            ? .unrelated : .tokenRefused
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

    private var requiresReauthentication: Bool {
        object?["requiresReauth"]?.bool == true || object?["error"]?.object?["requiresReauth"]?.bool == true
    }

    /// `error="…"` of a Bearer challenge (RFC 6750 §3).
    private var challengeError: String? {
        let text = challenge.utf8
        guard let start = text.firstRange(of: "error=\"".utf8)?.upperBound,
            let end = text[start...].firstIndex(of: UInt8(ascii: "\""))
        else { return nil }
        return String(text[start..<end])
    }
}
