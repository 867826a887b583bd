// SPDX-License-Identifier: Apache-2.0
// Conversion between any two dtypes in two steps through 8 bytes per element: the contract.
#ifndef SMR_KERNELS_VCAST_WIDE_H
#define SMR_KERNELS_VCAST_WIDE_H

#include "kernels/vcast/vcast.h"

/// Two consecutive conversions: n elements to n of 8 bytes, then to n of the target. int4 and uint4
/// have two elements per byte, the first in the low half; if their number is odd, the last high
/// half is 0.
struct smr_vcast_steps {
  smr_vcast_ukernel widen, narrow;
};

/// The steps from one dtype to another, except qint8 (a step is then NULL).
///
/// Defined as in smr_vcast_kernel, with each result rounded once. Float to int4 and uint4 gives the
/// low four bits of the int64 result. Float to a narrower float: ties to even, NaN stays NaN.
struct smr_vcast_steps smr_vcast_steps(uint8_t from, uint8_t to);

#endif
