// SPDX-License-Identifier: MIT

import TokenCore

/// A record of the fleet that was opened, its secrets in sealed memory.
package struct OpenedFleetRecord: Equatable, Sendable {
    package var header: FleetHeader
    /// Of the key it was sealed under: a host that has seen a later one refuses it.
    package var epoch: UInt32
    /// The session, on a reader without anything that renews it; `nil`: it is logged out.
    package var content: FleetContent?
    /// Why the access tokens are missing, on a keeper: it refreshes, and puts them right for everybody.
    package var accessFault: FleetValueError?
}

/// A late answer that was opened, its secrets in sealed memory.
package struct OpenedLateResponse: Equatable, Sendable {
    package var late: LateResponse
    package var epoch: UInt32
    package var content: FleetContent
}

extension FleetRecords {
    /// Checks a record and reads its header; no secret leaves it.
    ///
    /// - Parameters:
    ///   - values: a keeper looks at the first, a reader at the second.
    ///   - session: whose they are.
    ///   - since: the highest epoch this host has seen of the session; older ones are refused.
    /// - Returns: the header, and the epoch of the key it is sealed under.
    /// - Throws: ``FleetValueError``.
    package func header(
        of values: FleetRecordValues,
        of session: SessionName,
        since: UInt32 = 0
    ) throws(FleetValueError) -> (header: FleetHeader, epoch: UInt32) {
        let kind = keys.role == .keeper ? FleetKeyName.Kind.record : .access
        let (value, header) = try parsed(keys.role == .keeper ? values.record : values.access, kind, session)
        try checkAge(of: value, since)
        try unsafe sealing.open(value, under: key(kind, session)) { _ throws(RecordError) in }
        return (header, value.epoch)
    }

    /// Why readers cannot use a record, as a keeper finds; no secret leaves the values.
    ///
    /// - Parameters:
    ///   - values: both.
    ///   - header: of the first.
    ///   - session: whose they are.
    /// - Returns: what is wrong with the second; `nil`: nothing.
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

    /// Opens a record; nothing stays in memory when that fails.
    ///
    /// - Parameters:
    ///   - values: a keeper needs the first, a reader the second.
    ///   - session: whose they are.
    ///   - since: the highest epoch this host has seen of the session; older ones are refused.
    ///   - clock: the host's clocks and etcd's now.
    /// - Returns: the record; on a keeper perhaps without its access tokens.
    /// - Throws: ``FleetValueError``.
    package func open(
        _ values: FleetRecordValues,
        of session: SessionName,
        since: UInt32 = 0,
        at clock: FleetClock
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
        _ clock: FleetClock
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
        _ clock: FleetClock
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

    /// Opens a late answer; nothing stays in memory when that fails.
    package func open(
        late bytes: [UInt8],
        under key: FleetKeyName,
        of session: SessionName,
        since: UInt32 = 0,
        at clock: FleetClock
    ) throws(FleetValueError) -> OpenedLateResponse {
        let value = try FleetValue(bytes, under: key)
        guard key.name == names.name(of: session), case .late(let late) = value.clear,
            key.kind == late.kind
        else { throw .notAValue }
        try checkAge(of: value, since)
        let content = try wholeContent(of: value, key.kind, session, clock)
        return OpenedLateResponse(late: late, epoch: value.epoch, content: content)
    }

    /// Opens tokens that this host has kept; nothing stays in memory when that fails.
    package func open(
        kept bytes: [UInt8],
        of attempt: AttemptID,
        _ session: SessionName,
        at clock: FleetClock
    ) throws(FleetValueError) -> FleetContent {
        let value = try FleetValue(bytes, under: key(.kept(attempt), session))
        return try wholeContent(of: value, .kept(attempt), session, clock)
    }

    private func wholeContent(
        of value: FleetValue,
        _ kind: FleetKeyName.Kind,
        _ session: SessionName,
        _ clock: FleetClock
    ) throws(FleetValueError) -> FleetContent {
        guard let content = try content(of: value, kind, session, clock).content else {
            throw .malformed("a part of it is missing")
        }
        return content
    }

    /// Checks a late answer and reads what stands in clear; no secret leaves it.
    package func late(
        _ bytes: [UInt8],
        under key: FleetKeyName,
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

    /// Checks an intent and reads it; keepers only.
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

    /// What an intent says of itself, which nothing proves: readers have no key to check it with.
    package func claimedIntent(_ bytes: [UInt8], of session: SessionName) -> FleetIntent? {
        guard case .intent(let intent)? = try? FleetValue(bytes, under: key(.intent, session)).clear else {
            return nil
        }
        return intent
    }

    /// Checks a want and reads it.
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

    /// Opens what a host says of itself.
    package func host(_ bytes: [UInt8], under key: FleetKeyName) throws(FleetValueError) -> HostDescription {
        let value = try FleetValue(bytes, under: key)
        let host = try unsafe sealing.open(value, under: key) { content throws(RecordError) in
            do {
                var reader = unsafe ByteReader(content)
                let host = try reader.fleetHost()
                guard reader.remaining == 0 else { throw FormatError.invalid("something follows its end") }
                return host
            } catch {
                throw RecordError.malformed("what a host says of itself makes no sense")
            }
        }
        guard key.kind == .host(host.id) else { throw .notAValue }
        return host
    }

    /// Whose lock it is.
    package static func lock(_ bytes: [UInt8]) throws(FleetValueError) -> AttemptID {
        do {
            return try unsafe bytes.withUnsafeBytes { bytes in
                var reader = unsafe ByteReader(bytes)
                let attempt = try reader.attempt()
                guard reader.remaining == 0 else { throw FormatError.invalid("something follows its end") }
                return attempt
            }
        } catch {
            throw .notAValue
        }
    }

    private func parsed(
        _ bytes: [UInt8]?,
        _ kind: FleetKeyName.Kind,
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
        _ kind: FleetKeyName.Kind,
        _ session: SessionName,
        _ clock: FleetClock
    ) throws(FleetValueError) -> FleetContentReader {
        let key = key(kind, session)
        // In what readers open there is no long-lived secret, whoever wrote it.
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

    /// A session that is logged out has no content, and any other has one.
    private func check(_ opened: FleetContentReader, _ header: FleetHeader) throws(FleetValueError) {
        guard (opened.content == nil) != (header.status == .out) else { return }
        for secret in opened.content?.snapshot.secrets ?? [] { memory.erase(secret) }
        throw .malformed("it does not fit its header")
    }
}
