// SPDX-License-Identifier: MIT
#pragma once
#include <stdint.h>

/// Makes the system call `number` with arguments that make no sense; returns 0, or the error number.
int attempt_call(long number);

/// Begins a process or thread-less clone with `flags` that ends at once; returns 0, or the error number.
int attempt_clone(uint64_t flags);

/// Types a character into the terminal at `descriptor`; returns 0, or the error number.
int attempt_typing(int descriptor);
