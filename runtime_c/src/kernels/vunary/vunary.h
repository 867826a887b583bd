// SPDX-License-Identifier: Apache-2.0
// Functions of one element of any dtype, in portable C: the contract.
#ifndef SMR_KERNELS_VUNARY_H
#define SMR_KERNELS_VUNARY_H

#include <stddef.h>
#include <stdint.h>

/// y[i] = f(x[i]) for i < n. `y` may be `x` where element sizes agree; otherwise they do not
/// overlap. Element alignment.
typedef void (*smr_vunary_ukernel)(size_t n, const void *x, void *y);

/// NEG, ABS, SIGN, RELU, BIT_NOT: integers; NEG and ABS of the lowest value wrap. NOT: bool (any
/// nonzero byte is true). IS_NAN, IS_INF, IS_INF_POSITIVE, IS_INF_NEGATIVE: float32 to bool.
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
  SMR_VUNARY_COUNT
};

/// The kernel for `function` on `dtype` (samara_dtype), or NULL where there is none.
smr_vunary_ukernel smr_vunary_kernel(enum smr_vunary function, uint8_t dtype);

#endif
