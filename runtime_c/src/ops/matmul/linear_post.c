// SPDX-License-Identifier: Apache-2.0
// The activation after the clamp, on finished blocks of a product.
#include "base/fp.h"

#include "ops/matmul/linear.h"

enum { LINEAR_POST_CHUNK = 256 };  // floats on the stack

// Rows of fewer elements than a vector, apart from each other: gathered, because the function
// computes whole vectors.
static void linear_post_narrow(const struct smr_linear_post *post, float *out, size_t rows,
                               size_t columns, size_t out_stride) {
  float chunk[LINEAR_POST_CHUNK];
  const size_t most = LINEAR_POST_CHUNK / columns;
  for (size_t i = 0; i < rows; i += most) {
    const size_t n = rows - i < most ? rows - i : most;
    float *first = out + i * out_stride;
    for (size_t r = 0; r < n; r++)
      for (size_t c = 0; c < columns; c++) chunk[r * columns + c] = first[r * out_stride + c];
    post->function(n * columns, chunk, chunk, post->params);
    for (size_t r = 0; r < n; r++)
      for (size_t c = 0; c < columns; c++) first[r * out_stride + c] = chunk[r * columns + c];
  }
}

void smr_linear_post(void *context, void *out, size_t rows, size_t columns, size_t out_stride,
                     smr_gemm_type out_type) {
  const struct smr_linear_post *post = context;
  if (out_stride == columns) {  // dense: one row
    columns *= rows;
    rows = 1;
  }
  if (rows > 1 && columns < SMR_PANEL && out_type == SMR_GEMM_F32) {
    linear_post_narrow(post, out, rows, columns, out_stride);
    return;
  }
  for (size_t i = 0; i < rows; i++) {
    if (!SMR_HAS(type_float16) || out_type == SMR_GEMM_F32) {
      float *row = (float *)out + i * out_stride;
      post->function(columns, row, row, post->params);
      continue;
    }
    uint16_t *row = (uint16_t *)out + i * out_stride;
    for (size_t j = 0; j < columns; j += LINEAR_POST_CHUNK) {
      const size_t n = columns - j < LINEAR_POST_CHUNK ? columns - j : LINEAR_POST_CHUNK;
      float chunk[LINEAR_POST_CHUNK];
      post->widen(n, row + j, chunk);
      post->function(n, chunk, chunk, post->params);
      post->narrow(n, chunk, row + j);
    }
  }
}
