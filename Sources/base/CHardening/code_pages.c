// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "CHardening.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

// Segments that are never writable hold only the file's own bytes, so the kernel can read them again. Relocated data
// is in writable segments, some of which are protected later: dropping those would lose the relocations.
static int drop_segments(struct dl_phdr_info *object, size_t size, void *context) {
    (void)size;
    int *dropped = context;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || segment->p_flags & PF_W) continue;
        uintptr_t start = (object->dlpi_addr + segment->p_vaddr + page - 1) & ~(page - 1);
        uintptr_t end = (object->dlpi_addr + segment->p_vaddr + segment->p_filesz) & ~(page - 1);
        if (end > start && madvise((void *)start, end - start, MADV_DONTNEED) == 0) ++*dropped;
    }
    return 0;
}

int hardening_release_code(void) {
    int dropped = 0;
    dl_iterate_phdr(drop_segments, &dropped);
    return dropped;
}
