// SPDX-License-Identifier: Apache-2.0
// Fourier transforms of float32, several at once: the contract.
//
// Mixed radix, decimation in frequency, self-sorting (Stockham; C. Van Loan, "Computational
// Frameworks for the Fast Fourier Transform", 1.7): a pass of radix r reads [r][m][s] and writes
// [m][r][s], where s counts the transforms done side by side times the radices of earlier passes.
// Real and imaginary parts lie apart. The bits of a transform do not depend on its neighbours.
#ifndef SMR_KERNELS_F32_FFT_H
#define SMR_KERNELS_F32_FFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  SMR_F32_FFT_PASSES = 32,  // 2^31 exceeds any length that is transformed
  SMR_F32_FFT_PRIME = 31,   // the largest radix; larger primes need a convolution
};

/// A complex vector.
struct smr_f32_fft_parts {
  float *re, *im;
};

/// One pass. roots[k] = e^(-2 pi i k / (n step)), the roots of the whole transform.
struct smr_f32_fft_pass {
  size_t radix, n, s, step;
  struct smr_f32_fft_parts roots, x, y;  // y overlaps neither of the others
};

/// y = x by one pass.
typedef void (*smr_f32_fft_pass_ukernel)(const struct smr_f32_fft_pass *pass);
/// x[j][l] *= w[j] for j < n, l < s.
typedef void (*smr_f32_fft_scale_ukernel)(size_t n, size_t s, struct smr_f32_fft_parts w,
                                          struct smr_f32_fft_parts x);

/// The kernels of one ISA.
struct smr_f32_fft_kernels {
  const char *name;  ///< for profiles
  smr_f32_fft_pass_ukernel pass;
  smr_f32_fft_scale_ukernel scale;
};

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
const struct smr_f32_fft_kernels *smr_f32_fft_kernels(uint32_t isa);

/// A length as a product of radices.
struct smr_f32_fft_plan {
  size_t n;
  uint32_t passes;
  uint8_t radix[SMR_F32_FFT_PASSES];
};

/// The plan for n >= 1; false where n has a prime factor beyond SMR_F32_FFT_PRIME.
bool smr_f32_fft_plan_make(size_t n, struct smr_f32_fft_plan *plan);

/// w[k] = e^(-2 pi i k / n) for k < n, each rounded from double.
void smr_f32_fft_roots(size_t n, struct smr_f32_fft_parts w);

/// The transforms of x [plan->n][s], without scaling. Overwrites x and `work`, which has the same
/// size. Returns the one that holds the result.
struct smr_f32_fft_parts smr_f32_fft_run(const struct smr_f32_fft_kernels *kernels,
                                         const struct smr_f32_fft_plan *plan, size_t s,
                                         struct smr_f32_fft_parts roots, struct smr_f32_fft_parts x,
                                         struct smr_f32_fft_parts work);

#endif
