// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// What the key file of a Google service account holds, as far as it is needed.
///
/// Source: Google, "Using OAuth 2.0 for Server to Server Applications".
struct ServiceAccount {
    /// `client_email`, by which Google knows the account.
    let email: String
    /// PEM.
    private let key: String
    private let keyID: String?
    /// `token_uri`: where the file wants the assertions sent to.
    private let tokenURI: String
    /// The file, for messages.
    private let origin: String

    /// Reads a key file.
    ///
    /// - Parameters:
    ///   - text: what it holds.
    ///   - origin: its key in the configuration, and its path.
    /// - Throws: `misconfigured`: it is another file; nothing of it is quoted.
    init(_ text: String, from origin: String) throws(RefreshFailure) {
        let object = (try? JSONValue(parsing: text.utf8))?.object ?? JSONObject()
        let place = object["token_uri"] ?? .string(AssertionGrant.serviceAccountEndpoint)
        guard object["type"]?.string?.bytewise == "service_account",
            let email = object["client_email"]?.string, !email.utf8.isEmpty,
            let key = object["private_key"]?.string, let tokenURI = place.string
        else {
            throw RefreshFailure(
                kind: .misconfigured,
                message: "\(origin): holds no key of a service account",
                remedy: "store the JSON file that Google gives out with a new key of the account"
            )
        }
        self.email = email
        self.key = key
        self.tokenURI = tokenURI
        self.origin = origin
        keyID = object["private_key_id"]?.string
    }

    /// Makes sure that an assertion goes to Google, or to where a person wants it: whoever plants such a file must not
    /// choose the place.
    ///
    /// - Parameters:
    ///   - url: where it is about to be posted.
    ///   - written: the token endpoint of the configuration; `nil`: that names none.
    /// - Throws: `misconfigured`, with the key that a person may write.
    func check(_ url: EndpointURL, written: String?) throws(RefreshFailure) {
        let google = AssertionGrant.serviceAccountEndpoint.bytewise
        let problem: String
        if url.description.bytewise == google {
            guard tokenURI.bytewise != google else { return }
            problem = "names the token_uri \(ServerText.cleaned(tokenURI, limit: 200)), which is not Google's"
        } else {
            guard written?.bytewise != url.description.bytewise else { return }
            problem = "is for \(google.text), not for \(url.hostAndPort)"
        }
        throw RefreshFailure(
            kind: .misconfigured,
            message: "\(origin): \(problem)",
            remedy: "write the address as token_endpoint if the assertions are meant for it"
        )
    }

    /// An assertion with `claims`, signed by the account; Google takes RS256 alone.
    func token(of claims: JSONObject) throws(RefreshFailure) -> String {
        do throws(SigningKey.Problem) {
            let signer = try SigningKey(key)
            return try signer.token(
                of: claims,
                with: try signer.algorithm(among: ["RS256"]),
                as: keyID
            )
        } catch {
            throw RefreshFailure(
                kind: .misconfigured,
                message: "\(origin): private_key \(error.message)",
                remedy: "have Google make another key of the account"
            )
        }
    }
}
