// SPDX-License-Identifier: MIT

import AgentProtocol
import Text
import TokenCore

extension SlotRequest {
    init(_ body: ParsedRequestBody<SlotAdditionRequestMembers>) throws(RequestFailure) {
        guard let kind = SlotKind(word: try body.required(\.type)) else {
            let message = "type must be \(SlotKind.alternatives(\.rawValue))"
            throw RequestFailure(code: .badRequest, message: message)
        }
        switch kind.traits.argument {
        case .secret(let member): self = .passphrase(Array(try body.required(member).utf8))
        case .file(let member): self = .keyFile(path: try body.value(member))
        case .name(let member, let standard):
            self = .external(kind, name: try body.value(member) ?? standard)
        case .command(let member):
            guard let command = try body.value(member), !command.isEmpty else {
                let message = "command must be a non-empty array of strings"
                throw RequestFailure(code: .badRequest, message: message)
            }
            self = .external(kind, name: command.joined(separator: "\0"))
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
