// SPDX-License-Identifier: MIT

import AgentProtocol
import AgentServer
import SealedStore

extension StoreAccessError {
    /// The store's refusal in the agent's words.
    init(_ error: StoreError) {
        switch error {
        case .wrongPassphrase, .wrongSecret, .wrongKeyFile, .wrongExternalSecret: self = .wrongKey
        case .secretNeeded, .locked: self = .passphraseNeeded
        case .unavailable, .damagedVault, .outOfMemory, .olderCopy, .otherCounter, .counterNotConfigured,
            .unknownAge, .counterUnusable, .noExternalSecret:
            self = .failed(error.advice)
        default: self = .notPossible(error.advice)
        }
    }
}

extension CounterVerdict {
    /// What to tell a person about the verdict; `nil`: nothing.
    var news: String? {
        switch self {
        case .noCounter, .follows: nil
        case .adopted: "the store has a counter from now on, which detects old copies of it"
        case .accepted(let counter):
            "the store and the counter at \(counter) belong together from now on, as vault.rollback_counter_accept says"
        case .givenUp:
            "the store has no counter any more, as vault.rollback_counter_accept says"
        }
    }
}

extension VaultStatus.Slot {
    /// Describes the slot in the words of the protocol.
    init(_ slot: SlotDescription, in stateDirectory: String) {
        let (kind, detail): (SlotKind, String) =
            switch slot.source {
            case .passphrase: (.passphrase, "")
            case .keyFile(let path): (.keyFile, path ?? stateDirectory + "/keyfile")
            case .external(.command, let name): (.command, name.replacing("\0", with: " "))
            case .external(.systemdCredential, let name): (.systemdCredential, name)
            case .external(.secretService, let name): (.secretService, name)
            case .external(.keychain, let name): (.keychain, name)
            case .previousKey(let epoch): (.previousKey, "epoch \(epoch)")
            }
        self.init(index: slot.index, kind: kind, detail: detail, madeAt: slot.madeAt)
    }
}

extension StoreProblem {
    /// What to tell a session without a record about unreadable records that may have been its own.
    static func lossOfUnknownSessions(_ problems: [StoreProblem]) -> String? {
        let candidates = problems.filter { $0.kind == .unreadable && $0.session == nil }
        guard let first = candidates.first else { return nil }
        let others = candidates.count > 1 ? " (and \(candidates.count - 1) more, see tokenctl doctor)" : ""
        return "a record that may have been its own cannot be read: \(first.description)\(others)"
    }
}

extension StoredSession {
    /// A session whose record cannot be used, or `nil` for problems that concern no session.
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
