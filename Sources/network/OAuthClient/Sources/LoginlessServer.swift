// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// A server without logins, whose tokens come from another source.
///
/// - Entry points of this folder: ``LoginlessServer/fetch(_:)``, ``TokenGrant`` (tokens for another token or an
///   assertion).
/// - May not: keep the output of a program outside sealed memory.
protocol LoginlessServer: AuthorizationServer {
    var tools: ServerDependencies { get }
    /// The reason that no token with another scope or audience is available.
    var variantRefusal: String { get }
    /// The remedy for users who want to log in, or `nil` if none is known.
    var loginRemedy: Remedy? { get }

    /// Fetches a new token.
    func fetch(_ request: RefreshRequest) async throws(RefreshFailure) -> GrantedTokens
}

extension LoginlessServer {
    var loginRemedy: Remedy? { nil }

    func refresh(_ request: RefreshRequest) async -> RefreshOutcome {
        guard request.variant == .primary else {
            return .failed(RefreshFailure(kind: .variantRefused, message: variantRefusal))
        }
        do throws(RefreshFailure) {
            var granted = try await fetch(request)
            granted.fingerprint = tools.memory.fingerprint(of: granted.accessToken)
            return .granted(granted)
        } catch {
            return .failed(error)
        }
    }

    func logIn(_ request: LoginRequest, conversation: any LoginPrompting) async -> LoginOutcome {
        let message = "sessions of kind \(profile.kind.word.rawValue) have no login"
        return .failed(RefreshFailure(kind: .misconfigured, message: message, remedy: loginRemedy))
    }
}
