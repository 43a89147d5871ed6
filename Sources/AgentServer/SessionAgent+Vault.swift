// SPDX-License-Identifier: MIT

import StrictJSON
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
            connection.answer(.json($1.json))
        }
    }

    /// Serves the requests that change how the store is unlocked; each answers with how it stands then.
    func serveVaultChange(
        _ action: AuditRecord.Action,
        on connection: Connection,
        _ change: @escaping @Sendable (any StoreControlling) throws(StoreRefusal) -> Void
    ) {
        onStoreThread { store -> Result<JSONValue, StoreRefusal> in
            do throws(StoreRefusal) {
                try change(store)
                return .success(store.vaultStatus().json)
            } catch {
                return .failure(error)
            }
        } then: { agent, result in
            switch result {
            case .success(let status):
                agent.audit(action, .done, by: AuditRecord.Origin(connection))
                connection.answer(.json(status))
            case .failure(let refusal):
                agent.audit(action, .failed, by: AuditRecord.Origin(connection))
                connection.answer(Answer(RequestFailure(refusal)))
            }
        }
    }

    func servePassphraseChange(_ request: HTTPRequest, on connection: Connection) throws(RequestFailure) {
        let body = try RequestBody(request.body, members: ["old", "new"])
        let old = Array(try body.requiredString("old").utf8)
        let new = Array(try body.requiredString("new").utf8)
        serveVaultChange(.passphraseChange, on: connection) { store throws(StoreRefusal) in
            try store.changePassphrase(from: old, to: new)
        }
    }

    /// Serves `POST /v1/vault/rekey`; the passphrase is needed when one of the slots is one.
    func serveRekey(_ request: HTTPRequest, on connection: Connection) throws(RequestFailure) {
        let body = try RequestBody(request.body, members: ["passphrase"])
        let passphrase = try body.string("passphrase").map { Array($0.utf8) }
        serveVaultChange(.rekey, on: connection) { store throws(StoreRefusal) in
            try store.rekey(passphrase: passphrase)
        }
    }

    func serveSlot(
        _ request: HTTPRequest,
        _ action: AuditRecord.Action,
        on connection: Connection,
        _ change: @escaping @Sendable (any StoreControlling, SlotRequest) throws(StoreRefusal) -> Void
    ) throws(RequestFailure) {
        let slot = try SlotRequest(request.body)
        serveVaultChange(action, on: connection) { store throws(StoreRefusal) in try change(store, slot) }
    }
}

extension SlotRequest {
    init(_ bytes: [UInt8]) throws(RequestFailure) {
        let body = try RequestBody(bytes, members: ["type", "passphrase", "path", "command", "credential"])
        switch try body.requiredString("type") {
        case "passphrase": self = .passphrase(Array(try body.requiredString("passphrase").utf8))
        case "keyfile": self = .keyFile(path: try body.string("path"))
        case "command":
            guard let command = try body.strings("command"), !command.isEmpty else {
                throw RequestFailure(code: .badRequest, message: "command is a non-empty array of strings.")
            }
            self = .command(command)
        case "systemd-cred": self = .systemdCredential(name: try body.string("credential"))
        default:
            let message = "type is passphrase, keyfile, command or systemd-cred."
            throw RequestFailure(code: .badRequest, message: message)
        }
    }
}

extension VaultStatus {
    var json: JSONValue {
        var object = JSONObject()
        object["state"] = .string(state.rawValue)
        object["vault_id"] = vaultID.map { .string($0) }
        object["epoch"] = .integer(epoch)
        object["slots"] = .array(
            slots.map { slot in
                ["index": .integer(slot.index), "type": .string(slot.type), "detail": .string(slot.detail)]
            }
        )
        return .object(object)
    }
}
