// SPDX-License-Identifier: MIT
//
// A start without /proc, as in a chroot or a sandbox.
//
// Swift's runtime reads the arguments from /proc/self/cmdline. In a static executable it also asks /proc/self/exe,
// before main, for the directory of its crash reporter, and aborts if that link is missing. It does not ask if
// SWIFT_BACKTRACE says where the reporter is.

#include "CHardening.h"
#include <stdlib.h>
#include <unistd.h>

static const char *const variable = "SWIFT_BACKTRACE";
static int count;
static char **words;
static int was_set;

// glibc passes these arguments to every constructor; constructors with a priority run before the runtime's.
__attribute__((constructor(101))) static void note_start(int argc, char *argv[], char *envp[])
{
    (void)envp;
    count = argc;
    words = argv;
    if (access("/proc/self/exe", F_OK) == 0) return;
    // This replaces what the person has set: without the reporter's path in it the runtime would abort.
    was_set = setenv(variable, "enable=no,swift-backtrace=/nonexistent", 1) == 0;
}

int hardening_argument_count(void) { return count; }

const char *hardening_argument(int index) { return index >= 0 && index < count ? words[index] : NULL; }

void hardening_restore_environment(void)
{
    if (was_set) unsetenv(variable);
    was_set = 0;
}
