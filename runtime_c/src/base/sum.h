// SPDX-License-Identifier: Apache-2.0
// The checksum of a file's data: 64 bits, fast in portable C (docs/reference/format.md has its
// definition).
#ifndef SMR_BASE_SUM_H
#define SMR_BASE_SUM_H

#include <stddef.h>
#include <stdint.h>

/// Checksum of `size_bytes` bytes at any address. Changes within one word of 8 bytes, counted from
/// the first byte, always change it; others go unnoticed once in 2^64 times.
uint64_t smr_sum(const void *data, size_t size_bytes);

#endif
