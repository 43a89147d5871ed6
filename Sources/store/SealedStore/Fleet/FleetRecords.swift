// SPDX-License-Identifier: MIT

import SecretMemory
import TokenCore

/// The two values of a record, always written together.
package struct FleetRecordValues: Equatable, Sendable {
    /// The value `rt` for keepers, or `nil` if it does not exist or was not read.
    package var record: [UInt8]?
    /// The value `at` for readers, or `nil` if it does not exist or was not read.
    package var access: [UInt8]?

    package init(record: [UInt8]?, access: [UInt8]?) {
        self.record = record
        self.access = access
    }
}

/// A writer and reader of the fleet's values, with secrets in sealed memory.
package struct FleetRecords: Sendable {
    /// The maximum size in bytes of both values of a record together, and of a late response.
    ///
    /// etcd accepts 1.5 MiB in one request (`--max-request-bytes`), which is enough for a record and a late
    /// response.
    package static let maximumCount = 704 << 10

    package let names: FleetNames
    let keys: FleetKeys
    let memory: SealedMemory
    let sealing: FleetSealing

    /// The role for which the keys are.
    package var role: FleetRole { keys.role }

    /// The epoch under which values are sealed.
    package var epoch: UInt32 { keys.epoch }

    /// Records that another host has sealed a value under `epoch` (``FleetKeys/follow(_:)``).
    package func follow(_ epoch: UInt32) { keys.follow(epoch) }

    package init(keys: FleetKeys, memory: SealedMemory) {
        self.keys = keys
        self.memory = memory
        sealing = FleetSealing(keys)
        names = sealing.names
    }

    /// Returns the mark of a refresh token: 64 bits by which keepers recognize it.
    ///
    /// - Throws: ``StorageFailure`` if the token is not in memory, or this host is a reader.
    package func mark(of refreshToken: SecretID) throws(StorageFailure) -> UInt64 {
        var mark: UInt64?
        do {
            mark = try unsafe memory.open(refreshToken) { token in
                unsafe keys.withKey(for: .marks, epoch: keys.epoch) { key in
                    RandomID(unsafe CryptoPrimitives.code(of: token, key: key, count: RandomID.byteCount))
                        .high
                }
            }
        } catch {
            throw StorageFailure(message: "cannot open a refresh token: \(error)")
        }
        guard let mark else { throw FleetSealing.closed }
        return mark
    }

    /// Seals a record as its two values in etcd, with at most ``maximumCount`` bytes together.
    ///
    /// Tokens of further scopes and audiences are left out if they do not fit, as in records on disk.
    ///
    /// - Parameters:
    ///   - header: the clear part.
    ///   - content: the session; nothing is written of one that is logged out.
    ///   - session: the name of the session.
    ///   - clock: dates its times.
    /// - Returns: both values, to be written in one transaction.
    /// - Throws: ``StorageFailure`` if a token is not available, or the login itself does not fit.
    package func values(
        _ header: FleetHeader,
        _ content: FleetSessionContent?,
        of session: SessionName,
        at clock: EtcdClockReading
    ) throws(StorageFailure) -> FleetRecordValues {
        let content = header.status == .out ? nil : content
        // Use one epoch for both values, even if another host activates a new one meanwhile.
        let epoch = keys.epoch
        return try fitting(content, of: session) { content throws(StorageFailure) in
            let access = try seal(
                content?.part(.readers),
                .record(header),
                .access,
                of: session,
                epoch,
                at: clock
            )
            let record = try seal(
                content?.part(.keepers),
                .record(header),
                .record,
                of: session,
                epoch,
                at: clock
            )
            return (FleetRecordValues(record: record, access: access), access.count + record.count)
        }
    }

    /// Seals a late response as its value in etcd.
    ///
    /// - Throws: ``StorageFailure`` if a token is not available, or the login itself does not fit.
    package func value(
        _ late: LateResponse,
        _ content: FleetSessionContent,
        of session: SessionName,
        at clock: EtcdClockReading
    ) throws(StorageFailure) -> [UInt8] {
        try value(content, .late(late), late.kind, of: session, at: clock)
    }

    /// Seals tokens that this host stores in ``SessionFleetState/others`` on its own disk.
    ///
    /// - Throws: ``StorageFailure`` if a token is not available, or the login itself does not fit.
    package func kept(
        _ content: FleetSessionContent,
        of attempt: AttemptID,
        _ session: SessionName,
        at clock: EtcdClockReading
    ) throws(StorageFailure) -> [UInt8] {
        try value(content, .kept, .kept(attempt), of: session, at: clock)
    }

    private func value(
        _ content: FleetSessionContent,
        _ clear: FleetClearPart,
        _ kind: FleetEtcdKey.Kind,
        of session: SessionName,
        at clock: EtcdClockReading
    ) throws(StorageFailure) -> [UInt8] {
        try fitting(content, of: session) { content throws(StorageFailure) in
            let value = try seal(content?.part(.all), clear, kind, of: session, keys.epoch, at: clock)
            return (value, value.count)
        }
    }

    /// Returns the value of an intent: the same bytes for the same intent, so that they can be compared.
    ///
    /// - Throws: ``StorageFailure`` on a reader, which has no key for it.
    package func value(_ intent: FleetIntent, of session: SessionName) throws(StorageFailure) -> [UInt8] {
        try sealing.sign(.intent(intent), under: key(.intent, session))
    }

    /// Returns the value of a refresh request, which readers write too.
    package func value(_ want: FleetRefreshRequest, of session: SessionName) throws(StorageFailure) -> [UInt8]
    {
        try sealing.sign(.want(want), under: key(.want, session))
    }

    /// Returns the value of a host's description, which readers write too.
    package func value(_ host: HostDescription) throws(StorageFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(host)
        var content = WipedBytes()
        unsafe bytes.withUnsafeBytes { unsafe content.append($0) }
        return try sealing.seal(content, .host, under: names.key(ofHost: host.id), epoch: keys.epoch)
    }

    /// Returns the value of a lock.
    ///
    /// It is not signed: anyone who can write a lock can also delete it.
    package static func value(lock attempt: AttemptID) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(attempt)
        return bytes
    }

    func key(_ kind: FleetEtcdKey.Kind, _ session: SessionName) -> FleetEtcdKey {
        FleetEtcdKey(kind, of: names.name(of: session))
    }

    private func seal(
        _ content: FleetSessionContent?,
        _ clear: FleetClearPart,
        _ kind: FleetEtcdKey.Kind,
        of session: SessionName,
        _ epoch: UInt32,
        at clock: EtcdClockReading
    ) throws(StorageFailure) -> [UInt8] {
        let key = key(kind, session)
        let plaintext = try FleetContentWriter.encode(
            session,
            content,
            secrets: memory,
            at: clock,
            under: FleetSecretSealing(keys: keys, epoch: epoch, name: key.name)
        )
        return try sealing.seal(plaintext, clear, under: key, epoch: epoch)
    }

    /// Seals `content`, or only its login if the result is too long.
    private func fitting<Values>(
        _ content: FleetSessionContent?,
        of session: SessionName,
        _ seal: (FleetSessionContent?) throws(StorageFailure) -> (values: Values, count: Int)
    ) throws(StorageFailure) -> Values {
        let whole = try seal(content)
        guard whole.count > FleetRecords.maximumCount else { return whole.values }
        let least = try seal(content?.withoutVariants)
        guard least.count > FleetRecords.maximumCount else { return least.values }
        throw StorageFailure(
            message:
                "the tokens of \(session) are too long to share: \(least.count) bytes, "
                + "more than \(FleetRecords.maximumCount)"
        )
    }
}
