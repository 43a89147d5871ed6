// SPDX-License-Identifier: MIT

import TokenCore

/// A request for a token that is being answered.
struct PendingTokenRequest {
    enum Format: Equatable {
        case json
        /// The bare token and a line feed.
        case text
        /// The answer to a reported refusal: what to do, and the token for it.
        case retry
        /// The credentials of a role, as the AWS SDKs read them.
        case role
        /// That there are others now, without them: credentials of a role are handed out at one address alone.
        case renewal
    }

    var connection: Connection
    var session: SessionName
    var wantsIDToken = false
    var format = Format.json
    /// The request that the token will be sent with, if that needs a proof.
    var proof: ProofRequest?
    var consent = Consent.notAsked
    /// Whether it was not answered at once, so that the peer may be another program by now.
    var hasWaited = false
    /// Whether the fleet was looked at for it.
    var hasLooked = false

    enum Consent: Equatable {
        case notAsked
        /// A person agreed to give it to the program with these facts.
        case given(PeerIdentity?)
    }
}

/// A request for a token that nothing is begun for yet.
struct DeferredTokenRequest {
    var query: TokenQuery
    var call: PendingTokenRequest
    /// When it waits no longer.
    var deadline: Instant
}

extension PendingTokenRequest {
    /// - Throws: `badRequest` when a proof is asked for where there is no place for one.
    init(
        _ query: TokenQuery,
        for session: SessionName,
        as format: Format,
        on connection: Connection
    ) throws(RequestFailure) {
        guard query.proof == nil || format == .json else {
            throw RequestFailure(code: .badRequest, message: "A proof comes as JSON only.", session: session)
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

/// What a connection waits for, so that the agent finds it when the peer leaves.
enum PendingReply: Equatable {
    case token(SessionName, WaiterID)
    case login(LoginNumber)
    case logout(SessionName)
    case events
    case confirmation(ConfirmationKey)
    /// Another token is being made for its socket.
    case turn
    /// The fleet has not shown its session yet.
    case fleet
}
