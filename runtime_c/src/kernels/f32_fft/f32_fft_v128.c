// SPDX-License-Identifier: Apache-2.0
// Fourier transforms for vectors of 128 bits.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_fft/kernels.h"

#if SMR_ARCH_V128
#include "simd/v128_begin.h"
#define FFT_PASS smr_f32_fft_pass_ukernel__v128
#define FFT_SCALE smr_f32_fft_scale_ukernel__v128
#include "kernels/f32_fft/body.h"
#include "simd/end.h"
#endif
