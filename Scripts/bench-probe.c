// SPDX-License-Identifier: MIT
//
// What Scripts/bench cannot measure from Python: processes and requests that take less time than Python itself.
//
//   bench-probe spawn RUNS FILE
//       FILE has one command on each line, its arguments separated by tabs. Runs them in turn (A B C A B C …), RUNS
//       times each, standard output to /dev/null. Prints "median p90 minimum failures p99" in microseconds, a line each.
//   bench-probe load FRAMING SOCKET CONNECTIONS SECONDS FILE
//       Sends the bytes of FILE again and again on every connection, one request at a time each. FRAMING is http
//       (an answer ends after its Content-Length) or ssh (4-byte length first).
//       Prints "requests-per-second p50 p99 requests", latencies in microseconds.
//   bench-probe fresh FRAMING SOCKET CONNECTIONS SECONDS FILE
//       The same with a new connection for every request.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { MAX_COMMANDS = 16, MAX_ARGUMENTS = 32, BUFFER_SIZE = 65536, MAX_CONNECTIONS = 1024 };

static void fail(const char *what) {
    fprintf(stderr, "bench-probe: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double microseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double quantile(double *sorted, size_t count, double fraction) {
    return count ? sorted[(size_t)((count - 1) * fraction)] : 0;
}

static int run(char **arguments, posix_spawn_file_actions_t *actions) {
    pid_t pid;
    int status;
    if (posix_spawnp(&pid, arguments[0], actions, NULL, arguments, environ) != 0) return -1;
    if (waitpid(pid, &status, 0) != pid) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int spawn_mode(int runs, const char *path) {
    static char text[BUFFER_SIZE];
    char *commands[MAX_COMMANDS][MAX_ARGUMENTS + 1];
    double *times[MAX_COMMANDS];
    int failures[MAX_COMMANDS] = {0}, count = 0;

    FILE *file = fopen(path, "r");
    if (!file) fail(path);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);

    char *lines, *words;
    for (char *line = strtok_r(text, "\n", &lines); line && count < MAX_COMMANDS;
         line = strtok_r(NULL, "\n", &lines), count++) {
        int n = 0;
        for (char *word = strtok_r(line, "\t", &words); word && n < MAX_ARGUMENTS; word = strtok_r(NULL, "\t", &words))
            commands[count][n++] = word;
        commands[count][n] = NULL;
        times[count] = calloc(runs, sizeof(double));
        if (!times[count]) fail("memory");
    }

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    for (int i = -2; i < runs; i++)  // two rounds to warm the caches
        for (int c = 0; c < count; c++) {
            double start = microseconds();
            int status = run(commands[c], &actions);
            if (i < 0) continue;
            times[c][i] = microseconds() - start;
            failures[c] += status != 0;
        }
    for (int c = 0; c < count; c++) {
        qsort(times[c], runs, sizeof(double), ascending);
        printf("%.1f %.1f %.1f %d %.1f\n", quantile(times[c], runs, 0.5), quantile(times[c], runs, 0.9), times[c][0],
               failures[c], quantile(times[c], runs, 0.99));
    }
    return 0;
}

struct connection {
    int fd;
    double sent_at;
    size_t have;
    char buffer[BUFFER_SIZE];
};

// Bytes of the answer at the start of the buffer, 0 while it is incomplete.
static size_t answer_length(int http, const char *bytes, size_t have) {
    if (!http) {
        if (have < 4) return 0;
        const unsigned char *b = (const unsigned char *)bytes;
        size_t whole = 4 + ((size_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3]);
        return have >= whole ? whole : 0;
    }
    const char *end = memmem(bytes, have, "\r\n\r\n", 4);
    if (!end) return 0;
    size_t head = end - bytes + 4, body = 0;
    if (memcmp(bytes, "HTTP/1.1 200", 12) != 0) {
        fprintf(stderr, "bench-probe: the answer is %.*s\n", (int)(head < 200 ? head : 200), bytes);
        exit(1);
    }
    for (const char *line = bytes; line < end; line = (const char *)memmem(line, end + 2 - line, "\r\n", 2) + 2)
        if (strncasecmp(line, "content-length:", 15) == 0) body = strtoul(line + 15, NULL, 10);
    return have >= head + body ? head + body : 0;
}

static void send_request(struct connection *c, const char *request, size_t length) {
    c->have = 0;
    c->sent_at = microseconds();
    if (send(c->fd, request, length, MSG_NOSIGNAL) != (ssize_t)length) fail("send");
}

static int connected(const struct sockaddr_un *address) {
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (const struct sockaddr *)address, sizeof *address) != 0) fail(address->sun_path);
    return fd;
}

static int load_mode(int fresh, int http, const char *path, int count, double seconds, const char *request_path) {
    static char request[BUFFER_SIZE];
    FILE *file = fopen(request_path, "r");
    if (!file) fail(request_path);
    size_t length = fread(request, 1, sizeof request, file);
    fclose(file);

    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path || count > MAX_CONNECTIONS) {
        fprintf(stderr, "bench-probe: path too long or too many connections\n");
        return 1;
    }
    strcpy(address.sun_path, path);
    struct connection *connections = calloc(count, sizeof *connections);
    struct pollfd *polls = calloc(count, sizeof *polls);
    size_t capacity = 8 << 20, done = 0;
    double *times = malloc(capacity * sizeof(double));
    if (!connections || !polls || !times) fail("memory");
    for (int i = 0; i < count; i++) {
        connections[i].fd = connected(&address);
        polls[i] = (struct pollfd){.fd = connections[i].fd, .events = POLLIN};
    }
    double start = microseconds(), end = start + seconds * 1e6, now = start;
    for (int i = 0; i < count; i++) send_request(&connections[i], request, length);
    while (now < end) {
        if (poll(polls, count, 5000) <= 0) fail("no answer for five seconds");
        for (int i = 0; i < count; i++) {
            if (!polls[i].revents) continue;
            struct connection *c = &connections[i];
            ssize_t n = recv(c->fd, c->buffer + c->have, sizeof c->buffer - c->have, 0);
            if (n <= 0) fail("the connection was closed");
            c->have += n;
            if (!answer_length(http, c->buffer, c->have)) continue;
            now = microseconds();
            if (done < capacity) times[done] = now - c->sent_at;
            done++;
            if (fresh) {
                close(c->fd);
                polls[i].fd = c->fd = connected(&address);
            }
            send_request(c, request, length);
        }
    }
    size_t kept = done < capacity ? done : capacity;
    qsort(times, kept, sizeof(double), ascending);
    printf("%.0f %.1f %.1f %zu\n", done / ((now - start) / 1e6), quantile(times, kept, 0.5), quantile(times, kept, 0.99),
           done);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[1], "spawn") == 0) return spawn_mode(atoi(argv[2]), argv[3]);
    int fresh = argc == 7 && strcmp(argv[1], "fresh") == 0;
    if (fresh || (argc == 7 && strcmp(argv[1], "load") == 0))
        return load_mode(fresh, strcmp(argv[2], "http") == 0, argv[3], atoi(argv[4]), atof(argv[5]), argv[6]);
    fprintf(stderr,
            "usage: bench-probe spawn RUNS FILE | bench-probe load|fresh http|ssh SOCKET CONNECTIONS SECONDS FILE\n");
    return 2;
}
