// SPDX-License-Identifier: MIT

import Text

/// An Amazon Cognito user pool (kind `cognito`).
package struct CognitoPool: Equatable, Sendable {
    /// How a password is proven, spelled as in the configuration.
    package enum AuthFlow: String, CaseIterable, Sendable {
        /// `USER_SRP_AUTH`: the password does not leave this machine.
        case srp
        /// `USER_PASSWORD_AUTH`: the password is sent inside TLS.
        case password
    }

    /// Such as `eu-west-1`.
    package var region: String
    /// Such as `eu-west-1_abc`.
    package var userPoolID: String
    /// An address to use in place of Amazon's.
    package var endpoint: String?
    /// `nil`: `srp`, or `password` if the client does not allow SRP.
    package var authFlow: AuthFlow?
    /// Whether refresh tokens rotate; `nil`: a refresh finds out.
    package var rotates: Bool?
    /// How long the app client's refresh tokens live, which no answer tells; Amazon's default is 30 days.
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

    /// Where requests go.
    package var url: String { endpoint ?? "\(origin)/" }

    /// What the pool's tokens say as `iss`.
    var issuer: String { "\(origin)/\(userPoolID)" }

    /// The part of the identifier that goes into password proofs.
    var name: Substring {
        userPoolID[(userPoolID.firstIndex(of: "_") ?? userPoolID.startIndex)...].dropFirst()
    }

    private var origin: String { AWSRegion.origin(of: "cognito-idp", in: region) }
}
