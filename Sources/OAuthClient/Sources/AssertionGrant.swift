// SPDX-License-Identifier: MIT

import SealedStore
import Text
import TokenCore

/// An assertion that stands for a login (RFC 7523 §2.1).
package struct AssertionGrant: Equatable, Sendable {
    /// Where it comes from.
    package enum Source: Equatable, Sendable {
        /// Another session: its present token comes with each request.
        case session
        /// A file that another program renews, read for each request.
        case file(String)
        /// argv of a program that prints it, run for each request.
        case command([String])
        /// We sign it, for each request.
        case signed(AssertionKey)
        /// We sign it with the key in this file of a Google service account.
        case serviceAccount(String)

        /// What is read or run for it, and what that is called in the configuration, without `file` and `command`; `nil`:
        /// another session has it.
        package var supply: (name: String, source: SecretSource)? {
            switch self {
            case .session: nil
            case .file(let path): ("assertion", .file(path))
            case .command(let words): ("assertion", .command(words))
            case .signed(let key): ("assertion_key", key.source)
            case .serviceAccount(let path): ("service_account", .file(path))
            }
        }
    }

    package var source: Source
    /// Of an assertion that we sign: beside those that every one has, or in their place.
    package var claims: JSONObject

    package init(_ source: Source, claims: JSONObject = JSONObject()) {
        self.source = source
        self.claims = claims
    }

    /// Where Google's service accounts get their tokens.
    package static let serviceAccountEndpoint = "https://oauth2.googleapis.com/token"
    /// The claims that each assertion has anew.
    package static let freshClaims = ["iat", "exp", "jti"]
    /// The claims that are one string (RFC 7519 §4.1); a list of audiences would do for a server that it is not sent to.
    package static let textClaims = ["iss", "sub", "aud"]

    static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"

    /// Adds the grant to `form`, with the assertion if another session has it.
    ///
    /// - Throws: `sourceUnavailable` if that has none, or that the vault is locked.
    func add(
        _ tokens: SourceTokens,
        to form: FormBody,
        _ memory: SealedMemory
    ) throws(RefreshFailure) {
        form.add("grant_type", AssertionGrant.grantType)
        // Any other is made when the request is sent (``GrantAssertions``).
        guard case .session = source else { return }
        guard let assertion = tokens.subject else {
            let message = "there is no assertion at this moment"
            throw RefreshFailure(kind: .sourceUnavailable, message: message)
        }
        do {
            try unsafe memory.open(assertion) { unsafe form.add("assertion", secret: $0) }
        } catch {
            throw .locked
        }
    }
}
