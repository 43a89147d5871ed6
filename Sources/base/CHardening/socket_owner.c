// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "CHardening.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

int hardening_open_socket_lookup(void) {
    int lookup = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (lookup < 0) return -1;
    // The kernel answers within the call that asks; this is for a kernel that never does.
    struct timeval limit = {.tv_sec = 1};
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    if (setsockopt(lookup, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0
        && connect(lookup, (struct sockaddr *)&kernel, sizeof kernel) == 0) {
        return lookup;
    }
    close(lookup);
    return -1;
}

// Copies the address and the port of `end`; returns the number of bytes of the address, or -1.
static int copy_end(const struct sockaddr_storage *end, __be32 address[4], __be16 *port) {
    if (end->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)end;
        memcpy(address, &in->sin_addr, 4);
        *port = in->sin_port;
        return 4;
    }
    if (end->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)end;
        memcpy(address, &in6->sin6_addr, 16);
        *port = in6->sin6_port;
        return 16;
    }
    return -1;
}

// Both ends of the connection of `socket`, as the socket at its other end has them.
static int ask_about(int socket, struct inet_diag_req_v2 *request) {
    struct sockaddr_storage own = {0}, other = {0};
    socklen_t own_size = sizeof own, other_size = sizeof other;
    if (getsockname(socket, (struct sockaddr *)&own, &own_size) != 0
        || getpeername(socket, (struct sockaddr *)&other, &other_size) != 0) {
        return -1;
    }
    memset(request, 0, sizeof *request);
    request->sdiag_family = (__u8)own.ss_family;
    request->sdiag_protocol = IPPROTO_TCP;
    request->idiag_states = (__u32)-1;
    request->id.idiag_cookie[0] = request->id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    if (own.ss_family != other.ss_family
        || copy_end(&other, request->id.idiag_src, &request->id.idiag_sport) < 0
        || copy_end(&own, request->id.idiag_dst, &request->id.idiag_dport) < 0) {
        errno = EAFNOSUPPORT;
        return -1;
    }
    return 0;
}

// Whether `found` is the address `asked`. A socket of IPv6 that is connected to an IPv4 address has it as ::ffff:a.b.c.d
// (RFC 4291 §2.5.5.2), and the kernel shows it so even where it was asked about IPv4.
static int is_address(int family_found, const __be32 found[4], int family_asked, const __be32 asked[4]) {
    if (family_found == family_asked) return memcmp(found, asked, family_asked == AF_INET ? 4 : 16) == 0;
    return family_asked == AF_INET && family_found == AF_INET6 && found[0] == 0 && found[1] == 0
        && found[2] == htonl(0xFFFF) && found[3] == asked[0];
}

int hardening_socket_owner(int lookup, int socket, uid_t *owner) {
    static __u32 number;
    struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 request;
    } question = {0};
    if (ask_about(socket, &question.request) != 0) return -1;
    question.header.nlmsg_len = sizeof question;
    question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    // No dump: the one socket with exactly these ends.
    question.header.nlmsg_flags = NLM_F_REQUEST;
    question.header.nlmsg_seq = __atomic_add_fetch(&number, 1, __ATOMIC_RELAXED);
    if (send(lookup, &question, sizeof question, 0) != sizeof question) return -1;

    _Alignas(struct nlmsghdr) char bytes[4096];
    for (int attempt = 0; attempt < 16; attempt++) {
        ssize_t count = recv(lookup, bytes, sizeof bytes, 0);
        if (count < 0 && errno == EINTR) continue;
        if (count < (ssize_t)sizeof(struct nlmsghdr)) break;
        const struct nlmsghdr *header = (const struct nlmsghdr *)bytes;
        // The late answer to an earlier question.
        if (header->nlmsg_seq != question.header.nlmsg_seq) continue;
        if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY || header->nlmsg_len > (size_t)count
            || header->nlmsg_len < NLMSG_LENGTH(sizeof(struct inet_diag_msg))) {
            break;
        }
        const struct inet_diag_msg *found = NLMSG_DATA(header);
        const struct inet_diag_sockid *id = &found->id, *asked = &question.request.id;
        int family = question.request.sdiag_family;
        // Where there is no such connection the kernel names a listener at the same port. A socket without an inode
        // belongs to no process any more, and then its owner reads as root.
        if (id->idiag_sport != asked->idiag_sport || id->idiag_dport != asked->idiag_dport
            || !is_address(found->idiag_family, id->idiag_src, family, asked->idiag_src)
            || !is_address(found->idiag_family, id->idiag_dst, family, asked->idiag_dst)
            || found->idiag_inode == 0) {
            break;
        }
        *owner = found->idiag_uid;
        return 0;
    }
    errno = ENOENT;
    return -1;
}

int hardening_is_established(int socket) {
    struct tcp_info state;
    socklen_t size = sizeof state;
    return getsockopt(socket, IPPROTO_TCP, TCP_INFO, &state, &size) == 0 && state.tcpi_state == TCP_ESTABLISHED;
}
