// SPDX-License-Identifier: Apache-2.0
// Optimiser steps, for vectors of 128 bits.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_optim/kernels.h"

#if SMR_ARCH_V128
#include "simd/v128_begin.h"
#define OPTIM_TABLE smr_f32_optim_ukernels__v128
#include "kernels/f32_optim/body.h"
#include "simd/end.h"
#endif
