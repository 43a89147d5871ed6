// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

/// Makes this process undumpable and refuses core dumps; returns 0, or -1 with errno.
int hardening_refuse_inspection(void);
