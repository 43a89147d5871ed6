// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The checks of this host's fleet membership for `tokenctl doctor`.
struct FleetCheckup {
    /// The tolerated difference from etcd's clock, in seconds.
    ///
    /// Beyond it, times shown here differ from those at other hosts.
    private static let tolerance: Int64 = 10

    let fleet: FleetCoordinator
    let registry: SessionRegistry
    let phase: AgentPhase

    /// Returns one finding per check, or none while the agent is locked.
    func checks() async -> [DiagnosticCheck] {
        let port = fleet.port
        guard !phase.isLocked else { return [] }
        await fleet.openAnyway()
        fleet.readFailedSessions()
        guard let sharing = fleet.sharing else {
            return [Self.problem(fleet.storeError ?? .unasked)]
        }
        let unshared = registry.entries.values.filter(\.mayBeShared).map(\.session.name)
        let survey = await sharing.survey(fleet.names(nil).union(unshared))
        let members = survey.members.map(check)
        if let storeError = survey.storeError {
            let isSaid = survey.members.contains {
                $0.storeError?.sentence.bytewise == storeError.sentence.bytewise
            }
            return members + (isSaid ? [] : [Self.problem(storeError)])
        }
        let rival = fleet.announcements.rival(among: survey.hosts).map(Self.rival)
        var checks = members + [clock(survey), await rights(port)] + (rival.map { [$0] } ?? [])
        if let storeError = survey.watchError ?? fleet.storeError {
            checks.append(Self.problem(storeError))
        }
        checks += unshared.sorted().compactMap { name in
            survey.sessions[name]?.record?.isLive == true ? Self.unshared(name) : nil
        }
        for (name, session) in survey.sessions.sorted(by: { $0.key < $1.key }) where !unshared.contains(name)
        {
            guard let storeError = session.storeError ?? fleet[name]?.storeError,
                !isOrdinary(storeError, for: port)
            else { continue }
            var check = Self.problem(storeError)
            // Report an error that several sessions share in one line.
            guard let place = checks.firstIndex(where: { $0.detail.bytewise == check.detail.bytewise }) else {
                check.sessions = [name]
                checks.append(check)
                continue
            }
            if !checks[place].sessions.isEmpty { checks[place].sessions.append(name) }
        }
        return checks
    }

    private static func problem(_ storeError: FleetStoreError) -> DiagnosticCheck {
        DiagnosticCheck(
            name: "fleet",
            verdict: .problem,
            detail: storeError.sentence,
            remedy: storeError.remedy
        )
    }

    /// Warns that a login to this session here would be separate from the login that the fleet has.
    private static func unshared(_ name: SessionName) -> DiagnosticCheck {
        DiagnosticCheck(
            name: "fleet",
            verdict: .warning,
            detail: "\(name): this host does not use the login that the fleet has of this session",
            remedy: .set("fleet = true in [session.\(name)], then run tokenctl reload"),
            sessions: [name]
        )
    }

    private static func rival(_ card: HostDescription) -> DiagnosticCheck {
        DiagnosticCheck(
            name: "fleet",
            verdict: .problem,
            detail:
                "the agent on \(card.label) has the identity of this host: its state directory is a copy",
            remedy: .set("another state directory on the host that is the copy, then run tokenagent there")
        )
    }

    private func check(_ member: FleetSurvey.EtcdMember) -> DiagnosticCheck {
        if let storeError = member.storeError {
            return DiagnosticCheck(
                name: "etcd",
                verdict: .problem,
                detail: "\(member.endpoint): \(storeError.sentence)",
                remedy: storeError.remedy
            )
        }
        let version = member.version ?? "unknown"
        return DiagnosticCheck(name: "etcd", verdict: .ok, detail: "\(member.endpoint): version \(version)")
    }

    private func clock(_ survey: FleetSurvey) -> DiagnosticCheck {
        guard let ahead = survey.clockLead?.wholeSeconds else {
            return DiagnosticCheck(
                name: "fleet clock",
                verdict: .warning,
                detail: FleetStoreError.undated.sentence,
                remedy: FleetStoreError.undated.remedy
            )
        }
        guard abs(ahead) > FleetCheckup.tolerance else {
            return DiagnosticCheck(
                name: "fleet clock",
                verdict: .ok,
                detail: "this host's clock agrees with etcd's"
            )
        }
        return DiagnosticCheck(
            name: "fleet clock",
            verdict: .warning,
            detail: "this host's clock is \(abs(ahead)) seconds \(ahead > 0 ? "ahead of" : "behind") etcd's, "
                + "which dates the tokens",
            remedy: .set("the clock of this host or of etcd's hosts with NTP")
        )
    }

    /// Returns whether the error is expected at a reader, which may be denied writing to etcd.
    ///
    /// A reader gets its tokens without asking the keepers.
    private func isOrdinary(_ storeError: FleetStoreError, for port: FleetDependencies) -> Bool {
        storeError.kind == .denied && port.role == .reader
    }

    /// Checks whether this host may write to etcd.
    ///
    /// Every host writes its own entry in the list of hosts.
    private func rights(_ port: FleetDependencies) async -> DiagnosticCheck {
        guard fleet.hasSharedSessions else {
            let detail = "name \(port.name), role \(port.role.rawValue), no shared sessions"
            return DiagnosticCheck(name: "fleet", verdict: .ok, detail: detail)
        }
        guard let storeError = await fleet.announcements.tryNow() else {
            let detail = "name \(port.name), role \(port.role.rawValue)"
            return DiagnosticCheck(name: "fleet", verdict: .ok, detail: detail)
        }
        guard isOrdinary(storeError, for: port) else { return Self.problem(storeError) }
        return DiagnosticCheck(
            name: "fleet",
            verdict: .ok,
            detail: "name \(port.name), role reader with read-only access to etcd: not in the list of hosts, "
                + "and cannot request refreshes from keepers"
        )
    }
}

extension SessionEntry {
    /// Whether the session has a user's login and is not shared.
    fileprivate var mayBeShared: Bool { !settings.policy.isShared && !settings.policy.startsByItself }
}
