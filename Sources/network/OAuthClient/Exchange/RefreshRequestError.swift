// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// The error of a request for tokens, at a server of any kind, that returned no usable one.
struct RefreshRequestError: Error {
    var failure: RefreshFailure
    /// The refresh token of a successful response that could not be used.
    var leftover: RescuableRefreshToken?
}

/// The refresh token of a successful response whose access token cannot be used.
///
/// The server may have invalidated the old refresh token for it. Only
/// ``ServerDependencies/outcome(of:renewing:)`` seals the new one: callers that refresh no session have
/// nothing to erase.
struct RescuableRefreshToken: Equatable, Sendable {
    var refreshToken: String
    /// The lifetime of the refresh token, or `nil` if the response does not state one.
    var lifetime: Duration?
    /// The time just before the request was sent.
    var requestedAt: Instant

    /// Reads `object`, or returns `nil` if it has no refresh token or only one with invalid characters.
    init?(_ object: JSONObject?, _ format: TokenResponseFormat, requestedAt: Instant) {
        guard let object, let token = try? format.refreshToken(in: object) else { return nil }
        refreshToken = token
        lifetime = format.refreshLifetime(in: object)
        self.requestedAt = requestedAt
    }
}

extension ServerDependencies {
    /// Converts `failed` to the outcome of the refresh with `renewal`.
    ///
    /// The refresh token of a response that cannot be used is kept if it differs from the one sent. A
    /// rejection, or a response that ends the session, counts as such even if it includes a refresh token.
    func outcome(of failed: RefreshRequestError, renewing renewal: RenewalMethod) -> RefreshOutcome {
        var failure = failed.failure
        guard let leftover = failed.leftover, case .refreshToken(let sent) = renewal else {
            return .failed(failure)
        }
        // A successful response with a new refresh token is not a rejection, even if it also has an error
        // code.
        let isGiven = failure.kind == .unexplained && (200..<300).contains(failure.status ?? 0)
        guard isGiven || [.misbehaved, .misconfigured].contains(failure.kind) else { return .failed(failure) }
        let isOld = (try? isSame(leftover.refreshToken, as: sent)) ?? false
        guard !isOld, let sealed = try? memory.sealing(leftover.refreshToken, as: .refreshToken) else {
            return .failed(failure)
        }
        if isGiven { failure.kind = .misbehaved }
        let saved = RescuedRefreshToken(
            refreshToken: sealed,
            refreshLifetime: leftover.lifetime.map { RefreshLifetime($0) },
            requestedAt: leftover.requestedAt
        )
        return .unusable(failure, saved)
    }
}
