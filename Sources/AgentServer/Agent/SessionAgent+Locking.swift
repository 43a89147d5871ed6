// SPDX-License-Identifier: MIT

import NIOCore
import TokenCore

extension SessionAgent {
    /// Longest wait for what is in flight, before a lock or a stop.
    static let drainLimit = TimeAmount.seconds(20)

    /// Loads the sessions if the store is open, or begins to open it; called once, before the first request.
    package func begin() async {
        trail?.onWritten = { [weak self] records in self?.assumeIsolated { $0.auditWritten(records) } }
        let status = await withCheckedContinuation { continuation in
            onStoreThread {
                $0.vaultStatus()
            } then: {
                continuation.resume(returning: $1)
            }
        }
        switch status.state {
        case .unlocked:
            await load()
            phase = .working
            startDue()
        case .locked where status.opensByItself:
            phase = .opening
            Task { await open() }
            // Whether a command delivers the key is not known, so those who ask should not be told too early.
            if status.needsCommand { await untilOpened(within: Self.openingPatience) }
        case .locked: tellLocked(.passphraseNeeded)
        case .uninitialized: break
        }
    }

    /// A signal asks to lock.
    package func lock() async {
        await lock(by: .signal)
    }

    /// Stops serving at once, lets refreshes in flight finish, then wipes every key and secret.
    func lock(by origin: AuditRecord.Origin) async {
        guard phase == .working else { return await untilLocked() }
        phase = .locking
        forgetHeld()
        refuseUnconfirmed(.lockedAgent)
        refuseTurns(.lockedAgent)
        refuseWaiting(.lockedAgent)
        await drain(within: Self.drainLimit)
        guard phase == .locking else { return }
        await wipe()
        phase = .locked
        audit(.lock, .done, by: origin)
        ports.logger.notice("locked")
        publish("locked")
    }

    /// Opens the store again and serves what is in it.
    func unlock(passphrase: [UInt8]?, by origin: AuditRecord.Origin) async throws(RequestFailure) {
        await untilLocked()
        guard phase == .locked else { return }
        if let refusal = await openStore(passphrase) {
            audit(.unlock, .failed, by: origin)
            ports.logger.warning("not unlocked", metadata: ["reason": "\(refusal)"])
            throw RequestFailure(refusal)
        }
        guard phase == .locked else { return }
        audit(.unlock, .done, by: origin)
        let changed = await readOwedConfiguration()
        await load()
        guard phase == .locked else { return }
        phase = .working
        // After the sessions are there: those that are another login's now must notice.
        if let changed { await adopt(changed) }
        ports.logger.notice("unlocked")
        publish("unlocked")
        startDue()
    }

    /// From here on nothing new begins.
    package func beginStopping() {
        guard phase != .stopping else { return }
        phase = .stopping
        forgetHeld()
        for number in logins.keys { cancelLogin(number) }
    }

    /// Stops for good: what is in flight finishes.
    package func stop() async {
        beginStopping()
        guesses.close()
        refuseArrivals()
        refuseUnconfirmed(stopping)
        refuseTurns(stopping)
        await drain(within: Self.drainLimit)
        for (waiter, call) in calls {
            calls[waiter] = nil
            answer(stopping, to: call)
        }
        for subscriber in subscribers.values { subscriber.connection.endStream() }
        subscribers = [:]
        try? await trail?.flush().get()
        for follower in auditFollowers.values { follower.connection.endStream() }
        auditFollowers = [:]
        planNothing()
        await guesses.finish()
    }

    private func untilLocked() async {
        while phase == .locking { await drain(within: Self.drainLimit) }
    }

    func startDue() {
        for name in sessions.keys { planWake(name) }
        timeReached()
    }

    /// Answers everybody who waits.
    private func refuseWaiting(_ failure: RequestFailure) {
        for number in logins.keys { cancelLogin(number) }
        for (waiter, call) in calls {
            calls[waiter] = nil
            apply(call.session) { session, _ in session.requestWithdrawn(by: waiter) }
            answer(failure, to: call)
        }
        for name in sessions.keys {
            for connection in sessions[name]?.logouts ?? [] { connection.answer(Answer(failure)) }
            sessions[name]?.logouts = []
        }
    }

    private func wipe() async {
        sessions = [:]
        planNothing()
        await withCheckedContinuation { continuation in
            onStoreThread {
                $0.lock()
            } then: { _, _ in
                continuation.resume()
            }
        }
        ports.vault.lock()
    }

    /// Makes the sessions of the configuration out of what the store has.
    func load() async {
        let contents = await readStore()
        sessions = [:]
        begin(configuration.sessions, with: contents)
    }

    /// What the store has now.
    func readStore() async -> StoreContents {
        await withCheckedContinuation { continuation in
            onStoreThread {
                $0.loadSessions()
            } then: {
                continuation.resume(returning: $1)
            }
        }
    }

    /// Adds these sessions as the store has them, and forgets the secrets of all others in it.
    func begin(_ wanted: [SessionName: SessionSettings], with contents: StoreContents) {
        for secret in contents.secrets(unless: { wanted[$0] != nil }) { erase(secret) }
        let moment = ports.timekeeper.moment
        for (name, settings) in wanted {
            let content = contents.content(of: name)
            let session = Session(content, name: name, policy: settings.policy, at: moment)
            sessions[name] = KeptSession(session: session, settings: settings)
        }
    }
}

extension Session {
    /// The session as the store has it, if it has it.
    init(_ content: StoredSession.Content?, name: SessionName, policy: SessionPolicy, at moment: Moment) {
        switch content {
        case .record(let snapshot, let interrupted):
            self.init(restoring: snapshot, name: name, policy: policy, interrupted: interrupted, at: moment)
        case .lost(let reason, let message):
            self.init(lost: reason, message: message, name: name, policy: policy)
        case nil:
            self.init(name: name, policy: policy)
        }
    }
}
