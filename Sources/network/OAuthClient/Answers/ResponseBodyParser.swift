// SPDX-License-Identifier: MIT

import NIOPosix

/// A JSON parser for response bodies, which parses large ones on a separate thread, one at a time.
///
/// All exchanges of the agent share one thread with its timers and the shutdown at SIGTERM. A response may
/// have a megabyte, and a server can send one to every request. While one is parsed here, only other large
/// responses wait.
enum ResponseBodyParser {
    /// The maximum number of bytes that the caller's thread parses.
    ///
    /// Token responses are smaller, and take less time than a change of threads.
    static let small = 16 << 10

    /// The pool of the process, created for the first large response and never shut down.
    private static let pool: NIOThreadPool = {
        let pool = NIOThreadPool(numberOfThreads: 1)
        pool.start()
        return pool
    }()

    /// Parses `body` as JSON.
    static func read(_ body: [UInt8]) async -> ServerResponse.ParsedBody {
        guard body.count > small else { return ServerResponse.ParsedBody(body) }
        return (try? await pool.runIfActive { ServerResponse.ParsedBody(body) }) ?? .none
    }
}
