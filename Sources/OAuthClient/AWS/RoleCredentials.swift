// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// Credentials of a role as they are kept: the members that the AWS SDKs want of a `credential_process`, without braces.
struct RoleCredentials: Sendable {
    private(set) var members: [UInt8]
    let expiration: WallTime

    /// - Returns: `nil` if a part is no word of visible ASCII, or the time is none.
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
        // So that no smaller copy is left behind by growing.
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

/// A server that gives the credentials of a role in place of a token.
protocol RoleServer: SourceServer {}

extension RoleServer {
    var heldSecrets: [SecretID] { [] }

    var variantRefusal: String { "a role has no other scopes or audiences" }

    /// Amazon has no way to end credentials before their time.
    func revoke(_ tokens: RevocationRequest) async -> RevocationOutcome {
        .unsupported("the credentials of a role cannot be revoked: they are good until they expire")
    }
}
