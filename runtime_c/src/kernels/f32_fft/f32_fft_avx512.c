// SPDX-License-Identifier: Apache-2.0
// Fourier transforms for AVX-512.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_fft/kernels.h"

#if SMR_ARCH_X86_64
#define SMR_SIMD_HOT
#include "simd/avx512_begin.h"
#define FFT_PASS smr_f32_fft_pass_ukernel__avx512
#define FFT_SCALE smr_f32_fft_scale_ukernel__avx512
#include "kernels/f32_fft/body.h"
#include "simd/end.h"
#endif
