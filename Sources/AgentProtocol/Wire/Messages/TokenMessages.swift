// SPDX-License-Identifier: MIT

import Text

/// The response of `GET …/token`, and of `POST …/refresh`.
package typealias TokenMessage = WireMessage<TokenMembers>

package struct TokenMembers: WireMemberTable {
    package let session = WireMember<String>("session")
    package let accessToken = WireMember<String>("access_token")
    /// The ID token, which replaces `access_token` if it was requested.
    package let idToken = WireMember<String>("id_token", isOptional: true)
    package let tokenType = WireMember<String>("token_type")
    /// The server's own word for the type, if it differs.
    package let serverTokenType = WireMember<String>("server_token_type", isOptional: true)
    package let expiresAt = WireMember<Int64>("expires_at", .time, isOptional: true)
    package let expiresIn = WireMember<Int64>("expires_in", .seconds, isOptional: true)
    package let scope = WireMember<String>("scope")
    package let proof = WireMember<String>("dpop_proof", isOptional: true)

    package static let table = Self()
}

/// The members that `tokenctl get --format json` adds to the token.
package typealias GetOutputDetailMessage = WireMessage<GetOutputDetailMembers>

package struct GetOutputDetailMembers: WireMemberTable {
    package let expiresAtText = WireMember<String>("expires_at_rfc3339", isOptional: true)
    package let issuer = WireMember<String>("issuer", isOptional: true)
    package let account = WireMember<String>("account", isOptional: true)
    /// The stored texts, as in the status of the session.
    package let kept = WireMember<JSONObject>("kept", isOptional: true)

    package static let table = Self()
}

/// The body of `POST …/refresh`.
package struct RefreshRequestMembers: WireMemberTable {
    package let rejectedToken = WireMember<String>("rejected_token", isOptional: true)
    package let scope = WireMember<String>("scope", isOptional: true)
    package let audience = WireMember<String>("audience", isOptional: true)

    package static let table = Self()
}

/// The body of `POST …/report`.
package struct RejectionReportRequestMembers: WireMemberTable {
    package let token = WireMember<String>("token")
    package let status = WireMember<Int64>("status")
    package let challenge = WireMember<String>("www_authenticate", isOptional: true)
    package let body = WireMember<String>("body", isOptional: true)
    package let host = WireMember<String>("host", isOptional: true)
    package let scope = WireMember<String>("scope", isOptional: true)
    package let audience = WireMember<String>("audience", isOptional: true)

    package static let table = Self()
}

extension RejectionReportRequestMembers {
    /// The maximum number of bytes of a challenge in a report.
    private static let maximumChallengeLength = 2048
    /// The maximum number of closing braces at which the end of an object is tried, as hostile text may
    /// consist of them.
    private static let maximumBraces = 64

    /// Returns the beginning of a server's challenge, as much as the agent accepts.
    package static func fitting(_ challenge: String) -> String {
        String(decoding: challenge.utf8.prefix(maximumChallengeLength), as: UTF8.self)
    }

    /// Returns the JSON object at the beginning of a server's response, without text that follows it, or else
    /// the whole text.
    package static func readable(_ body: [UInt8]) -> String {
        let ends = body.indices.reversed().lazy.filter { body[$0] == UInt8(ascii: "}") }
        for end in ends.prefix(maximumBraces) where (try? JSONValue(parsing: Array(body[...end]))) != nil {
            return String(decoding: body[...end], as: UTF8.self)
        }
        return String(decoding: body, as: UTF8.self)
    }
}

/// The action of a client after it has reported a rejection.
package enum NextClientAction: String, CaseIterable, WireValue {
    /// Try again with the token in this response.
    case retry
    /// Nothing helps now.
    case none
    /// A login that requests more would help.
    case stepUp = "step_up"
}

/// The response of `POST …/report`, which for `retry` also has the members of a token.
package typealias RejectionReportMessage = WireMessage<RejectionReportResponseMembers>

package struct RejectionReportResponseMembers: WireMemberTable {
    package let action = WireMember<NextClientAction>("action")
    package let accessToken = WireMember<String>("access_token", isOptional: true)
    /// The scopes that a login must request, for `step_up`.
    package let scope = WireMember<String>("scope", isOptional: true)
    package let contextClasses = WireMember<String>("acr_values", isOptional: true)
    package let maximumAge = WireMember<Int64>("max_age", .seconds, isOptional: true)
    /// The session to log in to, for `step_up`, if it is another one.
    package let source = WireMember<String>("source", isOptional: true)
    package let message = WireMember<String>("message", isOptional: true)
    package let retryAfter = WireMember<Int64>("retry_after", .seconds, isOptional: true)

    package static let table = Self()
}
