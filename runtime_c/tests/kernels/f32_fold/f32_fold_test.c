// SPDX-License-Identifier: Apache-2.0
// Folds of every ISA this CPU has, against single additions.
#include "base/fp.h"

#include "../kernel_data.h"
#include "base/isa.h"
#include "harness.h"
#include "kernels/f32_fold/f32_fold.h"

// Runs of `to` lie `to_step` apart, and may overlap.
static void check_kernel(smr_f32_fold_ukernel kernel, size_t count, size_t turns, size_t length,
                         size_t to_step) {
  uint32_t seed = (uint32_t)(count * 131 + length);
  const size_t from_step = length + 2;
  // Both end where the last run does.
  const size_t from_n = (count - 1) * from_step + length, to_n = (count - 1) * to_step + length;
  float *from = kernel_floats(from_n, &seed), *to = kernel_floats(to_n, &seed);
  float *want = kernel_floats(to_n, &seed);
  memcpy(want, to, to_n * sizeof *to);
  for (size_t turn = 0; turn < turns; turn++)
    for (size_t i = turn; i < count; i += turns)
      for (size_t j = 0; j < length; j++) want[i * to_step + j] += from[i * from_step + j];
  kernel(count, turns, length, from, from_step, to, to_step);
  CHECK_MEM(to, want, to_n * sizeof *to);
  kernel_free(from, 4), kernel_free(to, 4), kernel_free(want, 4);
}

SMR_TEST(every_kernel) {
#define SMR_UKERNEL(bit, suffix, lanes)                                             \
  if (KERNEL_RUNS(bit, suffix))                                                     \
    for (size_t length = 1; length <= 2 * (lanes) + 3; length++)                    \
      for (size_t count = 1; count < 8; count++) {                                  \
        check_kernel(smr_f32_fold_kernel(bit), count, 1, length, length + 5);       \
        check_kernel(smr_f32_fold_kernel(bit), count, 3, length, (length + 2) / 3); \
      }
#include "kernels/float.inc"
#undef SMR_UKERNEL
}

SMR_TEST_MAIN(RUN(every_kernel))
