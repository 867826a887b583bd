// SPDX-License-Identifier: Apache-2.0
// Gradients of activations for any machine, in portable C.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_activation_grad/kernels.h"

#include "simd/scalar_begin.h"
#define ACTIVATION_GRAD_TABLE smr_f32_activation_grad_ukernels__scalar
#include "kernels/f32_activation_grad/body.h"
#include "simd/end.h"
