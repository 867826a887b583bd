// SPDX-License-Identifier: Apache-2.0
// Fourier transforms: dispatch, plans and roots of unity.
#include "base/fp.h"

#include "kernels/f32_fft/f32_fft.h"

#include "base/isa.h"
#include "kernels/rows.h"

#include <math.h>

#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/f32_fft/body.h"
#include "kernels/float.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT

static const struct {
  uint32_t isa;
  struct smr_f32_fft_kernels kernels;
} f32_fft_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) \
  {bit, {"f32_fft__" #suffix, smr_fft_pass_##suffix, smr_fft_scale_##suffix}},
#include "kernels/float.inc"
#undef SMR_UKERNEL
};

const struct smr_f32_fft_kernels *smr_f32_fft_kernels(uint32_t isa) {
  size_t i = 0;
  while ((f32_fft_rows[i].isa & isa) != f32_fft_rows[i].isa) i++;  // the last needs nothing
  return &f32_fft_rows[i].kernels;
}

static void fft_take(struct smr_f32_fft_plan *plan, size_t *rest, size_t radix) {
  while (*rest % radix == 0) {
    plan->radix[plan->passes++] = (uint8_t)radix;
    *rest /= radix;
  }
}

bool smr_f32_fft_plan_make(size_t n, struct smr_f32_fft_plan *plan) {
  *plan = (struct smr_f32_fft_plan){.n = n};
  size_t rest = n;
  fft_take(plan, &rest, 4);
  for (size_t radix = 2; radix <= SMR_F32_FFT_PRIME; radix++) fft_take(plan, &rest, radix);
  return rest == 1;
}

void smr_f32_fft_roots(size_t n, struct smr_f32_fft_parts w) {
  enum { FINE = 64 };  // roots between two roots from the C library
  const double turn = -6.283185307179586476925 / (double)n;
  double re[FINE], im[FINE];
  for (size_t k = 0; k < FINE && k < n; k++) {
    re[k] = cos(turn * (double)k);
    im[k] = sin(turn * (double)k);
  }
  for (size_t first = 0; first < n; first += FINE) {
    const double c = cos(turn * (double)first), s = sin(turn * (double)first);
    for (size_t k = 0; k < FINE && first + k < n; k++) {
      w.re[first + k] = (float)(c * re[k] - s * im[k]);
      w.im[first + k] = (float)(c * im[k] + s * re[k]);
    }
  }
}

struct smr_f32_fft_parts smr_f32_fft_run(const struct smr_f32_fft_kernels *kernels,
                                         const struct smr_f32_fft_plan *plan, size_t s,
                                         struct smr_f32_fft_parts roots, struct smr_f32_fft_parts x,
                                         struct smr_f32_fft_parts work) {
  struct smr_f32_fft_pass pass = {
      .n = plan->n, .s = s, .step = 1, .roots = roots, .x = x, .y = work};
  for (uint32_t i = 0; i < plan->passes; i++) {
    pass.radix = plan->radix[i];
    kernels->pass(&pass);
    pass.n /= pass.radix;
    pass.s *= pass.radix;
    pass.step *= pass.radix;
    const struct smr_f32_fft_parts done = pass.y;
    pass.y = pass.x;
    pass.x = done;
  }
  return pass.x;
}
