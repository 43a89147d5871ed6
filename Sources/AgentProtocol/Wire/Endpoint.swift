// SPDX-License-Identifier: MIT

/// The addresses of the socket, and what holds for each: the table of tokenagent-protocol(7).
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

/// A row of the table.
package struct EndpointTraits: Sendable {
    /// Whether a request is answered while the store is being opened, instead of waiting.
    package enum WhileOpening: Sendable {
        case waits
        case isAnswered
        /// Answered only if the answer does not depend on which sessions the peer may know of.
        case isAnsweredWhereNothingIsHidden
    }

    /// The one method it answers; `HEAD` goes with `GET`.
    package var method: AgentRequest.Method
    /// What follows `/v1`; `NAME` stands for a session, `ID` for a login under way, `N` for a way to unlock.
    package var path: String
    /// Whether a locked agent answers it: it may concern the agent's own state, but nothing of a session.
    package var worksLocked = false
    package var whileOpening = WhileOpening.waits
    /// Whether a `[[socket]]` answers it.
    package var worksAtRestrictedSocket = false
    /// Whether the answer tells which sessions there are, or how many.
    package var showsSessions = false
    /// Whether the answer can go on until its reader leaves; `HEAD` is refused then.
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
