// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "CHardening.h"

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
