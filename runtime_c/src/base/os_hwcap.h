// SPDX-License-Identifier: Apache-2.0
// What the operating system reports about the CPU, where the CPU cannot be queried directly.
#ifndef SMR_BASE_OS_HWCAP_H
#define SMR_BASE_OS_HWCAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// CPU features as bits, the same on every system.
enum {
  SMR_HWCAP_FP16 = 1 << 0,  ///< AArch64 float16 vector arithmetic
  SMR_HWCAP_DOT = 1 << 1,   ///< AArch64 sdot and udot
  SMR_HWCAP_I8MM = 1 << 2,  ///< AArch64 int8 matrix multiply
  SMR_HWCAP_BF16 = 1 << 3,  ///< AArch64 bfloat16 products
};

/// SMR_HWCAP_* bits; 0 if nothing is known.
uint64_t smr_os_hwcap(void);

/// Ask the operating system for AMX's tile registers, for the whole process and for good. False if
/// it refuses, or knows no such question.
bool smr_os_use_tiles(void);

/// The operating system's name for the CPU, cut to `size` bytes including the NUL; "" if it has
/// none.
void smr_os_cpu_name(char *text, size_t size);

#endif
