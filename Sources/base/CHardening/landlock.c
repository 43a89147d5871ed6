// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "CHardening.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// The numbers and structures of Linux 6.12, newer than the headers of Debian 12; the numbers are the same everywhere.
enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446 };
enum { VERSION = 1, PATH_BENEATH = 1 };

struct ruleset {
    uint64_t files;
    uint64_t network;
    uint64_t scopes;
};

struct path_beneath {
    uint64_t rights;
    int32_t parent;
} __attribute__((packed));

int hardening_landlock_version(void) {
    return (int)syscall(CREATE_RULESET, NULL, 0, VERSION);
}

int hardening_landlock_begin(uint64_t rights, uint64_t scopes) {
    struct ruleset ruleset = {.files = rights, .scopes = scopes};
    // Older kernels know only the first member: the others are passed only where they are used.
    size_t size = scopes ? sizeof ruleset : sizeof ruleset.files;
    return (int)syscall(CREATE_RULESET, &ruleset, size, 0);
}

int hardening_landlock_allow(int ruleset, const char *path, uint64_t rights, uint64_t directory_rights) {
    struct path_beneath rule = {.rights = rights, .parent = open(path, O_PATH | O_CLOEXEC)};
    if (rule.parent < 0) return -1;
    struct stat status;
    if (fstat(rule.parent, &status) == 0 && S_ISDIR(status.st_mode)) rule.rights |= directory_rights;
    long result = syscall(ADD_RULE, ruleset, PATH_BENEATH, &rule, 0);
    close(rule.parent);
    return (int)result;
}

int hardening_landlock_enforce(int ruleset) {
    return (int)syscall(RESTRICT_SELF, ruleset, 0);
}
