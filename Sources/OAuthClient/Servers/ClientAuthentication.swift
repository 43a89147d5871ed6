// SPDX-License-Identifier: MIT

import SealedStore
import Text
import TokenCore

/// The client's credentials, put into a request in exactly one way (RFC 6749 §2.3).
struct ClientAuthentication: Sendable {
    var clientID: String
    /// `nil`: a public client, which only names itself.
    var secret: SecretID?
    var usesBasic: Bool

    /// Chooses between Basic and the body.
    ///
    /// Servers must support Basic (RFC 6749 §2.3.1), so it is first unless metadata lists only the other.
    init(_ client: ClientIdentity, secret: SecretID?, listed: [ByteText]?) {
        clientID = client.id
        self.secret = secret
        usesBasic =
            switch client.proof {
            case .none, .secret(_, .basic): true
            case .secret(_, .post): false
            case .secret(_, .automatic):
                listed.map { $0.contains("client_secret_basic") || !$0.contains("client_secret_post") }
                    ?? true
            }
    }

    /// Adds the credentials to `form`, which is still being built, or to `headers`.
    func authenticate(
        _ form: FormBody,
        _ headers: inout [(name: String, value: String)],
        memory: SealedMemory
    ) throws(RefreshFailure) {
        guard let secret else { return form.add("client_id", clientID) }
        do {
            if usesBasic {
                let value = try unsafe memory.open(secret) { unsafe basic($0) }
                headers.append(("authorization", value))
            } else {
                form.add("client_id", clientID)
                try unsafe memory.open(secret) { unsafe form.add("client_secret", secret: $0) }
            }
        } catch {
            throw .locked
        }
    }

    /// What to check when a server refuses the credentials; `nil`: nothing beyond the credentials themselves.
    ///
    /// By RFC 6749 §2.3.1 both halves of Basic credentials are encoded, and some servers do not decode them.
    /// All servers decode a body.
    func hint(_ memory: SealedMemory) -> String? {
        guard usesBasic, let secret else { return nil }
        let isChanged = try? unsafe memory.open(secret) { bytes in
            unsafe bytes.contains { !FormEncoding.keeps($0) }
        }
        guard isChanged == true || clientID.utf8.contains(where: { !FormEncoding.keeps($0) }) else {
            return nil
        }
        return
            "check client_id and client secret; if they are right, set client_authentication = \"post\": the secret "
            + "has characters such as / + = % that not every server decodes"
    }

    /// Both halves are form-encoded before they are joined, so that `:` and UTF-8 survive.
    private func basic(_ secret: UnsafeRawBufferPointer) -> String {
        var pair = Array(FormEncoding.encoded(clientID).utf8)
        defer { pair.wipe() }
        pair.reserveCapacity(pair.count + 1 + 3 * secret.count)
        pair.append(UInt8(ascii: ":"))
        for index in 0..<secret.count { FormEncoding.encode(unsafe secret[index]) { pair.append($0) } }
        return "Basic " + Base64.encoded(pair)
    }
}
