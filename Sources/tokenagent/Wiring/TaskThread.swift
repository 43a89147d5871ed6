// SPDX-License-Identifier: MIT

import CTaskHook
import NIOCore
import NIOPosix

/// The thread of all tasks that belong to no actor, in place of Dispatch's pool, and of the network they work with.
///
/// Once used, that pool looks after its threads every second for ever, so an idle agent would never sleep. One
/// thread is enough: what may block has threads of its own, and sessions live on the agent's loop.
enum TaskThread {
    private static let loop = MultiThreadedEventLoopGroup(numberOfThreads: 1).next()

    /// Takes over from Dispatch; call before the first task is made.
    /// - Returns: the thread's loop.
    static func install() -> any EventLoop {
        unsafe task_hook_install { pointer in
            guard let pointer = unsafe pointer else { return }
            let job = unsafe unsafeBitCast(pointer, to: UnownedJob.self)
            TaskThread.loop.executor.enqueue(ExecutorJob(job))
        }
        return loop
    }
}
