// SPDX-License-Identifier: MIT

import DemoIssuer
import Glibc
import Text

/// A double of the AWS Security Token Service, as far as roles need it, written from its documentation.
///
/// It can fail at a certain moment. Other tests use moto to check that real responses are understood.
package enum STSDouble {
    /// The path at the issuer with the route.
    package static let path = "/sts"
    package static let roleARN = "arn:aws:iam::123456789012:role/deploy"

    /// The route to add to an issuer.
    package static let route = Route("POST", path) { request in
        guard request.form["Action"] == "AssumeRoleWithWebIdentity", request.form["RoleArn"] == roleARN
        else { return refusal(403, "AccessDenied", "Not authorized to perform it") }
        guard request.form["WebIdentityToken"]?.split(separator: ".").count == 3 else {
            return refusal(400, "InvalidIdentityToken", "The token is not a JWT")
        }
        let life = request.form["DurationSeconds"].flatMap { Int64($0) } ?? 3_600
        return IssuerResponse(
            headers: [("Content-Type", "text/xml")],
            body: Array(
                """
                <AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
                  <AssumeRoleWithWebIdentityResult><Credentials>
                    <AccessKeyId>\(RandomText.token("ASIA"))</AccessKeyId>
                    <SecretAccessKey>\(RandomText.token("sk"))</SecretAccessKey>
                    <SessionToken>\(RandomText.token("st"))</SessionToken>
                    <Expiration>\(WallClock.zoned(WallClock.seconds + life))</Expiration>
                  </Credentials></AssumeRoleWithWebIdentityResult>
                </AssumeRoleWithWebIdentityResponse>
                """.utf8
            )
        )
    }

    /// Returns an error in the service's format.
    package static func refusal(_ status: Int, _ code: String, _ message: String) -> IssuerResponse {
        IssuerResponse(
            status: status,
            headers: [("Content-Type", "text/xml")],
            body: Array(
                """
                <ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type>\
                <Code>\(code)</Code><Message>\(message)</Message></Error></ErrorResponse>
                """.utf8
            )
        )
    }
}

extension WallClock {
    /// Returns a time in the form `2026-11-14T22:13:20Z`.
    static func zoned(_ seconds: Int64) -> String {
        var moment = time_t(seconds)
        var parts = tm()
        gmtime_r(&moment, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))T"
            + "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))Z"
    }
}
