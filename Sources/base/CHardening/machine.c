// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "CHardening.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int64_t hardening_boot_clock(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_BOOTTIME, &now) != 0) abort();
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/// Reads at most `size - 1` bytes of a small kernel file and ends them with a NUL; returns how many, or -1.
static ssize_t read_kernel_file(const char *path, char *text, size_t size) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    ssize_t count = read(file, text, size - 1);
    close(file);
    if (count >= 0) text[count] = 0;
    return count;
}

int64_t hardening_locked_kilobytes(void) {
    char status[4096];
    if (read_kernel_file("/proc/self/status", status, sizeof status) < 0) return -1;
    const char *line = strstr(status, "VmLck:");
    return line ? strtoll(line + strlen("VmLck:"), NULL, 10) : -1;
}
