// SPDX-License-Identifier: MIT

import AgentProtocol
import Text
import TokenCore

extension SlotRequest {
    init(_ body: RequestBody<SlotAdditionMembers>) throws(RequestFailure) {
        switch SlotKind(word: try body.required(\.type)) {
        case .passphrase: self = .passphrase(Array(try body.required(\.passphrase).utf8))
        case .keyFile: self = .keyFile(path: try body.value(\.path))
        case .command:
            guard let command = try body.value(\.command), !command.isEmpty else {
                let message = "command must be a non-empty array of strings"
                throw RequestFailure(code: .badRequest, message: message)
            }
            self = .command(command)
        case .systemdCredential: self = .systemdCredential(name: try body.value(\.credential))
        case .secretService, .keychain, .previousKey, nil:
            let known = SlotKind.requested.map(\.rawValue)
            let message = "type must be \(known.dropLast().joined(separator: ", ")) or \(known.last ?? "")"
            throw RequestFailure(code: .badRequest, message: message)
        }
    }
}

extension VaultStatus {
    /// Returns the state of the store, and the proof that a change of it requires.
    func wire(_ proof: RequiredVaultProof) -> VaultMessage {
        VaultMessage {
            $0.state = state.rawValue
            $0.vaultID = vaultID
            $0.epoch = Int64(epoch)
            $0.slots = slots.map { slot in
                SlotMessage {
                    $0.index = Int64(slot.index)
                    $0.type = slot.kind
                    $0.detail = slot.detail
                    $0.madeAt = slot.madeAt?.secondsSince1970
                }
            }
            $0.proof = proof
        }
    }
}
