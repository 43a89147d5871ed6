// SPDX-License-Identifier: MIT

import TokenCore

/// The conditions under which a login or logout of a shared session may begin.
///
/// Logins and logouts follow each other: each one replaces the login before it. A host that does not know the
/// current login can neither end nor replace it, so it reads etcd first.
struct FleetLoginPreconditions {
    private let session: SessionName
    private let fleet: FleetCoordinator
    private let registry: SessionRegistry
    private let erasure: DeferredSecretErasure

    init(session: SessionName, fleet: FleetCoordinator, parts: FleetParts) {
        self.session = session
        self.fleet = fleet
        registry = parts.registry
        erasure = parts.erasure
    }

    /// The failure for a login or logout that could never reach the fleet, or `nil` if it could.
    ///
    /// It could not if the shared store cannot be opened, or the record in etcd cannot be opened with this
    /// host's key.
    var blockingFailure: RequestFailure? {
        let storeError: FleetStoreError? =
            if let shared = fleet[session] {
                shared.storeError.flatMap { $0.kind == .unreadable ? $0 : nil }
            } else {
                isOutside ? fleet.openingTrouble : nil
            }
        return storeError.map { RequestFailure(.troubled($0), of: session) }
    }

    // MARK: Logins

    /// Whether a login has to wait until this host knows the fleet's current login.
    var delaysLogin: Bool {
        isOutside || isUnseen || isPublishing || isTimeless
            || fleet[session]?.storeError != nil
    }

    /// Waits until a new login counts as later than the fleet's current login, as far as this host can know.
    ///
    /// - Throws: ``RequestFailure`` if the login would count as older than the fleet's, or could not reach
    ///   the fleet.
    func waitUntilLoginAllowed() async throws(RequestFailure) {
        // A host that has left its last session has closed the store.
        if fleet.hasLeft(session) {
            await fleet.openAnyway()
        } else {
            await fleet.waitUntilOpened()
        }
        if let failure = blockingFailure { throw failure }
        do throws(FleetStoreError) {
            if isTimeless { _ = try await fleet.sharing?.learnTime() }
            try await readWhileDeparted()
        } catch {
            // With a known record, the login is at least later than that record.
            guard fleet[session]?.member.memory.record != nil else {
                throw RequestFailure(.troubled(error), of: session)
            }
        }
        if isUnseen { await fleet.look(at: session) }
        // The record is of another client or server, so the other hosts would never use this login.
        if let storeError = fleet[session]?.storeError, storeError.kind == .foreign {
            throw RequestFailure(.troubled(storeError), of: session)
        }
        await fleet.wait { isPublishing }
    }

    /// Reads the fleet's current login if this host has left the fleet, so that the new login counts as
    /// later.
    private func readWhileDeparted() async throws(FleetStoreError) {
        guard fleet.hasLeft(session), let sharing = fleet.sharing,
            let binding = registry[session]?.settings.fleetBinding
        else { return }
        let readResult = try await sharing.look(at: session, since: 0)
        if let record = readResult.view.record, record.status != .out,
            let snapshot = try sharing.open(record.attempt, in: readResult, as: binding)
        {
            erasure.erase(snapshot.secrets)
        }
        fleet.note(readResult)
    }

    /// Whether this host does not yet know the login that the new login would replace.
    private var isUnseen: Bool {
        fleet[session]?.isUnseen == true
    }

    /// Whether this host does not know etcd's time yet.
    ///
    /// That time decides which of two logins is the later one.
    private var isTimeless: Bool {
        let hasSharedSessions = registry[session]?.settings.policy.isShared == true
        return hasSharedSessions && fleet.sharing.map { $0.time == nil } ?? false
    }

    // MARK: Logouts

    /// Whether a logout has to wait until this host knows the login that it ends.
    var delaysLogout: Bool {
        isOutside || isChanging || isBehind
    }

    /// Waits until this host knows the login that the logout ends, if that can be known now.
    func waitUntilLogoutAllowed() async {
        await fleet.waitUntilOpened()
        if isBehind { fleet.lookAgain(at: session) }
        await fleet.wait { isChanging }
    }

    /// The failure for a logout that says nothing about the other hosts, or `nil` if the logout is
    /// meaningful.
    ///
    /// The session is logged out here, and this host cannot see whether other hosts are logged in.
    var ignorance: RequestFailure? {
        guard let shared = fleet[session], shared.isBlind,
            registry[session]?.session.status.state == .loggedOut
        else { return nil }
        return RequestFailure(shared.storeError.map { .troubled($0) } ?? .awaited, of: session)
    }

    /// Whether etcd may have a newer state: this host has not read it, or its watch does not work.
    private var isBehind: Bool {
        fleet[session].map { $0.isBlind || fleet.storeError != nil } ?? false
    }

    /// Whether this host is about to learn of another login, or to publish one.
    private var isChanging: Bool {
        isPublishing || fleet[session]?.member.isBusy == true
    }

    /// Whether the session should be shared, but this host does not share it yet or any more.
    private var isOutside: Bool {
        registry[session]?.settings.policy.isShared == true && fleet[session] == nil
    }

    /// Whether a login or logout of this host is being written to etcd, and etcd is not known to be
    /// unreachable.
    private var isPublishing: Bool {
        fleet[session]?.isPublishing == true
    }
}

extension FleetCoordinator {
    private func preconditions(_ name: SessionName) -> FleetLoginPreconditions {
        FleetLoginPreconditions(session: name, fleet: self, parts: parts)
    }

    func loginObstacle(to name: SessionName) -> RequestFailure? {
        // The next login of a host that has left the fleet opens its etcd store again.
        hasLeft(name) ? nil : preconditions(name).blockingFailure
    }

    func delaysLogin(to name: SessionName) -> Bool { preconditions(name).delaysLogin }

    func waitUntilLoginAllowed(to name: SessionName) async throws(RequestFailure) {
        try await preconditions(name).waitUntilLoginAllowed()
    }

    func delaysLogout(of name: SessionName) -> Bool { preconditions(name).delaysLogout }

    func waitUntilLogoutAllowed(of name: SessionName) async {
        await preconditions(name).waitUntilLogoutAllowed()
    }

    func admitLogout(of name: SessionName) -> SharedLogoutAdmission {
        guard !hasLeft(name) else {
            return .refused(
                RequestFailure(
                    code: .misconfigured,
                    message: "this host has left the fleet and can log out only itself",
                    session: name,
                    remedy: .run("tokenctl fleet join \(name) && tokenctl logout \(name)")
                )
            )
        }
        if let failure = preconditions(name).blockingFailure {
            return refusalToLeave(name) == nil ? .onlyHere(failure) : .refused(failure)
        }
        if let blank = blank(of: name) { return .refused(RequestFailure(blank, of: name)) }
        return preconditions(name).ignorance.map { .refused($0) } ?? .allowed
    }
}
