// SPDX-License-Identifier: MIT
#pragma once

/// Hands every job of Swift's global executor to `enqueue` from now on; call before the first task is made.
void task_hook_install(void (*enqueue)(void *job));
