// SPDX-License-Identifier: MIT

import AgentProtocol
import Text
import TokenCore

extension SessionAgent {
    /// Serves `POST /v1/lock`, when the keys are gone.
    func serveLock(on connection: Connection) {
        Task {
            await lock(by: AuditRecord.Origin(connection))
            connection.answer(.json(["locked": .bool(!isServing)]))
        }
    }

    /// Serves `POST /v1/unlock`.
    func serveUnlock(_ request: HTTPRequest, on connection: Connection) throws(RequestFailure) {
        let passphrase = try RequestBody(request.body, members: ["passphrase"]).string("passphrase")
        Task {
            do throws(RequestFailure) {
                let origin = AuditRecord.Origin(connection)
                try await unlock(passphrase: passphrase.map { Array($0.utf8) }, by: origin)
                connection.answer(.json(["locked": .bool(!isServing)]))
            } catch {
                connection.answer(Answer(error))
            }
        }
    }

    /// Serves `GET /v1/vault`.
    func serveVaultStatus(on connection: Connection) {
        onStoreThread {
            $0.vaultStatus()
        } then: {
            connection.answer(.json($0.json(of: $1)))
        }
    }

    /// Serves `POST /v1/vault/init` and `POST /v1/vault/slots`.
    func serveNewSlot(
        _ kind: VaultChangeKind,
        _ request: HTTPRequest,
        on connection: Connection,
        _ change:
            @escaping @Sendable (any StoreControlling, SlotRequest, VaultProof) throws(StoreRefusal) -> Void
    ) throws(RequestFailure) {
        let body = try RequestBody(request.body, members: SlotRequest.members.union(VaultProof.members))
        let slot = try SlotRequest(body)
        changeVault(kind, proof: try VaultProof(body), on: connection) { store, proof throws(StoreRefusal) in
            try change(store, slot, proof)
        }
    }

    /// Serves `DELETE /v1/vault/slots/N`.
    func serveSlotRemoval(
        _ index: Int,
        _ request: HTTPRequest,
        on connection: Connection
    ) throws(RequestFailure) {
        let proof = try VaultProof(try RequestBody(request.body, members: VaultProof.members))
        changeVault(.slotRemoved, proof: proof, on: connection) { store, proof throws(StoreRefusal) in
            try store.removeSlot(index, proof)
        }
    }

    /// Serves `POST /v1/vault/passwd`, where the old passphrase is the proof.
    func servePassphraseChange(_ request: HTTPRequest, on connection: Connection) throws(RequestFailure) {
        let body = try RequestBody(request.body, members: ["old", "new"])
        let old = Array(try body.requiredString("old").utf8)
        let new = Array(try body.requiredString("new").utf8)
        changeVault(.passphraseChanged, proof: .passphrase(old), on: connection) {
            store,
            _ throws(StoreRefusal) in
            try store.changePassphrase(from: old, to: new)
        }
    }

    /// Serves `POST /v1/vault/rekey`; the passphrase is needed when one of the slots is one.
    func serveRekey(_ request: HTTPRequest, on connection: Connection) throws(RequestFailure) {
        let body = try RequestBody(request.body, members: ["passphrase", "unlock_key"])
        let proof = try VaultProof(body, passphraseMember: "passphrase")
        changeVault(.rekeyed, proof: proof, on: connection) { store, proof throws(StoreRefusal) in
            try store.rekey(proof)
        }
    }

    /// Changes how the store opens, for somebody who shows that they can open it; answers with how it stands then.
    ///
    /// A wrong proof is a guess like any other.
    private func changeVault(
        _ kind: VaultChangeKind,
        proof: VaultProof?,
        on connection: Connection,
        _ change: @escaping @Sendable (any StoreControlling, VaultProof) throws(StoreRefusal) -> Void
    ) {
        let store = ports.store
        Task {
            do throws(RequestFailure) {
                let proof = if let proof { proof } else { try await proveByPerson(kind, for: connection) }
                let status = try await tried { () throws(StoreRefusal) in
                    try change(store, proof)
                    return store.vaultStatus()
                }
                noteVaultChange(kind, by: connection)
                connection.answer(.json(json(of: status)))
            } catch {
                audit(kind.action, .failed, by: AuditRecord.Origin(connection))
                connection.answer(Answer(error))
            }
        }
    }

    private func tried<Value: Sendable>(
        _ guess: @escaping @Sendable () throws(StoreRefusal) -> Value
    ) async throws(RequestFailure) -> Value {
        do throws(StoreRefusal) {
            return try await guesses.run(guess)
        } catch {
            throw RequestFailure(error)
        }
    }

    /// Has a person say yes, where every way to open the store needs none.
    private func proveByPerson(
        _ kind: VaultChangeKind,
        for connection: Connection
    ) async throws(RequestFailure) -> VaultProof {
        let demand = proofDemand(ports.store.vaultStatus())
        guard demand == .confirm else { throw demand.refusal }
        guard !asksAboutVault else {
            throw RequestFailure(code: .temporarilyUnavailable, message: "A person is being asked already.")
        }
        asksAboutVault = true
        defer { asksAboutVault = false }
        let who = "Process \(connection.peer.processID) (user \(connection.peer.userID))"
        let environment = [
            "TOKENAGENT_PEER_PID": "\(connection.peer.processID)",
            "TOKENAGENT_PEER_UID": "\(connection.peer.userID)",
            "TOKENAGENT_QUESTION": "\(who) wants to change how the store opens: \(kind.words). Allow it?",
        ]
        if let objection = await ask(environment, within: .seconds(30)) {
            throw RequestFailure(code: .denied, message: objection)
        }
        return .confirmed
    }

    private func proofDemand(_ status: VaultStatus) -> VaultProofDemand {
        VaultProofDemand(status, canAskPerson: !configuration.confirmCommand.isEmpty)
    }

    /// Tells everybody that the store opens in another way from now on.
    private func noteVaultChange(_ kind: VaultChangeKind, by connection: Connection) {
        audit(kind.action, .done, by: AuditRecord.Origin(connection))
        ports.logger.notice(
            "how the store opens was changed",
            metadata: [
                "change": "\(kind.rawValue)", "pid": "\(connection.peer.processID)",
                "uid": "\(connection.peer.userID)",
            ]
        )
        publish(
            AgentEvent(
                kind: "vault_changed",
                session: nil,
                time: ports.timekeeper.wallTime,
                reason: kind.rawValue
            )
        )
    }

    /// How the store stands, and what a change of it asks for.
    private func json(of status: VaultStatus) -> JSONValue {
        var object = status.json
        object["proof"] = .string(proofDemand(status).rawValue)
        return .object(object)
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

    /// For a person.
    fileprivate var words: String {
        switch self {
        case .made: "to make it anew"
        case .slotAdded: "to add a way to open it"
        case .slotRemoved: "to remove a way to open it"
        case .passphraseChanged: "to change its passphrase"
        case .rekeyed: "to seal it under a new key"
        }
    }
}

extension SlotRequest {
    static let members: Set<ByteText> = ["type", "passphrase", "path", "command", "credential"]

    init(_ body: RequestBody) throws(RequestFailure) {
        switch SlotKind(word: try body.requiredString("type")) {
        case .passphrase: self = .passphrase(Array(try body.requiredString("passphrase").utf8))
        case .keyFile: self = .keyFile(path: try body.string("path"))
        case .command:
            guard let command = try body.strings("command"), !command.isEmpty else {
                throw RequestFailure(code: .badRequest, message: "command is a non-empty array of strings.")
            }
            self = .command(command)
        case .systemdCredential: self = .systemdCredential(name: try body.string("credential"))
        default:
            let known = SlotKind.requested.map(\.rawValue)
            let message = "type is \(known.dropLast().joined(separator: ", ")) or \(known.last ?? "")."
            throw RequestFailure(code: .badRequest, message: message)
        }
    }
}

extension VaultStatus {
    fileprivate var json: JSONObject {
        var object = JSONObject()
        object["state"] = .string(state.rawValue)
        object["vault_id"] = vaultID.map { .string($0) }
        object["epoch"] = .integer(epoch)
        object["slots"] = .array(
            slots.map { slot in
                var object = JSONObject()
                object["index"] = .integer(slot.index)
                object["type"] = .string(slot.kind.rawValue)
                object["detail"] = .string(slot.detail)
                object["made_at"] = slot.madeAt.map { .integer($0.secondsSince1970) }
                return .object(object)
            }
        )
        return object
    }
}
