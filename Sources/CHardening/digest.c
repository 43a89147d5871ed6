// SPDX-License-Identifier: MIT
#include "CHardening.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

// SHA-256 (FIPS 180-4 §6.2) of files that hold no secret, in a process that shall stay small.

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turned(uint32_t word, int bits) { return word >> bits | word << (32 - bits); }

static void add_block(uint32_t state[8], const uint8_t block[64]) {
    uint32_t w[64];
    for (int i = 0; i < 16; i++) {
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8
               | block[4 * i + 3];
    }
    for (int i = 16; i < 64; i++) {
        uint32_t a = turned(w[i - 15], 7) ^ turned(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t b = turned(w[i - 2], 17) ^ turned(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + a + w[i - 7] + b;
    }
    uint32_t s[8];
    memcpy(s, state, sizeof s);
    for (int i = 0; i < 64; i++) {
        uint32_t e = turned(s[4], 6) ^ turned(s[4], 11) ^ turned(s[4], 25);
        uint32_t t = s[7] + e + ((s[4] & s[5]) ^ (~s[4] & s[6])) + constants[i] + w[i];
        uint32_t a = turned(s[0], 2) ^ turned(s[0], 13) ^ turned(s[0], 22);
        uint32_t m = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += t;
        s[0] = t + a + m;
    }
    for (int i = 0; i < 8; i++) state[i] += s[i];
}

/// Fills `buffer` as far as the file goes; returns how much, or -1.
static ssize_t fill(int file, uint8_t *buffer, size_t size) {
    size_t filled = 0;
    while (filled < size) {
        ssize_t count = read(file, buffer + filled, size - filled);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return -1;
        if (count == 0) break;
        filled += (size_t)count;
    }
    return (ssize_t)filled;
}

static const uint32_t beginning[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

/// Adds the last `count` bytes of `total`, which `buffer` holds with room for 128 more, and answers the digest.
static void finish(uint32_t state[8], uint8_t *buffer, size_t count, uint64_t total, uint8_t digest[32]) {
    // The last blocks: a one bit, zeros, and the length in bits.
    size_t end = count;
    buffer[end++] = 0x80;
    while (end % 64 != 56) buffer[end++] = 0;
    for (int i = 7; i >= 0; i--) buffer[end++] = (uint8_t)(total * 8 >> 8 * i);
    for (size_t i = 0; i < end; i += 64) add_block(state, buffer + i);
    for (int i = 0; i < 32; i++) digest[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
}

int hardening_digest_file(int file, uint8_t digest[32]) {
    uint32_t state[8];
    memcpy(state, beginning, sizeof state);
    uint8_t buffer[65536 + 128];
    uint64_t total = 0;
    for (;;) {
        ssize_t count = fill(file, buffer, 65536);
        if (count < 0) return -1;
        total += (uint64_t)count;
        if (count < 65536) {
            finish(state, buffer, (size_t)count, total, digest);
            return 0;
        }
        for (size_t i = 0; i < 65536; i += 64) add_block(state, buffer + i);
    }
}

void hardening_digest_bytes(const void *bytes, size_t count, uint8_t digest[32]) {
    uint32_t state[8];
    memcpy(state, beginning, sizeof state);
    const uint8_t *next = bytes;
    size_t whole = count / 64 * 64;
    for (size_t i = 0; i < whole; i += 64) add_block(state, next + i);
    uint8_t rest[64 + 128];
    if (count > whole) memcpy(rest, next + whole, count - whole);
    finish(state, rest, count - whole, count, digest);
}
