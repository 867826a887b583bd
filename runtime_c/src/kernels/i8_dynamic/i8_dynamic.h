// SPDX-License-Identifier: Apache-2.0
// Quantization of float32 rows to int8, with a scale computed from the row: the contract.
//
//   peak  = max |x|          inv = 127 / peak          scale = peak / 127
//   q     = round_half_even(clamp(x * inv, -127, 127))
//
// in float32, each step rounded once: the same bits on all instruction sets. A row with inf or NaN
// has the scale NaN. A row so small that inv overflows (such as zeros) has the scale 0. In both
// cases q is 0.
//
// By its range, a whole tensor is quantized as ONNX's DynamicQuantizeLinear does:
//
//   lo = min(x, 0)   hi = max(x, 0)   scale = (hi - lo) / 255, 1 for zeros
//   zero = round_half_even(clamp(-lo / scale, 0, 255)) - 128
//   q    = clamp(round_half_even(x / scale) + zero, -128, 127)
//
// With inf or NaN, or if the range overflows, the scale is NaN, and zero and q are 0.
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

/// The range of numbers, 0 included, and their peak. Ranges of parts are joined by
/// smr_i8_dynamic_join.
struct smr_i8_dynamic_range {
  float lo, hi;
  uint32_t peak;
};
typedef struct smr_i8_dynamic_range (*smr_i8_dynamic_find)(size_t n, const float *x);

/// q of `n` elements; scale > 0.
typedef void (*smr_i8_dynamic_place)(size_t n, const float *x, float scale, int32_t zero,
                                     int8_t *q);

struct smr_i8_dynamic_kernels {
  smr_i8_dynamic_peak peak;
  smr_i8_dynamic_quantize quantize;
  smr_i8_dynamic_find find;
  smr_i8_dynamic_place place;
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

static inline struct smr_i8_dynamic_range smr_i8_dynamic_join(struct smr_i8_dynamic_range a,
                                                              struct smr_i8_dynamic_range b) {
  return (struct smr_i8_dynamic_range){.lo = b.lo < a.lo ? b.lo : a.lo,
                                       .hi = b.hi > a.hi ? b.hi : a.hi,
                                       .peak = b.peak > a.peak ? b.peak : a.peak};
}

struct smr_i8_dynamic_places {
  float scale;  ///< NaN if all of q is 0
  int32_t zero;
};

static inline struct smr_i8_dynamic_places smr_i8_dynamic_places(
    struct smr_i8_dynamic_range range) {
  const float width = range.hi - range.lo;
  if (range.peak >= 0x7f800000u || !(width <= FLT_MAX))
    return (struct smr_i8_dynamic_places){.scale = NAN};
  const float scale = width > 0.0f ? width / 255.0f : 1.0f, whole = 12582912.0f;  // 1.5 * 2^23
  const float zero = -range.lo / scale, within = zero < 255.0f ? zero : 255.0f;
  return (struct smr_i8_dynamic_places){.scale = scale,
                                        .zero = (int32_t)(within + whole - whole) - 128};
}

#endif
