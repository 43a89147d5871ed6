// SPDX-License-Identifier: MIT

import SecretMemory
import TokenCore

/// The contents of one record's files, before anything is decided about them.
struct RecordSurvey {
    /// The file, or the memory, in which a commit was found.
    enum CommitLocation {
        case record
        case reservation
        case replacement
        case lifeboat
        /// Only in the memory of this process, which kept the commit while the store was locked.
        case memory
    }

    let record: RandomID
    let files: RecordFiles
    let reader: RecordReader

    /// The newest readable commit, or the intent if that is newer.
    private(set) var chosen: OpenedRecord?
    /// The location of the newest commit, or `nil` if there is none.
    private(set) var place: CommitLocation?
    /// The header of the newest commit.
    private(set) var commit: RecordHeader?
    /// Whether a refresh was in flight: the newest content is an intent, or a reservation that does not open.
    private(set) var isInterrupted = false
    private(set) var hasReservation = false
    private(set) var hasAnswer = false
    private(set) var replacementIsStale = false
    private(set) var lifeboatIsStale = false
    /// The commit in the lifeboat or in memory, ready to be written to the disk.
    private(set) var lifeboatCommit: RecordLedgerEntry.PendingCommit?
    private(set) var faults: [(name: String, fault: RecordError)] = []
    /// The names of files to which nothing was written yet.
    private(set) var blank: [String] = []

    init(record: RandomID, files: RecordFiles, reader: RecordReader) {
        self.record = record
        self.files = files
        self.reader = reader
    }

    /// The value for `InterruptedRefresh.readings`.
    var readings: Int? {
        hasAnswer && isInterrupted ? (try? files.recoveredResponse(of: record).get())?.readings : nil
    }

    mutating func examine(
        _ roles: Set<RecordFiles.Role>,
        hasLifeboat: Bool,
        parked: RecordLedgerEntry.PendingCommit?
    ) {
        hasAnswer = roles.contains(.answer)
        if roles.contains(.record) { examineRecord() }
        if roles.contains(.replacement) { examineReplacement() }
        if hasLifeboat { examineLifeboat() }
        if let parked { examine(parked) }
        if roles.contains(.reservation) { examineReservation() }
        replacementIsStale = replacementIsStale && place != .replacement
        lifeboatIsStale = hasLifeboat && place != .lifeboat && place != .memory
    }

    private mutating func examineRecord() {
        let name = RecordFiles.Role.record.name(of: record)
        do throws(RecordError) {
            consider(try reader.commit(in: try open(name, in: files.directory), of: record), .record)
        } catch {
            faults.append((name, error))
        }
    }

    private mutating func examineReplacement() {
        let name = RecordFiles.Role.replacement.name(of: record)
        do throws(RecordError) {
            let file = try open(name, in: files.directory)
            do throws(RecordError) {
                consider(try reader.commit(in: file, of: record), .replacement)
            } catch {
                // A reservation that was to replace an older one contains only its intent.
                guard error == .empty else { throw error }
                consider(intent: try reader.intent(in: file, of: record))
            }
            replacementIsStale = true
        } catch {
            note(name, error)
        }
    }

    private mutating func examineReservation() {
        let name = RecordFiles.Role.reservation.name(of: record)
        do throws(RecordError) {
            let file = try open(name, in: files.directory)
            hasReservation = true
            do throws(RecordError) {
                consider(try reader.commit(in: file, of: record), .reservation)
            } catch {
                consider(intent: try reader.intent(in: file, of: record))
            }
        } catch {
            hasReservation = false
            note(name, error)
            // The reservation had content before it was spoiled, so a refresh token may have been sent.
            isInterrupted = isInterrupted || (chosen != nil && error.wasWritten)
        }
    }

    private mutating func examineLifeboat() {
        guard let lifeboats = files.lifeboats else { return }
        do throws(RecordError) {
            let file = try open(RecordFiles.Role.record.name(of: record), in: lifeboats)
            let opened = try reader.commit(in: file, of: record)
            consider(opened, .lifeboat)
            guard place == .lifeboat else { return }
            lifeboatCommit = RecordLedgerEntry.PendingCommit(
                sealed: try bytes(of: file, opened.half),
                half: opened.half,
                generation: opened.header.generation,
                epoch: opened.header.epoch,
                isInLifeboat: true,
                failure: StorageFailure(message: "found in the runtime directory")
            )
        } catch {
            // The lifeboat is incomplete or not ours: use the records on the disk.
        }
    }

    private mutating func examine(_ parked: RecordLedgerEntry.PendingCommit) {
        do throws(RecordError) {
            let (header, _) = try RecordHeader.parse(parked.sealed)
            let content = try reader.content(of: parked.sealed, record)
            consider(OpenedRecord(header: header, half: parked.half, content: content), .memory)
            if place == .memory { lifeboatCommit = parked }
        } catch {
            // The key under which it was sealed is gone, so it cannot be recovered.
        }
    }

    private mutating func consider(_ candidate: OpenedRecord, _ where: CommitLocation) {
        if let chosen, chosen.header.generation >= candidate.header.generation {
            return reader.discard(candidate)
        }
        if let chosen { reader.discard(chosen) }
        chosen = candidate
        place = `where`
        commit = candidate.header
        isInterrupted = false
    }

    private mutating func consider(intent: OpenedRecord) {
        if let chosen, chosen.header.generation >= intent.header.generation { return reader.discard(intent) }
        if let chosen { reader.discard(chosen) }
        chosen = intent
        isInterrupted = true
    }

    private mutating func note(_ name: String, _ fault: RecordError) {
        if fault == .empty { blank.append(name) } else { faults.append((name, fault)) }
    }

    private func open(_ name: String, in directory: OpenDirectory) throws(RecordError) -> OpenFile {
        try RecordError.reading { () throws(StoreFileError) in try directory.open(name) }
    }

    private func bytes(of file: OpenFile, _ half: Int) throws(RecordError) -> [UInt8] {
        try RecordError.reading { () throws(StoreFileError) in try file.read(count: half, at: half) }
    }
}

extension RecordError {
    /// Whether the file once contained bytes of this store.
    fileprivate var wasWritten: Bool {
        switch self {
        case .truncated, .notARecord, .misplaced, .forged, .malformed, .unknownKey: true
        case .empty, .futureVersion, .otherVault, .rolledBack, .file: false
        }
    }
}
