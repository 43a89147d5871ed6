// SPDX-License-Identifier: MIT

import CTaskHook
import NIOCore
import NIOPosix

/// The thread of all tasks outside of actors, and of the network, which replaces the thread pool of Dispatch.
///
/// Once used, that pool checks its threads every second forever, so an idle agent would never sleep. One
/// thread is enough: blocking work has separate threads, and sessions run on the agent's loop.
enum TaskThread {
    private static let loop = MultiThreadedEventLoopGroup(numberOfThreads: 1).next()

    /// Replaces the pool of Dispatch.
    ///
    /// Call it before the first task is created.
    ///
    /// - Returns: The thread's event loop.
    static func install() -> any EventLoop {
        unsafe task_hook_install { pointer in
            guard let pointer = unsafe pointer else { return }
            let job = unsafe unsafeBitCast(pointer, to: UnownedJob.self)
            TaskThread.loop.executor.enqueue(ExecutorJob(job))
        }
        return loop
    }
}
