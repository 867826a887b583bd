// SPDX-License-Identifier: Apache-2.0
// Activations of finished blocks: rows of every kind, float32 and float16.
#include "base/fp.h"

#include "ops/matmul/linear.h"

#include "harness.h"
#include "simd/half.h"

SMR_TEST(post) {
  const struct smr_linear_post post = {.function = smr_f32_vunary_kernel(0, SMR_F32_LEAKY_RELU),
                                       .widen = smr_f16_to_f32_kernel(0),
                                       .narrow = smr_f32_to_f16_kernel(0),
                                       .params = {0.5f, 0}};
  float rows[2 * 4] = {-2, 4, 99, 99, 6, -8, 99, 99};
  smr_linear_post((void *)(uintptr_t)&post, rows, 2, 2, 4, SMR_GEMM_F32);
  const float want[8] = {-1, 4, 99, 99, 6, -4, 99, 99};
  CHECK_MEM(rows, want, sizeof rows);
  // Short rows in more than one chunk, apart from each other and dense.
  enum { ROWS = 300, SHORT = 3 };
  for (size_t stride = SHORT; stride <= SHORT + 2; stride += 2) {
    float out[ROWS * (SHORT + 2)];
    for (size_t i = 0; i < ROWS * stride; i++) out[i] = -(float)(i + 1);
    smr_linear_post((void *)(uintptr_t)&post, out, ROWS, SHORT, stride, SMR_GEMM_F32);
    for (size_t i = 0; i < ROWS * stride; i++)
      CHECK_NEAR(out[i], -(i % stride < SHORT ? 0.5 : 1) * (double)(i + 1), 0);
  }
  enum { N = 600 };
  uint16_t half[N + 1];
  for (int i = 0; i <= N; i++) half[i] = smr_f32_to_f16((float)-i);
  smr_linear_post((void *)(uintptr_t)&post, half, 1, N, N, SMR_GEMM_F16);
  for (int i = 0; i < N; i++) CHECK_NEAR(smr_f16_to_f32(half[i]), -0.5 * i, 0);
  CHECK_NEAR(smr_f16_to_f32(half[N]), -N, 0);
}

SMR_TEST_MAIN(RUN(post))
