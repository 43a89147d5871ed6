// SPDX-License-Identifier: MIT
#pragma once

/// Whether `free` and `realloc` of this program wipe what they release.
int wiping_allocator_is_active(void);
