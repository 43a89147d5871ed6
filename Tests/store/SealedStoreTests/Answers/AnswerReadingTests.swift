// SPDX-License-Identifier: MIT

import Glibc
import TestSupport
import Testing
import TokenCore

@testable import SealedStore

/// The search for a recorded response at a start, and the number of processes that ended while reading it.
struct AnswerReadingTests {
    let fixture = StoreFixture()

    /// Creates a store with a reserved attempt, as a killed agent leaves it.
    ///
    /// - Returns: the file that the recording process still has open.
    private func left() throws -> ResponseRecordingFile {
        let (open, _) = try fixture.unlocked()
        try open.commitDurably("RT-1")
        try open.store.reserve(.work, try open.snapshot(refreshToken: "RT-1"))
        let file = try #require(open.store.responseRecording(of: .work)?.begin())
        open.store.directory.close()
        return file
    }

    @Test(.holds("65")) func `a start learns how many processes have ended while they read it`() throws {
        let file = try left()
        let head = file.head(note: Array("note".utf8)) ?? []
        #expect(pwrite(file.descriptor, head, head.count, 0) == head.count)
        for readings in 0..<3 {
            let (open, loaded) = try fixture.unlocked()
            #expect(loaded.sessions.map(\.interruption?.readings) == [readings])
            let snapshot = try open.snapshot(refreshToken: "RT-1")
            try open.store.reserve(.work, snapshot)
            let place = try #require(open.store.responseRecording(of: .work))
            // The response was incomplete at the previous starts.
            for count in 1...4 {
                #expect(
                    pwrite(file.descriptor, [1], 1, ResponseRecordingFile.headRoom + 10 * readings + count)
                        == 1
                )
                let part = try #require(place.look().recorded)
                #expect(part.isNews)
                place.beginReading(of: part)
                place.endReading(of: part)
                #expect(try #require(place.look().recorded).isNews == false)
            }
            place.beginReading(of: try #require(place.look().recorded))
            open.store.directory.close()
        }
        withExtendedLifetime(file) {}
    }

    @Test func `an answer that was never asked for is none, and one that may still come is`() throws {
        var file: ResponseRecordingFile? = try left()
        let (second, held) = try fixture.unlocked()
        #expect(held.sessions.map(\.interruption) == [InterruptedRefresh(starts: 1, readings: 0)])
        second.store.directory.close()
        withExtendedLifetime(file) {}
        file = nil
        let (third, loaded) = try fixture.unlocked()
        #expect(loaded.sessions.map(\.interruption) == [InterruptedRefresh(starts: 1)])
        third.store.close()
    }
}
