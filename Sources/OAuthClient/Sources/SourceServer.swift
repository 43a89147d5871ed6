// SPDX-License-Identifier: MIT

import SealedStore
import TokenCore

/// A server without logins: its tokens come from something that is there anyway.
protocol SourceServer: AuthorizationServer {
    var tools: ServerDependencies { get }
    /// Why no token of another scope or audience can be had.
    var variantRefusal: String { get }
    /// What a person does who wants to log in, where that is known.
    var loginRemedy: String? { get }

    /// The next token.
    func fetch(_ request: RefreshRequest) async throws(RefreshFailure) -> GrantedTokens
}

extension SourceServer {
    var loginRemedy: String? { nil }

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
        let message = "there is no login to a session of kind \(profile.kind.identity.kind.rawValue)"
        return .failed(RefreshFailure(kind: .misconfigured, message: message, remedy: loginRemedy))
    }
}
