// SPDX-License-Identifier: Apache-2.0
// Optimiser steps, for NEON.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_optim/kernels.h"

#if SMR_ARCH_AARCH64
#include "simd/neon_begin.h"
#define OPTIM_TABLE smr_f32_optim_ukernels__neon
#include "kernels/f32_optim/body.h"
#include "simd/end.h"
#endif
