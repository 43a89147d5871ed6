// SPDX-License-Identifier: MIT

import NIOPosix

/// Reads the bodies of answers, large ones on a thread of their own, one at a time.
///
/// All exchanges of the agent share one thread with its timers and the shutdown at SIGTERM. An answer may
/// have a megabyte, and a server can send one whenever it is asked. While it is read here, only other large
/// answers wait.
enum ResponseBodyParser {
    /// Bytes up to which the caller reads an answer itself: token answers are smaller, and take less time
    /// than changing threads.
    static let small = 16 << 10

    /// One for the process, made for the first large answer; it is never shut down.
    private static let pool: NIOThreadPool = {
        let pool = NIOThreadPool(numberOfThreads: 1)
        pool.start()
        return pool
    }()

    /// Reads `body` as JSON.
    static func read(_ body: [UInt8]) async -> ServerResponse.Reading {
        guard body.count > small else { return ServerResponse.Reading(body) }
        return (try? await pool.runIfActive { ServerResponse.Reading(body) }) ?? .none
    }
}
