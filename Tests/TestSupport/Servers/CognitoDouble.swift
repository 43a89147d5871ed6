// SPDX-License-Identifier: MIT

import DemoIssuer
import Synchronization
import Text

/// A double of an Amazon Cognito user pool, written from Amazon's documentation, for features that other
/// doubles lack.
///
/// It checks password proofs, client secrets, and the expiry and rotation of refresh tokens. Its route is
/// added to a ``DemoIssuer``, which provides TLS, the request log and failures.
package final class CognitoDouble: Sendable {
    package struct Client: Sendable {
        package var id: String
        package var secret: String?
        /// The allowed flows, of `USER_SRP_AUTH`, `USER_PASSWORD_AUTH` and `REFRESH_TOKEN_AUTH`.
        package var flows: Set<String> = ["USER_SRP_AUTH", "USER_PASSWORD_AUTH", "REFRESH_TOKEN_AUTH"]
        package var rotates = false
        package var allowsRevocation = true

        package init(id: String, secret: String? = nil) {
            self.id = id
            self.secret = secret
        }
    }

    package struct User: Sendable {
        package var name: String
        /// The email address, also accepted as the user name at login.
        package var address: String
        package var password: String
        package var mustChangePassword = false
        /// The code of the second factor, if there is one.
        package var code: String?
        package var factor = "SOFTWARE_TOKEN_MFA"
        package var isDisabled = false

        package init(name: String, password: String) {
            self.name = name
            self.password = password
            address = "\(name)@example.org"
        }
    }

    /// The pool's ID in the form `REGION_NAME`.
    package static let poolID = "eu-west-1_Double123"
    package static let region = "eu-west-1"

    private let state: Mutex<CognitoDoubleState>

    package init(clients: [Client], users: [User]) throws {
        state = Mutex(try CognitoDoubleState(clients: clients, users: users))
    }

    /// The route to add to an issuer.
    package var route: Route {
        Route("POST", "/") { request in self.state.withLock { $0.answer(request) } }
    }

    /// Changes the client `id`.
    package func change(client id: String, _ body: (inout Client) -> Void) {
        state.withLock { $0.change(client: id, body) }
    }

    package func change(user name: String, _ body: (inout User) -> Void) {
        state.withLock { $0.change(user: name, body) }
    }

    package var accessLifetime: Duration {
        get { state.withLock { $0.accessLifetime } }
        set { state.withLock { $0.accessLifetime = newValue } }
    }

    /// Advances the pool's clock only.
    package func advance(by duration: Duration) {
        state.withLock { $0.elapsed += duration }
    }

    /// Returns whether a refresh with `token` would succeed now.
    package func isAlive(_ token: String) -> Bool {
        state.withLock { $0.isAlive(token) }
    }

    /// Returns an error response in Amazon's format.
    package static func failure(_ type: String, _ message: String, status: Int = 400) -> IssuerResponse {
        IssuerResponse(
            status: status,
            headers: [("Content-Type", "application/x-amz-json-1.1"), ("x-amzn-ErrorType", "\(type):")],
            body: JSONValue.object(["__type": .string(type), "message": .string(message)] as JSONObject)
                .serialized
        )
    }
}
