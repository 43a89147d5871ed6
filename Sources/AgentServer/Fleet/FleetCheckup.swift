// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The checks of this host's fleet membership for `tokenctl doctor`.
struct FleetCheckup {
    /// The tolerated difference from etcd's clock, in seconds.
    ///
    /// Beyond it, times shown here differ from those at other hosts.
    private static let tolerance: Int64 = 10

    /// Returns one finding per check, or none if this host is in no fleet.
    func checks(in agent: isolated SessionAgent) async -> [DiagnosticCheck] {
        guard let port = agent.ports.fleet, !agent.isLocked else { return [] }
        await agent.fleet.openAnyway(in: agent)
        guard let sharing = agent.fleet.sharing else {
            return [Self.problem(agent.fleet.trouble ?? .unasked)]
        }
        let unshared = agent.sessions.values.filter(\.mayBeShared).map(\.session.name)
        let survey = await sharing.survey(agent.fleet.names(nil).union(unshared))
        let members = survey.members.map(check)
        if let trouble = survey.trouble {
            let isSaid = survey.members.contains {
                $0.trouble?.sentence.bytewise == trouble.sentence.bytewise
            }
            return members + (isSaid ? [] : [Self.problem(trouble)])
        }
        let rival = agent.fleet.announcements.rival(among: survey.hosts).map(Self.rival)
        var checks = members + [clock(survey), await rights(port, in: agent)] + (rival.map { [$0] } ?? [])
        if let trouble = survey.watchTrouble ?? agent.fleet.trouble { checks.append(Self.problem(trouble)) }
        checks += unshared.sorted().compactMap { name in
            survey.sessions[name]?.record?.isLive == true ? Self.unshared(name) : nil
        }
        for (name, session) in survey.sessions.sorted(by: { $0.key < $1.key }) where !unshared.contains(name)
        {
            guard let trouble = session.trouble ?? agent.fleet[name]?.trouble,
                !isOrdinary(trouble, for: port)
            else { continue }
            var check = Self.problem(trouble)
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

    private static func problem(_ trouble: FleetStoreError) -> DiagnosticCheck {
        DiagnosticCheck(
            name: "fleet",
            verdict: .problem,
            detail: trouble.sentence,
            remedy: trouble.remedy
        )
    }

    /// Warns that the session would be a second login in addition to the fleet's.
    private static func unshared(_ name: SessionName) -> DiagnosticCheck {
        DiagnosticCheck(
            name: "fleet",
            verdict: .warning,
            detail:
                "the fleet has a login of \(name), which this host does not use: [session.\(name)] lacks fleet = true",
            remedy: "set fleet = true in [session.\(name)], or give the session another name",
            sessions: [name]
        )
    }

    private static func rival(_ card: HostDescription) -> DiagnosticCheck {
        DiagnosticCheck(
            name: "fleet",
            verdict: .problem,
            detail:
                "another agent, on \(card.label), has the identity of this host: its state directory is a copy, and the two "
                + "take each other's requests for their own",
            remedy: "stop the agent on the copied host, move its state directory away and start it again"
        )
    }

    private func check(_ member: FleetSurvey.Member) -> DiagnosticCheck {
        if let trouble = member.trouble {
            return DiagnosticCheck(
                name: "etcd",
                verdict: .problem,
                detail: "\(member.endpoint): \(trouble.sentence)",
                remedy: trouble.remedy
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
                detail: "no answer of etcd tells the time, by which tokens are dated",
                remedy: "see that what stands before etcd lets the field Date pass"
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
            detail: "this host's clock is \(abs(ahead)) seconds \(ahead > 0 ? "ahead of" : "behind") etcd's; "
                + "tokens are dated with etcd's",
            remedy: "set the clock, or that of etcd's hosts, with NTP"
        )
    }

    /// Returns whether the error is expected: a reader needs no right to write, and gets its tokens without
    /// asking.
    private func isOrdinary(_ trouble: FleetStoreError, for port: FleetDependencies) -> Bool {
        trouble.kind == .denied && port.role == .reader
    }

    /// Checks whether this host may write to etcd.
    ///
    /// Every host writes its own entry in the list of hosts.
    private func rights(
        _ port: FleetDependencies,
        in agent: isolated SessionAgent
    ) async -> DiagnosticCheck {
        guard agent.fleet.hasSharedSessions else {
            let detail = "\(port.name), as \(port.role.rawValue), which shares no session now"
            return DiagnosticCheck(name: "fleet", verdict: .ok, detail: detail)
        }
        guard let trouble = await agent.fleet.announcements.tryNow(in: agent) else {
            let detail = "\(port.name), as \(port.role.rawValue)"
            return DiagnosticCheck(name: "fleet", verdict: .ok, detail: detail)
        }
        guard isOrdinary(trouble, for: port) else { return Self.problem(trouble) }
        return DiagnosticCheck(
            name: "fleet",
            verdict: .ok,
            detail: "\(port.name), as reader; it may only read in etcd: it is not in the list of hosts, "
                + "and cannot ask the keepers for a refresh"
        )
    }
}

extension SessionEntry {
    /// Whether the session has a user's login and is not shared.
    fileprivate var mayBeShared: Bool { !settings.policy.isShared && !settings.policy.startsByItself }
}
