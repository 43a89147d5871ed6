// SPDX-License-Identifier: MIT
//
// libdispatch on Linux watches its worker threads with a timer that fires every second, for ever, from the first piece
// of work on: an agent with nothing to do would keep a laptop from sleeping deeply. The watcher starts more threads
// when workers block. That is not needed here: nothing of ours blocks on a dispatch queue.
//
// The rest of libdispatch knows the watcher by these two functions only. Where libdispatch is linked statically, the
// linker takes these and leaves the watcher out; elsewhere they are never called.

#include <sys/resource.h>

void _dispatch_workq_worker_register(void *queue);
void _dispatch_workq_worker_unregister(void *queue);

void _dispatch_workq_worker_register(void *queue) { (void)queue; }

void _dispatch_workq_worker_unregister(void *queue) { (void)queue; }

// Each worker thread of libdispatch sets its priority first. Where the agent runs at a lower one (nice(1), a service
// manager) that is refused, and libdispatch writes a line about it to standard error for every thread. Threads here keep
// the priority of their process, and nothing else in these programs sets one.
int setpriority(__priority_which_t which, id_t who, int priority) {
    (void)which;
    (void)who;
    (void)priority;
    return 0;
}
