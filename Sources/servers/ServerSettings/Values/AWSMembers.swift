// SPDX-License-Identifier: MIT

/// The members of requests and responses of IAM Identity Center and of the services that issue credentials.
enum AWSMembers {
    static let secret = [
        "clientSecret", "deviceCode", "accessToken", "refreshToken", "secretAccessKey", "sessionToken",
    ]
    static let harmless = ["clientId", "clientName", "clientType", "grantType", "startUrl"]
}
