// SPDX-License-Identifier: MIT

#include "CHardening.h"

#include <malloc.h>

void hardening_share_heap(void) {
#ifdef M_ARENA_MAX
    mallopt(M_ARENA_MAX, 1);
#endif
}

void hardening_release_heap(void) {
    malloc_trim(0);
}
