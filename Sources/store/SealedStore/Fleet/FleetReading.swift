// SPDX-License-Identifier: MIT

import TokenCore

/// An opened record of the fleet, with its secrets in sealed memory.
package struct OpenedFleetRecord: Equatable, Sendable {
    package var header: FleetHeader
    /// The epoch of its key; a host that has seen a later one rejects the record.
    package var epoch: UInt32
    /// The session, or `nil` if it is logged out; on a reader it contains nothing for refreshing it.
    package var content: FleetSessionContent?
    /// The reason access tokens are missing, on a keeper, which then refreshes and so repairs them for all
    /// hosts.
    package var accessFault: FleetValueError?
}

/// An opened late response, with its secrets in sealed memory.
package struct OpenedLateResponse: Equatable, Sendable {
    package var late: LateResponse
    package var epoch: UInt32
    package var content: FleetSessionContent
}

extension FleetRecords {
    /// Verifies a record and reads its header, without exposing a secret.
    ///
    /// - Parameters:
    ///   - values: both values; a keeper uses the first, a reader the second.
    ///   - session: the session of the record.
    ///   - since: the highest epoch this host has seen for the session; older ones are rejected.
    /// - Returns: the header, and the epoch of the record's key.
    /// - Throws: ``FleetValueError``.
    package func header(
        of values: FleetRecordValues,
        of session: SessionName,
        since: UInt32 = 0
    ) throws(FleetValueError) -> (header: FleetHeader, epoch: UInt32) {
        let kind = keys.role == .keeper ? FleetEtcdKey.Kind.record : .access
        let (value, header) = try parsed(keys.role == .keeper ? values.record : values.access, kind, session)
        try checkAge(of: value, since)
        try unsafe sealing.open(value, under: key(kind, session)) { _ throws(RecordError) in }
        return (header, value.epoch)
    }

    /// Returns the reason readers cannot use a record, as a keeper sees it, without exposing a secret.
    ///
    /// - Parameters:
    ///   - values: both values.
    ///   - header: the header of the first value.
    ///   - session: the session of the record.
    /// - Returns: the error in the second value, or `nil` if there is none.
    package func accessFault(
        of values: FleetRecordValues,
        _ header: FleetHeader,
        _ session: SessionName
    ) -> FleetValueError? {
        do throws(FleetValueError) {
            let (value, other) = try parsed(values.access, .access, session)
            guard other == header else { return .forged }
            try unsafe sealing.open(value, under: key(.access, session)) { _ throws(RecordError) in }
            return nil
        } catch {
            return error
        }
    }

    /// Opens a record; if that fails, nothing stays in memory.
    ///
    /// - Parameters:
    ///   - values: both values; a keeper requires the first, a reader the second.
    ///   - session: the session of the record.
    ///   - since: the highest epoch this host has seen for the session; older ones are rejected.
    ///   - clock: this host's clocks and etcd's, now.
    /// - Returns: the record, on a keeper possibly without its access tokens.
    /// - Throws: ``FleetValueError``.
    package func open(
        _ values: FleetRecordValues,
        of session: SessionName,
        since: UInt32 = 0,
        at clock: EtcdClockReading
    ) throws(FleetValueError) -> OpenedFleetRecord {
        switch keys.role {
        case .keeper: try openAsKeeper(values, session, since, clock)
        case .reader: try openAsReader(values, session, since, clock)
        }
    }

    private func openAsReader(
        _ values: FleetRecordValues,
        _ session: SessionName,
        _ since: UInt32,
        _ clock: EtcdClockReading
    ) throws(FleetValueError) -> OpenedFleetRecord {
        let (value, header) = try parsed(values.access, .access, session)
        try checkAge(of: value, since)
        let opened = try content(of: value, .access, session, clock)
        try check(opened, header)
        return OpenedFleetRecord(header: header, epoch: value.epoch, content: opened.content)
    }

    private func openAsKeeper(
        _ values: FleetRecordValues,
        _ session: SessionName,
        _ since: UInt32,
        _ clock: EtcdClockReading
    ) throws(FleetValueError) -> OpenedFleetRecord {
        let (value, header) = try parsed(values.record, .record, session)
        try checkAge(of: value, since)
        let opened = try content(of: value, .record, session, clock)
        try check(opened, header)
        var record = OpenedFleetRecord(header: header, epoch: value.epoch, content: opened.content)
        guard record.content != nil else { return record }
        do throws(FleetValueError) {
            let (value, other) = try parsed(values.access, .access, session)
            guard other == header else { throw .forged }
            let tokens = try content(of: value, .access, session, clock).snapshot?.tokens
            record.content?.snapshot.tokens = tokens ?? [:]
        } catch {
            record.accessFault = error
        }
        return record
    }

    /// Opens a late response; if that fails, nothing stays in memory.
    ///
    /// - Throws: ``FleetValueError``.
    package func open(
        late bytes: [UInt8],
        under key: FleetEtcdKey,
        of session: SessionName,
        since: UInt32 = 0,
        at clock: EtcdClockReading
    ) throws(FleetValueError) -> OpenedLateResponse {
        let value = try FleetValue(bytes, under: key)
        guard key.name == names.name(of: session), case .late(let late) = value.clear,
            key.kind == late.kind
        else { throw .notAValue }
        try checkAge(of: value, since)
        let content = try wholeContent(of: value, key.kind, session, clock)
        return OpenedLateResponse(late: late, epoch: value.epoch, content: content)
    }

    /// Opens tokens that this host keeps in its own record; if that fails, nothing stays in memory.
    ///
    /// - Throws: ``FleetValueError``.
    package func open(
        kept bytes: [UInt8],
        of attempt: AttemptID,
        _ session: SessionName,
        at clock: EtcdClockReading
    ) throws(FleetValueError) -> FleetSessionContent {
        let value = try FleetValue(bytes, under: key(.kept(attempt), session))
        return try wholeContent(of: value, .kept(attempt), session, clock)
    }

    private func wholeContent(
        of value: FleetValue,
        _ kind: FleetEtcdKey.Kind,
        _ session: SessionName,
        _ clock: EtcdClockReading
    ) throws(FleetValueError) -> FleetSessionContent {
        guard let content = try content(of: value, kind, session, clock).content else {
            throw .malformed("it is incomplete")
        }
        return content
    }

    /// Verifies a late response and reads its clear part, without exposing a secret.
    ///
    /// - Throws: ``FleetValueError``.
    package func late(
        _ bytes: [UInt8],
        under key: FleetEtcdKey,
        since: UInt32 = 0
    ) throws(FleetValueError) -> LateResponse {
        let value = try FleetValue(bytes, under: key)
        guard case .late(let late) = value.clear, key.kind == late.kind else {
            throw .notAValue
        }
        try checkAge(of: value, since)
        try unsafe sealing.open(value, under: key) { _ throws(RecordError) in }
        return late
    }

    /// Verifies and reads an intent, on keepers only.
    ///
    /// - Throws: ``FleetValueError``, which is `closedToReaders` on a reader.
    package func intent(
        _ bytes: [UInt8],
        of session: SessionName,
        since: UInt32 = 0
    ) throws(FleetValueError) -> FleetIntent {
        let key = key(.intent, session)
        let value = try FleetValue(bytes, under: key)
        try checkAge(of: value, since)
        try sealing.check(value, under: key)
        guard case .intent(let intent) = value.clear else { throw .notAValue }
        return intent
    }

    /// Reads an intent without verifying it: readers have no key for that.
    package func claimedIntent(_ bytes: [UInt8], of session: SessionName) -> FleetIntent? {
        guard case .intent(let intent)? = try? FleetValue(bytes, under: key(.intent, session)).clear else {
            return nil
        }
        return intent
    }

    /// Verifies and reads a refresh request.
    ///
    /// - Throws: ``FleetValueError``.
    package func want(
        _ bytes: [UInt8],
        of session: SessionName,
        since: UInt32 = 0
    ) throws(FleetValueError) -> FleetRefreshRequest {
        let key = key(.want, session)
        let value = try FleetValue(bytes, under: key)
        try checkAge(of: value, since)
        try sealing.check(value, under: key)
        guard case .want(let want) = value.clear else { throw .notAValue }
        return want
    }

    /// Opens the description of a host.
    ///
    /// - Throws: ``FleetValueError``.
    package func host(_ bytes: [UInt8], under key: FleetEtcdKey) throws(FleetValueError) -> HostDescription {
        let value = try FleetValue(bytes, under: key)
        let host = try unsafe sealing.open(value, under: key) { content throws(RecordError) in
            var reader = unsafe ByteReader(content)
            guard let host = try? reader.fleetHost(), reader.remaining == 0 else {
                throw .malformed("a host description is malformed")
            }
            return host
        }
        guard key.kind == .host(host.id) else { throw .notAValue }
        return host
    }

    /// Returns the attempt that owns a lock.
    ///
    /// - Throws: ``FleetValueError/notAValue``.
    package static func lock(_ bytes: [UInt8]) throws(FleetValueError) -> AttemptID {
        try bytes.read { reader throws(FleetValueError) in
            guard let attempt = try? reader.attempt(), reader.remaining == 0 else { throw .notAValue }
            return attempt
        }
    }

    private func parsed(
        _ bytes: [UInt8]?,
        _ kind: FleetEtcdKey.Kind,
        _ session: SessionName
    ) throws(FleetValueError) -> (FleetValue, FleetHeader) {
        let value = try FleetValue(bytes ?? [], under: key(kind, session))
        guard case .record(let header) = value.clear else { throw .notAValue }
        return (value, header)
    }

    private func checkAge(of value: FleetValue, _ since: UInt32) throws(FleetValueError) {
        guard value.epoch >= since else { throw .retiredKey(epoch: value.epoch) }
    }

    private func content(
        of value: FleetValue,
        _ kind: FleetEtcdKey.Kind,
        _ session: SessionName,
        _ clock: EtcdClockReading
    ) throws(FleetValueError) -> FleetContentReader {
        let key = key(kind, session)
        // Values for readers contain no long-lived secret: reject one that does, even if it is genuine.
        let sealing: FleetSecretSealing? =
            kind == .access ? nil : FleetSecretSealing(keys: keys, epoch: value.epoch, name: key.name)
        do throws(FleetValueError) {
            return try unsafe self.sealing.open(value, under: key) { plaintext throws(RecordError) in
                try unsafe FleetContentReader(
                    plaintext,
                    of: session,
                    secrets: memory,
                    at: clock,
                    under: sealing
                )
            }
        } catch {
            throw memory.isLocked ? .locked : error
        }
    }

    /// Checks that the content is missing exactly if the session is logged out.
    private func check(_ opened: FleetContentReader, _ header: FleetHeader) throws(FleetValueError) {
        guard (opened.content == nil) != (header.status == .out) else { return }
        for secret in opened.content?.snapshot.secrets ?? [] { memory.erase(secret) }
        throw .malformed("it does not match its header")
    }
}
