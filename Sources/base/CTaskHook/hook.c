// SPDX-License-Identifier: MIT
#include "CTaskHook.h"

// The runtime's own hook (swift/Runtime/Concurrency.h). A C declaration finds it in a static runtime too, where
// dlsym does not.
typedef __attribute__((swiftcall)) void (*enqueue_hook)(void *job, void *original);
extern enqueue_hook swift_task_enqueueGlobal_hook;

static void (*receiver)(void *job);

static __attribute__((swiftcall)) void enqueue(void *job, void *original) {
    (void)original;
    receiver(job);
}

void task_hook_install(void (*enqueue_job)(void *job)) {
    receiver = enqueue_job;
    swift_task_enqueueGlobal_hook = enqueue;
}
