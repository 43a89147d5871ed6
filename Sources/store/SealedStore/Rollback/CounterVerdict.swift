// SPDX-License-Identifier: MIT

/// The result of comparing a store with its counter, which reveals an old copy of the whole store.
///
/// The manifest contains the value to which it belongs. It is made durable with the next value before the
/// counter moves there, so a crash leaves it at most one ahead. A manifest that is behind is an older copy.
///
/// | Manifest | Counter | Verdict |
/// | --- | --- | --- |
/// | *n* | *n*, or *n* − 1 after a crash between the two steps | follows |
/// | *n* | above *n* | an older copy |
/// | *n* | below *n* − 1 | another counter, or one that was reset |
/// | *n* | none configured | rejected: it could be an old copy |
/// | none | 0: never moved | adopted |
/// | none | above 0 | rejected: it could be a copy from before the counter was adopted |
/// | none | none configured | no counter |
///
/// The user overrules a rejection with the number in its message. That works once: afterwards the counter has
/// moved on, or the store has given up its counter and contains no value.
package enum CounterVerdict: Equatable, Sendable {
    case noCounter
    case follows(UInt64)
    case adopted(UInt64)
    /// The user confirmed that the store and the counter at this value belong together.
    case accepted(UInt64)
    /// The user confirmed that the store, which was at this value, continues without its counter.
    case givenUp(UInt64)

    /// Compares the store with its counter.
    ///
    /// - Parameters:
    ///   - stored: the value in the manifest.
    ///   - evidence: the counter's value and the user's decision.
    ///   - path: the path of the manifest, for messages.
    /// - Throws: ``StoreError/olderCopy(stored:counter:)``, ``StoreError/otherCounter(stored:counter:)``,
    ///   ``StoreError/counterNotConfigured(stored:)``, ``StoreError/unknownAge(path:counter:)``,
    ///   ``StoreError/counterUnusable(reason:)``.
    init(stored: UInt64?, _ evidence: CounterCheckInput, path: String) throws(StoreError) {
        switch evidence.reading {
        case .unusable(let reason): throw .counterUnusable(reason: reason)
        case .notConfigured: try self.init(withoutCounter: stored, evidence.accepted)
        case .value(let counter): try self.init(stored, counter, evidence.accepted, path)
        }
    }

    private init(withoutCounter stored: UInt64?, _ accepted: UInt64?) throws(StoreError) {
        guard let stored else {
            self = .noCounter
            return
        }
        guard stored == accepted else { throw .counterNotConfigured(stored: stored) }
        self = .givenUp(stored)
    }

    private init(
        _ stored: UInt64?,
        _ counter: UInt64,
        _ accepted: UInt64?,
        _ path: String
    ) throws(StoreError) {
        if let stored, stored == counter || stored == counter + 1 {
            self = .follows(counter)
        } else if counter == accepted {
            self = .accepted(counter)
        } else if let stored {
            throw stored < counter
                ? .olderCopy(stored: stored, counter: counter)
                : .otherCounter(stored: stored, counter: counter)
        } else if counter == 0 {
            self = .adopted(counter)
        } else {
            throw .unknownAge(path: path, counter: counter)
        }
    }

    /// The value of the counter with which the store continues, or `nil` if it has no counter.
    var counter: UInt64? {
        switch self {
        case .follows(let counter), .adopted(let counter), .accepted(let counter): counter
        case .noCounter, .givenUp: nil
        }
    }

    /// Whether the manifest's own value counts, so that the manifest need not be rewritten.
    var keepsStored: Bool {
        if case .follows = self { true } else { false }
    }
}
