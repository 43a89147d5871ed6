// SPDX-License-Identifier: MIT

/// The keys of kind `cognito`.
extension TableReader {
    /// Reads the pool, or returns `nil` with the reasons in the problem list.
    mutating func cognitoPool() -> CognitoPool? {
        let region = required("region", "AWS region of the user pool, such as \"eu-west-1\"")
        let pool = required("user_pool_id", "ID in the AWS console, such as \"eu-west-1_abc\"")
        let endpoint = url("endpoint")
        let flow = word("auth_flow", CognitoPool.AuthFlow.self)
        let rotates = boolean("rotates")
        let day = Duration.seconds(86_400)
        let validity = duration(
            "refresh_token_validity",
            in: .seconds(3_600)...day * 3_650,
            "1h to 3650d"
        )
        guard let region, let pool else { return nil }
        return CognitoPool(
            region: region,
            userPoolID: pool,
            endpoint: endpoint?.description,
            authFlow: flow,
            rotates: rotates,
            refreshTokenValidity: validity ?? day * 30
        )
    }
}
