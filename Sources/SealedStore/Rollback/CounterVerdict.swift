// SPDX-License-Identifier: MIT

/// Whether a store fits its counter, which reveals an old copy of the whole store.
///
/// The manifest says the value it belongs to. It is made durable with the next value before the counter moves there,
/// so a crash leaves it at most one ahead; a manifest that is behind is an older copy.
///
/// | Manifest | Counter | Verdict |
/// | --- | --- | --- |
/// | *n* | *n*, or *n* − 1 after a crash between the two steps | follows |
/// | *n* | above *n* | an older copy |
/// | *n* | below *n* − 1 | another counter, or one that was reset |
/// | *n* | none configured | refused: it could be an old copy |
/// | none | 0: never moved | adopted |
/// | none | above 0 | refused: it could be a copy from before the counter was adopted |
/// | none | none configured | no counter |
///
/// The person overrules a refusal with the number that it names. That works once: afterwards the counter has
/// moved on, or the store has given up its counter and names no value.
package enum CounterVerdict: Equatable, Sendable {
    case noCounter
    case follows(UInt64)
    case adopted(UInt64)
    /// The person said that the store and the counter at this value belong together.
    case accepted(UInt64)
    /// The person said that the store, which was at this value, goes on without its counter.
    case givenUp(UInt64)

    /// - Parameters:
    ///   - stored: what the manifest says.
    ///   - evidence: what the counter and the person say.
    ///   - path: the manifest, for the person.
    /// - Throws: ``StoreError/olderCopy(stored:counter:)``, ``StoreError/otherCounter(stored:counter:)``,
    ///   ``StoreError/counterNotConfigured(stored:)``, ``StoreError/unknownAge(path:counter:)``,
    ///   ``StoreError/counterUnusable(reason:)``.
    init(stored: UInt64?, _ evidence: CounterEvidence, path: String) throws(StoreError) {
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

    /// The value of a counter the store goes on with.
    var counter: UInt64? {
        switch self {
        case .follows(let counter), .adopted(let counter), .accepted(let counter): counter
        case .noCounter, .givenUp: nil
        }
    }

    /// The manifest's own value counts, so it need not be written anew.
    var keepsStored: Bool {
        if case .follows = self { true } else { false }
    }
}
