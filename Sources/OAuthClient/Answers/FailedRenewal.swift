// SPDX-License-Identifier: MIT

import SealedStore
import Text
import TokenCore

/// A renewal, at a server of any kind, that brought no usable token.
struct FailedRenewal: Error {
    var failure: RefreshFailure
    /// The refresh token that a successful answer brought in spite of the failure.
    var leftover: Leftover?
}

/// What is left of a successful answer whose access token cannot be used: the server may have spent the old refresh
/// token for it.
///
/// The refresh token is sealed only by ``ServerDependencies/outcome(of:renewing:)``: callers without a session to
/// renew have nothing to erase.
struct Leftover: Equatable, Sendable {
    var refreshToken: String
    /// `nil`: the answer does not say.
    var lifetime: Duration?
    /// Read before the request was sent.
    var requestedAt: Instant

    /// `nil`: `object` has no refresh token, or none that could be sent.
    init?(_ object: JSONObject?, _ members: RenewalMembers, requestedAt: Instant) {
        guard let object, let token = try? members.refreshToken(in: object) else { return nil }
        refreshToken = token
        lifetime = members.lifetime(in: object)
        self.requestedAt = requestedAt
    }
}

/// The names of the members for renewal in the answers of one kind of server.
struct RenewalMembers: Equatable, Sendable {
    var token: String
    /// Names for the lifetime of the refresh token; the first one present counts.
    var lifetimes: [String]
    var unit = LifetimeUnit.seconds

    /// RFC 6749 §5.1, and the lifetime as vendors write it.
    static let standard = RenewalMembers(
        token: "refresh_token",
        lifetimes: ["refresh_expires_in", "refresh_token_expires_in"]
    )
    static let cognito = RenewalMembers(token: "RefreshToken", lifetimes: [])

    /// - Throws: why the member is not a refresh token.
    func refreshToken(in object: JSONObject) throws(TokenResponse.Problem) -> String? {
        // It travels in forms and in JSON alone, which take blanks (RFC 6749 Appendix A.17).
        try TokenResponse.token(token, in: object) { $0.isVisibleASCII || $0 == 0x20 }
    }

    /// `nil`: the answer does not say.
    func lifetime(in object: JSONObject) -> Duration? {
        let told = lifetimes.lazy.compactMap { object[$0] }.first
        return LifetimeMember.read(told, in: unit).flatMap(LifetimeMember.positive)
    }
}

extension ServerDependencies {
    /// What `failed` means for the session that was to be renewed by `renewal`.
    ///
    /// The refresh token of an answer that cannot be used is kept if it differs from the one sent. A refusal,
    /// or an answer that ends the session, counts as such, even if a refresh token comes with it.
    func outcome(of failed: FailedRenewal, renewing renewal: Renewal) -> RefreshOutcome {
        var failure = failed.failure
        guard let leftover = failed.leftover, case .refreshToken(let sent) = renewal else {
            return .failed(failure)
        }
        // A successful answer with a new refresh token is no refusal, even if it also has an error code.
        let isGiven = failure.kind == .unexplained && (200..<300).contains(failure.status ?? 0)
        guard isGiven || [.misbehaved, .misconfigured].contains(failure.kind) else { return .failed(failure) }
        let isOld = (try? isSame(leftover.refreshToken, as: sent)) ?? false
        guard !isOld, let sealed = try? memory.sealing(leftover.refreshToken, as: .refreshToken) else {
            return .failed(failure)
        }
        if isGiven { failure.kind = .misbehaved }
        let saved = SavedRenewal(
            refreshToken: sealed,
            refreshLifetime: leftover.lifetime.map { RefreshLifetime($0) },
            requestedAt: leftover.requestedAt
        )
        return .unusable(failure, saved)
    }
}
