// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// The needed parts of the key file of a Google service account.
///
/// Source: Google, "Using OAuth 2.0 for Server to Server Applications".
struct ServiceAccount {
    /// The `client_email`, Google's name of the account.
    let email: String
    /// The private key as PEM.
    private let key: String
    private let keyID: String?
    /// The `token_uri`, the endpoint for assertions according to the file.
    private let tokenURI: String
    /// The configuration key and path of the file, for messages.
    private let origin: String

    private static let remedy =
        Remedy.set("service_account_file to the JSON file of a key that Google created")

    /// Parses a key file.
    ///
    /// - Parameters:
    ///   - text: The contents of the file.
    ///   - origin: The configuration key and path of the file.
    /// - Throws: `helper_failed` if the file may be incomplete, or `misconfigured` if it is another kind of
    ///   file. The error does not quote the file.
    init(_ text: String, from origin: String) throws(RefreshFailure) {
        guard let value = try? JSONValue(parsing: text.utf8) else {
            throw RefreshFailure(
                kind: .helperFailed,
                message: "\(origin): is not JSON",
                remedy: ServiceAccount.remedy
            )
        }
        let object = value.object ?? JSONObject()
        let place = object["token_uri"] ?? .string(AssertionGrant.serviceAccountEndpoint)
        guard object["type"]?.string?.bytewise == "service_account",
            let email = object["client_email"]?.string, !email.utf8.isEmpty,
            let key = object["private_key"]?.string, let tokenURI = place.string
        else {
            throw RefreshFailure(
                kind: .misconfigured,
                message: "\(origin): contains no service account key",
                remedy: ServiceAccount.remedy
            )
        }
        self.email = email
        self.key = key
        self.tokenURI = tokenURI
        self.origin = origin
        keyID = object["private_key_id"]?.string
    }

    /// Checks that an assertion is sent to Google or to an endpoint that the user configured.
    ///
    /// A manipulated key file must not select the endpoint.
    ///
    /// - Parameters:
    ///   - url: The URL that the assertion will be sent to.
    ///   - written: The configured token endpoint, or `nil` if none is configured.
    /// - Throws: `misconfigured` with the configuration key that the user may set.
    func check(_ url: EndpointURL, written: String?) throws(RefreshFailure) {
        let google = AssertionGrant.serviceAccountEndpoint.bytewise
        let problem: String
        if url.description.bytewise == google {
            guard tokenURI.bytewise != google else { return }
            problem = "has the token_uri \(ServerText.cleaned(tokenURI, limit: 200)), which is not Google's"
        } else {
            guard written?.bytewise != url.description.bytewise else { return }
            problem = "is for \(google.text), not for \(url.hostAndPort)"
        }
        throw RefreshFailure(
            kind: .misconfigured,
            message: "\(origin): \(problem)",
            remedy: .set("token_endpoint to the URL that the assertions are meant for")
        )
    }

    /// Returns an assertion with `claims`, signed by the account.
    ///
    /// Google accepts only RS256.
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
                kind: error.failureClass,
                message: "\(origin): private_key \(error.message)",
                remedy: .set("service_account_file to the JSON file of a new key of the account")
            )
        }
    }
}
