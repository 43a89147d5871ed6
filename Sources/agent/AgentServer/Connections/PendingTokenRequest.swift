// SPDX-License-Identifier: MIT

import TokenCore

/// A token request that is being answered.
struct PendingTokenRequest {
    enum Format: Equatable {
        case json
        /// The bare token and a line feed.
        case text
        /// The response to a reported rejection: the action to take, and the token for it.
        case retry
        /// The credentials of a role, in the format of the AWS SDKs.
        case role
        /// The fact that there are new credentials, without them: only one endpoint serves a role's
        /// credentials.
        case renewal
    }

    var connection: Connection
    var session: SessionName
    var wantsIDToken = false
    var format = Format.json
    /// The HTTP request that the token is for, if that requires a proof of possession.
    var proof: ProofRequest?
    var consent = Consent.notAsked
    /// Whether the request has waited, so that the peer may be another program by now.
    var hasWaited = false
    /// Whether etcd was read for the request.
    var hasLooked = false

    enum Consent: Equatable {
        case notAsked
        /// The user has agreed to give the token to the program with this identity.
        case given(PeerIdentity?)
    }
}

/// A token request for which no work has started yet.
struct DeferredTokenRequest {
    var query: TokenQuery
    var call: PendingTokenRequest
    /// The time at which the request fails.
    var deadline: Instant
}

extension PendingTokenRequest {
    /// Creates a request for the token that `query` describes.
    ///
    /// - Throws: `badRequest` if a proof is requested in a format that cannot contain one.
    init(
        _ query: TokenQuery,
        for session: SessionName,
        as format: Format,
        on connection: Connection
    ) throws(RequestFailure) {
        guard query.proof == nil || format == .json else {
            let message = "a DPoP proof requires a response as JSON"
            throw RequestFailure(code: .badRequest, message: message, session: session)
        }
        self.init(
            connection: connection,
            session: session,
            wantsIDToken: query.wantsIDToken,
            format: format,
            proof: query.proof
        )
    }
}
