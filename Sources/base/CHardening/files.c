// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "CHardening.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int hardening_memory_file(void) {
    return memfd_create("tokenctl", MFD_CLOEXEC);
}

int hardening_unnamed_file(const char *directory) {
    int file = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    // Some file systems cannot make files without a name.
    if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return file;
    char path[4096];
    if (snprintf(path, sizeof path, "%s/tokenctl-XXXXXX", directory) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    file = mkostemp(path, O_CLOEXEC);
    if (file >= 0) unlink(path);
    return file;
}
