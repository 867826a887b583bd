// SPDX-License-Identifier: Apache-2.0
// Optimiser steps, for AVX-512.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_optim/kernels.h"

#if SMR_ARCH_X86_64
#include "simd/avx512_begin.h"
#define OPTIM_TABLE smr_f32_optim_ukernels__avx512
#include "kernels/f32_optim/body.h"
#include "simd/end.h"
#endif
