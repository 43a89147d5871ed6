// SPDX-License-Identifier: MIT

import Text

/// An Amazon Cognito user pool (kind `cognito`).
package struct CognitoPool: Equatable, Sendable {
    /// The way to prove a password, spelled as in the configuration.
    package enum AuthFlow: String, CaseIterable, Sendable {
        /// `USER_SRP_AUTH`: the password does not leave this machine.
        case srp
        /// `USER_PASSWORD_AUTH`: the password is sent inside TLS.
        case password
    }

    /// The AWS region, such as `eu-west-1`.
    package var region: String
    /// The pool ID, such as `eu-west-1_abc`.
    package var userPoolID: String
    /// An endpoint that replaces Amazon's.
    package var endpoint: String?
    /// The way to prove a password, or `nil` for `srp` with `password` as the fallback if the client does not
    /// allow SRP.
    package var authFlow: AuthFlow?
    /// Whether refresh tokens rotate, or `nil` to find out at a refresh.
    package var rotates: Bool?
    /// The lifetime of the app client's refresh tokens, which no response states.
    ///
    /// Amazon's default is 30 days.
    package var refreshTokenValidity: Duration

    package init(
        region: String,
        userPoolID: String,
        endpoint: String? = nil,
        authFlow: AuthFlow? = nil,
        rotates: Bool? = nil,
        refreshTokenValidity: Duration = .seconds(30 * 86_400)
    ) {
        self.region = region
        self.userPoolID = userPoolID
        self.endpoint = endpoint
        self.authFlow = authFlow
        self.rotates = rotates
        self.refreshTokenValidity = refreshTokenValidity
    }

    /// The URL of the endpoint.
    package var url: String { endpoint ?? "\(origin)/" }

    /// The `iss` of the pool's tokens.
    package var issuer: String { "\(origin)/\(userPoolID)" }

    /// The part of the pool ID that is used in password proofs.
    package var name: Substring {
        userPoolID[(userPoolID.firstIndex(of: "_") ?? userPoolID.startIndex)...].dropFirst()
    }

    private var origin: String { AWSRegion.origin(of: "cognito-idp", in: region) }
}

extension CognitoPool: ServerKindSettings {
    package var identity: AuthorizationServerIdentity {
        AuthorizationServerIdentity(address: url, pool: userPoolID)
    }

    package var resourceErrors: ResourceErrorRules {
        ResourceErrorRules(paths: JSONResponsePaths(loginDemand: "requiresReauth"))
    }

    package var problems: [ServerProfileError] {
        guard AWSRegion.isName(region) else {
            return [ServerProfileError("region", "\"\(region)\" is not an AWS region, such as eu-west-1")]
        }
        guard userPoolID.hasPrefix("\(region)_") else {
            return [ServerProfileError("user_pool_id", "must begin with the region, \(region)_")]
        }
        guard !name.isEmpty, name.utf8.allSatisfy({ $0.isASCIILetter || $0.isASCIIDigit }) else {
            return [ServerProfileError("user_pool_id", "must be the region, \"_\", and letters and digits")]
        }
        return []
    }
}
