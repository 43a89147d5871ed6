// SPDX-License-Identifier: MIT

import TokenCore

/// Revocations that wait until etcd has the login or logout that they follow from: until then other hosts live on the tokens.
struct DeferredRevocations {
    private var effects: [Effect] = []
    /// A person has logged out and waits for the server to hear of it.
    private(set) var followsLogout = false

    var isEmpty: Bool { effects.isEmpty }

    /// Keeps `effect` back, if it is a revocation, or would take the tokens of one away.
    ///
    /// - Parameters:
    ///   - effect: what the session has decided.
    ///   - hasNews: there is a login or logout that etcd does not have.
    /// - Returns: whether it does.
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

    /// Keeps a token that is still to be shown to the server.
    ///
    /// The session has another login by now and asks no more what became of this one, so its tokens are erased once they
    /// are revoked.
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

    /// Ends the wait.
    ///
    /// - Returns: what was kept back.
    mutating func release() -> [Effect] {
        defer { self = DeferredRevocations() }
        return effects
    }

    /// Gives up what was kept back.
    ///
    /// - Returns: the secrets that nobody else has: those of a `revoke` are still the session's.
    mutating func letGo() -> Set<SecretID> {
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
