// SPDX-License-Identifier: Apache-2.0
// Data for the tests of products: repeatable numbers, weights in the layouts of a file.
#ifndef SMR_TESTS_LINEAR_DATA_H
#define SMR_TESTS_LINEAR_DATA_H

#include "kernels/f32_gemm/f32_gemm.h"
#include "kernels/pack/pack_f32.h"
#include "ops/op_harness.h"
#include "simd/half.h"

/// How weights reach the operator.
enum linear_form { LINEAR_RUNTIME, LINEAR_PLAIN, LINEAR_PACKED, LINEAR_FORMS };

/// n floats in [-1, 1), different for every seed, exact in float16.
static inline float *linear_floats(size_t n, uint32_t seed) {
  float *p = malloc(n ? n * sizeof *p : 1);
  if (p == NULL) abort();
  for (size_t i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    p[i] = (float)(int32_t)(seed >> 21) / 1024.0f - 1.0f;
  }
  return p;
}

static inline size_t linear_count(const int64_t *dims, uint32_t rank) {
  size_t n = 1;
  for (uint32_t i = 0; i < rank; i++) n *= (size_t)dims[i];
  return n;
}

/// The next input: `data` as float32 or float16.
static inline struct smr_tensor *linear_in(struct op_test *t, uint8_t dtype, uint32_t rank,
                                           const int64_t *dims, const float *data) {
  if (dtype == SAMARA_FLOAT32) return op_in(t, dtype, rank, dims, data);
  const size_t n = linear_count(dims, rank);
  uint16_t *half = malloc(n ? n * sizeof *half : 1);
  for (size_t i = 0; i < n; i++) half[i] = smr_f32_to_f16(data[i]);
  struct smr_tensor *tensor = op_in(t, dtype, rank, dims, half);
  free(half);
  return tensor;
}

/// Replace input 1, plain weights, by the packed constant of a file: `groups` panels sets of `k`
/// rows and `n` columns, element (k, n) of a group at k * k_stride + n * n_stride.
static inline void linear_pack(struct op_test *t, uint8_t layout, size_t groups, size_t k, size_t n,
                               size_t k_stride, size_t n_stride) {
  struct smr_tensor *w = &t->in[1];
  const size_t element = smr_dtype_bytes(w->dtype);
  const size_t stride = smr_panel_stride_bytes(k, element), group = stride * smr_panels(n);
  char *packed = malloc(group * groups + 4);
  memset(packed, 0, group * groups + 4);
  for (size_t g = 0; g < groups; g++) {
    const struct smr_pack_f32_args args = {.k = k,
                                           .n = n,
                                           .src = (const char *)t->in_data[1] + g * k * n * element,
                                           .type = element == 2 ? SMR_GEMM_F16 : SMR_GEMM_F32,
                                           .k_stride = k_stride,
                                           .n_stride = n_stride,
                                           .dst = packed + 4 + g * group,
                                           .panel_stride_bytes = stride};
    smr_pack_f32(&args, 0, 0, smr_panels(n));
  }
  free(t->allocated[1]);
  t->allocated[1] = packed;
  t->in_data[1] = packed + 4;
  w->constant = 1;
  w->layout = layout;
  w->size_bytes = group * groups;
}

/// Output element i as a float.
static inline double linear_out(const struct op_test *t, size_t i) {
  const void *data = t->out[0].data;
  return t->out[0].dtype == SAMARA_FLOAT16 ? (double)smr_f16_to_f32(((const uint16_t *)data)[i])
                                           : (double)((const float *)data)[i];
}

#endif
