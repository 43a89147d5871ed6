// SPDX-License-Identifier: MIT

import AgentProtocol
import AgentServer
import SealedStore

extension StoreAccessError {
    /// Creates the agent's error from the store's.
    ///
    /// - Parameters:
    ///   - error: the store's error.
    ///   - passphraseIsLeft: whether a passphrase, which was not given, may open the store as well.
    init(_ error: StoreError, passphraseIsLeft: Bool = false) {
        switch error {
        case _ where passphraseIsLeft && error.isOfOneSlot:
            self = .passphraseLeft(error.description, remedy: error.remedy, mayPass: error.mayPass)
        case .wrongPassphrase, .wrongSecret: self = .wrongKey()
        case .wrongKeyFile, .wrongExternalSecret: self = .wrongKey(error.description, remedy: error.remedy)
        case .secretNeeded, .locked: self = .passphraseNeeded
        case .unavailable, .damagedVault, .outOfMemory, .olderCopy, .otherCounter, .counterNotConfigured,
            .unknownAge, .counterUnusable, .noExternalSecret:
            self = .failed(error.description, remedy: error.remedy, mayPass: error.mayPass)
        default: self = .notPossible(error.description, remedy: error.remedy, mayPass: error.mayPass)
        }
    }
}

extension CounterVerdict {
    /// The message to the user about the verdict, or `nil` if there is none.
    var news: String? {
        switch self {
        case .noCounter, .follows: nil
        case .adopted: "rollback counter adopted"
        case .accepted(let counter):
            "rollback counter accepted with value \(counter) (vault.rollback_counter_accept)"
        case .givenUp:
            "rollback counter removed (vault.rollback_counter_accept)"
        }
    }
}

extension StoreProblem {
    /// Returns the message for a session without a record if an unreadable record may be its own, otherwise
    /// `nil`.
    static func lossOfUnknownSessions(_ problems: [StoreProblem]) -> String? {
        let candidates = problems.filter { $0.kind == .unreadable && $0.session == nil }
        guard let first = candidates.first else { return nil }
        let others = candidates.count > 1 ? " (and \(candidates.count - 1) more; see: tokenctl doctor)" : ""
        return "its record may be an unreadable one: \(first.description)\(others)"
    }
}

extension StoredSession {
    /// Creates a session whose record cannot be used, or `nil` for problems that concern no session.
    init?(_ problem: StoreProblem) {
        guard let name = problem.session else { return nil }
        switch problem.kind {
        case .unreadable, .missing:
            self.init(name: name, content: .lost(.recordUnreadable, message: problem.description))
        case .rolledBack:
            self.init(name: name, content: .lost(.rolledBack, message: problem.description))
        case .manifest, .oldVault, .stray, .notDurable: return nil
        }
    }
}
