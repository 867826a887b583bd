// SPDX-License-Identifier: Apache-2.0
// Pool kernels of every ISA this CPU has, against sums in double over the same window.
#include "base/fp.h"

#include "../kernel_data.h"
#include "base/isa.h"
#include "harness.h"
#include "kernels/f32_pool/f32_pool.h"
#include "simd/half.h"

enum { HEIGHT = 4, WIDTH = 5 };

static double pooled(enum smr_f32_pool_kind kind, const struct smr_pool_window *w, size_t c,
                     bool half, double divisor) {
  double result = kind == SMR_POOL_MAX ? -INFINITY : 0;
  for (size_t i = 0; i < w->n[0]; i++)
    for (size_t j = 0; j < w->n[1]; j++)
      for (size_t k = 0; k < w->n[2]; k++) {
        const size_t at = i * w->stride[0] + j * w->stride[1] + k * w->stride[2] + c;
        const double x = half ? (double)smr_f16_to_f32(((const uint16_t *)w->x)[at])
                              : (double)((const float *)w->x)[at];
        switch (kind) {
          case SMR_POOL_MAX:
            result = x > result || x != x ? x : result;
            break;
          case SMR_POOL_AVG:
            result += x;
            break;
          case SMR_POOL_L1:
            result += fabs(x);
            break;
          case SMR_POOL_L2:
            result += x * x;
            break;
          default:
            result += pow(fabs(x), divisor);
        }
      }
  if (kind == SMR_POOL_AVG) return result / divisor;
  if (kind == SMR_POOL_L2) return sqrt(result);
  return kind == SMR_POOL_POWER ? pow(result, 1 / divisor) : result;
}

static void check_kernel(smr_f32_pool_ukernel kernel, enum smr_f32_pool_kind kind, bool half,
                         size_t channels, size_t lead) {
  uint32_t seed = (uint32_t)channels;
  const size_t element = half ? 2 : 4, pixel = channels + lead;
  // The window ends exactly where the buffer does.
  struct smr_pool_window w = {.n = {2, 1 + channels % 3, 2},
                              .stride = {HEIGHT * WIDTH * pixel, WIDTH * pixel, 3 * pixel}};
  const size_t last =
      w.stride[0] + (w.n[1] - 1) * w.stride[1] + (w.n[2] - 1) * w.stride[2] + channels;
  void *x = half ? (void *)kernel_halves(last, &seed) : (void *)kernel_floats(last, &seed);
  w.x = x;
  unsigned char *y = (unsigned char *)kernel_alloc(channels * element, 4);
  const float divisor = kind == SMR_POOL_POWER ? 3.0f : 7.0f;
  kernel(channels, &w, divisor, y);
  for (size_t c = 0; c < channels; c++) {
    const double want = pooled(kind, &w, c, half, (double)divisor);
    const double got = half ? (double)smr_f16_to_f32(((const uint16_t *)(void *)y)[c])
                            : (double)((const float *)(void *)y)[c];
    CHECK_NEAR(got, want, kind == SMR_POOL_MAX ? 0 : (half ? 1.1e-3 : 4e-7) * (fabs(want) + 0.1));
  }
  kernel_free(y, 4);
  kernel_free(x, 4);
}

// A NaN in any tap, and only there, comes out.
static void check_nan(smr_f32_pool_ukernel kernel, size_t channels) {
  float *x = (float *)kernel_alloc(3 * channels * sizeof *x, 4), *y;
  for (size_t tap = 0; tap < 3; tap++) {
    y = (float *)kernel_alloc(channels * sizeof *y, 4);
    for (size_t i = 0; i < 3 * channels; i++) x[i] = i % 2 ? -INFINITY : -3.0f;
    x[tap * channels + channels / 2] = NAN;
    kernel(channels, &(struct smr_pool_window){x, {1, 1, 3}, {0, 0, channels}}, 1.0f, y);
    for (size_t c = 0; c < channels; c++) CHECK((y[c] != y[c]) == (c == channels / 2));
    kernel_free(y, 4);
  }
  kernel_free(x, 4);
}

static void check_table(uint32_t isa, size_t lanes) {
  for (size_t channels = 1; channels <= 8 * lanes + 3; channels += channels < 3 * lanes ? 1 : 5)
    for (int kind = 0; kind < SMR_POOL_VECTOR_KINDS; kind++)
      for (int half = 0; half < 2; half++)
        check_kernel(
            smr_f32_pool_kernel(isa, (enum smr_f32_pool_kind)kind, (enum smr_f32_pool_type)half),
            (enum smr_f32_pool_kind)kind, half, channels, channels % 2 * 5);
  for (size_t channels = 1; channels <= 4 * lanes + 1; channels++)
    check_nan(smr_f32_pool_kernel(isa, SMR_POOL_MAX, SMR_POOL_F32), channels);
}

SMR_TEST(every_table) {
#define SMR_UKERNEL(bit, suffix, lanes) \
  if (KERNEL_RUNS(bit, suffix)) check_table(bit, lanes);
#include "kernels/float.inc"
#undef SMR_UKERNEL
}

// The order of taps is the same everywhere: so are the bits of sums.
SMR_TEST(tables_agree) {
  uint32_t seed = 1;
  enum { CHANNELS = 133 };
  float *x = kernel_floats(9 * CHANNELS, &seed);
  const struct smr_pool_window w = {x, {1, 3, 3}, {0, 3 * CHANNELS, CHANNELS}};
  for (int kind = 0; kind < SMR_POOL_VECTOR_KINDS; kind++) {
    float best[CHANNELS], plain[CHANNELS];
    smr_f32_pool_kernel(smr_cpu_isa(), (enum smr_f32_pool_kind)kind, SMR_POOL_F32)(CHANNELS, &w, 9,
                                                                                   best);
    smr_f32_pool_kernel(SMR_ISA_NONE, (enum smr_f32_pool_kind)kind, SMR_POOL_F32)(CHANNELS, &w, 9,
                                                                                  plain);
    CHECK_MEM(best, plain, sizeof best);
  }
  kernel_free(x, 4);
}

SMR_TEST(other_norms) {
  for (size_t channels = 1; channels < 20; channels++)
    for (int half = 0; half < 2; half++)
      check_kernel(smr_f32_pool_kernel(smr_cpu_isa(), SMR_POOL_POWER, (enum smr_f32_pool_type)half),
                   SMR_POOL_POWER, half, channels, 0);
  CHECK_STR(smr_f32_pool_kernel_name(smr_cpu_isa(), SMR_POOL_POWER), "f32_pool__libm");
  CHECK_STR(smr_f32_pool_kernel_name(SMR_ISA_NONE, SMR_POOL_MAX), "f32_pool__scalar");
}

SMR_TEST_MAIN(RUN(every_table); RUN(tables_agree); RUN(other_norms))
