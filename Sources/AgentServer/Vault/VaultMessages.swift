// SPDX-License-Identifier: MIT

import AgentProtocol
import Text
import TokenCore

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
    var json: JSONObject {
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
