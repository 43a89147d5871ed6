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
package struct EndpointTraits: Sendable {
    /// The handling of a request while the store is being opened: it waits, or is answered.
    package enum WhileOpening: Sendable {
        case waits
        case isAnswered
        /// The request is answered only if the response does not depend on the sessions visible to the peer.
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
    package var traits: EndpointTraits {
        switch self {
        case .agent:
            EndpointTraits(
                method: .get,
                path: "",
                worksLocked: true,
                whileOpening: .isAnsweredWhereNothingIsHidden,
                worksAtRestrictedSocket: true,
                showsSessions: true
            )
        case .sessions:
            EndpointTraits(
                method: .get,
                path: "/sessions",
                worksAtRestrictedSocket: true,
                showsSessions: true
            )
        case .session: EndpointTraits(method: .get, path: "/sessions/NAME", worksAtRestrictedSocket: true)
        case .token: EndpointTraits(method: .get, path: "/sessions/NAME/token", worksAtRestrictedSocket: true)
        case .aws: EndpointTraits(method: .get, path: "/sessions/NAME/aws", worksAtRestrictedSocket: true)
        case .refresh: EndpointTraits(method: .post, path: "/sessions/NAME/refresh")
        case .report:
            EndpointTraits(method: .post, path: "/sessions/NAME/report", worksAtRestrictedSocket: true)
        case .login: EndpointTraits(method: .post, path: "/sessions/NAME/login")
        case .loginAnswer: EndpointTraits(method: .post, path: "/sessions/NAME/login/ID")
        case .logout: EndpointTraits(method: .post, path: "/sessions/NAME/logout")
        case .clientSecret: EndpointTraits(method: .post, path: "/sessions/NAME/client-secret")
        case .events:
            EndpointTraits(
                method: .get,
                path: "/events",
                worksLocked: true,
                whileOpening: .isAnswered,
                showsSessions: true,
                isEndless: true
            )
        case .audit: EndpointTraits(method: .get, path: "/audit", showsSessions: true, isEndless: true)
        case .metrics: EndpointTraits(method: .get, path: "/metrics", worksLocked: true, showsSessions: true)
        case .doctor: EndpointTraits(method: .get, path: "/doctor", worksLocked: true, showsSessions: true)
        case .examine: EndpointTraits(method: .post, path: "/examine", worksLocked: true)
        case .restrict:
            EndpointTraits(method: .post, path: "/restrict", worksLocked: true, whileOpening: .isAnswered)
        case .lock: EndpointTraits(method: .post, path: "/lock", worksLocked: true)
        case .unlock: EndpointTraits(method: .post, path: "/unlock", worksLocked: true)
        case .reload: EndpointTraits(method: .post, path: "/reload", worksLocked: true, showsSessions: true)
        case .shutdown:
            EndpointTraits(method: .post, path: "/shutdown", worksLocked: true, whileOpening: .isAnswered)
        case .vault: EndpointTraits(method: .get, path: "/vault", worksLocked: true)
        case .vaultInit: EndpointTraits(method: .post, path: "/vault/init")
        case .vaultSlots: EndpointTraits(method: .post, path: "/vault/slots")
        case .vaultSlot: EndpointTraits(method: .delete, path: "/vault/slots/N")
        case .vaultPassphrase: EndpointTraits(method: .post, path: "/vault/passwd")
        case .vaultRekey: EndpointTraits(method: .post, path: "/vault/rekey")
        case .fleet: EndpointTraits(method: .get, path: "/fleet", showsSessions: true)
        case .fleetJoin: EndpointTraits(method: .post, path: "/fleet/join", showsSessions: true)
        case .fleetLeave: EndpointTraits(method: .post, path: "/fleet/leave", showsSessions: true)
        case .fleetRepair: EndpointTraits(method: .post, path: "/fleet/repair", showsSessions: true)
        case .fleetRemove: EndpointTraits(method: .post, path: "/fleet/remove", showsSessions: true)
        }
    }
}
