// SPDX-License-Identifier: MIT

#include "CHardening.h"

#include <malloc.h>

void hardening_release_heap(void) {
    malloc_trim(0);
}
