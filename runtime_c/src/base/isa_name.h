// SPDX-License-Identifier: Apache-2.0
// What the CPU calls itself.
#ifndef SMR_BASE_ISA_NAME_H
#define SMR_BASE_ISA_NAME_H

#include <stddef.h>

/// Write the CPU's name, e.g. "AMD EPYC 9R14 96-Core Processor", into `text`, cut to `size` bytes
/// with the terminating zero; on Arm Linux the kinds of cores, e.g. "arm 0x41:0xd05 0x41:0xd0a".
/// "unknown" where it cannot be found out. `size` is at least 8. Any thread; it may read a file.
void smr_cpu_name(char *text, size_t size);

#endif
