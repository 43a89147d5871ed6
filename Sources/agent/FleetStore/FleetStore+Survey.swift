// SPDX-License-Identifier: MIT

import EtcdClient
import SealedStore
import ServerSettings
import TokenCore

/// Status and repair of a fleet.
extension FleetStore {
    package func survey(_ sessions: Set<SessionName>) async -> FleetSurvey {
        var survey = FleetSurvey()
        do throws(FleetStoreError) {
            try await self.survey(sessions, into: &survey)
        } catch {
            survey.storeError = error
        }
        survey.watchError = flow.storeError
        survey.members = await members()
        survey.time = survey.time ?? time
        survey.clockLead = clockLead
        return survey
    }

    private func survey(
        _ sessions: Set<SessionName>,
        into survey: inout FleetSurvey
    ) async throws(FleetStoreError) {
        for session in sessions {
            var found = FleetSurvey.StoredSession()
            do throws(FleetStoreError) {
                let readResult = try await look(at: session, since: 0)
                found.record = readResult.view.record
                found.intent = readResult.view.intent.flatMap { intent in
                    found.record.map { intent.concerns($0) } == true ? intent : nil
                }
                found.lateResults = readResult.view.lateResults.count + readResult.unreadableLates.count
                found.storeError = readResult.unreadableLates.first.map {
                    FleetStoreError(.unreadable, "a late response \($0)")
                }
                survey.time = readResult.view.time
            } catch {
                guard error.kind == .unreadable else { throw error }
                found.storeError = error
            }
            survey.sessions[session] = found
        }
        survey.hosts = try await HostList(store: self).present()
    }

    private func members() async -> [FleetSurvey.EtcdMember] {
        let found = await withTaskGroup(of: (Int, FleetSurvey.EtcdMember, UInt64?).self) { group in
            for (index, endpoint) in client.endpoints.enumerated() {
                group.addTask {
                    let (member, cluster) = await self.member(at: endpoint)
                    return (index, member, cluster)
                }
            }
            var found: [(index: Int, member: FleetSurvey.EtcdMember, cluster: UInt64?)] = []
            for await answer in group { found.append(answer) }
            return found.sorted { $0.index < $1.index }
        }
        let first = found.first { $0.cluster != nil }
        let members = found.map { found in
            var member = found.member
            if let first, let cluster = found.cluster, cluster != first.cluster {
                member.storeError = FleetStoreError(
                    .unavailable,
                    "not in the same cluster as \(first.member.endpoint)",
                    remedy: .setAndRestart(
                        "fleet.endpoints to members of one cluster"
                    )
                )
            }
            return member
        }
        return members.sorted { $0.endpoint.utf8.lexicographicallyPrecedes($1.endpoint.utf8) }
    }

    /// Returns the status of a member and its cluster.
    private func member(at endpoint: EtcdEndpoint) async -> (FleetSurvey.EtcdMember, cluster: UInt64?) {
        var member = FleetSurvey.EtcdMember(endpoint: endpoint.origin)
        var cluster: UInt64?
        do throws(EtcdFailure) {
            let answer = try await client.status(of: endpoint)
            let status = answer.content
            cluster = answer.header.cluster
            member.version = status.version
            member.hasLeader = status.leader != 0
            member.size = status.size
            member.storeError = FleetStoreError(of: status)
            // A member reports its status to everybody, but its contents only to authorized users.
            if member.hasLeader {
                let hosts = records.names.hosts
                try await client.checkReading(EtcdKeyRange(from: hosts.start, upTo: hosts.end), at: endpoint)
            }
        } catch {
            member.storeError = storeError(error)
            member.isRefusing = error.isRefusal
        }
        return (member, cluster)
    }

    package func announce(_ host: HostDescription) async throws(FleetStoreError) {
        let value = try FleetStoreError.sealing { () throws(StorageFailure) in try records.value(host) }
        try await change(.put(key: records.names.bytes(of: records.names.key(ofHost: host.id)), value: value))
    }

    package func withdraw(host: UInt64) async throws(FleetStoreError) {
        try await change(.delete(EtcdKeyRange(key: records.names.bytes(of: records.names.key(ofHost: host)))))
    }

    package func discardUnreadable(
        of session: SessionName,
        since epoch: UInt32,
        unless binding: FleetLoginSettings?
    ) async throws(FleetStoreError) -> Int {
        let answer = try await read(session)
        let useful = answer.content.pairs.filter { isOfUse($0, of: session, epoch, as: binding) }
        let unreadable = answer.content.pairs.filter { !useful.contains($0) }
        guard !unreadable.isEmpty else { return 0 }
        let standIn = try standIn(among: useful, of: session, epoch, at: answer.date)
        // Delete only the values that were read, because another host may be repairing them at this moment.
        let transaction = EtcdTransaction(
            if: unreadable.map { .value(key: $0.key, $0.value) },
            then: unreadable.map { pair in
                let isIntent = records.names.key(named: pair.key)?.kind == .intent
                guard isIntent, let standIn else { return .delete(EtcdKeyRange(key: pair.key)) }
                return .put(key: pair.key, value: standIn)
            }
        )
        let done = try await call { client throws(EtcdFailure) in try await client.transact(transaction) }
        return done.content ? unreadable.count : 0
    }

    /// Returns the replacement for an unreadable intent, or `nil` if there is no record whose token could
    /// have been sent.
    ///
    /// The writer of the intent may have sent the refresh token of the record, so the other hosts must still
    /// wait for the response.
    private func standIn(
        among pairs: [EtcdKeyValue],
        of session: SessionName,
        _ epoch: UInt32,
        at date: Int64?
    ) throws(FleetStoreError) -> [UInt8]? {
        let pair = pairs.first { records.names.key(named: $0.key)?.kind == .record }
        let values = FleetRecordValues(record: pair?.value, access: nil)
        guard pair != nil, let record = try? records.header(of: values, of: session, since: epoch).header,
            record.isLive, let now = date.map({ FleetTime(seconds: $0) }) ?? time
        else { return nil }
        return try FleetStoreError.sealing { () throws(StorageFailure) in
            try records.value(FleetIntent(lostFor: record, besides: nil, at: now), of: session)
        }
    }

    /// Returns whether a value can be opened and, with `binding`, belongs to that client and server.
    private func isOfUse(
        _ pair: EtcdKeyValue,
        of session: SessionName,
        _ epoch: UInt32,
        as binding: FleetLoginSettings?
    ) -> Bool {
        guard let key = records.names.key(named: pair.key) else { return false }
        do throws(FleetValueError) {
            if key.kind == .record {
                let values = FleetRecordValues(record: pair.value, access: nil)
                _ = try records.header(of: values, of: session, since: epoch)
                if let binding, try !isOwn(values, of: session, epoch, as: binding) { return false }
            }
            if key.kind == .intent { _ = try records.intent(pair.value, of: session, since: epoch) }
            if key.kind == .lock { _ = try FleetRecords.lock(pair.value) }
            if key.kind == .want { _ = try records.want(pair.value, of: session, since: epoch) }
            if case .late = key.kind { _ = try records.late(pair.value, under: key) }
            // The access tokens are written together with the record.
            return true
        } catch {
            // A newer key or program can open the value. This host needs an update.
            return !error.isUseless
        }
    }
}

extension FleetStoreError {
    /// Creates an error from a member's status, or returns `nil` if nothing is wrong.
    fileprivate init?(of status: EtcdStatus) {
        guard status.leader != 0 else {
            self.init(.unavailable, "no leader: most members of etcd are unreachable")
            return
        }
        guard let first = status.troubles.first else { return nil }
        self =
            status.isOutOfSpace
            ? FleetStoreError(EtcdFailure.outOfSpace)
            : FleetStoreError(.unavailable, "etcd reports: \(first)")
    }
}
