// SPDX-License-Identifier: Apache-2.0
// Weights of conv_dynamic and matmul_dynamic: the same product from bytes stored in rows, in
// columns, or computed.
#include "base/fp.h"

#include "ops/op_harness.h"

enum { M = 2, K = 5, N = 18 };

static void run(bool turned, int32_t constant, bool shifted, float *out) {
  float x[M * K], scales[N];
  int8_t w[K * N];
  int32_t zeros[N];
  for (size_t i = 0; i < M * K; i++) x[i] = (float)((int)(i * 37 % 23) - 11) / 3;
  for (size_t i = 0; i < N; i++) scales[i] = 0.01f * (float)(i + 1);
  for (size_t i = 0; i < N; i++) zeros[i] = shifted ? (int32_t)i - 9 : 0;
  for (size_t k = 0; k < K; k++)
    for (size_t n = 0; n < N; n++)
      w[turned ? n * K + k : k * N + n] = (int8_t)((int)((k * N + n) * 53 % 256) - 128);
  struct op_test t;
  op_begin(&t, "matmul_dynamic");
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(M, K), x);
  struct smr_tensor *in = op_in(&t, SAMARA_QINT8, 2, turned ? DIMS(N, K) : DIMS(K, N), w);
  in->constant = constant;
  op_quant(&t, in, N, scales, zeros, turned ? 0 : 1);
  op_out(&t, SAMARA_FLOAT32, 2, DIMS(M, N));
  op_int(&t, "transpose_w", turned);
  memset(out, 0, M * N * sizeof *out);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) memcpy(out, t.out[0].data, M * N * sizeof *out);
  op_end(&t);
}

SMR_TEST(every_way_gives_the_same_bits) {
  for (int shifted = 0; shifted < 2; shifted++) {
    float first[M * N], other[M * N];
    run(false, -1, shifted, first);
    CHECK(first[0] != 0 && first[M * N - 1] != 0);
    run(false, 1, shifted, other);
    CHECK_MEM(other, first, sizeof first);
    run(true, -1, shifted, other);
    CHECK_MEM(other, first, sizeof first);
    run(true, 1, shifted, other);
    CHECK_MEM(other, first, sizeof first);
  }
}

SMR_TEST_MAIN(RUN(every_way_gives_the_same_bits))
