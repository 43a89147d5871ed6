// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "CHardening.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// More than any message carries.
#define MOST_DESCRIPTORS 4

ssize_t hardening_send_descriptors(int socket, const void *bytes, size_t length, const int *descriptors, int count) {
    union {
        char bytes[CMSG_SPACE(MOST_DESCRIPTORS * sizeof(int))];
        struct cmsghdr alignment;
    } control;
    struct iovec part = {.iov_base = (void *)bytes, .iov_len = length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count < 0 || count > MOST_DESCRIPTORS) {
        errno = EINVAL;
        return -1;
    }
    if (count > 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
        memcpy(CMSG_DATA(header), descriptors, (size_t)count * sizeof(int));
    }
    ssize_t sent;
    do {
        sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    return sent;
}

ssize_t hardening_receive_descriptors(int socket, void *bytes, size_t length, int *descriptors, int *count) {
    union {
        char bytes[CMSG_SPACE(MOST_DESCRIPTORS * sizeof(int))];
        struct cmsghdr alignment;
    } control;
    struct iovec part = {.iov_base = bytes, .iov_len = length};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    const int room = *count;
    *count = 0;
    ssize_t received;
    do {
        received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    } while (received < 0 && errno == EINTR);
    if (received < 0) return -1;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return received;
    int found = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    for (int index = 0; index < found; index++) {
        int descriptor;
        memcpy(&descriptor, CMSG_DATA(header) + (size_t)index * sizeof(int), sizeof descriptor);
        if (index < room) {
            descriptors[(*count)++] = descriptor;
        } else {
            close(descriptor);
        }
    }
    return received;
}

int hardening_end_at(int64_t boot_clock) {
    static timer_t end;
    static int is_made;
    const int64_t second = 1000000000;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    if (!is_made && timer_create(CLOCK_BOOTTIME, &event, &end) != 0) return -1;
    is_made = 1;
    // A time of 0 would take the alarm back.
    if (boot_clock < 1) boot_clock = 1;
    struct itimerspec moment = {.it_value = {.tv_sec = boot_clock / second, .tv_nsec = boot_clock % second}};
    return timer_settime(end, TIMER_ABSTIME, &moment, NULL);
}

int hardening_reset_on_close(int socket, unsigned milliseconds) {
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    if (setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) != 0) return -1;
    return setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}

int hardening_unacknowledged(int socket) {
    int count = 0;
    return ioctl(socket, SIOCOUTQ, &count) == 0 ? count : -1;
}
