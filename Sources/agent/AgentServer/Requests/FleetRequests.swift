// SPDX-License-Identifier: MIT

import AgentProtocol
import Text
import TokenCore

/// The requests about the fleet: its status, and the commands that change it.
struct FleetRequests {
    private let fleet: FleetCoordinator
    private let registry: SessionRegistry
    private let configuration: LiveConfiguration
    private let phase: AgentPhase
    private let timekeeper: any Timekeeper
    private let tasks: LoopTasks

    init(
        fleet: FleetCoordinator,
        registry: SessionRegistry,
        configuration: LiveConfiguration,
        phase: AgentPhase,
        timekeeper: any Timekeeper,
        tasks: LoopTasks
    ) {
        self.fleet = fleet
        self.registry = registry
        self.configuration = configuration
        self.phase = phase
        self.timekeeper = timekeeper
        self.tasks = tasks
    }

    /// Serves `GET /v1/fleet` and the requests whose path begins with `/v1/fleet/`.
    ///
    /// Only the agent's own Unix user may send them, as they concern all hosts.
    func serve(_ endpoint: Endpoint, _ request: HTTPRequest, on connection: Connection) throws(RequestFailure)
    {
        guard connection.caller.isOwnUserAtOwnSocket else {
            throw RequestFailure(code: .denied, message: "only the agent's own user can manage the fleet")
        }
        let order = try FleetOperation(endpoint, request.body)
        if let name = order.session, registry[name]?.settings.policy.isShared != true {
            throw RequestFailure(
                code: .notFound,
                message: "session \"\(name)\" is not shared with the fleet",
                remedy: .set("fleet = true in [session.\(name)], then run tokenctl reload")
            )
        }
        tasks.start {
            do throws(RequestFailure) {
                let notes = try await carryOut(order)
                connection.answer(.message(await answer(order, notes, for: connection)))
            } catch {
                connection.answer(HTTPResponse(error))
            }
        }
    }

    private func carryOut(_ order: FleetOperation) async throws(RequestFailure) -> [String] {
        switch order {
        case .status:
            await fleet.openAnyway()
            fleet.readFailedSessions()
            if fleet.announcements.storeError != nil { _ = await fleet.announcements.tryNow() }
            return []
        case .join(let name):
            fleet.rejoin(name)
            await fleet.waitUntilOpened()
            return []
        case .leave(let name): return try await leave(name)
        case .repair(let name): return try await repair(name)
        case .remove(let host): return try await remove(host)
        }
    }

    /// Leaves the fleet with one session or with all, except those with changes that only this host has.
    private func leave(_ name: SessionName?) async throws(RequestFailure) -> [String] {
        let names = fleet.names(name)
        await fleet.waitUntilPublished(names)
        guard phase.isServing else { throw phase.refusal }
        var debts: [RequestFailure] = []
        for session in names.sorted() {
            if let debt = fleet.unpublishedChange(of: session) {
                debts.append(debt)
                fleet.cancelDeparture(session)
                continue
            }
            fleet.leave(session)
            registry.apply(session) { session, moment in session.logoutRequested(local: true, at: moment) }
        }
        if let debt = debts.first { throw debt }
        guard name == nil else { return [] }
        return await fleet.announcements.withdraw().map { storeError in
            ["this host stays in the list of hosts until etcd is reachable: \(storeError.advice)"]
        } ?? []
    }

    /// Deletes values in etcd that cannot be opened, and reads every session again so that outdated values
    /// are rewritten.
    private func repair(_ name: SessionName?) async throws(RequestFailure) -> [String] {
        try refuseReader("repair")
        guard let sharing = fleet.sharing else {
            throw RequestFailure(fleet.storeError ?? .unasked)
        }
        var notes: [String] = []
        let names = fleet.names(name)
        var failures: [FleetStoreError] = []
        for session in names.sorted() {
            let epoch = fleet[session]?.keeping.epoch ?? 0
            do throws(FleetStoreError) {
                // Values that other hosts may still use are deleted only if the user named the session.
                let count = try await sharing.discardUnreadable(
                    of: session,
                    since: epoch,
                    unless: name.flatMap { registry[$0]?.settings.fleetBinding }
                )
                let values = count == 1 ? "1 unusable value" : "\(count) unusable values"
                if count > 0 { notes.append("\(session): deleted \(values)") }
            } catch {
                failures.append(error)
                notes.append("\(session): not repaired: \(error.advice)")
                continue
            }
            await fleet.look(at: session)
            guard let waiting = fleet[session].flatMap({ FleetWait(of: $0, fleet.port) }) else {
                continue
            }
            let seconds = waiting.time.wholeSeconds
            notes.append("\(session): no host can refresh it for up to \(seconds) s: \(waiting.reason)")
        }
        if let first = failures.first, failures.count == names.count { throw RequestFailure(first) }
        return notes
    }

    /// Throws if this host is a reader, which cannot open refresh tokens and so cannot know which values the
    /// keepers need.
    private func refuseReader(_ command: String) throws(RequestFailure) {
        guard fleet.port.role == .reader else { return }
        throw RequestFailure(
            code: .misconfigured,
            message: "fleet \(command) requires a keeper, and this host is a reader",
            remedy: .retry("at a host with role = \"keeper\"")
        )
    }

    /// Removes a host from the list and refreshes every session, so that the tokens the host knows become
    /// useless.
    private func remove(_ host: String) async throws(RequestFailure) -> [String] {
        try refuseReader("remove")
        guard !host.isEmpty else {
            throw RequestFailure(
                code: .badRequest,
                message: "empty host name",
                remedy: .run("tokenctl fleet status")
            )
        }
        guard let sharing = fleet.sharing else {
            throw RequestFailure(fleet.storeError ?? .unasked)
        }
        let survey = await sharing.survey([])
        if let storeError = survey.storeError { throw RequestFailure(storeError) }
        let id = try named(host, among: survey.hosts)
        guard id != fleet.port.host else {
            throw RequestFailure(
                code: .badRequest,
                message: "\(host) is this host, which cannot remove itself",
                remedy: .run("tokenctl fleet leave")
            )
        }
        do throws(FleetStoreError) {
            try await sharing.withdraw(host: id)
        } catch {
            throw RequestFailure(error)
        }
        let names = fleet.names(nil)
        fleet.removed.add(id, knowing: names)
        for session in names {
            registry.apply(session) { session, moment in session.refreshAsked(at: moment) }
        }
        return [
            "removed \(host); all sessions are being refreshed "
                + Remedy.run("tokenctl fleet status").parenthesized,
            "\(host) can still use etcd until its user is deleted and the fleet has a new key "
                + Remedy.see("Removing a host in tokenagent-fleet(7)").parenthesized,
        ]
    }

    /// Returns the ID of the only host with this label or ID.
    ///
    /// - Throws: ``RequestFailure`` if there is no such host, or several.
    private func named(_ name: String, among hosts: [HostDescription]) throws(RequestFailure) -> UInt64 {
        let named = hosts.filter { name.bytewise == $0.label.bytewise || UInt64(name, radix: 16) == $0.id }
        guard let found = named.first else {
            throw RequestFailure(
                code: .notFound,
                message: "no host named \"\(name)\" in the fleet",
                remedy: .run("tokenctl fleet status")
            )
        }
        guard named.count == 1 else {
            throw RequestFailure(
                code: .notFound,
                message: "several hosts are named \"\(name)\"",
                remedy: .retry("with the host's number, which tokenctl fleet status shows")
            )
        }
        return found.id
    }

    // MARK: Responses

    private func answer(
        _ order: FleetOperation,
        _ notes: [String],
        for connection: Connection
    ) async -> FleetMessage {
        let shown = fleet.names(nil).filter { configuration.isShown($0, to: connection) }
        var survey = FleetSurvey()
        var storeError = fleet.storeError
        if let sharing = fleet.sharing {
            survey = await sharing.survey(shown)
            let denial = fleet.announcements.storeError.flatMap { denial in
                denial.kind == .denied && fleet.port.role == .keeper ? denial : nil
            }
            storeError = survey.storeError ?? survey.watchError ?? denial
        }
        // A host that has left has completed the request, whatever the state of etcd.
        if case .leave = order { storeError = nil }
        return FleetMessage {
            $0.name = fleet.port.name
            $0.host = fleet.port.label
            $0.role = fleet.port.role.rawValue
            $0.hosts = survey.hosts.map { $0.message(isThis: $0.id == fleet.port.host) }
            $0.sessions = shown.sorted().map { message(of: $0, survey) }
            $0.members = survey.members.map(\.message)
            $0.clockAhead = survey.clockLead?.wholeSeconds
            $0.message = storeError?.sentence
            $0.remedy = storeError?.remedy
            $0.notes = notes.isEmpty ? nil : notes
        }
    }

    private func message(of name: SessionName, _ survey: FleetSurvey) -> FleetSessionMessage {
        let found = survey.sessions[name]
        let record = found?.record
        func label(_ attempt: AttemptID) -> String {
            // This attempt ID replaces those that a restored snapshot of etcd may have lost.
            guard attempt != .lost else { return "unknown" }
            return survey.hosts.first { $0.id == attempt.host }?.label ?? Hex.digits(of: attempt.host)
        }
        let own = fleet[name]?.member.memory.record
        // The local refresh time applies only if both records are the same.
        let hasSame = own?.lineage == record?.lineage && own?.generation == record?.generation
        let tokens = record != nil && hasSame ? registry[name]?.session.heldTokens : nil
        let refreshedAt = tokens?.values.map(\.obtainedAt).max()
        let storeError = found?.storeError ?? fleet[name]?.storeError
        let hasLeft = fleet.hasLeft(name)
        // etcd was restored from a backup or emptied since.
        let isMissing = found != nil && record == nil && own?.isLive == true && !hasLeft
        return FleetSessionMessage {
            $0.session = name.description
            $0.state = hasLeft ? "left" : found.state
            $0.generation = record.map { Int64(clamping: $0.generation) }
            $0.behind = record.flatMap { record in
                guard !hasLeft else { return nil }
                guard let own, own.lineage == record.lineage else { return own == nil ? 1 : 0 }
                return Int64(clamping: record.generation)
                    - Int64(clamping: min(own.generation, record.generation))
            }
            $0.refreshedBy = record.map { label($0.attempt) }
            $0.refreshedAt = refreshedAt.map { timekeeper.moment.wallTime(at: $0).secondsSince1970 }
            $0.attemptBy = found?.intent.map { label($0.attempt) }
            $0.attemptRefused = found?.intent?.isRefused == true ? true : nil
            $0.late = found.map { Int64($0.lateResults) }
            $0.message = storeError?.sentence ?? (isMissing ? Self.missingRecord : nil)
            $0.remedy = storeError?.remedy
        }
    }

    private static let missingRecord =
        "the login is missing from etcd; a keeper will write it again"
}

/// A requested operation on the fleet.
private enum FleetOperation {
    case status
    case join(SessionName?)
    case leave(SessionName?)
    case repair(SessionName?)
    case remove(String)

    init(_ endpoint: Endpoint, _ body: [UInt8]) throws(RequestFailure) {
        switch endpoint {
        case .fleetJoin: self = .join(try FleetOperation.session(body))
        case .fleetLeave: self = .leave(try FleetOperation.session(body))
        case .fleetRepair: self = .repair(try FleetOperation.session(body))
        case .fleetRemove:
            self = .remove(try ParsedRequestBody(body, FleetRemovalRequestMembers.self).required(\.host))
        default: self = .status
        }
    }

    private static func session(_ body: [UInt8]) throws(RequestFailure) -> SessionName? {
        guard let text = try ParsedRequestBody(body, FleetSessionRequestMembers.self).value(\.session) else {
            return nil
        }
        guard let name = SessionName(text) else {
            throw RequestFailure(code: .badRequest, message: "invalid session name")
        }
        return name
    }

    var session: SessionName? {
        switch self {
        case .join(let name), .leave(let name), .repair(let name): name
        case .status, .remove: nil
        }
    }
}

extension HostDescription {
    /// The host's random number in hexadecimal digits, as in the keys of etcd.
    fileprivate var number: String { Hex.digits(of: id) }

    fileprivate func message(isThis: Bool) -> FleetHostMessage {
        FleetHostMessage {
            $0.host = label
            $0.id = number
            $0.role = role.rawValue
            $0.version = version
            $0.seenAt = seen.seconds
            $0.isThis = isThis ? true : nil
        }
    }
}

extension FleetSurvey.StoredSession? {
    /// The state of the session's record in etcd in one word, or "unknown" without a survey.
    fileprivate var state: String {
        guard let self else { return "unknown" }
        if let record = self.record { return record.status.word }
        return self.storeError?.kind == .unreadable ? "unreadable" : "none"
    }
}

extension FleetHeader.LoginStatus {
    fileprivate var word: String {
        switch self {
        case .live: "live"
        case .rescued: "rescued"
        case .dead: "dead"
        case .out: "logged_out"
        }
    }
}

extension FleetSurvey.EtcdMember {
    fileprivate var message: EtcdMemberMessage {
        EtcdMemberMessage {
            $0.endpoint = endpoint
            $0.version = version
            $0.works = version != nil && hasLeader && !isRefusing
            $0.refused = isRefusing ? true : nil
            $0.size = version == nil ? nil : size
            $0.message = storeError?.sentence
            $0.remedy = storeError?.remedy
        }
    }
}

extension RequestFailure {
    init(_ storeError: FleetStoreError) {
        self.init(
            code: storeError.isMistake ? .misconfigured : .temporarilyUnavailable,
            message: storeError.sentence,
            remedy: storeError.remedy
        )
    }
}
