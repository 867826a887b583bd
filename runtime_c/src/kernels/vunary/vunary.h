// SPDX-License-Identifier: Apache-2.0
// Functions of one element of any dtype, in portable C: the contract.
#ifndef SMR_KERNELS_VUNARY_H
#define SMR_KERNELS_VUNARY_H

#include <stddef.h>
#include <stdint.h>

/// Elements per block, see vbinary.
enum { SMR_VUNARY_BLOCK = 64 };

/// y[i] = f(x[i]) for `blocks` whole blocks. `y` may be `x` if element sizes agree; otherwise they
/// do not overlap. Element alignment.
typedef void (*smr_vunary_blocks)(size_t blocks, const void *x, void *y);

struct smr_vunary_kernel {
  smr_vunary_blocks blocks;
  uint8_t bytes, out_bytes;  // per element
};

/// NEG, ABS, SIGN, RELU, BIT_NOT: integers; NEG and ABS of the lowest value wrap. NOT: bool (any
/// nonzero byte is true). IS_NAN, IS_INF, IS_INF_POSITIVE, IS_INF_NEGATIVE: float32 and float64 to
/// bool; IS_INF_NONE is false for both.
enum smr_vunary {
  SMR_VUNARY_NEG,
  SMR_VUNARY_ABS,
  SMR_VUNARY_SIGN,
  SMR_VUNARY_RELU,
  SMR_VUNARY_BIT_NOT,
  SMR_VUNARY_NOT,
  SMR_VUNARY_IS_NAN,
  SMR_VUNARY_IS_INF,
  SMR_VUNARY_IS_INF_POSITIVE,
  SMR_VUNARY_IS_INF_NEGATIVE,
  SMR_VUNARY_IS_INF_NONE,
  SMR_VUNARY_COUNT
};

/// The kernel for `function` on `dtype` (samara_dtype); `blocks` is NULL if there is none.
struct smr_vunary_kernel smr_vunary_kernel(enum smr_vunary function, uint8_t dtype);

/// y[i] = f(x[i]) for i < n. `y` may be `x` if element sizes agree; otherwise they do not overlap.
/// Element alignment.
void smr_vunary_run(const struct smr_vunary_kernel *kernel, size_t n, const void *x, void *y);

#endif
