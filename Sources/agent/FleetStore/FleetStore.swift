// SPDX-License-Identifier: MIT

import EtcdClient
import SealedStore
import SecretMemory
import TokenCore

/// The sealed sessions of a fleet in etcd.
///
/// Values are sealed with the fleet's keys before they are sent to etcd (`FleetRecords`), except locks, which
/// contain no secrets.
///
/// - Entry points: ``FleetStore``, whose declarations are documented at `FleetSharing`.
/// - May not: send tokens to etcd unsealed, or decide about refreshes.
/// - Safe to call from any thread.
package final class FleetStore: FleetSharing {
    let client: EtcdClient
    let records: FleetRecords
    private let timekeeper: any Timekeeper
    private let memory: SealedMemory
    private let etcdTime = EtcdClockEstimate()
    /// The time without data after which the watch is reopened.
    let silence: Duration
    let flow = WatchHealth()

    /// The lifetime of a reader's refresh request: 60 seconds.
    private static let wishLifetime = Duration.seconds(60)

    package init(
        client: EtcdClient,
        keys: FleetKeys,
        memory: SealedMemory,
        timekeeper: any Timekeeper,
        silence: Duration = EtcdWatch.silence
    ) {
        self.client = client
        self.memory = memory
        self.timekeeper = timekeeper
        self.silence = silence
        records = FleetRecords(keys: keys, memory: memory)
    }

    package var role: FleetRole { records.role }

    package var epoch: UInt32 { records.epoch }

    package var time: FleetTime? {
        etcdTime.time(at: timekeeper.now).map { FleetTime(seconds: $0.secondsSince1970) }
    }

    /// The time by which this host's clock is ahead of etcd's, or `nil` before the first response.
    package var clockLead: Duration? {
        let moment = timekeeper.moment
        return etcdTime.time(at: moment.now).map { moment.wallTime - $0 }
    }

    private var clock: EtcdClockReading {
        let moment = timekeeper.moment
        // Without a response there is nothing in etcd to date, and values stored here are read with the same
        // clock.
        let time = etcdTime.time(at: moment.now) ?? moment.wallTime
        return EtcdClockReading(now: moment.now, wallTime: moment.wallTime, etcdTime: time)
    }

    // MARK: Calls

    package func look(
        at session: SessionName,
        since epoch: UInt32
    ) async throws(FleetStoreError) -> FleetReadResult {
        let answer = try await read(session)
        return try FleetReadResultParsing(records: records, session: session, epoch: epoch).readResult(answer)
    }

    package func grantLease(_ lifetime: Duration) async throws(FleetStoreError) -> FleetLease {
        let answer = try await call { client throws(EtcdFailure) in try await client.grantLease(lifetime) }
        let lease = answer.content
        return FleetLease(id: lease.id, lifetime: lease.lifetime, place: FleetRevision(answer.header))
    }

    package func transact(
        _ transaction: SealedFleetTransaction
    ) async throws(FleetStoreError) -> FleetTransactionResult {
        let answer = try await call { client throws(EtcdFailure) in
            try await client.transact(EtcdTransaction(transaction))
        }
        return FleetTransactionResult(isDone: answer.content, place: FleetRevision(answer.header))
    }

    package func want(
        _ lineage: Lineage,
        generation: UInt64,
        of session: SessionName
    ) async throws(FleetStoreError) {
        let value = try FleetStoreError.sealing { () throws(StorageFailure) in
            try records.value(FleetRefreshRequest(lineage: lineage, generation: generation), of: session)
        }
        let key = records.names.bytes(of: FleetEtcdKey(.want, of: records.names.name(of: session)))
        let lease = try await grantLease(FleetStore.wishLifetime)
        try await change(.put(key: key, value: value, lease: lease.id))
    }

    /// Reads all keys of the session.
    func read(_ session: SessionName) async throws(FleetStoreError) -> EtcdResponse<EtcdRangeResult> {
        let range = records.names.all(of: records.names.name(of: session))
        return try await call { client throws(EtcdFailure) in
            try await client.range(EtcdKeyRange(from: range.start, upTo: range.end))
        }
    }

    func change(_ change: EtcdTransaction.Change) async throws(FleetStoreError) {
        _ = try await call { client throws(EtcdFailure) in
            try await client.transact(EtcdTransaction(if: [], then: [change]))
        }
    }

    func call<Content>(
        _ call: (EtcdClient) async throws(EtcdFailure) -> EtcdResponse<Content>
    ) async throws(FleetStoreError) -> EtcdResponse<Content> {
        do throws(EtcdFailure) {
            let answer = try await call(client)
            if let date = answer.date { etcdTime.heard(date, at: timekeeper.now) }
            return answer
        } catch {
            throw storeError(error)
        }
    }

    /// Converts an error, adding a remedy that depends on this fleet's prefix in etcd.
    func storeError(_ failure: EtcdFailure) -> FleetStoreError {
        var storeError = FleetStoreError(failure)
        if storeError.kind == .denied {
            let prefix = String(decoding: records.names.prefix, as: UTF8.self)
            storeError.remedy = .run("etcdctl role grant-permission ROLE readwrite --prefix=true \(prefix)")
        }
        return storeError
    }

    // MARK: Sealing and opening

    package func seal(
        _ transaction: FleetTransaction,
        of session: SessionName,
        as binding: FleetLoginSettings,
        seen readResult: FleetReadResult,
        contents: [AttemptID: SessionSnapshot],
        lease: FleetLease?
    ) throws(FleetStoreError) -> SealedFleetTransaction {
        try FleetTransactionSealing(
            records: records,
            readResult: readResult,
            contents: contents.mapValues { FleetSessionContent(snapshot: $0, binding: binding) },
            lease: lease,
            clock: clock
        ).sealed(transaction)
    }

    package func open(
        _ attempt: AttemptID,
        in readResult: FleetReadResult,
        as binding: FleetLoginSettings
    ) throws(FleetStoreError) -> SessionSnapshot? {
        let found: FleetSessionContent?
        do throws(FleetValueError) {
            found = try content(of: attempt, in: readResult)
        } catch {
            throw FleetStoreError(
                unreadable: "record or late response",
                of: readResult.session,
                error,
                at: role
            )
        }
        return try found.map { content throws(FleetStoreError) in
            let differences = content.binding.differences(from: binding)
            guard differences.isEmpty else {
                for secret in content.snapshot.secrets { memory.erase(secret) }
                throw FleetStoreError(readResult.session, differsIn: differences)
            }
            return content.snapshot
        }
    }

    private func content(
        of attempt: AttemptID,
        in readResult: FleetReadResult
    ) throws(FleetValueError) -> FleetSessionContent? {
        let name = records.names.name(of: readResult.session)
        func value(_ kind: FleetEtcdKey.Kind) -> [UInt8]? {
            readResult.values[records.names.bytes(of: FleetEtcdKey(kind, of: name))]
        }
        if readResult.view.record?.attempt == attempt {
            let values = FleetRecordValues(record: value(.record), access: value(.access))
            return try records.open(values, of: readResult.session, since: readResult.epoch, at: clock)
                .content
        }
        guard let late = readResult.view.lateResults.first(where: { $0.attempt == attempt }),
            let bytes = value(late.kind)
        else { return nil }
        // Only the record is certain to have the newest epoch.
        let key = FleetEtcdKey(late.kind, of: name)
        return try records.open(late: bytes, under: key, of: readResult.session, at: clock).content
    }

    /// Returns whether a record belongs to this client and server.
    func isOwn(
        _ values: FleetRecordValues,
        of session: SessionName,
        _ epoch: UInt32,
        as binding: FleetLoginSettings
    ) throws(FleetValueError) -> Bool {
        guard let content = try records.open(values, of: session, since: epoch, at: clock).content else {
            return true
        }
        for secret in content.snapshot.secrets { memory.erase(secret) }
        return content.binding.differences(from: binding).isEmpty
    }

    package func keep(
        _ snapshot: SessionSnapshot,
        of attempt: AttemptID,
        _ session: SessionName,
        as binding: FleetLoginSettings
    ) throws(FleetStoreError) -> [UInt8] {
        let content = FleetSessionContent(snapshot: snapshot, binding: binding)
        return try FleetStoreError.sealing { () throws(StorageFailure) in
            try records.kept(content, of: attempt, session, at: clock)
        }
    }

    package func open(
        kept bytes: [UInt8],
        of attempt: AttemptID,
        _ session: SessionName
    ) throws(FleetStoreError) -> SessionSnapshot {
        do throws(FleetValueError) {
            return try records.open(kept: bytes, of: attempt, session, at: clock).snapshot
        } catch {
            throw FleetStoreError(
                .unreadable,
                "the stored fleet tokens of \(session) cannot be used: the value \(error.sentence)"
            )
        }
    }

    package func mark(of refreshToken: SecretID) throws(FleetStoreError) -> UInt64 {
        try FleetStoreError.sealing { () throws(StorageFailure) in try records.mark(of: refreshToken) }
    }

    package func close() async {
        await client.shutDown()
    }

    // MARK: Watching

    package func follow(
        _ sessions: Set<SessionName>,
        _ take: @escaping @Sendable (FleetEvent) async -> Void
    ) async {
        await FleetWatcher(self, sessions, take).follow()
    }
}

extension FleetStoreError {
    /// Runs `seal`, and converts a failure into an error that says that nothing is sent.
    static func sealing<Value>(_ seal: () throws(StorageFailure) -> Value) throws(FleetStoreError) -> Value {
        do throws(StorageFailure) {
            return try seal()
        } catch {
            throw FleetStoreError(.unavailable, error.message)
        }
    }

    package init(_ failure: EtcdFailure) {
        let kind: Kind =
            if case .denied = failure { .denied } else { failure.mayHaveActed ? .unanswered : .unavailable }
        self.init(kind, failure.sentence, remedy: failure.remedy, isMistake: failure.isMistake)
    }
}

extension EtcdTransaction {
    fileprivate init(_ sealed: SealedFleetTransaction) {
        self.init(
            if: sealed.conditions.map { condition in
                switch condition {
                case .absent(let key): .absent(EtcdKeyRange(key: key))
                case .noneBetween(let start, let end): .absent(EtcdKeyRange(from: start, upTo: end))
                case .value(let key, let value): .value(key: key, value)
                }
            },
            then: sealed.changes.map { change in
                switch change {
                case .put(let key, let value, let isLeased):
                    .put(key: key, value: value, lease: isLeased ? sealed.lease : nil)
                case .delete(let key): .delete(EtcdKeyRange(key: key))
                case .deleteBetween(let start, let end): .delete(EtcdKeyRange(from: start, upTo: end))
                }
            }
        )
    }
}
