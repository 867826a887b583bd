// SPDX-License-Identifier: Apache-2.0
// Normalisation of int8 rows: the contract.
//
//   centred   d = n x - sum(x)   v = n sum(x^2) - sum(x)^2 + (eps n) n
//   plain     d = x - x_zero     v = sum(d^2) + eps n
//
//   p = (d * (1 / sqrt(v))) * scale + bias
//   y = round_half_even(clamp(p, lo - zero_point, hi - zero_point)) + zero_point
//
// Sums are exact. Each float operation is rounded separately; eps enters in the last one of v. A
// NaN p counts as 0. All kernels give the same bits. `y` may be x; otherwise nothing overlaps.
// Nothing outside the elements is touched.
#ifndef SMR_KERNELS_I8_NORM_H
#define SMR_KERNELS_I8_NORM_H

#include <stddef.h>
#include <stdint.h>

enum { SMR_I8_NORM_MOST = 1 << 22 };  // elements of a row

struct smr_i8_norm_args {
  const float *scale;  // n elements
  const float *bias;   // the same, or NULL
  float eps;           // > 0
  int32_t x_zero;      // an int8 value; plain rows only
  int32_t zero_point, lo, hi;
};

/// One group of 1 <= n <= SMR_I8_NORM_MOST adjacent elements.
typedef void (*smr_i8_norm_row)(size_t n, const int8_t *x, const struct smr_i8_norm_args *args,
                                int8_t *y);

struct smr_i8_norm {
  const char *name;             // for profiles
  smr_i8_norm_row centred_row;  // layer normalisation
  smr_i8_norm_row plain_row;    // root mean square
};

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
const struct smr_i8_norm *smr_i8_norm_config(uint32_t isa);

#endif
