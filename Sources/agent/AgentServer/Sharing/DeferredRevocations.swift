// SPDX-License-Identifier: MIT

import TokenCore

/// The revocations at the server that wait until the login or logout that caused them is in etcd.
///
/// Until then, other hosts use the tokens.
struct DeferredRevocations {
    private var effects: [Effect] = []
    /// Whether one of the deferred revocations belongs to a logout.
    private(set) var followsLogout = false

    var isEmpty: Bool { effects.isEmpty }

    /// Defers `effect` if it is a revocation, or would erase a token of a deferred one.
    ///
    /// - Parameters:
    ///   - effect: The session's decision.
    ///   - hasNews: Whether there is a login or logout that etcd does not have.
    /// - Returns: `true` if `effect` was deferred.
    mutating func hold(_ effect: Effect, while hasNews: Bool) -> Bool {
        switch effect {
        case .revoke, .discard:
            guard hasNews else { return false }
            if case .revoke = effect { followsLogout = true }
            if !effects.contains(effect) { effects.append(effect) }
            return true
        case .erase(let secret): return keep(secret)
        default: return false
        }
    }

    /// Defers erasing a token that a deferred revocation must still send to the server.
    ///
    /// The session has another login now and does not wait for the revocation, so the revocation erases the
    /// token.
    private mutating func keep(_ secret: SecretID) -> Bool {
        guard effects.contains(where: { $0.revocation?.secrets.contains(secret) == true }) else {
            return false
        }
        effects = effects.map { effect in
            guard let request = effect.revocation, request.secrets.contains(secret) else { return effect }
            return .discard(request)
        }
        return true
    }

    /// Removes the deferred effects, so that the caller can execute them.
    ///
    /// - Returns: The deferred effects.
    mutating func release() -> [Effect] {
        defer { self = DeferredRevocations() }
        return effects
    }

    /// Removes the deferred effects, which are not executed.
    ///
    /// - Returns: The secrets that nothing else uses. Those of a `revoke` still belong to the session.
    mutating func releaseAll() -> Set<SecretID> {
        release().reduce(into: []) { secrets, effect in
            if case .discard(let request) = effect { secrets.formUnion(request.secrets) }
        }
    }
}

extension Effect {
    fileprivate var revocation: RevocationRequest? {
        switch self {
        case .revoke(let request), .discard(let request): request
        default: nil
        }
    }
}
