// SPDX-License-Identifier: Apache-2.0
// Data for the tests of int8 products, and weights in the layouts of a file.
#ifndef SMR_TESTS_QLINEAR_DATA_H
#define SMR_TESTS_QLINEAR_DATA_H

#include "kernels/i8_dwconv/i8_dwconv.h"
#include "kernels/i8_gemm/i8_gemm.h"
#include "ops/op_harness.h"

/// How weights reach the operator.
enum q_form { Q_RUNTIME, Q_PLAIN, Q_PACKED, Q_FORMS };

/// Other variants.
enum q_extra { Q_BIAS = 1, Q_W_ZERO = 2, Q_PER_AXIS = 4, Q_SUMS = 8, Q_CLAMP = 16 };

enum { Q_X_ZERO = 5, Q_ZERO = -9, Q_COLUMNS = 128 };
#define Q_X_SCALE 0.0625f
#define Q_SCALE 4.0f

/// The parameters and biases of a test's columns.
struct q_columns {
  float x_scale[1], scales[Q_COLUMNS];
  int32_t x_zero[1], zeros[Q_COLUMNS], bias[Q_COLUMNS];
};

static inline struct q_columns q_columns(int extra) {
  struct q_columns q = {.x_scale = {Q_X_SCALE}, .x_zero = {Q_X_ZERO}};
  for (int i = 0; i < Q_COLUMNS; i++) {
    q.scales[i] = extra & Q_PER_AXIS ? 0.03125f / (float)(1 + i % 3) : 0.03125f;
    q.zeros[i] = !(extra & Q_W_ZERO) ? 0 : extra & Q_PER_AXIS ? i % 11 - 5 : -7;
    q.bias[i] = (i * 7919 % 4001 - 2000) * (i % 5 == 0 ? 20011 : 1);
  }
  return q;
}

/// Inputs x, w and perhaps a bias, the output and its attributes. Columns are axis `axis` of w.
static inline void q_tensors(struct op_test *t, const struct q_columns *q, enum q_form form,
                             int extra, uint32_t rank, const int64_t *x_dims, const int8_t *x,
                             uint32_t w_rank, const int64_t *w_dims, const int8_t *w, int32_t axis,
                             uint32_t y_rank, const int64_t *y_dims) {
  const bool constant = form != Q_RUNTIME, sums = (extra & Q_SUMS) != 0;
  const int64_t n = w_dims[axis];
  assert(n <= Q_COLUMNS);
  op_quant(t, op_in(t, SAMARA_QINT8, rank, x_dims, x), 1, q->x_scale, q->x_zero, -1);
  struct smr_tensor *tw = op_in(t, SAMARA_QINT8, w_rank, w_dims, w);
  tw->constant = constant ? 1 : -1;
  if (extra & Q_PER_AXIS)
    op_quant(t, tw, (uint32_t)n, q->scales, q->zeros, axis);
  else
    op_quant(t, tw, 1, q->scales, q->zeros, -1);
  if (extra & Q_BIAS) op_in(t, SAMARA_INT32, 1, &n, q->bias)->constant = constant ? 2 : -1;
  op_out(t, sums ? SAMARA_INT32 : SAMARA_QINT8, y_rank, y_dims);
  op_int(t, "to", sums ? SAMARA_INT32 : SAMARA_QINT8);
  if (sums) return;
  op_f32(t, "scale", Q_SCALE);
  op_int(t, "zero_point", Q_ZERO);
  if (extra & Q_CLAMP) op_int(t, "lo", -40), op_int(t, "hi", 99);
}

/// Replace input 1, plain weights of `groups` times n columns of k rows, by a file's panels.
static inline void q_pack(struct op_test *t, bool depthwise, size_t groups, size_t k, size_t n,
                          size_t k_stride, size_t n_stride) {
  const size_t stride =
      depthwise ? smr_i8_dwconv_panel_stride_bytes(k) : smr_i8_panel_stride_bytes(k);
  const size_t group = stride * ((n + SMR_I8_PANEL - 1) / SMR_I8_PANEL);
  const int8_t *w = t->in_data[1];
  int8_t *packed = malloc(group * groups + 4);
  if (packed == NULL) abort();
  for (size_t g = 0; g < groups; g++) {
    int8_t *to = packed + 4 + g * group;
    if (depthwise)
      smr_i8_dwconv_pack(k, n, w + g * k * n, k_stride, n_stride, to);
    else
      smr_i8_pack(k, n, w + g * k * n, k_stride, n_stride, to);
  }
  free(t->allocated[1]);
  t->allocated[1] = packed;
  t->in_data[1] = packed + 4;
  t->in[1].layout = depthwise ? SMR_LAYOUT_DWPANEL : SMR_LAYOUT_PANEL;
  t->in[1].size_bytes = group * groups;
}

#endif
