// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

/// Makes this process undumpable and refuses core dumps; returns 0, or -1 with errno.
int hardening_refuse_inspection(void);

/// Reads who connected a Unix stream socket, as the kernel noted it at connect time; returns 0, or -1 with errno.
int hardening_peer_credentials(int descriptor, pid_t *pid, uid_t *uid);
