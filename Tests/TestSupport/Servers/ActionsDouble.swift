// SPDX-License-Identifier: MIT

import DemoIssuer
import Synchronization
import Text

/// A double of the token server for GitHub Actions jobs, written from GitHub's documentation ("OpenID Connect
/// reference").
///
/// No runner of GitHub can run in these tests. The double checks the job's secret and issues a signed token,
/// valid for five minutes, for the requested audience. Its route is added to a ``DemoIssuer``, which provides
/// TLS, the request log and failures.
package final class ActionsDouble: Sendable {
    /// The `iss` of all tokens.
    package static let issuer = "https://token.actions.githubusercontent.com"
    /// The `sub`: the repository and the branch of the job.
    package static let subject = "repo:acme/web:ref:refs/heads/main"
    /// The audience of a token requested without one: the owner of the repository.
    private static let usualAudience = "https://github.com/acme"

    /// The value of `ACTIONS_ID_TOKEN_REQUEST_TOKEN`.
    package let bearer = RandomText.token("job")
    private let key: SigningKey
    private let asked = Mutex<[String]>([])

    package init() throws {
        key = try .shared()
    }

    /// The route to add to an issuer.
    package var route: Route {
        Route("GET", "/idtoken") { request in self.answer(request) }
    }

    /// Returns `ACTIONS_ID_TOKEN_REQUEST_URL` for an `issuer` with ``route``.
    package func address(at issuer: DemoIssuer) -> String { "\(issuer.issuer)/idtoken?api-version=2.0" }

    /// The audiences of the tokens issued so far.
    package var audiences: [String] { asked.withLock { $0 } }

    /// The signer to register at an authorization server that trusts this one.
    package var voucher: ClientVoucher {
        ClientVoucher(key: key, issuer: ActionsDouble.issuer, subject: ActionsDouble.subject)
    }

    private func answer(_ request: IssuerRequest) -> IssuerResponse {
        guard request.bearerToken == bearer else {
            return .json(["message": "The job's token is not valid."], status: 401)
        }
        guard request.query["api-version"] != nil else {
            return .json(["message": "api-version is missing"], status: 400)
        }
        let audience = request.query["audience"] ?? ActionsDouble.usualAudience
        let now = WallClock.seconds
        let claims: JSONObject = [
            "iss": .string(ActionsDouble.issuer), "sub": .string(ActionsDouble.subject),
            "aud": .string(audience), "repository": "acme/web", "ref": "refs/heads/main",
            "jti": .string(RandomText.token("jti")), "iat": .integer(now), "nbf": .integer(now),
            "exp": .integer(now + 300),
        ]
        guard let token = try? key.sign(claims: claims) else { return .json([:], status: 500) }
        asked.withLock { $0.append(audience) }
        return .json(["count": .integer(Int64(token.utf8.count)), "value": .string(token)])
    }
}
