// SPDX-License-Identifier: MIT

import EtcdClient
import SealedStore
import TokenCore

/// A parser of one session's keys in etcd.
struct FleetReadResultParsing {
    let records: FleetRecords
    let session: SessionName
    /// The highest epoch of the session that this host has seen.
    let epoch: UInt32
    /// The maximum lag of etcd's clock behind the clock that dated an intent: 10 seconds.
    private static let tolerance = Duration.seconds(10)

    /// Parses the result of a read.
    func readResult(_ answer: EtcdResponse<EtcdRangeResult>) throws(FleetStoreError) -> FleetReadResult {
        guard !answer.content.hasMore else {
            throw FleetStoreError(.unavailable, "etcd's response is incomplete")
        }
        guard let date = answer.date else { throw FleetStoreError.undated }
        return try readResult(
            of: answer.content.pairs.map { ($0.key, $0.value) },
            at: FleetRevision(answer.header),
            FleetTime(seconds: date)
        )
    }

    /// Parses key-value pairs.
    ///
    /// - Parameters:
    ///   - pairs: all keys of the session with their values, and possibly keys of other sessions.
    ///   - place: etcd's revision.
    ///   - time: etcd's time.
    /// - Returns: the session's state in the pairs.
    /// - Throws: ``FleetStoreError/Kind/unreadable`` if the record, the intent or the lock cannot be opened.
    ///   Otherwise the value would be treated as absent and overwritten.
    func readResult(
        of pairs: some Sequence<(key: [UInt8], value: [UInt8])>,
        at place: FleetRevision,
        _ time: FleetTime
    ) throws(FleetStoreError) -> FleetReadResult {
        let view = FleetSnapshot(
            record: nil,
            intent: nil,
            lock: nil,
            lateResults: [],
            place: place,
            time: time
        )
        var readResult = FleetReadResult(session: session, view: view, epoch: epoch)
        var want: [UInt8]?
        var values = FleetRecordValues(record: nil, access: nil)
        let name = records.names.name(of: session)
        for pair in pairs {
            guard let key = records.names.key(named: pair.key), key.name == name else { continue }
            readResult.values[pair.key] = pair.value
            if key.kind == .record { values.record = pair.value }
            if key.kind == .access { values.access = pair.value }
            if key.kind == .want { want = pair.value }
            if key.kind == .intent || key.kind == .lock { try read(pair.value, key, into: &readResult) }
            if case .late = key.kind { take(pair.value, key, into: &readResult) }
        }
        // Only the value for this host's role describes the session.
        if (records.role == .keeper ? values.record : values.access) != nil {
            try read(values, into: &readResult)
        }
        if let want { readResult.view.wanted = generation(want, wantedOf: readResult.view.record) }
        return readResult
    }

    private func read(
        _ values: FleetRecordValues,
        into readResult: inout FleetReadResult
    ) throws(FleetStoreError) {
        do throws(FleetValueError) {
            let (header, epoch) = try records.header(of: values, of: session, since: epoch)
            readResult.view.record = header
            readResult.epoch = max(readResult.epoch, epoch)
            records.follow(epoch)
            guard records.role == .keeper, header.status != .out else { return }
            readResult.servesReaders = records.accessFault(of: values, header, session) == nil
        } catch {
            throw FleetStoreError(unreadable: "record", of: session, error, at: records.role)
        }
    }

    private func read(
        _ value: [UInt8],
        _ key: FleetEtcdKey,
        into readResult: inout FleetReadResult
    ) throws(FleetStoreError) {
        // Readers reserve nothing and have no key for intents, but report to the user what the keepers wait
        // for.
        guard records.role == .keeper else {
            if key.kind == .lock {
                readResult.view.lock = try? FleetRecords.lock(value)
            } else {
                let claim = records.claimedIntent(value, of: session)
                // A writer without the key must not determine when a host tries again.
                if let claim, claim.at <= readResult.view.time + Self.tolerance {
                    readResult.view.intent = claim
                }
            }
            return
        }
        do throws(FleetValueError) {
            if key.kind == .lock {
                readResult.view.lock = try FleetRecords.lock(value)
            } else {
                readResult.view.intent = try records.intent(value, of: session, since: epoch)
            }
        } catch {
            throw FleetStoreError(
                unreadable: key.kind == .lock ? "lock" : "intent",
                of: session,
                error,
                at: records.role
            )
        }
    }

    private func take(_ value: [UInt8], _ key: FleetEtcdKey, into readResult: inout FleetReadResult) {
        guard records.role == .keeper else { return }
        do throws(FleetValueError) {
            readResult.view.lateResults.append(try records.late(value, under: key, since: epoch))
        } catch {
            readResult.unreadableLates.append(error.sentence)
        }
    }

    /// Returns the generation of a refresh request, or `nil` for one that does not open or is for another
    /// login.
    ///
    /// Ignoring such a request loses nothing.
    private func generation(_ want: [UInt8], wantedOf record: FleetHeader?) -> UInt64? {
        guard let want = try? records.want(want, of: session, since: epoch) else { return nil }
        return want.lineage == record?.lineage ? want.generation : nil
    }
}

extension FleetStoreError {
    init(
        unreadable what: String,
        of session: SessionName,
        _ fault: FleetValueError,
        at role: FleetRole
    ) {
        self.init(
            .unreadable,
            "the \(what) of \(session) in etcd \(fault.sentence)",
            remedy: fault.isUseless ? FleetStoreError.repair(session, at: role) : fault.remedy,
            isMistake: fault.isUseless || fault.remedy != nil
        )
    }
}

extension FleetRevision {
    init(_ header: EtcdHeader) {
        self.init(cluster: header.cluster, revision: header.revision)
    }
}
