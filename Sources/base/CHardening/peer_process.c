// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "CHardening.h"

#include <string.h>
#include <sys/socket.h>

// Newer than the headers of Debian 12.
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

int hardening_peer_process(int socket) {
    int descriptor = -1;
    socklen_t size = sizeof descriptor;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &descriptor, &size) != 0) return -1;
    return descriptor;
}

int hardening_tell_senders(int socket) {
    int on = 1;
    return setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
}

int hardening_next_sender(int socket, pid_t *pid) {
    char byte;
    struct iovec place = {.iov_base = &byte, .iov_len = 1};
    // Room for the credentials and no more: descriptors that a peer sends along are dropped, not taken.
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct msghdr message = {
        .msg_iov = &place,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof control.bytes,
    };
    ssize_t count = recvmsg(socket, &message, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count <= 0) return 0;
    *pid = 0;
    struct cmsghdr *found = CMSG_FIRSTHDR(&message);
    if (found && found->cmsg_level == SOL_SOCKET && found->cmsg_type == SCM_CREDENTIALS &&
        found->cmsg_len >= CMSG_LEN(sizeof(struct ucred))) {
        struct ucred sender;
        memcpy(&sender, CMSG_DATA(found), sizeof sender);
        *pid = sender.pid;
    }
    return 1;
}
