// SPDX-License-Identifier: MIT

import Glibc
import SecretMemory
import Threads
import TokenCore

/// The recovery at the start: it reads each record's files and decides the session's state.
///
/// The highest generation wins, wherever it is. An intent newer than every commit means that a refresh was
/// interrupted. Unreadable files are renamed, never deleted, and affect one session each.
struct RecordRecovery {
    let files: RecordFiles
    let reader: RecordReader
    /// The commits that the disk rejected before the store was locked.
    let parked: [RandomID: RecordLedgerEntry.PendingCommit]
    private(set) var manifest: Manifest
    private(set) var entries: [SessionName: RecordLedgerEntry] = [:]
    private(set) var loaded = LoadedSessions()
    /// Whether files were renamed or removed, so that the directory must be flushed once.
    private var changedNames = false
    private var places: [SessionName: Int] = [:]
    /// The number of records that are examined before the state of any of them is decided, large enough to be
    /// worth a second thread.
    private static let batch = 250

    init(
        files: RecordFiles,
        reader: RecordReader,
        parked: [RandomID: RecordLedgerEntry.PendingCommit],
        manifest: Manifest
    ) {
        self.files = files
        self.reader = reader
        self.parked = parked
        self.manifest = manifest
    }

    /// Recovers every record of the store.
    mutating func run() throws(StoreFileError) {
        var found = try RecordRecovery.records(in: files.directory)
        for (record, roles) in found where roles == [.answer] {
            files.removeAnswer(of: record)
            found[record] = nil
        }
        let boats = try files.lifeboats.map(RecordRecovery.records) ?? [:]
        loaded.sessions.reserveCapacity(found.count)
        entries.reserveCapacity(found.count)
        places.reserveCapacity(found.count)
        var traces = found.map { record, roles in
            FoundRecordFiles(
                record: record,
                roles: roles,
                hasLifeboat: boats[record]?.contains(.record) ?? false
            )
        }
        for (record, roles) in boats where found[record] == nil && roles.contains(.record) {
            traces.append(FoundRecordFiles(record: record, roles: [], hasLifeboat: true))
        }
        for record in parked.keys where found[record] == nil && boats[record] == nil {
            traces.append(FoundRecordFiles(record: record, roles: [], hasLifeboat: false))
        }
        var examined: [[RecordSurvey]] = []
        for start in stride(from: 0, to: traces.count, by: RecordRecovery.batch) {
            let end = min(start + RecordRecovery.batch, traces.count)
            examined = recover(examined, examining: traces[start..<end])
        }
        for survey in examined.joined() { recover(survey) }
        if changedNames { try files.directory.synchronize() }
        let gone = manifest.missing(from: Set(entries.values.map(\.id)))
        for record in gone where found[record] == nil {
            report(.missing, nil, "the record \(record) is missing; its session requires a new login")
        }
        manifest.remove(gone)
    }

    /// Returns the record files of a directory by record; other names are ignored.
    private static func records(
        in directory: OpenDirectory
    ) throws(StoreFileError) -> [RandomID: Set<RecordFiles.Role>] {
        var found: [RandomID: Set<RecordFiles.Role>] = [:]
        let names = try directory.names()
        found.reserveCapacity(names.count)
        for name in names {
            guard name.utf8.count == 36, let record = RandomID(hexadecimal: name.prefix(32)) else { continue }
            guard let role = RecordFiles.Role(rawValue: String(name.suffix(3))) else { continue }
            guard name == role.name(of: record) else { continue }
            found[record, default: []].insert(role)
        }
        return found
    }

    /// Decides the state of the records in `examined`, and examines the files of `traces` in the same time,
    /// for a full batch on two threads.
    ///
    /// Examining changes no file and reads no other record. Decisions are made in order on one thread. Both
    /// take most of the time of a start with many sessions, during which no request is served.
    private mutating func recover(
        _ examined: [[RecordSurvey]],
        examining traces: ArraySlice<FoundRecordFiles>
    ) -> [[RecordSurvey]] {
        let examiner = RecordInspector(files: files, reader: reader, parked: parked)
        guard traces.count == RecordRecovery.batch else {
            for survey in examined.joined() { recover(survey) }
            return [examiner.surveys(of: traces)]
        }
        // This thread also decides, which takes a fifth of the time.
        let part = traces.startIndex + traces.count * 2 / 5
        let parts = ParallelComputation.both {
            for survey in examined.joined() { recover(survey) }
            return examiner.surveys(of: traces[..<part])
        } _: {
            examiner.surveys(of: traces[part...])
        }
        return [parts.0, parts.1]
    }

    private mutating func recover(_ survey: RecordSurvey) {
        dispose(of: survey)
        guard let chosen = survey.chosen else { return }
        let record = survey.record
        let seen = manifest[record]
        // A commit gets the generation of its intent, so an intent with a generation already seen is an old
        // copy.
        let isIntent = chosen.header.phase == .intent
        let isCurrent = isIntent ? chosen.header.generation > seen : chosen.header.generation >= seen
        guard isCurrent else { return refuse(chosen, expected: seen) }
        guard let content = chosen.content else { return finishLogout(record) }
        var entry = RecordLedgerEntry(
            id: record,
            generation: chosen.header.generation,
            epoch: survey.commit?.epoch ?? chosen.header.epoch,
            committed: survey.commit?.generation ?? 0
        )
        putInPlace(&entry, survey)
        if !isIntent { manifest.record(record, chosen.header.generation) }
        add(LoadedSession(content, interrupted: survey.isInterrupted, readings: survey.readings), entry)
    }

    /// Makes the file with the newest commit the record, and removes the files that it replaces.
    private mutating func putInPlace(_ entry: inout RecordLedgerEntry, _ survey: RecordSurvey) {
        do throws(StoreFileError) {
            if survey.replacementIsStale {
                try files.directory.unlink(RecordFiles.Role.replacement.name(of: entry.id))
            }
            switch survey.place {
            case .record, .none: break
            case .reservation: try promote(.reservation, entry.id)
            case .replacement: try promote(.replacement, entry.id)
            case .lifeboat, .memory: entry.pending = survey.lifeboatCommit
            }
            entry.hasStaleReservation = survey.hasReservation && survey.place != .reservation
            if entry.hasStaleReservation, !survey.isInterrupted {
                try files.removeReservation(of: entry.id)
                entry.hasStaleReservation = false
            }
        } catch {
            report(.stray, nil, "\(files.directory.path)/\(entry.id).*: \(error)")
        }
        if survey.lifeboatIsStale { files.removeLifeboat(of: entry.id) }
        // A commit contains the response. Without a commit, the recording is for the next attempt.
        entry.mayHaveAnswer = survey.hasAnswer && survey.isInterrupted
        if survey.hasAnswer, !survey.isInterrupted { files.removeAnswer(of: entry.id) }
    }

    private mutating func promote(_ role: RecordFiles.Role, _ record: RandomID) throws(StoreFileError) {
        let name = role.name(of: record)
        let file = try files.directory.open(name, writing: true)
        // After kill -9, its pages may not have reached the disk yet.
        try file.synchronize()
        try files.directory.rename(name, to: RecordFiles.Role.record.name(of: record))
        changedNames = true
    }

    /// Reports unreadable files, renames damaged ones, and removes blank ones.
    private mutating func dispose(of survey: RecordSurvey) {
        for (name, fault) in survey.faults {
            guard fault.isDamage else {
                report(.unreadable, nil, "\(files.directory.path(of: name)) \(fault.sentence)")
                continue
            }
            var sentence = "\(files.directory.path(of: name)) \(fault.sentence)"
            do throws(StoreFileError) {
                sentence += "; kept as \(try RecordFiles.moveAside(name, in: files.directory))"
                changedNames = true
            } catch {
                sentence += "; it could not be renamed: \(error)"
            }
            report(.unreadable, survey.chosen?.content?.session, sentence)
        }
        for name in survey.blank { try? files.directory.unlink(name) }
    }

    /// Reports an old copy of a record, and renames its files.
    private mutating func refuse(_ record: OpenedRecord, expected: UInt64) {
        reader.discard(record)
        let id = record.header.record
        let fault = RecordError.rolledBack(found: record.header.generation, expected: expected)
        for role in RecordFiles.Role.allCases where files.directory.contains(role.name(of: id)) {
            var sentence = "\(files.directory.path(of: role.name(of: id))) \(fault.sentence) and was not used"
            if let aside = try? RecordFiles.moveAside(role.name(of: id), in: files.directory) {
                sentence += "; kept as \(aside)"
                changedNames = true
            }
            report(.rolledBack, record.content?.session, sentence)
        }
    }

    /// Finishes a logout that was interrupted after its tombstone was written.
    private mutating func finishLogout(_ record: RandomID) {
        try? files.remove(record)
    }

    /// Adds the session, unless another record contains a later login of the same session.
    private mutating func add(_ session: LoadedSession, _ entry: RecordLedgerEntry) {
        guard let place = places[session.name], let other = entries[session.name] else {
            places[session.name] = loaded.sessions.count
            loaded.sessions.append(session)
            entries[session.name] = entry
            return
        }
        let isLater = session.snapshot.loggedInAt > loaded.sessions[place].snapshot.loggedInAt
        let loser = isLater ? loaded.sessions[place] : session
        for secret in loser.snapshot.secrets { reader.memory.erase(secret) }
        let name = RecordFiles.Role.record.name(of: isLater ? other.id : entry.id)
        _ = try? RecordFiles.moveAside(name, in: files.directory)
        report(.stray, session.name, "\(files.directory.path(of: name)) is a second record of one session")
        guard isLater else { return }
        loaded.sessions[place] = session
        entries[session.name] = entry
    }

    private mutating func report(_ kind: StoreProblem.Kind, _ session: SessionName?, _ sentence: String) {
        loaded.problems.append(StoreProblem(kind: kind, session: session, description: sentence))
    }
}

extension RecordError {
    /// Whether the file is damaged, and not only sealed with another key or by another version.
    ///
    /// A damaged file is renamed.
    fileprivate var isDamage: Bool {
        switch self {
        case .truncated, .notARecord, .misplaced, .forged, .malformed, .rolledBack, .empty: true
        case .futureVersion, .otherVault, .unknownKey, .file: false
        }
    }
}
