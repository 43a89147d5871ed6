// SPDX-License-Identifier: MIT
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/xattr.h>

/// Makes the system call `number` with arguments that make no sense; returns 0, or the error number.
int attempt_call(long number);

/// Begins a process or thread-less clone with `flags` that ends at once; returns 0, or the error number.
int attempt_clone(uint64_t flags);

/// Types a character into the terminal at `descriptor`; returns 0, or the error number.
int attempt_typing(int descriptor);

/// Lets other processes look into this one (PR_SET_DUMPABLE); returns 0, or the error number.
int attempt_exposing(void);

/// Lets `process` trace this one (PR_SET_PTRACER); returns 0, or the error number.
int attempt_choosing_tracer(pid_t process);

/// Makes a system call by the rules of another machine, where there are such; returns 0, or the error number.
int attempt_foreign_call(void);

/// Makes a socket; returns 0, or the error number.
int attempt_socket(int family, int type, int protocol);

/// Makes a pair of connected stream sockets; returns 0, or the error number.
int attempt_socket_pair(int family);

/// Takes a connection that no program inherits (accept4(2)); returns its descriptor, or -1.
int testing_accept(int listener);

/// Has a program that is started with `actions`, a posix_spawn_file_actions_t, inherit no descriptor from `first` on;
/// returns 0, or the error number.
int testing_close_from(void *actions, int first);

/// Waits until no process has the file `path` open for writing. A child that is about to become a program has what this process
/// wrote a moment ago still open, and until it has closed it the file cannot be started (execve(2), ETXTBSY).
void testing_await_writers(const char *path);

/// Marks in `found` which of `count` needles, of at least four bytes, occur in `memory`.
void search_memory(const uint8_t *memory, size_t size, const uint8_t *const *needles, const size_t *sizes,
                   uint8_t *found, size_t count);

/// Attaches to `process` as a debugger and lets go; returns 0, or the error number.
int attempt_attaching(pid_t process);

/// Reads memory of `process`; returns EFAULT where that is allowed, or another error number.
int attempt_reading(pid_t process);

/// Takes the standard input of `process`; returns 0, or the error number.
int attempt_taking_descriptor(pid_t process);
