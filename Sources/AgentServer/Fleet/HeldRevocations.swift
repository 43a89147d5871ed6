// SPDX-License-Identifier: MIT

import TokenCore

/// Revocations that wait until etcd has the login or logout that they follow from: until then other hosts live on the tokens.
struct HeldRevocations {
    private var effects: [Effect] = []

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
        defer { effects = [] }
        return effects
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
