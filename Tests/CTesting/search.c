// SPDX-License-Identifier: MIT
#include "CTesting.h"

#include <string.h>

// A bit for each hash of four bytes: nearly every place in memory is passed over with one look.
enum { HASHES = 1 << 16 };

static unsigned hash(const uint8_t *bytes) {
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return (word * 2654435761u) >> 16;
}

void search_memory(const uint8_t *memory, size_t size, const uint8_t *const *needles, const size_t *sizes,
                   uint8_t *found, size_t count) {
    uint8_t begins[HASHES] = {0};
    for (size_t i = 0; i < count; i++) {
        if (sizes[i] >= 4) begins[hash(needles[i])] = 1;
    }
    for (size_t at = 0; at + 4 <= size; at++) {
        if (!begins[hash(memory + at)]) continue;
        for (size_t i = 0; i < count; i++) {
            if (sizes[i] >= 4 && sizes[i] <= size - at && memcmp(memory + at, needles[i], sizes[i]) == 0) found[i] = 1;
        }
    }
}
