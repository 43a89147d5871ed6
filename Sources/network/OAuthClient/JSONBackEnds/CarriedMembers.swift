// SPDX-License-Identifier: MIT

import SecretMemory
import ServerSettings
import Text
import TokenCore

/// The members of the response to a ``CodeDeliveryStep`` that the login request sends back with the user's code.
///
/// All are sealed until the user enters the code.
struct CarriedMembers {
    private var members: [(name: String, json: SecretID)] = []

    /// Reads the members called `names`, each from the first object in `layers` that has the member.
    ///
    /// - Throws: `misbehaved` if a member is missing or cannot be sent, or `busy` while sealed memory is
    ///   locked.
    init(
        _ names: [String],
        in layers: [JSONObject],
        from url: EndpointURL,
        _ memory: SealedMemory
    ) throws(RefreshFailure) {
        for name in names {
            do throws(RefreshFailure) {
                let value = layers.lazy.compactMap { $0[name] }.first
                let json = try CarriedMembers.json(of: value, name, from: url)
                members.append((name, try memory.sealing(json, as: .password)))
            } catch {
                erase(from: memory)
                throw error
            }
        }
    }

    /// Adds the members to the body of a request.
    func add(to body: JSONRequestBody.MemberWriter, from memory: SealedMemory) throws(RefreshFailure) {
        for (name, json) in members { try body.add(name, json: json, from: memory) }
    }

    func erase(from memory: SealedMemory) {
        for (_, json) in members { memory.erase(json) }
    }

    /// Returns `value` as JSON.
    ///
    /// A string remains a string, and a number keeps its digits.
    private static func json(
        of value: JSONValue?,
        _ name: String,
        from url: EndpointURL
    ) throws(RefreshFailure) -> String {
        if let value, value.string != nil || value.literal != nil || value.bool != nil {
            let text = value.text
            if text.utf8.count <= JSONConstants.maximumTextLength { return text }
        }
        let message =
            "\(url.hostAndPort): the response has no \(name), which the login requires with the code"
        throw RefreshFailure(kind: .misbehaved, message: ServerText.cleaned(message))
    }
}
