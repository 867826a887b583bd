// SPDX-License-Identifier: Apache-2.0
// Quantization of float32 rows to int8, with a scale computed from the row: the contract.
//
//   peak  = max |x|          inv = 127 / peak          scale = peak / 127
//   q     = round_half_even(clamp(x * inv, -127, 127))
//
// in float32, each step rounded once: the same bits on all instruction sets. A row with inf or NaN
// has the scale NaN. A row so small that inv overflows (such as zeros) has the scale 0. In both
// cases q is 0.
#ifndef SMR_KERNELS_I8_DYNAMIC_H
#define SMR_KERNELS_I8_DYNAMIC_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/// The bits of the largest |x|, as an integer that orders like the floats, NaN last; 0 for an empty
/// row. The peak of several ranges is the largest of their peaks.
typedef uint32_t (*smr_i8_dynamic_peak)(size_t n, const float *x);

/// q of `n` elements; inv > 0.
typedef void (*smr_i8_dynamic_quantize)(size_t n, const float *x, float inv, int8_t *q);

struct smr_i8_dynamic_kernels {
  smr_i8_dynamic_peak peak;
  smr_i8_dynamic_quantize quantize;
};

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
const struct smr_i8_dynamic_kernels *smr_i8_dynamic_kernels(uint32_t isa);

struct smr_i8_dynamic_scale {
  float inv, scale;  ///< inv is 0 if all of q is 0
};

static inline struct smr_i8_dynamic_scale smr_i8_dynamic_scale(uint32_t peak) {
  struct smr_i8_dynamic_scale s = {0.0f, 0.0f};
  float amax;
  memcpy(&amax, &peak, sizeof amax);
  if (peak >= 0x7f800000u) {
    s.scale = NAN;
  } else if (amax > 0.0f && 127.0f / amax <= FLT_MAX) {
    s.inv = 127.0f / amax;
    s.scale = amax / 127.0f;
  }
  return s;
}

/// Quantize a row with known peak.
static inline void smr_i8_dynamic_row(const struct smr_i8_dynamic_kernels *kernels, size_t n,
                                      const float *x, float inv, int8_t *q) {
  if (inv > 0.0f)
    kernels->quantize(n, x, inv, q);
  else if (n > 0)
    memset(q, 0, n);
}

#endif
