// SPDX-License-Identifier: Apache-2.0
// Check classes: what must hold between a node's dims, dtypes and attributes before it is planned.
//
// A class recomputes the output dims from the input dims and the attributes, refuses ranks,
// attribute lists and values that its operators' addressing could not survive, and compares. Files
// are hostile: classes see dims and attributes as they were written there. After smr_op_check has
// said OK, prepare and run trust what it established:
//
//  - required inputs and outputs are there, counts lie in the row's limits;
//  - every dim is >= 0 and the product of the nonzero dims times the element size fits ptrdiff_t
//    with a bit to spare (dims of outputs of a measured operator excepted: they are not known yet);
//  - constants are at least as long as their dims say; a packed layout only reaches an operator
//  that
//    knows it;
//  - what the class's own comment says.
#ifndef SMR_OPS_CHECK_H
#define SMR_OPS_CHECK_H

#include "base/checked.h"
#include "ops/op.h"
#include "ops/table/attrs.h"

/// Everything: counts, tensors, the class, the operator's own check.
samara_status smr_op_check(const struct smr_job *job);

// ---- classes ----

samara_status smr_check_same(const struct smr_job *job);
samara_status smr_check_axis(const struct smr_job *job);
samara_status smr_check_norm(const struct smr_job *job);
samara_status smr_check_channel_norm(const struct smr_job *job);
samara_status smr_check_group_norm(const struct smr_job *job);
samara_status smr_check_group_norm_grad(const struct smr_job *job);
samara_status smr_check_batch_norm(const struct smr_job *job);
samara_status smr_check_batch_norm_grad(const struct smr_job *job);
samara_status smr_check_norm_grad(const struct smr_job *job);
samara_status smr_check_cross_entropy(const struct smr_job *job);
samara_status smr_check_cross_entropy_grad(const struct smr_job *job);
samara_status smr_check_broadcast(const struct smr_job *job);
samara_status smr_check_where(const struct smr_job *job);
samara_status smr_check_sum_to(const struct smr_job *job);
samara_status smr_check_matmul(const struct smr_job *job);
samara_status smr_check_attention(const struct smr_job *job);
samara_status smr_check_attention_grad(const struct smr_job *job);
samara_status smr_check_conv(const struct smr_job *job);
samara_status smr_check_conv_transpose(const struct smr_job *job);
samara_status smr_check_conv_grad_input(const struct smr_job *job);
samara_status smr_check_conv_grad_weight(const struct smr_job *job);
samara_status smr_check_pool(const struct smr_job *job);
samara_status smr_check_max_pool_grad(const struct smr_job *job);
samara_status smr_check_avg_pool_grad(const struct smr_job *job);
samara_status smr_check_reduce(const struct smr_job *job);
samara_status smr_check_arg(const struct smr_job *job);
samara_status smr_check_top_k(const struct smr_job *job);
samara_status smr_check_reshape(const struct smr_job *job);
samara_status smr_check_transpose(const struct smr_job *job);
samara_status smr_check_concat(const struct smr_job *job);
samara_status smr_check_split(const struct smr_job *job);
samara_status smr_check_slice(const struct smr_job *job);
samara_status smr_check_pad(const struct smr_job *job);
samara_status smr_check_expand(const struct smr_job *job);
samara_status smr_check_tile(const struct smr_job *job);
samara_status smr_check_gather(const struct smr_job *job);
samara_status smr_check_gather_elements(const struct smr_job *job);
samara_status smr_check_gather_nd(const struct smr_job *job);
samara_status smr_check_scatter_elements(const struct smr_job *job);
samara_status smr_check_scatter_nd(const struct smr_job *job);
samara_status smr_check_range(const struct smr_job *job);
samara_status smr_check_iota(const struct smr_job *job);
samara_status smr_check_shaped(const struct smr_job *job);
samara_status smr_check_nonzero(const struct smr_job *job);
samara_status smr_check_dims(const struct smr_job *job);
samara_status smr_check_resize(const struct smr_job *job);
samara_status smr_check_resize_grad(const struct smr_job *job);
samara_status smr_check_grid_sample(const struct smr_job *job);
samara_status smr_check_grid_sample_grad(const struct smr_job *job);
samara_status smr_check_roi_align(const struct smr_job *job);
samara_status smr_check_roi_pool(const struct smr_job *job);
samara_status smr_check_nms(const struct smr_job *job);
samara_status smr_check_deform_columns(const struct smr_job *job);
samara_status smr_check_fold(const struct smr_job *job);
samara_status smr_check_dft(const struct smr_job *job);
samara_status smr_check_det(const struct smr_job *job);
samara_status smr_check_sort_rows(const struct smr_job *job);
samara_status smr_check_lstm(const struct smr_job *job);
samara_status smr_check_gru(const struct smr_job *job);
samara_status smr_check_lstm_grad(const struct smr_job *job);
samara_status smr_check_gru_grad(const struct smr_job *job);
samara_status smr_check_quantize(const struct smr_job *job);
samara_status smr_check_matmul_blocks(const struct smr_job *job);
samara_status smr_check_gather_blocks(const struct smr_job *job);
samara_status smr_check_qresize(const struct smr_job *job);

// ---- what classes and operators are made of ----

/// Sets of dtypes.
enum {
  SMR_DTYPE_F32 = 1u << SAMARA_FLOAT32,
  SMR_DTYPE_F16 = 1u << SAMARA_FLOAT16,
  SMR_DTYPE_I8 = 1u << SAMARA_INT8,
  SMR_DTYPE_QS8 = 1u << SAMARA_QINT8,
  SMR_DTYPE_U8 = 1u << SAMARA_UINT8,
  SMR_DTYPE_I32 = 1u << SAMARA_INT32,
  SMR_DTYPE_I64 = 1u << SAMARA_INT64,
  SMR_DTYPE_BOOL = 1u << SAMARA_BOOL,
  SMR_DTYPE_F64 = 1u << SAMARA_FLOAT64,
  SMR_DTYPE_BF16 = 1u << SAMARA_BFLOAT16,
  SMR_DTYPE_I16 = 1u << SAMARA_INT16,
  SMR_DTYPE_U16 = 1u << SAMARA_UINT16,
  SMR_DTYPE_U32 = 1u << SAMARA_UINT32,
  SMR_DTYPE_U64 = 1u << SAMARA_UINT64,
  SMR_DTYPE_I4 = 1u << SAMARA_INT4,
  SMR_DTYPE_U4 = 1u << SAMARA_UINT4,
  SMR_DTYPES_FLOAT = SMR_DTYPE_F32 | SMR_DTYPE_F16,
  SMR_DTYPES_SIGNED = SMR_DTYPE_I8 | SMR_DTYPE_I32 | SMR_DTYPE_I64,
  SMR_DTYPES_INT = SMR_DTYPES_SIGNED | SMR_DTYPE_U8,
  SMR_DTYPES_NUMBER = SMR_DTYPES_FLOAT | SMR_DTYPES_INT,
  SMR_DTYPES_PLAIN = SMR_DTYPES_NUMBER | SMR_DTYPE_BOOL,
  SMR_DTYPES_ANY = SMR_DTYPES_PLAIN | SMR_DTYPE_QS8,
  // Beyond the first eight, by smr_op_funcs.more_dtypes: whole bytes, and two to a byte.
  SMR_DTYPES_MORE = SMR_DTYPE_F64 | SMR_DTYPE_BF16 | SMR_DTYPE_I16 | SMR_DTYPE_U16 | SMR_DTYPE_U32 |
      SMR_DTYPE_U64,
  SMR_DTYPES_PACKED = SMR_DTYPE_I4 | SMR_DTYPE_U4,
  // What arithmetic takes of them.
  SMR_DTYPES_MORE_INT = SMR_DTYPE_I16 | SMR_DTYPE_U16 | SMR_DTYPE_U32 | SMR_DTYPE_U64,
  SMR_DTYPES_MORE_NUMBER = SMR_DTYPES_MORE_INT | SMR_DTYPE_F64,
  SMR_DTYPES_EVERY_FLOAT = SMR_DTYPES_FLOAT | SMR_DTYPE_F64,
  SMR_DTYPES_EVERY_INT = SMR_DTYPES_INT | SMR_DTYPES_MORE_INT,
  SMR_DTYPES_EVERY_NUMBER = SMR_DTYPES_NUMBER | SMR_DTYPES_MORE_NUMBER,
};

/// Dims as "[2, 3, 4]", cut when long.
struct smr_dims_text {
  char text[112];
};
struct smr_dims_text smr_dims_text(const int64_t *dims, uint32_t rank);

/// Fail unless `t` has exactly these dims; `what` names the tensor.
samara_status smr_expect_dims(const struct smr_job *job, const struct smr_tensor *t,
                              const char *what, const int64_t *dims, uint32_t rank);
/// Fail unless the rank of `t` lies in [least, most].
samara_status smr_expect_rank(const struct smr_job *job, const struct smr_tensor *t,
                              const char *what, uint32_t least, uint32_t most);
/// Fail unless the dtype of `t` is one of `set` (SMR_DTYPE_* bits).
samara_status smr_expect_dtype(const struct smr_job *job, const struct smr_tensor *t,
                               const char *what, uint32_t set);
/// Fail unless two tensors have one dtype.
samara_status smr_expect_same_dtype(const struct smr_job *job, const struct smr_tensor *a,
                                    const struct smr_tensor *b, const char *what);
/// Fail where `t` is quantized without usable parameters: scales are finite, positive and normal,
/// zero points are int8 values, and there is one pair for the tensor or one per index of the axis.
samara_status smr_expect_quant(const struct smr_job *job, const struct smr_tensor *t,
                               const char *what);
/// Fail unless `t` is int8 with one usable scale and zero point.
samara_status smr_expect_q8(const struct smr_job *job, const struct smr_tensor *t,
                            const char *what);
/// Fail unless output 0 is int8 and this scale and zero point are usable.
samara_status smr_expect_q8_quant(const struct smr_job *job, float scale, int64_t zero);
/// The same for the operator's attributes; lo and hi must be int8 values in order, too.
samara_status smr_expect_q8_output(const struct smr_job *job,
                                   const struct smr_attrs_int8_output *attrs);
/// Fail unless -rank <= axis < rank; *out counts from the front.
samara_status smr_expect_axis(const struct smr_job *job, int64_t axis, uint32_t rank,
                              uint32_t *out);
/// Fail unless `attr`, a list of the node's, has `count` elements, each in [least, most]; *out
/// borrows them.
samara_status smr_expect_ints(const struct smr_job *job, const struct smr_attr *attr,
                              uint32_t count, int64_t least, int64_t most, const int64_t **out);
/// Fail unless output 0 has the dims of `attr`, a list of the node's.
samara_status smr_expect_shape(const struct smr_job *job, const struct smr_attr *attr);

/// Input `index`, or NULL where it is absent.
static inline struct smr_tensor *smr_optional_input(const struct smr_job *job, uint32_t index) {
  return index < job->input_count ? job->inputs[index] : NULL;
}

/// numpy's broadcast of `dims` and `more` into `dims`/`*rank` (room for SAMARA_MAX_RANK). False
/// when they do not broadcast.
bool smr_broadcast_dims(int64_t *dims, uint32_t *rank, const int64_t *more, uint32_t more_rank);

/// Product of dims; the caller has checked the tensor they come from.
static inline int64_t smr_product(const int64_t *dims, uint32_t count) {
  int64_t n = 1;
  for (uint32_t i = 0; i < count; i++) n *= dims[i];
  return n;
}

#endif
