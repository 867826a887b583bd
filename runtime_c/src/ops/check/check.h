// SPDX-License-Identifier: Apache-2.0
// Check classes: what must hold between a node's dims, dtypes and attributes before it is planned.
//
// A class recomputes the output dims from the input dims and the attributes and compares. It
// refuses ranks, attribute lists and values that would break the addressing of its operators. Files
// are hostile: classes see dims and attributes exactly as in the file. After smr_op_check succeeds,
// prepare and run rely on this:
//
//  - required inputs and outputs are present, and their counts are within the row's limits;
//  - every dim is >= 0, and the product of the nonzero dims times the element size fits ptrdiff_t
//    with a bit to spare (except dims of measured outputs, which are not known yet);
//  - constants have all bytes that their dims require; a packed layout only reaches operators that
//    support it;
//  - what the comment of the class says.
#ifndef SMR_OPS_CHECK_H
#define SMR_OPS_CHECK_H

#include "base/checked.h"
#include "ops/op.h"
#include "ops/table/attrs.h"

/// The whole check: counts, tensors, the class, the operator's own function.
samara_status smr_op_check(const struct smr_job *job);

// ---- classes ----

/// Variants of a class, named in rows ("norm grad"). The class says what a variant means.
enum smr_check_form {
  SMR_FORM_PLAIN,
  SMR_FORM_GRAD,
  SMR_FORM_SUM,
  SMR_FORM_EXTEND,
  SMR_FORM_ONE,
  SMR_FORM_SCATTER,
};

/// Output dims equal those of input 0.
samara_status smr_check_same(const struct smr_job *job);
/// The same, and `axis` is an axis.
samara_status smr_check_axis(const struct smr_job *job);
/// The dims of all tensors match the row's notation; see check_shapes.c.
samara_status smr_check_shapes(const struct smr_job *job);
/// Output 0 has the dims of x; scale, bias and further outputs have those from `axis` to the last.
/// Form grad: input 0 is a gradient with the dims of x, and x is input 1.
samara_status smr_check_norm(const struct smr_job *job);
/// x and output 0 have dims [N, ..., C]; scale, bias and further outputs have [C]. Form grad as in
/// `norm`.
samara_status smr_check_channels(const struct smr_job *job);
/// Output dims equal those of input 0; quantized tensors carry usable parameters.
samara_status smr_check_quantize(const struct smr_job *job);
/// The inputs broadcast together, and the output has the resulting dims.
samara_status smr_check_broadcast(const struct smr_job *job);
/// The output has the dims `shape`, and the input broadcasts to them. Form sum: the output
/// broadcasts to the input.
samara_status smr_check_expand(const struct smr_job *job);
/// x [..., M, K] and w [..., K, N], either transposed, give [..., M, N], leading dims broadcast;
/// bias is [N], residual as the output. Packed weights hold all their panels.
samara_status smr_check_matmul(const struct smr_job *job);
/// q [..., S, D], k [..., T, D] and v [..., T, E] give [..., S, E], in layout bshd with S and T
/// before the last leading dim; the mask broadcasts to [..., S, T]. Form grad: input 3 is the
/// gradient of the output, and outputs are those of q, k and v.
samara_status smr_check_attention(const struct smr_job *job);
/// x [N, in, C] and w [O, kernel, C / groups] give [N, out, O]; groups divides C and O, bias is
/// [O], residual as the output. Packed weights hold all their panels.
samara_status smr_check_conv(const struct smr_job *job);
/// As conv, with x and output exchanged: conv would compute x from the output.
samara_status smr_check_conv_transpose(const struct smr_job *job);
/// The output [N, size, C] has the dims from which conv with w computes dy.
samara_status smr_check_conv_grad_input(const struct smr_job *job);
/// The output [O, kernel, C / groups] has the dims of the w with which conv computes dy from x.
samara_status smr_check_conv_grad_weight(const struct smr_job *job);
/// The window `kernel` over x [N, in, C] gives [N, out, C]. Form extend: the attribute `extend`
/// lengthens the end padding.
samara_status smr_check_pool(const struct smr_job *job);
/// The output has the dims from which pool computes dy, and those of input 1. Form extend: it is
/// [N, size, C], and `extend` as in pool.
samara_status smr_check_pool_grad(const struct smr_job *job);
/// `axes` are distinct axes of the input; the output lacks them, or has 1 there. Form one: it is
/// one `axis`, which is not empty.
samara_status smr_check_reduce(const struct smr_job *job);
/// Both outputs are the input with `k`, at most its extent, along `axis`.
samara_status smr_check_top_k(const struct smr_job *job);
/// The output has the dims `shape` and as many elements as the input.
samara_status smr_check_reshape(const struct smr_job *job);
/// `perm` is a permutation of the axes; output dim i is input dim perm[i].
samara_status smr_check_transpose(const struct smr_job *job);
/// Inputs agree except along `axis`, where the output has the sum of their extents.
samara_status smr_check_concat(const struct smr_job *job);
/// `sizes` has one extent per output and sums to the input's along `axis`.
samara_status smr_check_split(const struct smr_job *job);
/// begin, end and step, one per axis, select existing elements; step is not 0.
samara_status smr_check_slice(const struct smr_job *job);
/// `pads` holds begins, then ends; negative ones crop first. Reflection reaches at most to the
/// other end; edge and wrap need an element to repeat.
samara_status smr_check_pad(const struct smr_job *job);
/// `repeats` has one factor per axis, by which the output is longer.
samara_status smr_check_tile(const struct smr_job *job);
/// Output dims are the input's before `axis`, those of the indices, and the input's after it.
samara_status smr_check_gather(const struct smr_job *job);
/// Indices have the rank of the input and fit inside it, except along `axis`. The output has the
/// dims of the indices. Form scatter: the updates have them, and the output has the dims of the
/// input.
samara_status smr_check_gather_elements(const struct smr_job *job);
/// The last axis of the indices addresses axes of the input after `batch_dims`, which agree. The
/// output has the other dims of the indices, then the remaining dims of the input. Form scatter: no
/// batch dims; the updates have these dims, and the output has the dims of the input.
samara_status smr_check_gather_nd(const struct smr_job *job);
/// Spatial dims of x [N, in, C] become `sizes`; an empty axis cannot become longer. Form grad: they
/// become `size`, and x is the gradient of the resized image.
samara_status smr_check_resize(const struct smr_job *job);
/// x [N, H, W, C], offset [N, out, groups * taps * 2] and mask [N, out, groups * taps] give [N,
/// out, C * taps]; both kinds of groups divide C.
samara_status smr_check_deform_columns(const struct smr_job *job);
/// x [N, C, kernel, windows], with 1 to 3 of each, gives [N, C, size].
samara_status smr_check_fold(const struct smr_job *job);
/// x [..., 1 or 2] gives `length` elements along `axis`, which is not the last, or half of them
/// and one if one side is kept; elements are complex unless one side made a whole signal.
samara_status smr_check_dft(const struct smr_job *job);
/// The output is [number of `values`], or a scalar of the one value; its dtype is `dtype`.
samara_status smr_check_dims(const struct smr_job *job);

enum {
  /// A bit for each form used by an operator of this build.
  SMR_FORMS_BUILT = 0
#ifdef SMR_NO_TRAINING
#define FORM_IS_BUILT(flags) (((flags) & SMR_OP_TRAINING) == 0)
#else
#define FORM_IS_BUILT(flags) 1
#endif
#define SMR_OP(NAME, code, name, class, min_in, max_in, min_out, max_out, attr_first, attr_count, \
               flags, measured, dtypes, form, shapes)                                             \
  | (FORM_IS_BUILT(flags) << (form))
#include "ops/table/opdefs.inc"
#undef SMR_OP
#undef FORM_IS_BUILT
};

/// Whether the operator of this node has this form of its check class. False at compile time if no
/// operator of this build has it.
static inline bool smr_has_form(const struct smr_job *job, enum smr_check_form form) {
  return (SMR_FORMS_BUILT >> form & 1) != 0 && job->op->check_form == form;
}

// ---- helpers for classes and operators ----

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
  // Beyond the first eight, allowed by smr_op_funcs.more_dtypes: whole bytes, and two per byte.
  SMR_DTYPES_MORE = SMR_DTYPE_F64 | SMR_DTYPE_BF16 | SMR_DTYPE_I16 | SMR_DTYPE_U16 | SMR_DTYPE_U32 |
      SMR_DTYPE_U64,
  SMR_DTYPES_PACKED = SMR_DTYPE_I4 | SMR_DTYPE_U4,
  // Those that arithmetic accepts.
  SMR_DTYPES_MORE_INT = SMR_DTYPE_I16 | SMR_DTYPE_U16 | SMR_DTYPE_U32 | SMR_DTYPE_U64,
  SMR_DTYPES_MORE_NUMBER = SMR_DTYPES_MORE_INT | SMR_DTYPE_F64,
  SMR_DTYPES_EVERY_FLOAT = SMR_DTYPES_FLOAT | SMR_DTYPE_F64,
  SMR_DTYPES_EVERY_INT = SMR_DTYPES_INT | SMR_DTYPES_MORE_INT,
  SMR_DTYPES_EVERY_NUMBER = SMR_DTYPES_NUMBER | SMR_DTYPES_MORE_NUMBER,
};

/// Dims as text, "[2, 3, 4]", truncated if long.
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
/// Fail unless input 0 has a dtype of `set` and all other inputs and outputs have the same one.
samara_status smr_expect_one_dtype(const struct smr_job *job, uint32_t set);
/// Fail unless the attribute `dtype` is the output's, and one of `set`.
samara_status smr_expect_dtype_attr(const struct smr_job *job, int64_t dtype, uint32_t set);
/// Fail unless x [N, spatial, C] has pixels: every spatial extent is from 1 to INT32_MAX.
samara_status smr_expect_pixels(const struct smr_job *job, const struct smr_tensor *x);
/// Fail if `t` is quantized without usable parameters: scales must be finite, positive and normal,
/// zero points int8 values, with one pair for the tensor or one per index of the axis.
samara_status smr_expect_quant(const struct smr_job *job, const struct smr_tensor *t,
                               const char *what);
/// Fail unless `t` is int8 with one usable scale and zero point.
samara_status smr_expect_q8(const struct smr_job *job, const struct smr_tensor *t,
                            const char *what);
/// Fail unless output 0 is int8 and this scale and zero point are usable.
samara_status smr_expect_q8_quant(const struct smr_job *job, float scale, int64_t zero);
/// The same for the operator's attributes; also lo <= hi, both int8 values.
samara_status smr_expect_q8_output(const struct smr_job *job,
                                   const struct smr_attrs_int8_output *attrs);
/// Fail unless -rank <= axis < rank; *out counts from the front.
samara_status smr_expect_axis(const struct smr_job *job, int64_t axis, uint32_t rank,
                              uint32_t *out);
/// Fail unless list attribute `attr` has `count` elements, each in [least, most]. *out borrows
/// them.
samara_status smr_expect_ints(const struct smr_job *job, const struct smr_attr *attr,
                              uint32_t count, int64_t least, int64_t most, const int64_t **out);
/// Fail unless output 0 has the dims in list attribute `attr`.
samara_status smr_expect_shape(const struct smr_job *job, const struct smr_attr *attr);

/// Input `index`; NULL if absent.
static inline struct smr_tensor *smr_optional_input(const struct smr_job *job, uint32_t index) {
  return index < job->input_count ? job->inputs[index] : NULL;
}

/// Broadcast `dims` and `more`, by numpy's rules, into `dims`/`*rank` (room for SAMARA_MAX_RANK).
/// False if they do not broadcast.
bool smr_broadcast_dims(int64_t *dims, uint32_t *rank, const int64_t *more, uint32_t more_rank);

/// Product of the dims of a checked tensor.
static inline int64_t smr_product(const int64_t *dims, uint32_t count) {
  int64_t n = 1;
  for (uint32_t i = 0; i < count; i++) n *= dims[i];
  return n;
}

#endif
