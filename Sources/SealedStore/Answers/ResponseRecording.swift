// SPDX-License-Identifier: MIT

import Glibc
import Synchronization
import TokenCore

/// Where the answer to a session's reserved attempt is recorded, and where that of an earlier attempt may lie.
///
/// Safe to use from any thread. The file lies beside the reservation and goes with it.
package final class ResponseRecording: Sendable {
    private struct State {
        /// Made with the reservation, for the first request of the attempt.
        var fresh: OpenFile?
        /// Of an earlier attempt that was not answered, or not to this process.
        var left: Result<OpenFile, StoreFileError>?
        var wasAnswered = false
    }

    private let files: RecordFiles
    private let head: ResponseRecordingHeader
    /// Opens nothing but heads of this record's answers.
    private let keys: [UInt32: Key]
    /// The generation of the latest commit: an answer that is not younger has been used or given up.
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

    /// The key of one record's answers, under one master key; wiped when it is gone.
    final class Key: @unchecked Sendable {
        // Unchecked: it is filled before anybody else has it, then only read.
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

    /// The file for the next answer; `nil`: the disk grants none, and the answer is not kept.
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

    /// Notes that this process has the answer: it need not be looked for.
    package func answered() {
        state.withLock { $0.wasAnswered = true }
    }

    var wasAnswered: Bool { state.withLock(\.wasAnswered) }

    /// Looks for the answer to an earlier attempt.
    package func look() -> RecoveredResponse {
        guard let left = state.withLock(\.left) else { return .none }
        let file: OpenFile
        switch left {
        case .success(let opened): file = opened
        case .failure(.missing): return .none
        case .failure(let fault): return .refused(RecordError.file(fault).sentence)
        }
        // Before the bytes are read: a process that has let go writes no more.
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
                    // Where the clocks contradict each other what it brings counts as old.
                    sentAt: now.translate(content.clock.now, from: content.clock) ?? now.now
                        - ResponseRecording.longAgo,
                    stream: Array(bytes.dropFirst(ResponseRecordingFile.headRoom)),
                    readingNote: ReadingNote(in: bytes),
                    isFinal: isFinal
                )
            )
        } catch {
            guard error == .empty else { return .refused(error.sentence) }
            // Nothing was sent yet; whoever holds the file still may do so.
            return isFinal ? .none : .pending
        }
    }

    /// Notes that the answer is about to be read: it may end the process, and a start afterwards finds out.
    ///
    /// ``endReading(of:)`` follows unless all is there; the note of an answer that was read goes with its file. It survives
    /// the process, not a power cut, and where the disk takes no note the answer is read without one.
    package func beginReading(of recorded: RecordedResponse) {
        var note = recorded.readingNote
        note.readings += 1
        write(note)
    }

    /// Notes that it was read without harm, and is not all there: only with more bytes it is ``RecordedResponse/isNews`` again.
    package func endReading(of recorded: RecordedResponse) {
        var note = recorded.readingNote
        note.harmless = recorded.count
        write(note)
    }

    private func write(_ note: ReadingNote) {
        guard case .success(let file)? = state.withLock(\.left) else { return }
        try? file.write(note.bytes, at: ReadingNote.place)
    }

    /// Longer than any access token lives.
    private static let longAgo = Duration.seconds(10 * 365 * 86_400)

    private func contents(of file: OpenFile) throws(RecordError) -> [UInt8] {
        let bytes: [UInt8]
        do throws(SystemCallError) {
            bytes = try file.read(
                count: min(try file.status().size, ResponseRecordingFile.longest + 1),
                at: 0
            )
        } catch {
            throw .file(.system(error))
        }
        guard bytes.count <= ResponseRecordingFile.longest else { throw .malformed("it is too long") }
        return bytes
    }

    /// Lets go of what was left; it is kept under another name if it is not what it should be.
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

/// What there is of an answer to an earlier attempt.
package enum RecoveredResponse: Sendable {
    /// Nothing, and nothing will come.
    case none
    /// A process is about to ask the server.
    case pending
    /// What the server said, to the end if nobody records any more.
    case recorded(RecordedResponse)
    /// A file that must not be used, for the reason given: the end of a sentence that begins with the file.
    case refused(String)
}

/// The bytes that came from a server, and how to read them.
package struct RecordedResponse: Sendable {
    /// What ``ResponseRecordingFile/head(note:)`` was given.
    package var note: [UInt8]
    /// When the request was about to be sent, on the clock of this boot.
    package var sentAt: Instant
    package var stream: [UInt8]
    /// What earlier processes, and this one before, have noted.
    var readingNote: ReadingNote
    /// Whether nobody records any more.
    package var isFinal: Bool

    /// Bytes that were recorded: behind them there is room that nothing was written to.
    var count: Int { stream.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0 }

    /// Whether something has come since it was read without harm.
    package var isNews: Bool { count != readingNote.harmless }
}

/// What those note in the file who read it, at the end of the room for a head.
struct ReadingNote {
    /// How many have begun to read the answer without an end.
    var readings: Int
    /// Bytes of the stream that were read without harm, before all was there.
    var harmless: Int

    /// `u8 readings | u32 harmless`, little endian.
    private static let count = 5
    static let place = ResponseRecordingFile.headRoom - count

    /// The note in the bytes of a file; zeros where it is too short to have one.
    init(in file: [UInt8]) {
        let bytes =
            file.count < ResponseRecordingFile.headRoom
            ? [] : file[ReadingNote.place..<ResponseRecordingFile.headRoom]
        readings = Int(bytes.first ?? 0)
        harmless = bytes.dropFirst().reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    var bytes: [UInt8] {
        var bytes = [UInt8(clamping: readings)]
        bytes.append(integer: UInt32(clamping: harmless))
        return bytes
    }
}

/// The file of one answer, for the process that records it.
package final class ResponseRecordingFile: Sendable {
    /// Bytes at the beginning that the head has for itself.
    package static let headRoom = 4096
    /// Bytes that are allocated, so that a disk that has become full keeps no answer of usual size from its place.
    static let room = 64 << 10
    /// Bytes of the longest file that is read.
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

    /// Lent to a process that is to go on without this one; it is locked as long as anybody has it.
    package var descriptor: Int32 { file.descriptor }

    /// What has to stand at the beginning of the file, with `note` sealed in it; `nil` if the note is too long.
    package func head(note: [UInt8]) -> [UInt8]? {
        guard note.count <= ResponseRecordingHeader.longestNote else { return nil }
        let content = ResponseRecordingHeader.Content(clock: clock(), note: note)
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
    /// How many processes have begun to read the answer in it without an end; `nil`: none was recorded.
    var readings: Int? {
        guard let head = try? read(count: ResponseRecordingFile.headRoom, at: 0),
            head.contains(where: { $0 != 0 }) || !isUnlocked
        else { return nil }
        return ReadingNote(in: head).readings
    }

    /// Marks the file as one that a process works with; the mark goes when the last descriptor of this opening closes.
    func lock() {
        _ = flock(descriptor, LOCK_EX | LOCK_NB)
    }

    /// Whether no other opening is marked.
    fileprivate var isUnlocked: Bool {
        guard flock(descriptor, LOCK_SH | LOCK_NB) == 0 else { return false }
        flock(descriptor, LOCK_UN)
        return true
    }
}

extension RecordFiles {
    /// Makes the file for the answer to an attempt of `record`, in place of any other, and marks it as in use.
    func makeAnswer(of record: RandomID) throws(StoreFileError) -> OpenFile {
        let file = try directory.create(Role.answer.name(of: record))
        do throws(SystemCallError) {
            try file.allocate(ResponseRecordingFile.room)
        } catch {
            try? directory.unlink(Role.answer.name(of: record))
            throw .system(error)
        }
        file.lock()
        return file
    }

    /// The file of an earlier answer.
    func recoveredResponse(of record: RandomID) -> Result<OpenFile, StoreFileError> {
        Result { () throws(StoreFileError) in try directory.open(Role.answer.name(of: record), writing: true)
        }
    }

    func removeAnswer(of record: RandomID) {
        try? directory.unlink(Role.answer.name(of: record))
    }
}

/// Knows where the answers of sessions are recorded; what carries out requests asks it.
package protocol ResponseRecordingProviding: Sendable {
    /// The place of the attempt that is reserved now; `nil`: none is.
    func responseRecording(of session: SessionName) -> ResponseRecording?

    /// An answer that was found is not used, for the reason given.
    func answerWasRefused(of session: SessionName, _ reason: String)
}
