// SPDX-License-Identifier: Apache-2.0
// Optimiser steps, for every CPU, in portable C.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_optim/kernels.h"

#include "simd/scalar_begin.h"
#define OPTIM_TABLE smr_f32_optim_ukernels__scalar
#include "kernels/f32_optim/body.h"
#include "simd/end.h"
