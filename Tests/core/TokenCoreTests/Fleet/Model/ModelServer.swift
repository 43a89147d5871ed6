// SPDX-License-Identifier: MIT

@testable import TokenCore

/// A server's handling of a refresh token that was used before.
enum Habit: CaseIterable {
    /// Rejects the token and ends the login.
    case strict
    /// Rejects the token.
    case norevoke
    /// Returns the same successor again during the grace period.
    case graceSame
    /// Returns a new successor for each use during the grace period. All of them are valid.
    case graceSiblings
    /// Returns a new successor for each use during the grace period. Only the last is valid, and others end the login.
    case graceLast
    /// Returns a new successor for each use during the grace period. Only the last is valid, and others are rejected.
    case graceLastRefused
    /// Accepts the token again and again.
    case keeps

    static let grace: Int64 = 30

    var hasGrace: Bool {
        switch self {
        case .graceSame, .graceSiblings, .graceLast, .graceLastRefused: true
        case .strict, .norevoke, .keeps: false
        }
    }

    var timing: FleetTiming {
        switch self {
        case .strict, .norevoke: FleetTiming(reuse: .refused)
        case .graceSame, .graceSiblings, .graceLast, .graceLastRefused:
            FleetTiming(reuse: .acceptedFor(.seconds(Habit.grace)))
        case .keeps: FleetTiming(reuse: .accepted)
        }
    }
}

/// A model of an authorization server with one client and one session.
struct ModelServer {
    struct Token {
        var family: Int
        var isUsed = false
        var isReplaced = false
        var usedAt: Int64 = 0
        var successor: Int?
        /// The attempts that sent the token and on which the server may have acted.
        var senders: [AttemptID] = []
        /// Whether the token was adopted after a timeout, although a newer response may exist.
        var isDoubtful = false
    }

    let habit: Habit
    var tokens: [Token] = []
    var ended: Set<Int> = []
    var families = 0

    mutating func login() -> Int {
        families += 1
        return issue(families)
    }

    private mutating func issue(_ family: Int) -> Int {
        tokens.append(Token(family: family))
        return tokens.count - 1
    }

    /// Returns `true` if the server would accept `token` now.
    func isGood(_ token: Int) -> Bool {
        let known = tokens[token]
        return !ended.contains(known.family) && !known.isReplaced
            && (!known.isUsed || habit == .keeps)
    }

    mutating func revoke(_ token: Int) { ended.insert(tokens[token].family) }

    /// Handles a refresh with `token`.
    ///
    /// - Returns: the new refresh token, or `nil` for `invalid_grant`.
    mutating func answer(_ token: Int, at now: Int64) -> Int? {
        let known = tokens[token]
        guard !ended.contains(known.family) else { return nil }
        guard !known.isReplaced else {
            if habit == .graceLast { ended.insert(known.family) }
            return nil
        }
        guard habit != .keeps else { return token }
        guard known.isUsed else {
            tokens[token].isUsed = true
            tokens[token].usedAt = now
            return succeed(token)
        }
        return answerAgain(token, known, at: now)
    }

    private mutating func answerAgain(_ token: Int, _ known: Token, at now: Int64) -> Int? {
        if habit.hasGrace, now - known.usedAt < Habit.grace, let successor = known.successor {
            let isUntouched = !tokens[successor].isUsed
            switch habit {
            case .graceSame where isUntouched: return successor
            case .graceSiblings: return succeed(token)
            case .graceLast where isUntouched, .graceLastRefused where isUntouched:
                tokens[successor].isReplaced = true
                return succeed(token)
            case .strict, .norevoke, .graceSame, .graceLast, .graceLastRefused, .keeps: break
            }
        }
        if habit != .norevoke, habit != .graceLastRefused { ended.insert(known.family) }
        return nil
    }

    private mutating func succeed(_ token: Int) -> Int {
        let next = issue(tokens[token].family)
        tokens[token].successor = next
        return next
    }
}

extension FleetHeader {
    /// The number of the refresh token in the model, derived from the mark.
    var token: Int { Int(tokenMark) - 1 }
}

extension Int {
    var mark: UInt64 { UInt64(self) + 1 }
}
