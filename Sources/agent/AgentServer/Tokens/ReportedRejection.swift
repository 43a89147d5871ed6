// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The response with which a resource server has rejected a request.
struct ReportedRejection: Equatable {
    enum Verdict: Equatable {
        /// A new token would not change the response.
        case unrelated
        /// The token is no longer accepted.
        ///
        /// `isStated` means that the server gave a reason about the token.
        case tokenRefused(isStated: Bool)
        /// Only a new login helps.
        case sessionOver
        /// A login that requests more would help.
        case stepUp(StepUpChallenge)
    }

    /// The errors of a challenge that a new token does not fix.
    ///
    /// They are from RFC 6750 §3.1, and from RFC 9449 §7.1 and §9, where another proof helps.
    private static let otherReasons: [ByteText] = [
        "insufficient_scope", "insufficient_user_authentication", "invalid_request", "invalid_dpop_proof",
        "use_dpop_nonce",
    ]

    var status: Int64
    /// The value of `WWW-Authenticate`.
    var challenge: String
    var body: String
    /// The host of the server, if the report names it.
    var host: String?

    func verdict(for settings: SessionSettings) -> Verdict {
        // A response with another status says nothing about the token or the session.
        guard (400...499).contains(status) else { return .unrelated }
        if let object, settings.jsonResponsePaths.demandLogin(in: object) { return .sessionOver }
        let said = (codes(for: settings) + [challengeError].compactMap(\.self)).map(\.bytewise)
        let ends = Set(settings.endCodes.map(\.bytewise))
        let refreshes = Set(settings.refreshCodes.map(\.bytewise))
        if let known = said.first(where: { ends.contains($0) || refreshes.contains($0) }) {
            return ends.contains(known) ? .sessionOver : .tokenRefused(isStated: true)
        }
        if let stepUp = StepUpChallenge(status: status, challenge) { return .stepUp(stepUp) }
        guard status == 401 else { return .unrelated }
        let reason = challengeError?.bytewise
        guard !ReportedRejection.otherReasons.contains(where: { $0 == reason }) else { return .unrelated }
        return .tokenRefused(isStated: reason == "invalid_token")
    }

    /// Returns the most specific error code in the body.
    func code(for settings: SessionSettings) -> String? { codes(for: settings).first }

    /// Returns all error codes in the body, the most specific first.
    private func codes(for settings: SessionSettings) -> [String] {
        object.map(settings.jsonResponsePaths.codes) ?? []
    }

    private var object: JSONObject? {
        (try? JSONValue(parsing: ByteOrderMark.dropped(from: Array(body.utf8))))?.object
    }

    /// The `error="…"` of the challenge (RFC 6750 §3, RFC 9449 §7.1), which may lack quotes (RFC 9110 §11.2).
    private var challengeError: String? {
        let text = challenge.utf8
        guard let start = text.firstRange(of: "error=".utf8)?.upperBound else { return nil }
        let rest = text[start...]
        guard rest.first == UInt8(ascii: "\"") else {
            return String(rest.prefix { !" \t,".utf8.contains($0) })
        }
        let value = rest.dropFirst()
        return value.firstIndex(of: UInt8(ascii: "\"")).flatMap { String(value[..<$0]) }
    }
}
