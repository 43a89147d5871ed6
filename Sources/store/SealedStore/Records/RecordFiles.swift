// SPDX-License-Identifier: MIT

import Glibc
import SecretMemory

/// The files of sealed records, and the order of system calls that makes them survive a crash at any
/// instruction.
///
/// `ID.rec` is the record. `ID.new` is a reservation: the intent in its first half, space for the commit in
/// its second. `ID.alt` is a complete new file that is to replace one of the two. `ID.ans` is the server's
/// response to the reserved refresh, recorded by a separate process. A lifeboat is an `ID.rec` in the runtime
/// directory.
struct RecordFiles: Sendable {
    let directory: OpenDirectory
    let lifeboats: OpenDirectory?

    /// The role of a file, as its extension.
    enum Role: String, CaseIterable {
        case record = "rec"
        case reservation = "new"
        case replacement = "alt"
        case answer = "ans"

        func name(of record: RandomID) -> String { "\(record).\(rawValue)" }
    }

    /// The minimum size of half a file in bytes, which is also the minimum space for a commit.
    static let minimumHalf = 16_384

    /// Returns the size of half a file that leaves space for a commit twice as long as this record.
    static func half(for record: [UInt8]) -> Int {
        max(minimumHalf, (2 * record.count + 4095) / 4096 * 4096)
    }

    /// Creates the reservation file of `record` with `intent` in its first half, and makes it durable.
    ///
    /// With `replacing`, an older reservation exists and stays until the new one is durable. Pass the
    /// returned file to ``commit(_:into:half:of:)``.
    func reserve(
        _ record: RandomID,
        _ intent: [UInt8],
        half: Int,
        replacing: Bool
    ) throws(StoreFileError) -> OpenFile {
        let name = Role.reservation.name(of: record)
        let created = replacing ? Role.replacement.name(of: record) : name
        let file = try directory.create(created)
        do throws(StoreFileError) {
            try file.allocate(2 * half)
            try file.write(intent, at: 0)
            try file.synchronize()
            if replacing { try directory.rename(created, to: name) }
        } catch {
            try? directory.unlink(created)
            throw error
        }
        try directory.synchronize()
        return file
    }

    /// Opens the reservation of `record` that this process made earlier.
    func reopenReservation(of record: RandomID) throws(StoreFileError) -> OpenFile {
        try directory.open(Role.reservation.name(of: record), writing: true)
    }

    /// Writes `commit` into the second half of a reservation, renames the file to the record, and makes both
    /// durable.
    func commit(
        _ commit: [UInt8],
        into reservation: OpenFile,
        half: Int,
        of record: RandomID
    ) throws(StoreFileError) {
        try reservation.write(commit, at: half)
        try reservation.synchronize()
        try directory.rename(Role.reservation.name(of: record), to: Role.record.name(of: record))
        try directory.synchronize()
    }

    /// Replaces the record by a new file with `commit` in its second half, and makes it durable.
    func replace(
        _ record: RandomID,
        _ commit: [UInt8],
        half: Int,
        dropsReservation: Bool
    ) throws(StoreFileError) {
        try place(commit, half: half, of: record, in: directory)
        if dropsReservation { try directory.unlink(Role.reservation.name(of: record)) }
        try directory.synchronize()
    }

    /// Writes `commit` into the runtime directory, as a lifeboat.
    func board(_ record: RandomID, _ commit: [UInt8], half: Int) throws(StoreFileError) {
        guard let lifeboats else { throw .missing }
        try place(commit, half: half, of: record, in: lifeboats)
        try lifeboats.synchronize()
    }

    private func place(
        _ commit: [UInt8],
        half: Int,
        of record: RandomID,
        in directory: OpenDirectory
    ) throws(StoreFileError) {
        let name = Role.replacement.name(of: record)
        let file = try directory.create(name)
        do throws(StoreFileError) {
            try file.resize(to: 2 * half)
            try file.write(commit, at: half)
            try file.synchronize()
            try directory.rename(name, to: Role.record.name(of: record))
        } catch {
            try? directory.unlink(name)
            throw error
        }
    }

    func removeReservation(of record: RandomID) throws(StoreFileError) {
        try directory.unlink(Role.reservation.name(of: record))
    }

    func removeLifeboat(of record: RandomID) {
        try? lifeboats?.unlink(Role.record.name(of: record))
    }

    /// Removes all files of `record`, the record itself last, so that no older file can become current.
    func remove(_ record: RandomID) throws(StoreFileError) {
        removeLifeboat(of: record)
        for role in [Role.answer, .replacement, .reservation, .record] {
            try directory.unlink(role.name(of: record))
        }
        try directory.synchronize()
    }

    /// Renames an unreadable file to a free name ending in `.bad`; it is never deleted.
    ///
    /// - Returns: the new name.
    @discardableResult
    static func moveAside(_ name: String, in directory: OpenDirectory) throws(StoreFileError) -> String {
        var target = "\(name).bad"
        var number = 2
        while directory.contains(target) {
            target = "\(name).\(number).bad"
            number += 1
        }
        try directory.rename(name, to: target)
        return target
    }
}
