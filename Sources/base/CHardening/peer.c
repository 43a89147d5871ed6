// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "CHardening.h"

#include <sys/socket.h>

int hardening_accept(int socket) { return accept4(socket, 0, 0, SOCK_CLOEXEC | SOCK_NONBLOCK); }

int hardening_peer_credentials(int descriptor, pid_t *pid, uid_t *uid) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return -1;
    *pid = peer.pid;
    *uid = peer.uid;
    return 0;
}
