// SPDX-License-Identifier: MIT

import SealedStore
import Text
import TokenCore

/// A renewal, at a server of any kind, that brought nothing to serve.
struct FailedRenewal: Error {
    var failure: RefreshFailure
    /// What a successful answer brought all the same.
    var leftover: Leftover?
}

/// What is left of a successful answer whose access token cannot be used: the server may have spent the old refresh
/// token for it.
///
/// A new name of sealed memory comes only with ``ServerTools/outcome(of:renewing:)``: whoever has no session to renew has
/// nothing to erase.
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

/// What a kind of server calls the members of an answer by which a session is renewed.
struct RenewalMembers: Equatable, Sendable {
    var token: String
    /// How long the refresh token lives; the first that is there counts.
    var lifetimes: [String]

    /// RFC 6749 §5.1, and the lifetime as vendors write it.
    static let standard = RenewalMembers(
        token: "refresh_token",
        lifetimes: ["refresh_expires_in", "refresh_token_expires_in"]
    )
    static let cognito = RenewalMembers(token: "RefreshToken", lifetimes: [])

    /// - Throws: why what is there is no refresh token.
    func refreshToken(in object: JSONObject) throws(TokenResponse.Problem) -> String? {
        try TokenResponse.token(token, in: object)
    }

    /// `nil`: the answer does not say.
    func lifetime(in object: JSONObject) -> Duration? {
        let told = lifetimes.lazy.compactMap { object[$0] }.first
        return LifetimeMember.read(told).flatMap { $0 > .zero ? $0 : nil }
    }
}

extension ServerTools {
    /// What `failed` means for the session that was to be renewed by `renewal`.
    ///
    /// The refresh token of an answer that cannot be used is kept if it is another than the one sent. What the server
    /// says to refuse or to end a session counts as it is said, whatever comes with it.
    func outcome(of failed: FailedRenewal, renewing renewal: Renewal) -> RefreshOutcome {
        let failure = failed.failure
        guard let leftover = failed.leftover, case .refreshToken(let sent) = renewal,
            [.misbehaved, .misconfigured].contains(failure.kind)
        else { return .failed(failure) }
        let isOld = (try? isSame(leftover.refreshToken, as: sent)) ?? false
        guard !isOld, let sealed = try? memory.sealing(leftover.refreshToken, as: .refreshToken) else {
            return .failed(failure)
        }
        let saved = SavedRenewal(
            refreshToken: sealed,
            refreshLifetime: leftover.lifetime.map { RefreshLifetime($0) },
            requestedAt: leftover.requestedAt
        )
        return .unusable(failure, saved)
    }
}
