// SPDX-License-Identifier: Apache-2.0
// Stateless random numbers: Philox4x32-10, and functions of its words. The contract.
//
// Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011). Word i of
// a stream is word i % 4 of block `block` + i / 4, so any part of a stream can be computed
// separately.
#ifndef SMR_KERNELS_PHILOX_H
#define SMR_KERNELS_PHILOX_H

#include <stddef.h>
#include <stdint.h>

/// The start of a stream. The counter of a block is (low word first) its number, then `high`.
struct smr_philox {
  uint64_t key, block, high;
};

/// `uniform` and `dropout` convert words to 24-bit numbers u in [0, 1): (word >> 8) * 2^-24.
struct smr_philox_kernels {
  /// words[i] = word i of the stream, for i < n.
  void (*words)(size_t n, const struct smr_philox *stream, uint32_t *words);
  /// y[i] = number i of the stream, for i < n.
  void (*uniform)(size_t n, const struct smr_philox *stream, float *y);
  /// y[i] = x[i] * scale if number i, times 2^24, is at least `threshold`, otherwise 0, for i < n.
  /// `y` may be `x`; otherwise they do not overlap.
  void (*dropout)(size_t n, const struct smr_philox *stream, int32_t threshold, float scale,
                  const float *x, float *y);
  const char *name;  // for profiles, e.g. "philox__avx2"
};

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
const struct smr_philox_kernels *smr_philox_kernels(uint32_t isa);

#endif
