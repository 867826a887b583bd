// SPDX-License-Identifier: Apache-2.0
// The checksum of a file's data: 64 bits, fast in portable C (defined in docs/reference/format.md).
#ifndef SMR_BASE_SUM_H
#define SMR_BASE_SUM_H

#include <stddef.h>
#include <stdint.h>

/// Checksum of `size_bytes` bytes at any address. A change within one 8-byte word, counted from the
/// first byte, always changes it; other changes go unnoticed with probability 2^-64.
uint64_t smr_sum(const void *data, size_t size_bytes);

#endif
