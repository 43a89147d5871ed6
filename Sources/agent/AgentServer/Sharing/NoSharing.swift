// SPDX-License-Identifier: MIT

import TokenCore

/// The sharing of an agent without a fleet: no session is shared.
///
/// A session may be configured as shared nevertheless, because `[fleet]` was added after the agent's start. It is neither
/// refreshed nor logged in to.
final class NoSharing: SessionSharing {
    weak var refreshes: (any SharedRefreshDecisionReceiver)?
    private let registry: SessionRegistry

    init(registry: SessionRegistry) {
        self.registry = registry
    }

    private static let absence = FleetStoreError(
        .unavailable,
        "the agent was started without a fleet",
        remedy: .restart
    )

    func join(_ name: SessionName, _ settings: SessionSettings, _ content: StoredSession.Content?) {}
    func start() {}
    func sessionRemoved(_ name: SessionName) {}
    func forget() {}
    func timeReached() {}

    func status(of session: Session) -> SessionStatus { session.status }
    func blank(of name: SessionName) -> FleetUnknownReason? { nil }
    func silence(on name: SessionName) -> FleetUnknownReason? { nil }
    func look(at name: SessionName) async {}
    var isReachable: Bool? { nil }
    func generation(of name: SessionName) -> UInt64? { nil }

    func loginObstacle(to name: SessionName) -> RequestFailure? {
        guard registry[name]?.settings.policy.isShared == true else { return nil }
        return RequestFailure(
            code: .misconfigured,
            message: "session is shared with a fleet, but the agent was started without one",
            session: name,
            remedy: .restart
        )
    }

    func delaysLogin(to name: SessionName) -> Bool { false }
    func waitUntilLoginAllowed(to name: SessionName) async throws(RequestFailure) {}
    func delaysLogout(of name: SessionName) -> Bool { false }
    func waitUntilLogoutAllowed(of name: SessionName) async {}
    func admitLogout(of name: SessionName) -> SharedLogoutAdmission { .allowed }
    func leave(_ name: SessionName) {}
    func unpublishedChange(of name: SessionName) -> RequestFailure? { nil }
    func refusalToLeave(_ name: SessionName) -> RequestFailure? { nil }
    func waitUntilPublished(_ names: Set<SessionName>) async {}
    func cancelDeparture(_ name: SessionName) {}

    func ask(_ number: AttemptNumber, of name: SessionName) {
        refreshes?.refused(number, .unreachable(Self.absence), for: name)
    }

    func withdraw(_ number: AttemptNumber, of name: SessionName) {}
    func fence(of number: AttemptNumber, _ name: SessionName) -> RefreshRequestDeadlines? { nil }

    func answered(
        _ number: AttemptNumber,
        _ outcome: RefreshOutcome,
        of name: SessionName
    )
        -> RefreshOutcomeRecipient
    { .session }

    func recordTokens(of outcome: RefreshOutcome, _ number: AttemptNumber, of name: SessionName) {}

    func takes(_ commit: CommitNumber, _ snapshot: SessionSnapshot, of name: SessionName) -> Bool { false }
    func marked(_ snapshot: SessionSnapshot, of name: SessionName) -> SessionSnapshot { snapshot }
    func keepsRecord(of name: SessionName) -> Bool { false }
    func defersRevocation(_ effect: Effect, of name: SessionName) -> Bool { false }
}
