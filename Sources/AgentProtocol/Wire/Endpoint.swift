// SPDX-License-Identifier: MIT

/// The endpoints of the socket and their properties, as in the table of tokenagent-protocol(7).
package enum Endpoint: CaseIterable, Sendable {
    case agent
    case sessions
    case session
    case token
    case aws
    case refresh
    case report
    case login
    case loginAnswer
    case logout
    case clientSecret
    case events
    case audit
    case metrics
    case doctor
    case examine
    case restrict
    case lock
    case unlock
    case reload
    case shutdown
    case vault
    case vaultInit
    case vaultSlots
    case vaultSlot
    case vaultPassphrase
    case vaultRekey
    case fleet
    case fleetJoin
    case fleetLeave
    case fleetRepair
    case fleetRemove
}

/// The properties of an endpoint: a row of the table.
package struct APIEndpointTraits: Sendable {
    /// The handling of a request while the store is being opened: it waits, or is answered.
    package enum WhileOpening: Sendable {
        case waits
        case isAnswered
        /// The request is answered if no session can be hidden from the peer, and waits otherwise.
        case isAnsweredWhereNothingIsHidden
    }

    /// The only method of the endpoint.
    ///
    /// `GET` includes `HEAD`.
    package var method: AgentRequest.Method
    /// The path after `/v1`, where `NAME` is a session, `ID` an active login, and `N` an unlock method.
    package var path: String
    /// Whether a locked agent answers it.
    ///
    /// It may concern the agent's own state, but no session.
    package var worksLocked = false
    package var whileOpening = WhileOpening.waits
    /// Whether it is available at a `[[socket]]`.
    package var worksAtRestrictedSocket = false
    /// Whether the response reveals the existing sessions or their number.
    package var showsSessions = false
    /// Whether the response can continue until its reader leaves.
    ///
    /// `HEAD` is rejected then.
    package var isEndless = false
}

extension Endpoint {
    package var traits: APIEndpointTraits {
        switch self {
        case .agent:
            APIEndpointTraits(
                method: .get,
                path: "",
                worksLocked: true,
                whileOpening: .isAnsweredWhereNothingIsHidden,
                worksAtRestrictedSocket: true,
                showsSessions: true
            )
        case .sessions:
            APIEndpointTraits(
                method: .get,
                path: "/sessions",
                worksAtRestrictedSocket: true,
                showsSessions: true
            )
        case .session: APIEndpointTraits(method: .get, path: "/sessions/NAME", worksAtRestrictedSocket: true)
        case .token:
            APIEndpointTraits(method: .get, path: "/sessions/NAME/token", worksAtRestrictedSocket: true)
        case .aws: APIEndpointTraits(method: .get, path: "/sessions/NAME/aws", worksAtRestrictedSocket: true)
        case .refresh: APIEndpointTraits(method: .post, path: "/sessions/NAME/refresh")
        case .report:
            APIEndpointTraits(method: .post, path: "/sessions/NAME/report", worksAtRestrictedSocket: true)
        case .login: APIEndpointTraits(method: .post, path: "/sessions/NAME/login")
        case .loginAnswer: APIEndpointTraits(method: .post, path: "/sessions/NAME/login/ID")
        case .logout: APIEndpointTraits(method: .post, path: "/sessions/NAME/logout")
        case .clientSecret: APIEndpointTraits(method: .post, path: "/sessions/NAME/client-secret")
        case .events:
            APIEndpointTraits(
                method: .get,
                path: "/events",
                worksLocked: true,
                whileOpening: .isAnswered,
                showsSessions: true,
                isEndless: true
            )
        case .audit: APIEndpointTraits(method: .get, path: "/audit", showsSessions: true, isEndless: true)
        case .metrics:
            APIEndpointTraits(method: .get, path: "/metrics", worksLocked: true, showsSessions: true)
        case .doctor: APIEndpointTraits(method: .get, path: "/doctor", worksLocked: true, showsSessions: true)
        case .examine: APIEndpointTraits(method: .post, path: "/examine", worksLocked: true)
        case .restrict:
            APIEndpointTraits(method: .post, path: "/restrict", worksLocked: true, whileOpening: .isAnswered)
        case .lock: APIEndpointTraits(method: .post, path: "/lock", worksLocked: true)
        case .unlock: APIEndpointTraits(method: .post, path: "/unlock", worksLocked: true)
        case .reload:
            APIEndpointTraits(method: .post, path: "/reload", worksLocked: true, showsSessions: true)
        case .shutdown:
            APIEndpointTraits(method: .post, path: "/shutdown", worksLocked: true, whileOpening: .isAnswered)
        case .vault: APIEndpointTraits(method: .get, path: "/vault", worksLocked: true)
        case .vaultInit: APIEndpointTraits(method: .post, path: "/vault/init")
        case .vaultSlots: APIEndpointTraits(method: .post, path: "/vault/slots")
        case .vaultSlot: APIEndpointTraits(method: .delete, path: "/vault/slots/N")
        case .vaultPassphrase: APIEndpointTraits(method: .post, path: "/vault/passwd")
        case .vaultRekey: APIEndpointTraits(method: .post, path: "/vault/rekey")
        case .fleet: APIEndpointTraits(method: .get, path: "/fleet", showsSessions: true)
        case .fleetJoin: APIEndpointTraits(method: .post, path: "/fleet/join", showsSessions: true)
        case .fleetLeave: APIEndpointTraits(method: .post, path: "/fleet/leave", showsSessions: true)
        case .fleetRepair: APIEndpointTraits(method: .post, path: "/fleet/repair", showsSessions: true)
        case .fleetRemove: APIEndpointTraits(method: .post, path: "/fleet/remove", showsSessions: true)
        }
    }
}
