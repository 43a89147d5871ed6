// SPDX-License-Identifier: MIT

import NIOPosix

/// Reads the bodies of answers, large ones on a thread of their own, one at a time.
///
/// All exchanges of the agent share one thread, and so do the tasks of its timers and the way out at SIGTERM. An answer
/// may have a megabyte, and a server can send that as often as it is asked: while it is read here, only other large
/// answers wait.
enum AnswerReader {
    /// Bytes that are read where they are: token answers are smaller, and take less time than changing threads.
    static let small = 16 << 10

    /// One for the process, made for the first large answer; it is never shut down.
    private static let pool: NIOThreadPool = {
        let pool = NIOThreadPool(numberOfThreads: 1)
        pool.start()
        return pool
    }()

    /// What `body` is.
    static func read(_ body: [UInt8]) async -> HTTPReply.Reading {
        guard body.count > small else { return HTTPReply.Reading(body) }
        return (try? await pool.runIfActive { HTTPReply.Reading(body) }) ?? .none
    }
}
