// SPDX-License-Identifier: Apache-2.0
// Conversion between any two dtypes in two steps through 8 bytes an element: the contract.
#ifndef SMR_KERNELS_VCAST_WIDE_H
#define SMR_KERNELS_VCAST_WIDE_H

#include "kernels/vcast/vcast.h"

/// Two conversions that give one: n elements to n of 8 bytes, these to n of the target. int4 and
/// uint4 lie two to a byte, the first in the low half; of an odd number the last high half is 0.
struct smr_vcast_steps {
  smr_vcast_ukernel widen, narrow;
};

/// The steps from one dtype to another, qint8 excepted (a step is then NULL).
///
/// As smr_vcast_kernel says, each result rounded once; float to int4 and uint4 gives the low four
/// bits of the int64 that it would give. From float to a narrower float: ties to even, NaN stays
/// NaN.
struct smr_vcast_steps smr_vcast_steps(uint8_t from, uint8_t to);

#endif
