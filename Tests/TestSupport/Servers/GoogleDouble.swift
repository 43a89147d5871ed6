// SPDX-License-Identifier: MIT

import DemoIssuer
import Synchronization
import Text

/// A double of Google's token endpoint for service accounts.
///
/// Google cannot run in these tests. The required claims, the members of the response and the error messages
/// are from Google's "Using OAuth 2.0 for Server to Server Applications". The route is added to a
/// ``DemoIssuer``, which provides TLS, the request log and failures.
package final class GoogleDouble: Sendable {
    private struct State {
        var keys: [SigningKey]
        var made = 0
    }

    package static let account = "robot@project.iam.gserviceaccount.com"
    /// The user for whom the account may act.
    package static let person = "alice@example.com"
    package static let scopes = [
        "https://www.googleapis.com/auth/drive", "https://www.googleapis.com/auth/calendar",
    ]

    private let state: Mutex<State>

    package init() throws {
        state = Mutex(State(keys: [try .shared()]))
    }

    /// The route to add to an issuer.
    package var route: Route { Route("POST", "/token") { request in self.answer(request) } }

    /// The number of tokens issued so far.
    package var made: Int { state.withLock { $0.made } }

    /// Replaces all keys by a new one.
    package func replaceKey() throws {
        let key = try SigningKey(.rs256)
        state.withLock { $0.keys = [key] }
    }

    /// Returns the file that Google issues with a new key.
    ///
    /// The default `tokenURI` is Google's own.
    package func keyFile(tokenURI: String = "https://oauth2.googleapis.com/token") -> String {
        let key = state.withLock { $0.keys[0] }
        let file: JSONValue = [
            "type": "service_account", "project_id": "project", "private_key_id": .string(key.keyID),
            "private_key": .string(key.privateKeyPEM), "client_email": .string(GoogleDouble.account),
            "client_id": "100000000000000000000",
            "auth_uri": "https://accounts.google.com/o/oauth2/auth", "token_uri": .string(tokenURI),
            "auth_provider_x509_cert_url": "https://www.googleapis.com/oauth2/v1/certs",
            "universe_domain": "googleapis.com",
        ]
        return file.text
    }

    private func answer(_ request: IssuerRequest) -> IssuerResponse {
        guard request.form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer" else {
            return .failure("unsupported_grant_type", description: "Invalid grant_type")
        }
        let text = request.form["assertion"] ?? ""
        let keys = state.withLock { $0.keys }
        guard let claims = keys.lazy.compactMap({ $0.claims(of: text) }).first else {
            return .failure("invalid_grant", description: "Invalid JWT Signature.")
        }
        if let refusal = GoogleDouble.refusal(of: claims, at: request.header("host") ?? "") { return refusal }
        let number = state.withLock { state in
            state.made += 1
            return state.made
        }
        return .json([
            "access_token": .string(RandomText.token("ya29.\(number)")), "token_type": "Bearer",
            "scope": claims["scope"] ?? .null, "expires_in": 3_599,
        ])
    }

    /// Returns Google's error for invalid claims, or `nil`.
    ///
    /// The token endpoint is at `host` with TLS.
    private static func refusal(of claims: JSONObject, at host: String) -> IssuerResponse? {
        guard claims["iss"]?.string == account else {
            return .failure("invalid_grant", description: "Invalid grant: account not found")
        }
        let now = WallClock.seconds
        guard let issued = claims["iat"]?.integer, let end = claims["exp"]?.integer, issued <= now + 60,
            end > now, end <= issued + 3_600
        else {
            return .failure(
                "invalid_grant",
                description:
                    "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable "
                    + "timeframe. Check your iat and exp values in the JWT claim."
            )
        }
        guard claims["aud"]?.string == "https://\(host)/token" else {
            return .failure("invalid_grant", description: "Invalid JWT: Failed audience check.")
        }
        let wanted = claims["scope"]?.string?.split(separator: " ").map(String.init) ?? []
        guard !wanted.isEmpty, wanted.allSatisfy(scopes.contains) else {
            return .failure(
                "invalid_scope",
                description: "Invalid OAuth scope or ID token audience provided."
            )
        }
        guard [nil, account, person].contains(claims["sub"]?.string) else {
            return .failure(
                "unauthorized_client",
                status: 401,
                description:
                    "Client is unauthorized to retrieve access tokens using this method, or client not "
                    + "authorized for any of the scopes requested."
            )
        }
        return nil
    }
}
