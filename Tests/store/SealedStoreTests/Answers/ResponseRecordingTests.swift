// SPDX-License-Identifier: MIT

import Glibc
import SecretMemory
import TestSupport
import Testing
import TokenCore

@testable import SealedStore

/// Responses recorded for an attempt, which only the agent that resumes the attempt can read.
struct ResponseRecordingTests {
    let fixture = StoreFixture()
    private static let note = Array("https://id.example.com/token\nSECRET".utf8)
    private static let stream = Array("what the server said".utf8)

    /// Creates a store with a reserved attempt and a recorded response, as a killed agent leaves it.
    ///
    /// - Returns: the file that the recording process still has open.
    private func recorded(_ session: SessionName = .work) throws -> ResponseRecordingFile {
        let (open, _) = try fixture.unlocked()
        try open.commitDurably("RT-1")
        try open.store.reserve(session, try open.snapshot(refreshToken: "RT-1"))
        let file = try #require(open.store.responseRecording(of: session)?.begin())
        record(Self.stream, in: file)
        // Closes only the directory, as after kill -9.
        open.store.directory.close()
        return file
    }

    private func record(_ stream: [UInt8], in file: ResponseRecordingFile) {
        let head = file.head(note: Self.note) ?? []
        #expect(pwrite(file.descriptor, head, head.count, 0) == head.count)
        #expect(pwrite(file.descriptor, stream, stream.count, ResponseRecordingFile.headRoom) == stream.count)
    }

    /// Opens the store again and resumes the attempt.
    private func resumed(
        _ session: SessionName = .work
    ) throws -> (OpenStore, LoadedSessions, ResponseRecording) {
        let (open, loaded) = try fixture.unlocked()
        try open.store.reserve(session, try open.snapshot(refreshToken: "RT-1"))
        return (open, loaded, try #require(open.store.responseRecording(of: session)))
    }

    private var answers: [String] { fixture.records("ans") }

    @Test func `a restart finds the attempt interrupted and its answer recorded`() throws {
        let file = try recorded()
        let (open, loaded, place) = try resumed()
        #expect(loaded.sessions.map(\.isInterrupted) == [true])
        #expect(loaded.problems.isEmpty)
        let found = try #require(place.look().recorded)
        #expect(found.note == Self.note)
        #expect(found.stream.starts(with: Self.stream))
        #expect(found.stream.dropFirst(Self.stream.count).allSatisfy { $0 == 0 })
        #expect(found.sentAt == fixture.clocks.now)
        withExtendedLifetime(file) {}
        open.store.close()
    }

    @Test func `as long as somebody records, the recording is not final`() throws {
        var file: ResponseRecordingFile? = try recorded()
        let (open, _, place) = try resumed()
        #expect(try #require(place.look().recorded).isFinal == false)
        withExtendedLifetime(file) {}
        file = nil
        #expect(try #require(place.look().recorded).isFinal)
        open.store.close()
    }

    @Test func `a file without a head is awaited while somebody has it, and is nothing afterwards`() throws {
        let (first, _) = try fixture.unlocked()
        try first.commitDurably("RT-1")
        try first.store.reserve(.work, try first.snapshot(refreshToken: "RT-1"))
        var file = first.store.responseRecording(of: .work)?.begin()
        first.store.directory.close()
        let (open, _, place) = try resumed()
        #expect(place.look().isPending)
        withExtendedLifetime(file) {}
        file = nil
        #expect(place.look().isNone)
        open.store.close()
    }

    @Test func `after another boot it counts by the wall clock`() throws {
        let file = try recorded()
        let sent = fixture.clocks.now
        fixture.boot = RandomID(high: 3, low: 4)
        fixture.clocks.set(now: .seconds(50), wallTime: 1_800_000_000 + 600)
        let (open, _, place) = try resumed()
        let found = try #require(place.look().recorded)
        #expect(found.sentAt == Instant.seconds(50) - .seconds(601))
        #expect(found.sentAt < sent)
        withExtendedLifetime(file) {}
        open.store.close()
    }

    @Test func `the commit removes it`() throws {
        _ = try recorded()
        let (open, _, _) = try resumed()
        #expect(answers.count == 1)
        try open.commitDurably("RT-2")
        #expect(answers.isEmpty)
        #expect(open.store.responseRecording(of: .work) == nil)
        open.store.close()
    }

    @Test func `a logout removes it, and nothing comes back`() throws {
        _ = try recorded()
        let (open, _) = try fixture.unlocked()
        try open.store.forget(.work)
        #expect(answers.isEmpty)
        open.store.close()
        let (again, loaded) = try fixture.unlocked()
        #expect(loaded.sessions.isEmpty)
        again.store.close()
    }

    @Test func `an answer whose commit is there is cleared away`() throws {
        let file = try recorded()
        let path = try #require(answers.first)
        let copy = try #require(Disk.read(path))
        let (open, _, _) = try resumed()
        try open.commitDurably("RT-2")
        open.store.close()
        Disk.write(copy, to: path)
        let (again, loaded) = try fixture.unlocked()
        #expect(loaded.sessions.map(\.isInterrupted) == [false])
        #expect(answers.isEmpty)
        withExtendedLifetime(file) {}
        again.store.close()
    }

    @Test(.holds("253")) func `the answer to an attempt before the latest commit is refused`() throws {
        let file = try recorded()
        let path = try #require(answers.first)
        let copy = try #require(Disk.read(path))
        let (open, _, _) = try resumed()
        try open.commitDurably("RT-2")
        try open.store.reserve(.work, try open.snapshot(refreshToken: "RT-2"))
        open.store.directory.close()
        Disk.write(copy, to: path)
        let (again, loaded) = try fixture.unlocked()
        #expect(loaded.sessions.map(\.isInterrupted) == [true])
        try again.store.reserve(.work, try again.snapshot(refreshToken: "RT-2"))
        let place = try #require(again.store.responseRecording(of: .work))
        #expect(try #require(place.look().refusal).hasPrefix("is an old copy"))
        withExtendedLifetime(file) {}
        again.store.close()
    }

    @Test func `another session's answer is refused`() throws {
        let (first, _) = try fixture.unlocked()
        for session in [SessionName.work, .home] {
            try first.commitDurably("RT-1", to: session)
            let snapshot = try first.snapshot(refreshToken: "RT-1")
            try first.store.reserve(session, snapshot)
            record(Self.stream, in: try #require(first.store.responseRecording(of: session)?.begin()))
        }
        first.store.directory.close()
        let paths = answers
        let contents = try paths.map { try #require(Disk.read($0)) }
        Disk.write(contents[0], to: paths[1])
        Disk.write(contents[1], to: paths[0])
        let (open, _, place) = try resumed()
        #expect(place.look().refusal == "was renamed or rearranged")
        open.store.close()
    }

    @Test(.holds("253")) func `every changed bit of what stands before the answer is noticed`() throws {
        let file = try recorded()
        let path = try #require(answers.first)
        let bytes = try #require(Disk.read(path))
        let count = try #require(file.head(note: Self.note)).count
        let (open, _, place) = try resumed()
        for bit in 0..<(count * 8) {
            var changed = bytes
            changed[bit / 8] ^= 1 << (bit % 8)
            // Written to the same file, because another file would not be read.
            #expect(pwrite(file.descriptor, changed, changed.count, 0) == changed.count)
            #expect(place.look().refusal != nil, "bit \(bit)")
        }
        open.store.close()
    }

    @Test func `a file that is too long is refused`() throws {
        let file = try recorded()
        #expect(ftruncate(file.descriptor, ResponseRecordingFile.longest + 1) == 0)
        let (open, _, place) = try resumed()
        #expect(try #require(place.look().refusal).contains("too long"))
        open.store.close()
    }

    @Test(.holds("253"), arguments: ["link", "names", "mode", "directory"])
    func `what is no plain file of ours is refused`(
        kind: String
    ) throws {
        let file = try recorded()
        let path = try #require(answers.first)
        let aside = "\(fixture.directory.path)/aside"
        switch kind {
        case "link":
            #expect(rename(path, aside) == 0)
            #expect(symlink(aside, path) == 0)
        case "names": #expect(link(path, aside) == 0)
        case "mode": #expect(chmod(path, 0o644) == 0)
        default:
            #expect(unlink(path) == 0)
            #expect(mkdir(path, 0o700) == 0)
        }
        let (open, _, place) = try resumed()
        #expect(try #require(place.look().refusal).hasPrefix("cannot be used"))
        withExtendedLifetime(file) {}
        open.store.close()
    }

    @Test func `what was refused is kept under another name, what is of no use is removed`() throws {
        let file = try recorded()
        let (open, _, place) = try resumed()
        place.dropLeft(damaged: true)
        #expect(answers.isEmpty)
        #expect(fixture.records("bad").count == 1)
        #expect(place.look().isNone)
        withExtendedLifetime(file) {}
        open.store.close()
    }

    @Test func `an attempt that this process has an answer to is not looked for again`() throws {
        let (open, _) = try fixture.unlocked()
        try open.commitDurably("RT-1")
        let snapshot = try open.snapshot(refreshToken: "RT-1")
        try open.store.reserve(.work, snapshot)
        let place = try #require(open.store.responseRecording(of: .work))
        record(Self.stream, in: try #require(place.begin()))
        open.store.release(.work, answered: false)
        try open.store.reserve(.work, snapshot)
        let second = try #require(open.store.responseRecording(of: .work))
        #expect(second.look().recorded != nil)
        second.answered()
        open.store.release(.work, answered: false)
        try open.store.reserve(.work, snapshot)
        #expect(try #require(open.store.responseRecording(of: .work)).look().isNone)
        open.store.close()
    }

    @Test func `a locked store tells no place`() throws {
        let (open, _) = try fixture.unlocked()
        try open.commitDurably("RT-1")
        let snapshot = try open.snapshot(refreshToken: "RT-1")
        try open.store.reserve(.work, snapshot)
        #expect(open.store.responseRecording(of: .work) != nil)
        open.store.lock()
        #expect(open.store.responseRecording(of: .work) == nil)
        open.store.close()
    }

    @Test func `an answer without a record is cleared away`() throws {
        let file = try recorded()
        for path in fixture.records() + fixture.records("new") { #expect(unlink(path) == 0) }
        let (open, _) = try fixture.unlocked()
        #expect(answers.isEmpty)
        withExtendedLifetime(file) {}
        open.store.close()
    }
}

extension RecoveredResponse {
    var recorded: RecordedResponse? {
        if case .recorded(let answer) = self { answer } else { nil }
    }

    fileprivate var refusal: String? {
        if case .refused(let reason) = self { reason } else { nil }
    }

    fileprivate var isPending: Bool {
        if case .pending = self { true } else { false }
    }

    fileprivate var isNone: Bool {
        if case .none = self { true } else { false }
    }
}
