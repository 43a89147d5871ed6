// SPDX-License-Identifier: MIT
//
// What of libseccomp is macros, which Swift can not import.
#pragma once
#include <errno.h>
#include <seccomp.h>

static const uint32_t seccomp_action_allow = SCMP_ACT_ALLOW;
static const uint32_t seccomp_action_refuse = SCMP_ACT_ERRNO(EPERM);
static const uint32_t seccomp_action_unknown = SCMP_ACT_ERRNO(ENOSYS);
static const int seccomp_no_such_call = __NR_SCMP_ERROR;
