// SPDX-License-Identifier: Apache-2.0
// Fourier transforms for NEON.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_fft/kernels.h"

#if SMR_ARCH_AARCH64
#define SMR_SIMD_HOT
#include "simd/neon_begin.h"
#define FFT_PASS smr_f32_fft_pass_ukernel__neon
#define FFT_SCALE smr_f32_fft_scale_ukernel__neon
#include "kernels/f32_fft/body.h"
#include "simd/end.h"
#endif
