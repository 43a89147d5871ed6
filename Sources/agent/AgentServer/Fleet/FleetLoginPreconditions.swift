// SPDX-License-Identifier: MIT

import TokenCore

/// The conditions under which a login or logout of a shared session may begin.
///
/// Logins and logouts follow each other: each one replaces the login before it. A host that does not know the
/// current login can neither end nor replace it, so it reads etcd first.
struct FleetLoginPreconditions {
    let session: SessionName

    /// Returns the failure for a login or logout that could never reach the fleet, or `nil` if it could.
    ///
    /// It could not if the shared store cannot be opened, or the record in etcd cannot be opened with this
    /// host's key.
    func blockingFailure(in agent: isolated SessionAgent) -> RequestFailure? {
        let storeError: FleetStoreError? =
            if let shared = agent.fleet[session] {
                shared.storeError.flatMap { $0.kind == .unreadable ? $0 : nil }
            } else {
                isOutside(in: agent) ? agent.fleet.openingTrouble : nil
            }
        return storeError.map { RequestFailure(.troubled($0), of: session) }
    }

    // MARK: Logins

    /// Returns whether a login has to wait until this host knows the fleet's current login.
    func delaysLogin(in agent: isolated SessionAgent) -> Bool {
        isOutside(in: agent) || isUnseen(in: agent) || isPublishing(in: agent) || isTimeless(in: agent)
            || agent.fleet[session]?.storeError != nil
    }

    /// Waits until a new login counts as later than the fleet's current login, as far as this host can know.
    ///
    /// - Throws: ``RequestFailure`` if the login would count as older than the fleet's, or could not reach
    ///   the fleet.
    func waitUntilLoginAllowed(in agent: isolated SessionAgent) async throws(RequestFailure) {
        // A host that has left its last session has closed the store.
        if agent.fleet.hasLeft(session) {
            await agent.fleet.openAnyway(in: agent)
        } else {
            await agent.fleet.waitUntilOpened()
        }
        if let failure = blockingFailure(in: agent) { throw failure }
        do throws(FleetStoreError) {
            if isTimeless(in: agent) { _ = try await agent.fleet.sharing?.learnTime() }
            try await readWhileDeparted(in: agent)
        } catch {
            // With a known record, the login is at least later than that record.
            guard agent.fleet[session]?.member.memory.record != nil else {
                throw RequestFailure(.troubled(error), of: session)
            }
        }
        if isUnseen(in: agent) { await agent.fleet.look(at: session, in: agent) }
        // The record is of another client or server, so the other hosts would never use this login.
        if let storeError = agent.fleet[session]?.storeError, storeError.kind == .foreign {
            throw RequestFailure(.troubled(storeError), of: session)
        }
        await agent.fleet.wait { isPublishing(in: agent) }
    }

    /// Reads the fleet's current login if this host has left the fleet, so that the new login counts as
    /// later.
    private func readWhileDeparted(in agent: isolated SessionAgent) async throws(FleetStoreError) {
        guard agent.fleet.hasLeft(session), let sharing = agent.fleet.sharing,
            let binding = agent.sessions[session]?.settings.fleetBinding
        else { return }
        let readResult = try await sharing.look(at: session, since: 0)
        if let record = readResult.view.record, record.status != .out,
            let snapshot = try sharing.open(record.attempt, in: readResult, as: binding)
        {
            agent.erasure.erase(snapshot.secrets)
        }
        agent.fleet.note(readResult)
    }

    /// Returns whether this host does not yet know the login that the new login would replace.
    private func isUnseen(in agent: isolated SessionAgent) -> Bool {
        agent.fleet[session]?.isUnseen == true
    }

    /// Returns whether this host does not know etcd's time yet.
    ///
    /// That time decides which of two logins is the later one.
    private func isTimeless(in agent: isolated SessionAgent) -> Bool {
        let hasSharedSessions = agent.sessions[session]?.settings.policy.isShared == true
        return hasSharedSessions && agent.fleet.sharing.map { $0.time == nil } ?? false
    }

    // MARK: Logouts

    /// Returns whether a logout has to wait until this host knows the login that it ends.
    func delaysLogout(in agent: isolated SessionAgent) -> Bool {
        isOutside(in: agent) || isChanging(in: agent) || isBehind(in: agent)
    }

    /// Waits until this host knows the login that the logout ends, if that can be known now.
    func waitUntilLogoutAllowed(in agent: isolated SessionAgent) async {
        await agent.fleet.waitUntilOpened()
        if isBehind(in: agent) { agent.fleet.lookAgain(at: session, in: agent) }
        await agent.fleet.wait { isChanging(in: agent) }
    }

    /// Returns the failure for a logout that says nothing about the other hosts, or `nil` if the logout is
    /// meaningful.
    ///
    /// The session is logged out here, and this host cannot see whether other hosts are logged in.
    func ignorance(in agent: isolated SessionAgent) -> RequestFailure? {
        guard let shared = agent.fleet[session], shared.isBlind,
            agent.sessions[session]?.session.status.state == .loggedOut
        else { return nil }
        return RequestFailure(shared.storeError.map { .troubled($0) } ?? .awaited, of: session)
    }

    /// Returns whether etcd may have a newer state: this host has not read it, or its watch does not work.
    private func isBehind(in agent: isolated SessionAgent) -> Bool {
        agent.fleet[session].map { $0.isBlind || agent.fleet.storeError != nil } ?? false
    }

    /// Returns whether this host is about to learn of another login, or to publish one.
    private func isChanging(in agent: isolated SessionAgent) -> Bool {
        isPublishing(in: agent) || agent.fleet[session]?.member.isBusy == true
    }

    /// Returns whether the session should be shared, but this host does not share it yet or any more.
    private func isOutside(in agent: isolated SessionAgent) -> Bool {
        agent.sessions[session]?.settings.policy.isShared == true && agent.fleet[session] == nil
    }

    /// Returns whether a login or logout of this host is being written to etcd, and etcd is not known to be
    /// unreachable.
    private func isPublishing(in agent: isolated SessionAgent) -> Bool {
        agent.fleet[session]?.isPublishing == true
    }
}
