// SPDX-License-Identifier: MIT

import AgentProtocol
import Logging
import NIOCore
import Text
import TokenCore

/// Locks and unlocks the agent as a whole.
protocol AgentLocking: AnyObject, Sendable {
    /// Erases all keys and secrets, after requests in flight.
    func lock(by origin: RequestInitiator) async
    /// Unlocks the store and serves its sessions.
    func unlock(passphrase: [UInt8]?, by origin: RequestInitiator) async throws(RequestFailure)
}

/// The requests to lock and unlock the store, and to change its unlock methods.
///
/// - Entry points: ``serveLock(on:)``, ``serveUnlock(_:on:)``, ``openStore(_:)`` and one
///   function per change.
/// - May not: compare a passphrase or key outside of the queue of unlock attempts.
/// - Runs on: the agent's event loop, to which it is confined.
final class VaultRequests {
    private let store: any StoreControlling
    private let storeThread: StoreThread
    private let configuration: LiveConfiguration
    private let phase: AgentPhase
    private let confirmations: Confirmations
    private let events: Subscriptions
    private let audit: AuditLog
    private let log: SessionLog
    private let tasks: LoopTasks
    /// The agent, which locks and unlocks; set once it exists.
    weak var agent: (any AgentLocking)?
    private let guesses: UnlockAttemptQueue
    /// Whether the user is being prompted to confirm a change of the unlock methods.
    private var asksPerson = false

    init(
        ports: AgentPorts,
        storeThread: StoreThread,
        configuration: LiveConfiguration,
        phase: AgentPhase,
        confirmations: Confirmations,
        events: Subscriptions,
        audit: AuditLog,
        log: SessionLog,
        tasks: LoopTasks,
        eventLoop: any EventLoop
    ) {
        store = ports.store
        self.storeThread = storeThread
        self.configuration = configuration
        self.phase = phase
        self.confirmations = confirmations
        self.events = events
        self.audit = audit
        self.log = log
        self.tasks = tasks
        guesses = UnlockAttemptQueue(eventLoop: eventLoop, timekeeper: ports.timekeeper)
    }

    /// Begins the next unlock attempt if enough time has passed.
    func timeReached() {
        guesses.timeReached()
    }

    /// Rejects all waiting unlock attempts and all later ones.
    func close() {
        guesses.close()
    }

    /// Waits until no unlock attempt is active any more.
    ///
    /// Call ``close()`` first.
    func finish() async {
        await guesses.finish()
    }

    /// Opens the store on the thread of unlock attempts.
    ///
    /// - Returns: The reason the store stays locked, or `nil` if it is open.
    func openStore(_ passphrase: [UInt8]?) async -> StoreAccessError? {
        let store = store
        do throws(StoreAccessError) {
            if let passphrase {
                try await guesses.run { () throws(StoreAccessError) in
                    try store.unlock(passphrase: passphrase)
                }
            } else {
                try await guesses.runUnguessed { () throws(StoreAccessError) in
                    try store.unlock(passphrase: nil)
                }
            }
            return nil
        } catch {
            return error
        }
    }

    /// Serves `POST /v1/lock`.
    ///
    /// The response is sent when the keys are erased.
    func serveLock(on connection: Connection) {
        tasks.start {
            await self.agent?.lock(by: .peer(of: connection))
            connection.answer(.message(LockStateMessage { $0.locked = !self.phase.isServing }))
        }
    }

    /// Serves `POST /v1/unlock`.
    func serveUnlock(_ request: HTTPRequest, on connection: Connection) throws(RequestFailure) {
        let passphrase = try ParsedRequestBody(request.body, UnlockRequestMembers.self).value(\.passphrase)
        tasks.start {
            do throws(RequestFailure) {
                let origin = RequestInitiator.peer(of: connection)
                try await self.agent?.unlock(passphrase: passphrase.map { Array($0.utf8) }, by: origin)
                connection.answer(.message(LockStateMessage { $0.locked = !self.phase.isServing }))
            } catch {
                connection.answer(HTTPResponse(error))
            }
        }
    }

    /// Serves `GET /v1/vault`.
    func serveStatus(on connection: Connection) {
        storeThread.run {
            $0.vaultStatus()
        } then: { [self] status in
            connection.answer(.message(status.wire(proofRequest(status))))
        }
    }

    /// Serves `POST /v1/vault/init`.
    func serveInitialization(_ request: HTTPRequest, on connection: Connection) throws(RequestFailure) {
        let (slot, proof) = try Self.slot(request)
        change(.made, proof: proof, on: connection) { store, proof throws(StoreAccessError) in
            try store.initialize(slot, proof)
        }
    }

    /// Serves `POST /v1/vault/slots`.
    func serveSlotAddition(_ request: HTTPRequest, on connection: Connection) throws(RequestFailure) {
        let (slot, proof) = try Self.slot(request)
        change(.slotAdded, proof: proof, on: connection) { store, proof throws(StoreAccessError) in
            try store.addSlot(slot, proof)
        }
    }

    private static func slot(_ request: HTTPRequest) throws(RequestFailure) -> (SlotRequest, VaultProof?) {
        let body = try ParsedRequestBody(request.body, SlotAdditionRequestMembers.self)
        return (try SlotRequest(body), try VaultProof(body))
    }

    /// Serves `DELETE /v1/vault/slots/N`.
    func serveSlotRemoval(
        _ index: Int,
        _ request: HTTPRequest,
        on connection: Connection
    ) throws(RequestFailure) {
        let proof = try VaultProof(try ParsedRequestBody(request.body, SlotRemovalRequestMembers.self))
        change(.slotRemoved, proof: proof, on: connection) {
            store,
            proof throws(StoreAccessError) in
            try store.removeSlot(index, proof)
        }
    }

    /// Serves `POST /v1/vault/passwd`, where the old passphrase is the proof.
    func servePassphraseChange(_ request: HTTPRequest, on connection: Connection) throws(RequestFailure) {
        let body = try ParsedRequestBody(request.body, PassphraseChangeRequestMembers.self)
        let old = Array(try body.required(\.old).utf8)
        let new = Array(try body.required(\.new).utf8)
        change(.passphraseChanged, proof: .passphrase(old), on: connection) {
            store,
            _ throws(StoreAccessError) in
            try store.changePassphrase(from: old, to: new)
        }
    }

    /// Serves `POST /v1/vault/rekey`.
    ///
    /// If a slot has a passphrase, it is required.
    func serveRekey(_ request: HTTPRequest, on connection: Connection) throws(RequestFailure) {
        let proof = try VaultProof(try ParsedRequestBody(request.body, RekeyRequestMembers.self))
        change(.rekeyed, proof: proof, on: connection) { store, proof throws(StoreAccessError) in
            try store.rekey(proof)
        }
    }

    /// Changes the unlock methods for a peer with a proof, and responds with the store's new state.
    ///
    /// A wrong proof counts as an unlock attempt.
    private func change(
        _ kind: VaultChangeKind,
        proof: VaultProof?,
        on connection: Connection,
        _ change: @escaping @Sendable (any StoreControlling, VaultProof) throws(StoreAccessError) -> Void
    ) {
        let store = store
        tasks.start {
            do throws(RequestFailure) {
                let proof =
                    if let proof { proof } else { try await self.proveByPerson(kind, for: connection) }
                let status = try await self.tried { () throws(StoreAccessError) in
                    try change(store, proof)
                    return store.vaultStatus()
                }
                self.tellChange(kind, by: connection)
                connection.answer(.message(status.wire(self.proofRequest(status))))
            } catch {
                self.audit.add(kind.action, .failed, by: .peer(of: connection))
                connection.answer(HTTPResponse(error))
            }
        }
    }

    private func tried<Value: Sendable>(
        _ guess: @escaping @Sendable () throws(StoreAccessError) -> Value
    ) async throws(RequestFailure) -> Value {
        do throws(StoreAccessError) {
            return try await guesses.run(guess)
        } catch {
            throw RequestFailure(error)
        }
    }

    /// Prompts the user to agree, if every unlock method works without the user.
    ///
    /// - Throws: ``RequestFailure`` if another proof is required, or the user does not agree.
    private func proveByPerson(
        _ kind: VaultChangeKind,
        for connection: Connection
    ) async throws(RequestFailure) -> VaultProof {
        let tokenRequest = proofRequest(store.vaultStatus())
        guard tokenRequest == .confirm else { throw tokenRequest.refusal }
        guard !asksPerson else {
            let message = "another confirmation prompt is open"
            throw RequestFailure(code: .temporarilyUnavailable, message: message)
        }
        asksPerson = true
        defer { asksPerson = false }
        let who = "Process \(connection.caller.peer.processID) (user \(connection.caller.peer.userID))"
        let environment = [
            "TOKENAGENT_PEER_PID": "\(connection.caller.peer.processID)",
            "TOKENAGENT_PEER_UID": "\(connection.caller.peer.userID)",
            "TOKENAGENT_QUESTION": "\(who) wants to \(kind.words). Allow it?",
        ]
        let objection = await confirmations.ask(environment, within: Confirmations.maximumTimeout)
        if let objection { throw RequestFailure(code: .denied, message: objection) }
        return .confirmed
    }

    private func proofRequest(_ status: VaultStatus) -> RequiredVaultProof {
        RequiredVaultProof(status, canAskPerson: !configuration.current.confirmCommand.isEmpty)
    }

    /// Publishes that the unlock methods have changed, in the audit log, the log and an event.
    private func tellChange(_ kind: VaultChangeKind, by connection: Connection) {
        audit.add(kind.action, .done, by: .peer(of: connection))
        log.logger.notice(
            "unlock methods changed",
            metadata: [
                "change": "\(kind.rawValue)", "pid": "\(connection.caller.peer.processID)",
                "uid": "\(connection.caller.peer.userID)",
            ]
        )
        events.publish(.vaultChanged, because: kind.rawValue)
    }
}

extension VaultChangeKind {
    fileprivate var action: AuditRecord.Action {
        switch self {
        case .made: .vaultInit
        case .slotAdded: .slotAdd
        case .slotRemoved: .slotRemove
        case .passphraseChanged: .passphraseChange
        case .rekeyed: .rekey
        }
    }

    /// The description of the change in the prompt.
    fileprivate var words: String {
        switch self {
        case .made: "create the store again"
        case .slotAdded: "add an unlock method to the store"
        case .slotRemoved: "remove an unlock method of the store"
        case .passphraseChanged: "change the passphrase of the store"
        case .rekeyed: "replace the key of the store"
        }
    }
}
