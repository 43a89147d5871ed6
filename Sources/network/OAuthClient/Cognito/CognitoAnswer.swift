// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The claims about the user in a pool's tokens.
struct CognitoUserClaims: Equatable {
    var subject: String?
    /// The user name in the pool, which differs from the login if the user entered an address.
    var username: String?
    /// The key of the device, set if the pool tracks devices.
    ///
    /// Refreshes then include it.
    var deviceKey: String?

    init(accessToken: String?, idToken: String?) {
        let access = accessToken.flatMap { JWTParts($0) }?.claims
        let identity = idToken.flatMap { JWTParts($0) }?.claims
        subject = (identity?["sub"] ?? access?["sub"])?.string
        username = (access?["username"] ?? identity?["cognito:username"])?.string
        deviceKey = access?["device_key"]?.string
    }
}
