// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The stored credentials of a role: the members that AWS SDKs require of a `credential_process`, without
/// braces.
struct RoleCredentials: Sendable {
    private(set) var members: [UInt8]
    let expiration: WallTime

    /// Creates the members, or returns `nil` if a part is not a word of visible ASCII or the time is invalid.
    init?(keyID: String, secret: String, sessionToken: String, expiration: String) {
        guard let time = ZonedTime.read(expiration),
            [keyID, secret, sessionToken].allSatisfy({ $0.utf8.isVisibleWord })
        else { return nil }
        self.expiration = time
        let parts = [
            ("AccessKeyId", keyID), ("SecretAccessKey", secret), ("SessionToken", sessionToken),
            ("Expiration", expiration),
        ]
        members = []
        // Reserve enough space, so that growing leaves no copies behind.
        members.reserveCapacity(parts.reduce(64) { $0 + $1.0.utf8.count + 6 * $1.1.utf8.count })
        for (name, value) in parts {
            if !members.isEmpty { members.append(UInt8(ascii: ",")) }
            members += "\"\(name)\":".utf8
            var quoted = JSONValue.string(value).serialized
            members += quoted
            quoted.wipe()
        }
    }

    mutating func wipe() { members.wipe() }
}

/// A server that issues the credentials of a role instead of a token.
protocol RoleServer: LoginlessServer {}

extension RoleServer {
    var heldSecrets: [SecretID] { [] }

    var variantRefusal: String { "roles do not support other scopes or audiences" }

    /// Reports that revocation is unsupported: Amazon cannot end credentials early.
    func revoke(_ tokens: RevocationRequest) async -> RevocationOutcome {
        .unsupported("role credentials cannot be revoked and remain valid until they expire")
    }
}
