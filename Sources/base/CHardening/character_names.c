// SPDX-License-Identifier: MIT
//
// Swift's standard library knows the names of all Unicode characters ("LATIN SMALL LETTER A"): half a megabyte in each
// program, for `Unicode.Scalar.Properties.name` alone, which nothing here asks for. In a release build the linker puts
// this function in place of the one that reads them (`--wrap`), so that they are left out; whoever asks gets no name.

#include <stdint.h>

intptr_t __wrap__swift_stdlib_getScalarName(uint32_t scalar, uint8_t *name, intptr_t capacity);

intptr_t __wrap__swift_stdlib_getScalarName(uint32_t scalar, uint8_t *name, intptr_t capacity) {
  (void)scalar;
  (void)name;
  (void)capacity;
  return 0;
}
