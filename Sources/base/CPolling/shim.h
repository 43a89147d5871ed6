// SPDX-License-Identifier: MIT

#include <sys/epoll.h>
#include <sys/eventfd.h>
