// SPDX-License-Identifier: MIT

import TokenCore

/// A request to the counter; the store itself runs no programs.
package enum CounterOperation: String, Sendable {
    case read
    case increment
}

/// Writing the manifest, and moving the counter that reveals an old copy of the whole store.
extension SessionStore {
    /// Gives a store created by this process its counter, whatever the counter's value.
    ///
    /// - Throws: ``StoreError/counterUnusable(reason:)``; then the store is locked.
    package func accept(_ reading: CounterReading) throws(StoreError) {
        let failure = work.withLock { work -> StoreError? in
            switch reading {
            case .notConfigured: break
            case .unusable(let reason): return .counterUnusable(reason: reason)
            case .value(let counter):
                work.counter = CounterIncrementSchedule(counter: counter, stored: nil)
                recordGenerations(&work, announcing: true)
                publish(work)
            }
            return nil
        }
        guard let failure else { return }
        lock()
        throw failure
    }

    /// The time until the next step, or `nil` if none is due until something changes.
    package var counterDelay: Duration? {
        work.withLock { $0.counter?.delay(at: clock.now, isOpen: $0.ledger != nil) }
    }

    /// Announces a step in the manifest.
    ///
    /// - Parameter early: whether not to wait for the interval of refreshes.
    /// - Returns: the next request to the counter, for ``finishCounterStep(_:_:)``, or `nil` if there is none
    ///   now.
    package func beginCounterStep(early: Bool = false) -> CounterOperation? {
        work.withLock { work in
            guard let counter = work.counter else { return nil }
            if work.ledger != nil, !counter.isAnnounced {
                let isLate = counter.delay(at: clock.now, isOpen: true).map { $0 <= .zero } ?? false
                let hasNews = counter.isChanged || (work.ledger?.unnoted ?? 0) > 0
                guard counter.needsManifest || isLate || early && hasNews else { return nil }
                guard recordGenerations(&work, announcing: true) else {
                    work.counter?.writeFailed(at: clock.now)
                    return nil
                }
            }
            guard let counter = work.counter, counter.isAnnounced else { return nil }
            return counter.isUncertain ? .read : .increment
        }
    }

    /// Records the counter's response to `order`.
    ///
    /// The step is tried again later if it failed.
    ///
    /// - Returns: a sentence for the user that says what is wrong, or `nil`.
    package func finishCounterStep(_ order: CounterOperation, _ reading: CounterReading) -> String? {
        work.withLock { work in
            defer { publish(work) }
            switch reading {
            case .value(let value):
                return work.counter?.heard(value, moving: order == .increment, at: clock.now) ?? nil
            case .unusable(let reason):
                work.counter?.failed(at: clock.now)
                return reason
            case .notConfigured: return nil
            }
        }
    }

    // MARK: The manifest

    /// Writes the manifest if it lags behind or is to announce a step.
    ///
    /// - Returns: `false` on failure, which only leaves the manifest lagging.
    @discardableResult
    func recordGenerations(_ work: inout MutableState, announcing: Bool = false) -> Bool {
        guard var ledger = work.ledger else { return true }
        let value = work.counter?.value(announcing: announcing)
        let isDue = announcing && value != work.counter?.stored
        guard ledger.unnoted > 0 || isDue else { return true }
        ledger.manifest.vaultGeneration = work.keeper?.file.generation ?? 0
        ledger.manifest.counter = value
        do throws(StoreFileError) {
            try directory.root.replace(Manifest.fileName, with: ledger.manifest.sealed(under: ledger.ring))
        } catch {
            return false
        }
        ledger.unnoted = 0
        work.ledger = ledger
        if let value { work.counter?.wrote(value) }
        return true
    }

    /// Writes the manifest for the last time before the keys are wiped; a step it announces is finished
    /// later.
    func recordLastGenerations(_ work: inout MutableState) {
        let hasNews = (work.ledger?.unnoted ?? 0) > 0 || work.counter?.isChanged == true
        recordGenerations(&work, announcing: hasNews)
    }
}
