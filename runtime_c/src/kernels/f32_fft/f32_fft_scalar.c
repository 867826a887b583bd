// SPDX-License-Identifier: Apache-2.0
// Fourier transforms for any machine, in portable C.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_fft/kernels.h"

#include "simd/scalar_begin.h"
#define FFT_PASS smr_f32_fft_pass_ukernel__scalar
#define FFT_SCALE smr_f32_fft_scale_ukernel__scalar
#include "kernels/f32_fft/body.h"
#include "simd/end.h"
