// SPDX-License-Identifier: MIT

import TokenCore

/// What a person's login or logout of a session waits for before it begins, where the session is shared.
///
/// They follow each other, as each is of the login that the one before has left, and a host does them with its eyes open: what
/// it does not know of it can neither end nor follow.
struct FleetLoginGate {
    let session: SessionName

    /// Why the fleet would never hear of a login or a logout: its store cannot be opened, or what is there does not open
    /// with the key of this host; `nil`: it would.
    func obstacle(in agent: isolated SessionAgent) -> RequestFailure? {
        let trouble: FleetStoreError? =
            if let shared = agent.fleet[session] {
                shared.trouble.flatMap { $0.kind == .unreadable ? $0 : nil }
            } else {
                isOutside(in: agent) ? agent.fleet.openingTrouble : nil
            }
        return trouble.map { RequestFailure(.troubled($0), of: session) }
    }

    // MARK: Logins

    /// Whether a login has to wait.
    func delaysLogin(in agent: isolated SessionAgent) -> Bool {
        isOutside(in: agent) || isUnseen(in: agent) || isTelling(in: agent) || isTimeless(in: agent)
            || agent.fleet[session]?.trouble != nil
    }

    /// Waits until a login is later than the one that the fleet has, as far as this host can know.
    ///
    /// - Throws: ``RequestFailure`` if it would be taken for an older one, or never heard of.
    func waitUntilLoginAllowed(in agent: isolated SessionAgent) async throws(RequestFailure) {
        // A host that has left its last session has closed it.
        if agent.fleet.hasLeft(session) {
            await agent.fleet.openAnyway(in: agent)
        } else {
            await agent.fleet.untilOpened()
        }
        if let failure = obstacle(in: agent) { throw failure }
        do throws(FleetStoreError) {
            if isTimeless(in: agent) { _ = try await agent.fleet.sharing?.learnTime() }
            try await readWhileDeparted(in: agent)
        } catch {
            // Else it is later at least than the login that this host knows.
            guard agent.fleet[session]?.member.memory.record != nil else {
                throw RequestFailure(.troubled(error), of: session)
            }
        }
        if isUnseen(in: agent) { await agent.fleet.look(at: session, in: agent) }
        // Of another client or server: the hosts would never have this one.
        if let trouble = agent.fleet[session]?.trouble, trouble.kind == .foreign {
            throw RequestFailure(.troubled(trouble), of: session)
        }
        await agent.fleet.wait { isTelling(in: agent) }
    }

    /// Has a host that has left know which login it is that the next one here follows.
    private func readWhileDeparted(in agent: isolated SessionAgent) async throws(FleetStoreError) {
        guard agent.fleet.hasLeft(session), let sharing = agent.fleet.sharing,
            let binding = agent.sessions[session]?.settings.fleetBinding
        else { return }
        let sight = try await sharing.look(at: session, since: 0)
        if let record = sight.view.record, record.status != .out,
            let snapshot = try sharing.open(record.attempt, in: sight, as: binding)
        {
            agent.erasure.erase(snapshot.secrets)
        }
        agent.fleet.note(sight)
    }

    /// The login that this one is to follow is not known yet.
    private func isUnseen(in agent: isolated SessionAgent) -> Bool {
        agent.fleet[session]?.isUnseen == true
    }

    /// etcd's time is not known yet, by which the later of two logins is told.
    private func isTimeless(in agent: isolated SessionAgent) -> Bool {
        let hasSharedSessions = agent.sessions[session]?.settings.policy.isShared == true
        return hasSharedSessions && agent.fleet.sharing.map { $0.time == nil } ?? false
    }

    // MARK: Logouts

    /// Whether a logout has to wait.
    func delaysLogout(in agent: isolated SessionAgent) -> Bool {
        isOutside(in: agent) || isChanging(in: agent) || isBehind(in: agent)
    }

    /// Waits until this host knows which login it is that is to end, if that can be known now.
    func waitUntilLogoutAllowed(in agent: isolated SessionAgent) async {
        await agent.fleet.untilOpened()
        if isBehind(in: agent) { agent.fleet.lookAgain(at: session, in: agent) }
        await agent.fleet.wait { isChanging(in: agent) }
    }

    /// Why a logout here says nothing of the other hosts: nobody is logged in as far as this host knows, which does not see
    /// whether others are; `nil`: it does, or has something to end.
    func ignorance(in agent: isolated SessionAgent) -> RequestFailure? {
        guard let shared = agent.fleet[session], shared.isBlind,
            agent.sessions[session]?.session.status.state == .loggedOut
        else { return nil }
        return RequestFailure(shared.trouble.map { .troubled($0) } ?? .awaited, of: session)
    }

    /// This host may know less of the session than etcd has: it has not read it, or does not hear what happens there.
    private func isBehind(in agent: isolated SessionAgent) -> Bool {
        agent.fleet[session].map { $0.isBlind || agent.fleet.trouble != nil } ?? false
    }

    /// This host is about to know another login, or to have made one known.
    private func isChanging(in agent: isolated SessionAgent) -> Bool {
        isTelling(in: agent) || agent.fleet[session]?.member.isBusy == true
    }

    /// The session is shared, and this host takes no part in it, or not yet.
    private func isOutside(in agent: isolated SessionAgent) -> Bool {
        agent.sessions[session]?.settings.policy.isShared == true && agent.fleet[session] == nil
    }

    /// A login or logout of this host is on its way to etcd, which is not known to be away.
    private func isTelling(in agent: isolated SessionAgent) -> Bool {
        agent.fleet[session]?.isTelling == true
    }
}
