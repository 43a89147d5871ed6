// SPDX-License-Identifier: MIT
//
// A start that needs nothing of /proc, as in a chroot or a sandbox, and looks for no crash reporter.
//
// Swift's runtime reads the arguments from /proc/self/cmdline. In a static executable it also asks /proc/self/exe,
// before main, for the directory of its crash reporter, looks for it in eight places, and aborts if the link is
// missing. It does not ask if SWIFT_BACKTRACE says where the reporter is. No program of ours wants a report: it would
// show memory. With a variable set so early Swift's own list of the arguments is empty (6.3): a static program takes them
// from here. The agent is not static and is spared both.

#include "CHardening.h"
#include <stdlib.h>
#include <sys/auxv.h>
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
    // Only a program that was loaded by another, the loader, has a base address to tell.
    if (getauxval(AT_BASE) != 0) return;
    // What the person has set stays, for the programs that this one starts, unless the runtime would abort with it.
    if (getenv(variable) != NULL && access("/proc/self/exe", F_OK) == 0) return;
    was_set = setenv(variable, "enable=no,swift-backtrace=/nonexistent", 1) == 0;
}

int hardening_argument_count(void) { return count; }

const char *hardening_argument(int index) { return index >= 0 && index < count ? words[index] : NULL; }

char *const *hardening_argument_list(void) { return words; }

const char *hardening_executed_path(void) { return (const char *)getauxval(AT_EXECFN); }

void hardening_restore_environment(void)
{
    if (was_set) unsetenv(variable);
    was_set = 0;
}
