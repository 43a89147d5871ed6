// SPDX-License-Identifier: MIT

import DemoIssuer
import Synchronization
import Text

/// What a job of GitHub Actions gets tokens from that say which job it is, as GitHub's documents have it
/// ("OpenID Connect reference"): a double, as no runner of GitHub's can be run here.
///
/// It checks the job's own secret and gives a signed token of five minutes for the audience that was asked for. Its route
/// is added to a ``DemoIssuer``, which brings TLS, the request log and faults.
package final class ActionsDouble: Sendable {
    /// `iss` of all tokens.
    package static let issuer = "https://token.actions.githubusercontent.com"
    /// `sub`: the repository and the branch of the job.
    package static let subject = "repo:acme/web:ref:refs/heads/main"
    /// The audience of a token for which none was asked: the owner of the repository.
    private static let usualAudience = "https://github.com/acme"

    /// `ACTIONS_ID_TOKEN_REQUEST_TOKEN`.
    package let bearer = RandomText.token("job")
    private let key: SigningKey
    private let asked = Mutex<[String]>([])

    package init() throws {
        key = try .shared()
    }

    /// To be added to an issuer.
    package var route: Route {
        Route("GET", "/idtoken") { request in self.answer(request) }
    }

    /// `ACTIONS_ID_TOKEN_REQUEST_URL`, where ``route`` was added to `issuer`.
    package func address(at issuer: DemoIssuer) -> String { "\(issuer.issuer)/idtoken?api-version=2.0" }

    /// The audiences of the tokens given so far.
    package var audiences: [String] { asked.withLock { $0 } }

    /// For an authorization server that believes this one about its jobs.
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
