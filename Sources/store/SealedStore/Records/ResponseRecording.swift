// SPDX-License-Identifier: MIT

import Glibc
import SecretMemory
import Synchronization
import TokenCore

/// The recording of the response to a session's reserved attempt, and of the response to an earlier attempt.
///
/// The file is next to the reservation and is removed with it. Safe to call from any thread.
package final class ResponseRecording: Sendable {
    private struct State {
        /// The file created with the reservation, for the first request of the attempt.
        var fresh: OpenFile?
        /// The file of an earlier attempt whose response did not arrive, or not in this process.
        var left: Result<OpenFile, StoreFileError>?
        var wasAnswered = false
    }

    private let files: RecordFiles
    private let head: ResponseRecordingHeader
    /// The keys for recordings of this record, by epoch; they open only the heads of these files.
    private let keys: [UInt32: Key]
    /// The generation of the latest commit; a response that is not newer was used or given up.
    private let committed: UInt64
    private let clock: @Sendable () -> ClockReading
    private let state: Mutex<State>

    init(
        files: RecordFiles,
        head: ResponseRecordingHeader,
        ring: KeyRing,
        committed: UInt64,
        clock: @escaping @Sendable () -> ClockReading,
        fresh: OpenFile?,
        left: Result<OpenFile, StoreFileError>?
    ) {
        self.files = files
        self.head = head
        self.committed = committed
        self.clock = clock
        keys = ring.answerKeys(of: head.record)
        state = Mutex(State(fresh: fresh, left: left))
    }

    /// The key for the recordings of one record under one master key, wiped on release.
    final class Key: @unchecked Sendable {
        // Unchecked: the bytes are written before anyone else has the object, then only read.
        private var bytes = WipedBytes(capacity: AEAD.keyCount)

        init(_ master: MasterKey, of record: RandomID) {
            unsafe master.withKey(for: .answers, of: record) { unsafe bytes.append($0) }
        }

        func read<Value>(
            _ body: (UnsafeRawBufferPointer) throws(RecordError) -> Value
        ) throws(RecordError) -> Value {
            try unsafe bytes.read(body)
        }
    }

    /// Returns the file for the next response, or `nil` if the disk provides none, in which case nothing is
    /// recorded.
    package func begin() -> ResponseRecordingFile? {
        let file = state.withLock { state in
            defer { state.fresh = nil }
            return state.fresh
        }
        guard let file = file ?? (try? files.makeAnswer(of: head.record)), let key = keys[head.epoch] else {
            return nil
        }
        return ResponseRecordingFile(file: file, head: head, key: key, clock: clock)
    }

    /// Records that this process has received the response, so that no recording is searched for.
    package func answered() {
        state.withLock { $0.wasAnswered = true }
    }

    var wasAnswered: Bool { state.withLock(\.wasAnswered) }

    /// Reads the recorded response to an earlier attempt.
    package func look() -> RecoveredResponse {
        guard let left = state.withLock(\.left) else { return .none }
        let file: OpenFile
        switch left {
        case .success(let opened): file = opened
        case .failure(.missing): return .none
        case .failure(let fault): return .refused(RecordError.file(fault).sentence)
        }
        // Check before reading the bytes: a process that has released the lock writes no more.
        let isFinal = file.isUnlocked
        do throws(RecordError) {
            let bytes = try contents(of: file)
            let head = try ResponseRecordingHeader(Array(bytes.prefix(ResponseRecordingFile.headRoom)))
            guard head.vault == self.head.vault else { throw .otherVault }
            guard head.record == self.head.record else { throw .misplaced }
            guard head.generation > committed else {
                throw .rolledBack(found: head.generation, expected: committed + 1)
            }
            guard let key = keys[head.epoch] else { throw .unknownKey(epoch: head.epoch) }
            let content = try unsafe key.read { key throws(RecordError) in
                try unsafe head.open(bytes, under: key)
            }
            let now = clock()
            return .recorded(
                RecordedResponse(
                    note: content.note,
                    // If the clocks contradict each other, the response counts as old.
                    sentAt: now.translate(content.clock.now, from: content.clock) ?? now.now
                        - ResponseRecording.longAgo,
                    stream: Array(bytes.dropFirst(ResponseRecordingFile.headRoom)),
                    readingNote: ParseAttemptNote(in: bytes),
                    isFinal: isFinal
                )
            )
        } catch {
            guard error == .empty else { return .refused(error.sentence) }
            // Nothing was sent yet; a process that still holds the file may send the request.
            return isFinal ? .none : .pending
        }
    }

    /// Records in the file that the response is about to be parsed, because parsing may crash the process.
    ///
    /// The next start then finds this note. Call ``endReading(of:)`` afterwards unless the response was
    /// complete; then the note is removed with its file. The note survives the process but not a power
    /// failure. If it cannot be written, the response is parsed without it.
    package func beginReading(of recorded: RecordedResponse) {
        var note = recorded.readingNote
        note.readings += 1
        write(note)
    }

    /// Records that the response was parsed without a crash but is incomplete.
    ///
    /// Only more bytes make it ``RecordedResponse/isNews`` again.
    package func endReading(of recorded: RecordedResponse) {
        var note = recorded.readingNote
        note.harmless = recorded.count
        write(note)
    }

    private func write(_ note: ParseAttemptNote) {
        guard case .success(let file)? = state.withLock(\.left) else { return }
        try? file.write(note.bytes, at: ParseAttemptNote.place)
    }

    /// A duration longer than the lifetime of any access token.
    private static let longAgo = Duration.seconds(10 * 365 * 86_400)

    private func contents(of file: OpenFile) throws(RecordError) -> [UInt8] {
        let bytes = try RecordError.reading { () throws(StoreFileError) in
            try file.read(count: min(try file.status().size, ResponseRecordingFile.longest + 1), at: 0)
        }
        guard bytes.count <= ResponseRecordingFile.longest else { throw .malformed("it is too long") }
        return bytes
    }

    /// Removes the recording of an earlier attempt, or renames it if it is `damaged`.
    package func dropLeft(damaged: Bool) {
        state.withLock { state in
            guard state.left != nil else { return }
            state.left = nil
            let name = RecordFiles.Role.answer.name(of: head.record)
            if damaged {
                _ = try? RecordFiles.moveAside(name, in: files.directory)
            } else {
                try? files.directory.unlink(name)
            }
        }
    }
}

/// The state of the response to an earlier attempt.
package enum RecoveredResponse: Sendable {
    /// There is no response, and none will come.
    case none
    /// A process is about to send the request.
    case pending
    /// The bytes received so far, which are complete if no process records any more.
    case recorded(RecordedResponse)
    /// The file must not be used. The reason ends a sentence that begins with the file.
    case refused(String)
}

/// The recorded bytes of a response, with the data for parsing them.
package struct RecordedResponse: Sendable {
    /// The note passed to ``ResponseRecordingFile/head(note:)``.
    package var note: [UInt8]
    /// The time just before the request was sent, on the clock of this boot.
    package var sentAt: Instant
    package var stream: [UInt8]
    /// The note left by earlier reads of the file.
    var readingNote: ParseAttemptNote
    /// Whether no process records any more.
    package var isFinal: Bool

    /// The number of bytes recorded; the allocated space after them contains zeros.
    var count: Int { stream.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0 }

    /// Whether bytes have arrived since the response was last parsed without a crash.
    package var isNews: Bool { count != readingNote.harmless }
}

/// A note about reads of the file, at the end of the space for the head.
struct ParseAttemptNote {
    /// The number of times parsing began without an end.
    var readings: Int
    /// The number of bytes of the stream that were parsed without a crash while the response was incomplete.
    var harmless: Int

    /// The size of `u8 readings | u32 harmless`, little endian.
    private static let count = 5
    static let place = ResponseRecordingFile.headRoom - count

    /// Parses the note in the bytes of a file; a file too short for a note yields zeros.
    init(in file: [UInt8]) {
        let bytes =
            file.count < ResponseRecordingFile.headRoom
            ? [] : file[ParseAttemptNote.place..<ResponseRecordingFile.headRoom]
        readings = Int(bytes.first ?? 0)
        harmless = bytes.dropFirst().reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    var bytes: [UInt8] {
        var bytes = [UInt8(clamping: readings)]
        bytes.append(integer: UInt32(clamping: harmless))
        return bytes
    }
}

/// The file of one response, for the process that records it.
package final class ResponseRecordingFile: Sendable {
    /// The number of bytes reserved for the head at the beginning of the file.
    package static let headRoom = 4096
    /// The number of bytes allocated, so that a response of usual size fits even if the disk fills up
    /// meanwhile.
    static let room = 64 << 10
    /// The maximum size in bytes of a file that is read.
    static let longest = headRoom + 2 << 20

    private let file: OpenFile
    private let head: ResponseRecordingHeader
    private let key: ResponseRecording.Key
    private let clock: @Sendable () -> ClockReading

    init(
        file: OpenFile,
        head: ResponseRecordingHeader,
        key: ResponseRecording.Key,
        clock: @escaping @Sendable () -> ClockReading
    ) {
        self.file = file
        self.head = head
        self.key = key
        self.clock = clock
    }

    /// The descriptor to pass to a process that outlives this one; the file stays locked while any process
    /// has it open.
    package var descriptor: Int32 { file.descriptor }

    /// Returns the head of the file with `note` sealed in it, or `nil` if the note is too long.
    package func head(note: [UInt8]) -> [UInt8]? {
        guard note.count <= ResponseRecordingHeader.maximumNoteLength else { return nil }
        let content = ResponseRecordingHeader.SealedContent(clock: clock(), note: note)
        return try? unsafe key.read { key throws(RecordError) in unsafe head.sealed(content, under: key) }
    }
}

extension KeyRing {
    fileprivate func answerKeys(of record: RandomID) -> [UInt32: ResponseRecording.Key] {
        var keys = older.mapValues { ResponseRecording.Key($0, of: record) }
        keys[current.epoch] = ResponseRecording.Key(current, of: record)
        return keys
    }
}

extension OpenFile {
    /// The number of times parsing began without an end, or `nil` if no response was recorded.
    var readings: Int? {
        guard let head = try? read(count: ResponseRecordingFile.headRoom, at: 0),
            head.contains(where: { $0 != 0 }) || !isUnlocked
        else { return nil }
        return ParseAttemptNote(in: head).readings
    }

    /// Locks the file to show that a process works with it.
    ///
    /// The lock ends when the last descriptor of this opening closes (flock(2)).
    func lock() {
        _ = flock(descriptor, LOCK_EX | LOCK_NB)
    }

    /// Whether no other opening holds the lock.
    fileprivate var isUnlocked: Bool {
        guard flock(descriptor, LOCK_SH | LOCK_NB) == 0 else { return false }
        flock(descriptor, LOCK_UN)
        return true
    }
}

extension RecordFiles {
    /// Creates the file for the response to an attempt of `record`, replacing any other, and locks it.
    func makeAnswer(of record: RandomID) throws(StoreFileError) -> OpenFile {
        let file = try directory.create(Role.answer.name(of: record))
        do throws(StoreFileError) {
            try file.allocate(ResponseRecordingFile.room)
        } catch {
            try? directory.unlink(Role.answer.name(of: record))
            throw error
        }
        file.lock()
        return file
    }

    /// Opens the file of an earlier response.
    func recoveredResponse(of record: RandomID) -> Result<OpenFile, StoreFileError> {
        Result { () throws(StoreFileError) in try directory.open(Role.answer.name(of: record), writing: true)
        }
    }

    func removeAnswer(of record: RandomID) {
        try? directory.unlink(Role.answer.name(of: record))
    }
}

/// A source of recordings for the code that sends requests.
package protocol ResponseRecordingProviding: Sendable {
    /// Returns the recording of the attempt that is reserved now, or `nil` if none is.
    func responseRecording(of session: SessionName) -> ResponseRecording?

    /// Reports that a recorded response is not used, and why.
    func answerWasRefused(of session: SessionName, _ reason: String)
}
