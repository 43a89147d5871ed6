// SPDX-License-Identifier: MIT
//
// Every library of the agent (HTTP, TLS, Swift strings) leaves copies of tokens in freed memory; wiping at the
// one place where all of them release it takes those copies away. Linked into the agent only.
#define _GNU_SOURCE
#include "CWipingAllocator.h"

#include <features.h>

// Sanitizers bring an allocator of their own.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif

#if defined(__GLIBC__) && !defined(HAS_SANITIZER)

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

extern void __libc_free(void *pointer);
extern void *__libc_malloc(size_t size);

void free(void *pointer) {
    if (!pointer) return;
    int saved = errno;
    explicit_bzero(pointer, malloc_usable_size(pointer));
    __libc_free(pointer);
    errno = saved;
}

void *realloc(void *pointer, size_t size) {
    if (!pointer) return __libc_malloc(size);
    if (size == 0) {
        free(pointer);
        return NULL;
    }
    size_t usable = malloc_usable_size(pointer);
    if (size <= usable && size >= usable / 2) return pointer;
    void *moved = __libc_malloc(size);
    if (!moved) return NULL;
    memcpy(moved, pointer, usable < size ? usable : size);
    free(pointer);
    return moved;
}

int wiping_allocator_is_active(void) { return 1; }

#else

int wiping_allocator_is_active(void) { return 0; }

#endif
