// SPDX-License-Identifier: MIT
#pragma once
#include <linux/filter.h>
#include <stdint.h>
#include <sys/types.h>

/// Makes this process undumpable and refuses core dumps; returns 0, or -1 with errno.
int hardening_refuse_inspection(void);

/// Refuses new privileges on any later exec, for this process and its children; returns 0, or -1 with errno.
int hardening_refuse_new_privileges(void);

/// Gives up every capability, which only root has; returns 0, or -1 with errno.
int hardening_drop_capabilities(void);

/// Refuses memory that is writable and executable, where the kernel knows how (Linux 6.3); returns 0, or -1.
int hardening_refuse_writable_code(void);

/// Restores the default action of every signal that means a crash, so that no handler prints memory.
void hardening_restore_crash_signals(void);

/// Opens /dev/null in place of standard input, output or error that is closed; returns 0, or -1 with errno.
int hardening_fill_standard_descriptors(void);

/// Whether this process runs with more rights than the user who started it (set-uid, set-gid, capabilities).
int hardening_has_borrowed_privileges(void);

/// Asks for `signal` when the parent process ends; returns 0, or -1 with errno.
int hardening_signal_when_parent_ends(int signal);

/// Accepts a peer, as a descriptor that does not block and that no program inherits; returns it, or -1 with errno.
int hardening_accept(int socket);

/// Reads who connected a Unix stream socket, as the kernel noted it at connect time; returns 0, or -1 with errno.
int hardening_peer_credentials(int descriptor, pid_t *pid, uid_t *uid);

/// Opens a descriptor that stands for the peer's process (SO_PEERPIDFD, Linux 6.5); returns it, or -1 with errno.
int hardening_peer_process(int socket);

/// Makes a Unix socket, and those accepted from it, tell who wrote the bytes read (SO_PASSCRED); returns 0, or -1.
int hardening_tell_senders(int socket);

/// Looks at who wrote the bytes that the next read of such a socket returns, and leaves them there.
///
/// A read never returns bytes of several processes (unix(7)). Returns 1 with `pid`, which is 0 where the kernel does
/// not know; 0 when there is nothing to read.
int hardening_next_sender(int socket, pid_t *pid);

/// Opens a netlink socket that answers who owns a TCP socket of this machine (sock_diag(7)); returns it, or -1 with errno.
int hardening_open_socket_lookup(void);

/// Asks the kernel, by both addresses and both ports, who owns the other end of an accepted TCP connection.
///
/// Returns 0 with `owner`, or -1: the other end is on another machine or in another network namespace, or no process has
/// it any more. One thread at a time may ask at one `lookup`.
int hardening_socket_owner(int lookup, int socket, uid_t *owner);

/// Whether neither end of a TCP connection has said that it sends no more.
int hardening_is_established(int socket);

/// Nanoseconds since boot, suspend included (CLOCK_BOOTTIME).
int64_t hardening_boot_clock(void);

/// Kilobytes of this process's memory that are locked (VmLck), or -1.
int64_t hardening_locked_kilobytes(void);

/// Opens a descriptor that becomes readable when the child `process` ends; returns it, or -1 with errno.
int hardening_open_process(pid_t process);

/// Makes a pipe whose ends close on exec; returns 0, or -1 with errno.
int hardening_pipe(int ends[2]);

/// Makes a file in memory that has no name and closes on exec; returns it, or -1 with errno.
int hardening_memory_file(void);

/// Makes a file without a name in `directory`, 0600, that closes on exec; returns it, or -1 with errno.
int hardening_unnamed_file(const char *directory);

/// Starts `executable` (looked up in PATH) as a child with default signals and no descriptors but those named.
///
/// The child's descriptor `i` is a copy of this process's `descriptors[i]`, which is not below `i`, or /dev/null if
/// that is -1. The child gets a session of its own with `new_session`, else a process group of its own. Returns 0, or
/// the error number.
int hardening_spawn(const char *executable, char *const arguments[], char *const environment[],
                    const int *descriptors, int count, const char *directory, int new_session, pid_t *child);

/// Waits for the end of a child; returns its exit status, 128 plus the signal's number if a signal ended it, or -1
/// with errno if `process` is not a child.
int hardening_await(pid_t process);

/// Whether the child `process` has stopped since this was last asked.
int hardening_has_stopped(pid_t process);

/// Opens a netlink socket that becomes readable when an address or a route changes; returns it, or -1 with errno.
int hardening_watch_routes(void);

/// Whether `count` bytes read from such a socket tell of a new address or a new route.
int hardening_announces_route(const void *bytes, size_t count);

/// Opens a timer that becomes readable when the wall clock is set; returns it, or -1 with errno.
int hardening_watch_clock(void);

/// Has such a timer, which was readable, report the next step.
void hardening_rearm_clock_watch(int watch);

/// The version of Landlock this kernel offers, or -1 with errno.
int hardening_landlock_version(void);

/// Makes a Landlock ruleset that refuses `rights` on files and `scopes` towards processes outside; returns it, or -1
/// with errno.
int hardening_landlock_begin(uint64_t rights, uint64_t scopes);

/// Allows `rights` at and below `path`, and `directory_rights` too if it is a directory; returns 0, or -1 with errno.
int hardening_landlock_allow(int ruleset, const char *path, uint64_t rights, uint64_t directory_rights);

/// Puts the rules in force for the calling thread and all it starts, for good; returns 0, or -1 with errno.
int hardening_landlock_enforce(int ruleset);

/// Gives back the memory of code and constants, which is read from the program's files again when it is used.
///
/// Returns the number of segments given back.
int hardening_release_code(void);

/// Lets all threads share one heap; call before the first of them.
///
/// With a heap each, what one thread frees is no use to the others: sessions are made by several.
void hardening_share_heap(void);

/// Gives freed memory back to the system.
void hardening_release_heap(void);

/// The kernel's name for this machine in a filter of system calls (`AUDIT_ARCH_…`), or 0 if we know no filter for it.
extern const uint32_t hardening_machine;

/// The number of the system call `name` on this machine, or -1 where it is unknown or the machine has none.
int hardening_system_call(const char *name);

/// Has the kernel run `steps` before every system call of every thread, for good; returns 0, or -1 with errno.
int hardening_filter_system_calls(const struct sock_filter *steps, unsigned short count);

/// The number of words this process was started with, its own name among them; known without /proc.
int hardening_argument_count(void);

/// One of those words; null if there are not so many.
const char *hardening_argument(int index);

/// Those words as the system passed them, ended by a null pointer.
char *const *hardening_argument_list(void);

/// The path this process was executed under, known without /proc; null where the system does not say.
const char *hardening_executed_path(void);

/// Removes from the environment the variable that a start without /proc needs; call before passing it on.
void hardening_restore_environment(void);

/// Sends `length` bytes with copies of `count` descriptors, at most four (SCM_RIGHTS), without waiting.
///
/// Returns how many bytes were sent, or -1 with errno.
ssize_t hardening_send_descriptors(int socket, const void *bytes, size_t length, const int *descriptors, int count);

/// Receives up to `length` bytes and the descriptors that came with them, which close on exec.
///
/// `count` says how many `descriptors` has room for, and afterwards how many came; more are closed. Returns how many
/// bytes were received, 0 at the end, or -1 with errno.
ssize_t hardening_receive_descriptors(int socket, void *bytes, size_t length, int *descriptors, int *count);

/// Has the kernel kill this process (SIGKILL) at a moment of hardening_boot_clock(), at once if it has passed; a later call
/// moves that moment. Returns 0, or -1 with errno. For processes of one thread.
///
/// The signal cannot be blocked, and ends a stopped process too. The clock counts suspend, so a process whose moment
/// passed meanwhile is killed before its next instruction.
int hardening_end_at(int64_t boot_clock);

/// Has a TCP connection reset when its last descriptor closes, with what is not acknowledged by then thrown away, and
/// given up when nothing is acknowledged for `milliseconds`; returns 0, or -1 with errno.
int hardening_reset_on_close(int socket, unsigned milliseconds);

/// How many bytes that were written to a TCP connection the other end's kernel has not acknowledged; -1 with errno: unknown.
int hardening_unacknowledged(int socket);
