// SPDX-License-Identifier: MIT

@testable import TokenCore

/// What a server does with a refresh token that was used before.
enum Habit: CaseIterable {
    /// Refuses it and ends the login.
    case strict
    /// Refuses it.
    case norevoke
    /// For a while the same successor comes again.
    case graceSame
    /// For a while each use brings another successor, and all of them are good.
    case graceSiblings
    /// For a while each use brings another successor, and the last one is good; any other ends the login.
    case graceLast
    /// The same, but any other is just refused.
    case graceLastRefused
    /// It stays good.
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

/// An authorization server with one client and one session, login after login.
struct ModelServer {
    struct Token {
        var family: Int
        var isUsed = false
        var isReplaced = false
        var usedAt: Int64 = 0
        var successor: Int?
        /// Attempts that sent it and may have been acted upon.
        var senders: [AttemptID] = []
        /// It was adopted although a younger answer may exist, after its host had been waited for.
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

    /// Whether `token` would bring others, if it were sent now.
    func isGood(_ token: Int) -> Bool {
        let known = tokens[token]
        return !ended.contains(known.family) && !known.isReplaced
            && (!known.isUsed || habit == .keeps)
    }

    mutating func revoke(_ token: Int) { ended.insert(tokens[token].family) }

    /// Answers a request with `token`; `nil`: `invalid_grant`.
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
    /// The model's refresh tokens are numbers, and the mark shows which.
    var token: Int { Int(tokenMark) - 1 }
}

extension Int {
    var mark: UInt64 { UInt64(self) + 1 }
}
