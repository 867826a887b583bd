// SPDX-License-Identifier: Apache-2.0
// Sums and products of two int8 rows, or of a row and one value: the contract.
//
// An int32 accumulator is converted to output by
//
//   round_half_even(clamp(float(acc) * multiplier, lo - zero_point, hi - zero_point)) + zero_point
//
// with each float operation rounded separately; multiplier is finite. All kernels give the same
// bits. `y` may be a or b; otherwise it overlaps neither. Nothing outside the elements is touched.
#ifndef SMR_KERNELS_I8_VBINARY_H
#define SMR_KERNELS_I8_VBINARY_H

#include <stddef.h>
#include <stdint.h>

struct smr_i8_vbinary_out {
  float multiplier;
  int32_t zero_point, lo, hi;  // -128 <= lo <= hi <= 127
};

struct smr_i8_vbinary {
  const char *name;  // for profiles

  /// acc = a[i] * ma + b[i] * mb + offset; |ma|, |mb| <= 2^20, |offset| <= 2^29.
  void (*add)(size_t n, const int8_t *a, int32_t ma, const int8_t *b, int32_t mb, int32_t offset,
              const struct smr_i8_vbinary_out *out, int8_t *y);

  /// acc = (a[i] - za) * (b[i] - zb); zero points are int8 values.
  void (*mul)(size_t n, const int8_t *a, int32_t za, const int8_t *b, int32_t zb,
              const struct smr_i8_vbinary_out *out, int8_t *y);

  /// acc = a[i] * m + offset, within the same limits: `add` or `mul` with one value for b.
  void (*scale)(size_t n, const int8_t *a, int32_t m, int32_t offset,
                const struct smr_i8_vbinary_out *out, int8_t *y);
};

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
const struct smr_i8_vbinary *smr_i8_vbinary_config(uint32_t isa);

#endif
