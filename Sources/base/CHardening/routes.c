// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "CHardening.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int hardening_watch_routes(void) {
    int watch = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (watch < 0) return -1;
    struct sockaddr_nl address = {
        .nl_family = AF_NETLINK,
        .nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_IFADDR | RTMGRP_IPV6_ROUTE,
    };
    if (bind(watch, (struct sockaddr *)&address, sizeof address) == 0) return watch;
    close(watch);
    return -1;
}

int hardening_announces_route(const void *bytes, size_t count) {
    const char *next = bytes;
    while (count >= sizeof(struct nlmsghdr)) {
        struct nlmsghdr header;
        memcpy(&header, next, sizeof header);
        if (header.nlmsg_len < sizeof header || header.nlmsg_len > count) return 0;
        if (header.nlmsg_type == RTM_NEWROUTE || header.nlmsg_type == RTM_NEWADDR) return 1;
        size_t step = NLMSG_ALIGN(header.nlmsg_len);
        if (step >= count) return 0;
        next += step;
        count -= step;
    }
    return 0;
}
