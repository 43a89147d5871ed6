// SPDX-License-Identifier: MIT
//
// entered-functions LIST OUT PROGRAM ARGUMENT...
//     Runs the program and writes to OUT which of its functions are entered, in the order of their first call, a
//     hexadecimal address each. LIST has the addresses of its functions, as nm prints them. Every function begins with a
//     breakpoint that goes when it is hit, so that the program runs at its own speed. Threads are followed; a program
//     that it starts is left alone, or followed in its place if $ENTERED_PROGRAM is part of its path.
//     SIGTERM goes to the program.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint8_t breakpoint = 0xCC;

struct function {
    uint64_t address;
    uint8_t first_byte;
    uint8_t is_entered;
};

static struct function *functions;
static size_t count;
static volatile sig_atomic_t must_end;

static void fail(const char *what) {
    fprintf(stderr, "entered-functions: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void end(int signal) {
    (void)signal;
    must_end = 1;
}

static int ascending(const void *left, const void *right) {
    uint64_t a = ((const struct function *)left)->address, b = ((const struct function *)right)->address;
    return (a > b) - (a < b);
}

static void read_functions(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) fail(path);
    char line[64];
    size_t room = 0;
    while (fgets(line, sizeof line, file)) {
        if (count == room) {
            room = room ? 2 * room : 65536;
            functions = realloc(functions, room * sizeof *functions);
            if (!functions) fail("memory");
        }
        functions[count++] = (struct function){.address = strtoull(line, NULL, 16)};
    }
    fclose(file);
    qsort(functions, count, sizeof *functions, ascending);
}

// Where the process has the beginning of its program; 0 if that stands at the addresses of its file.
static uint64_t load_address(pid_t process) {
    char path[64], link[4096], line[8192];
    snprintf(path, sizeof path, "/proc/%d/exe", process);
    ssize_t length = readlink(path, link, sizeof link - 1);
    if (length < 0) fail(path);
    link[length] = '\0';
    snprintf(path, sizeof path, "/proc/%d/maps", process);
    FILE *file = fopen(path, "r");
    if (!file) fail(path);
    uint64_t found = 0;
    while (!found && fgets(line, sizeof line, file)) {
        unsigned long start, offset;
        if (strstr(line, link) && sscanf(line, "%lx-%*x %*s %lx", &start, &offset) == 2 && offset == 0) found = start;
    }
    fclose(file);
    return found < 1 << 24 ? 0 : found;
}

static int place_breakpoints(pid_t process, uint64_t base) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", process);
    int memory = open(path, O_RDWR | O_CLOEXEC);
    if (memory < 0) fail(path);
    for (size_t i = 0; i < count; i++)
        if (pread(memory, &functions[i].first_byte, 1, base + functions[i].address) != 1 ||
            pwrite(memory, &breakpoint, 1, base + functions[i].address) != 1)
            fail("the program's memory");
    return memory;
}

// Whether the trap at `address` was one of ours; the function then goes on where it was interrupted.
static int pass(pid_t thread, int memory, uint64_t base, FILE *out) {
    size_t place = offsetof(struct user_regs_struct, rip);
    uint64_t next = ptrace(PTRACE_PEEKUSER, thread, place, 0) - 1;
    struct function wanted = {.address = next - base};
    struct function *found = bsearch(&wanted, functions, count, sizeof *functions, ascending);
    if (!found) return 0;
    if (!found->is_entered) {
        found->is_entered = 1;
        if (pwrite(memory, &found->first_byte, 1, next) != 1) fail("the program's memory");
        fprintf(out, "%llx\n", (unsigned long long)found->address);
    }
    ptrace(PTRACE_POKEUSER, thread, place, next);
    return 1;
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: entered-functions LIST OUT PROGRAM ARGUMENT...\n");
        return 2;
    }
    read_functions(argv[1]);
    FILE *out = fopen(argv[2], "w");
    if (!out) fail(argv[2]);
    struct sigaction action = {.sa_handler = end};
    sigaction(SIGTERM, &action, NULL);
    const char *wanted = getenv("ENTERED_PROGRAM");
    pid_t process = fork();
    if (process == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        execv(argv[3], argv + 3);
        fail(argv[3]);
    }
    int status;
    if (waitpid(process, &status, 0) != process || !WIFSTOPPED(status)) fail(argv[3]);
    ptrace(PTRACE_SETOPTIONS, process, 0,
           PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
    uint64_t base = 0;
    int memory = -1;
    if (!wanted) {
        base = load_address(process);
        memory = place_breakpoints(process, base);
    }
    ptrace(PTRACE_CONT, process, 0, 0);
    for (;;) {
        pid_t thread = waitpid(-1, &status, __WALL);
        if (must_end) {
            kill(process, SIGTERM);
            must_end = 0;
        }
        if (thread < 0) {
            if (errno == EINTR) continue;
            break;
        }
        if (!WIFSTOPPED(status)) {
            if (thread == process) break;
            continue;
        }
        long deliver = 0;
        if (status >> 16 == PTRACE_EVENT_EXEC) {
            char path[64], link[4096] = "";
            snprintf(path, sizeof path, "/proc/%d/exe", thread);
            if (readlink(path, link, sizeof link - 1) < 0 || !wanted || !strstr(link, wanted)) {
                ptrace(PTRACE_DETACH, thread, 0, 0);
                continue;
            }
            base = load_address(thread);
            memory = place_breakpoints(thread, base);
        } else if (status >> 16 == 0 && WSTOPSIG(status) == SIGTRAP) {
            deliver = pass(thread, memory, base, out) ? 0 : SIGTRAP;
        } else if (status >> 16 == 0 && WSTOPSIG(status) != SIGSTOP) {
            deliver = WSTOPSIG(status);
        }
        ptrace(PTRACE_CONT, thread, 0, deliver);
    }
    fclose(out);
    return 0;
}
