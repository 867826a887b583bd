// SPDX-License-Identifier: Apache-2.0
// The factors that normalise a row of int8, in plain C for any region; included by its ISA's file.

struct N(i8_norm_by) {
  int32_t factor, offset;  // d = x * factor + offset
  float inverse;           // 1 / sqrt(v)
};

#define I8_NORM_BLOCK 65536  // elements whose squares can be summed in int32

SMR_VECTORIZED static void N(i8_norm_block)(size_t n, const int8_t *x, int64_t *sum,
                                            int64_t *squares) {
  int32_t s = 0, q = 0;
  for (size_t i = 0; i < n; i++) {
    const int16_t v = x[i];
    s += v;
    q += v * v;
  }
  *sum += s;
  *squares += q;
}

static struct N(i8_norm_by)
    N(i8_norm_sums)(size_t n, const int8_t *x, const struct smr_i8_norm_args *args, int centred) {
  const int64_t count = (int64_t)n, zero = args->x_zero;
  const float float_n = (float)count;  // exact, like every sum
  int64_t sum = 0, squares = 0;
  for (size_t i = 0; i < n; i += I8_NORM_BLOCK)
    N(i8_norm_block)(n - i < I8_NORM_BLOCK ? n - i : I8_NORM_BLOCK, x + i, &sum, &squares);
  const float rest = args->eps * float_n;
  float v;
  if (centred) {
    const float wide_rest = rest * float_n, spread = (float)(count * squares - sum * sum);
    v = spread + wide_rest;
  } else {
    v = (float)(squares - 2 * zero * sum + count * zero * zero) + rest;
  }
  const float inverse = 1.0f / sqrtf(v);
  return centred ? (struct N(i8_norm_by)){(int32_t)count, (int32_t)-sum, inverse}
                 : (struct N(i8_norm_by)){1, -args->x_zero, inverse};
}
#undef I8_NORM_BLOCK
