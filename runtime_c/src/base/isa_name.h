// SPDX-License-Identifier: Apache-2.0
// The CPU's name.
#ifndef SMR_BASE_ISA_NAME_H
#define SMR_BASE_ISA_NAME_H

#include <stddef.h>

/// Write the CPU's name, e.g. "AMD EPYC 9R14 96-Core Processor", to `text`, cut to `size` bytes
/// including the NUL; on Arm Linux the kinds of cores, e.g. "arm 0x41:0xd05 0x41:0xd0a". "unknown"
/// if it cannot be determined. `size` is at least 8. Thread-safe; may read a file.
void smr_cpu_name(char *text, size_t size);

#endif
