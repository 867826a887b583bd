// SPDX-License-Identifier: Apache-2.0
// What matmul, conv and conv_transpose share: packed weights, padded bias, the epilogue.
//
// Inputs are x, w, bias?, residual?. Weights come packed from the file, are packed once per model
// (plain constants, through `derived`), or are packed in the prologue of every run (computed
// weights, into scratch). The same holds for the bias, which is padded to whole panels.
//
// Quantized weights beside float x are kept as bytes, also in panels. A tile unfolds the columns
// that it needs to floats in thread scratch. Only weights that are small beside x (depthwise, first
// layers) are unfolded as a whole, before the tiles.
#ifndef SMR_OPS_LINEAR_H
#define SMR_OPS_LINEAR_H

#include "base/isa.h"
#include "kernels/bf16_gemm/bf16_gemm.h"
#include "kernels/f16_convert/f16_convert.h"
#include "kernels/f32_gemm/f32_gemm.h"
#include "kernels/f32_gemm_exact/f32_gemm_exact.h"
#include "kernels/f32_narrow/f32_narrow.h"
#include "kernels/f32_vunary/f32_vunary.h"
#include "ops/deadline.h"
#include "ops/op.h"
#include "ops/table/attrs.h"

/// Fail unless the packed constant `w` has `panels` panels of `rows` rows.
samara_status smr_check_panels(const struct smr_job *job, const struct smr_tensor *w,
                               int64_t panels, int64_t rows);

/// Check dtypes: x, output and residual of one float type; w and bias of any float type.
samara_status smr_linear_check_floats(const struct smr_job *job);

/// The same, but w may be quantized (per tensor, or per index of axis `w_axis`) if x is float32.
samara_status smr_linear_check_weights(const struct smr_job *job, uint32_t w_axis);

/// Add `count` elements of `bytes` bytes to the shared scratch; *offset is 64-aligned.
samara_status smr_scratch_take(struct smr_job *job, size_t count, size_t bytes, size_t *offset);
/// The same for thread scratch.
samara_status smr_thread_scratch_take(struct smr_job *job, size_t count, size_t bytes,
                                      size_t *offset);

/// The kernels of a job's products. Float16 arithmetic is used only for float16 weights beside
/// float32 x: float16 x promises a float32 result, rounded once. accuracy=strict excludes it.
static inline const struct smr_f32_gemm_config *smr_linear_config(const struct smr_job *job) {
  if (SMR_HAS(exact) && job->exact) return smr_f32_gemm_exact_config(job->isa);
  const bool half = !job->strict && job->inputs[0]->dtype == SAMARA_FLOAT32;
  return smr_f32_gemm_config(half ? job->isa : job->isa & ~(uint32_t)SMR_ISA_NEON_FP16);
}
/// The same for weights of type `w_type`, as smr_linear_prepare set it.
static inline const struct smr_f32_gemm_config *smr_linear_config_of(const struct smr_job *job,
                                                                     smr_gemm_type w_type) {
  return w_type == SMR_GEMM_BF16 ? smr_bf16_gemm_config(job->isa) : smr_linear_config(job);
}

/// Whether products by the weights at input 1, with sums of at least SMR_LINEAR_ROUNDED_SUM terms,
/// may use bfloat16: float32 x, constant weights, and a session that allows it.
enum { SMR_LINEAR_ROUNDED_SUM = 16 };
bool smr_linear_may_round(const struct smr_job *job);
/// Whether they do use bfloat16 on this CPU.
bool smr_linear_rounds(const struct smr_job *job);

/// Record the kernels for a product by float weights. `columns_vary`: a resize may change args->n.
/// Call it before a plan is made, or use smr_linear_plan.
samara_status smr_linear_need(struct smr_job *job, const struct smr_f32_gemm_args *args,
                              bool columns_vary);
/// Plan a product by the weights at input 1, and record its kernels.
samara_status smr_linear_plan(struct smr_job *job, const struct smr_f32_gemm_args *args,
                              struct smr_f32_gemm_plan *plan);
/// Whether a resize may change the dims of the weights at input 1, on which the choice of algorithm
/// depends.
static inline bool smr_weights_vary(const struct smr_job *job) {
  return job->dims_vary && job->inputs[1]->open != 0;
}

/// Record the kernels for products of any size by float32 weights.
samara_status smr_linear_need_any(struct smr_job *job);

/// Where an operand is read from.
enum smr_linear_source {
  SMR_LINEAR_ABSENT,
  SMR_LINEAR_DIRECT,   // the tensor itself
  SMR_LINEAR_DERIVED,  // job->derived
  SMR_LINEAR_SCRATCH,  // packed in the prologue
  SMR_LINEAR_CALLER,   // the operator packs at run time
};

/// High bits of a derived layout's code: the kind of layout. The rest encodes the attributes.
enum smr_linear_key {
  SMR_LINEAR_KEY_MATMUL = 1 << 27,
  SMR_LINEAR_KEY_CONV = 2 << 27,
  SMR_LINEAR_KEY_DEPTHWISE = 3 << 27,
  SMR_LINEAR_KEY_TRANSPOSED = 4 << 27,
  SMR_LINEAR_KEY_BIAS = 5 << 27,
  SMR_LINEAR_KEY_SUMS = 6 << 27,
  SMR_LINEAR_KEY_BLOCKS = 7 << 27,
  SMR_LINEAR_KEY_LIMIT = 1 << 27,   // exclusive bound of the rest
  SMR_LINEAR_KEY_NARROW = 1 << 30,  // flag: panels of bytes; of bfloat16 if w is float32
};

/// The activation after the clamp: context of the kernels' post callback.
struct smr_linear_post {
  smr_f32_vunary_ukernel function;  // NULL: none
  smr_f16_to_f32_ukernel widen;
  smr_f32_to_f16_ukernel narrow;
  float params[2];
};

/// First member of the state of every operator that uses smr_linear_pack.
struct smr_linear {
  /* set by the operator: plain element (tap t, row k, column n) of group g lies at
   * g * group_stride + source_tap(t) * tap_stride + k * k_stride + n * n_stride */
  size_t groups, taps, k, n;
  size_t group_stride, tap_stride, k_stride, n_stride;
  size_t (*source_tap)(const struct smr_job *job, size_t tap);  // NULL: identity
  uint32_t weight_key;  // SMR_LINEAR_KEY_ and an exact rest; 0: no key can express it, so never
                        // derived
  bool caller_packs;    // the operator packs computed weights
  bool unfolds_whole;   // quantized weights become floats before the tiles
  bool bytes_by_row;    // depthwise weights kept as bytes: panels [taps][16]
  bool pads_taps;  // weights kept as bytes: pad each tap to a multiple of four rows, which repacks
                   // panels of the file
  bool may_round;  // products may use bfloat16: taps is 1, parts of k are even
  uint32_t bias_input;  // 0: input 2
  /* set by smr_linear_prepare */
  enum smr_linear_source w_from, bias_from;
  uint32_t w_derived, bias_derived;
  size_t w_offset, bias_offset;
  smr_gemm_type w_type;
  size_t panel_stride_bytes, w_group_bytes;  // groups are contiguous
  size_t bias_stride;                        // between groups: n rounded up to whole panels
  float lo, hi;
  struct smr_linear_post post;
  /* quantized weights that are unfolded while running */
  struct smr_f32_gemm_source source;  // `expand` is NULL without quantized weights
  const struct smr_f32_narrow_config *narrow;
  const struct smr_quant *quant;
  size_t unfold_offset;  // in thread scratch
};

/// Decide where weights and bias come from; fill `derived`, take scratch, read `epilogue` (NULL if
/// the operator has none).
samara_status smr_linear_prepare(struct smr_job *job, const struct smr_attrs_epilogue *epilogue,
                                 struct smr_linear *linear);

/// The same without weights: only epilogue and bias.
samara_status smr_linear_prepare_end(struct smr_job *job, const struct smr_attrs_epilogue *epilogue,
                                     struct smr_linear *linear);

/// Request a copy of constant `input` in another layout. Returns its index in job->derived.
uint32_t smr_linear_derive(struct smr_job *job, int32_t input, uint32_t key, size_t bytes);

/// Take thread scratch for unfolded weights of products with linear->taps * linear->k rows. Must be
/// the last thread scratch that the operator takes.
samara_status smr_linear_take_unfolded(struct smr_job *job, struct smr_linear *linear);

/// For smr_op_funcs.pack: job->state begins with a struct smr_linear.
samara_status smr_linear_pack(const struct smr_job *job, const struct smr_derived *what, void *out);
/// The same for a struct smr_linear elsewhere in the state.
samara_status smr_linear_pack_to(const struct smr_job *job, const struct smr_linear *linear,
                                 const struct smr_derived *what, void *out);

/// Pack what must be packed in every run.
void smr_linear_prologue(const struct smr_job *job, const struct smr_linear *linear);

/// Pack group `group` of plain weights.
void smr_linear_pack_group(const struct smr_job *job, const struct smr_linear *linear, size_t group,
                           void *out);

/// Column sums of quantized weights: [groups][n rounded up to whole panels].
void smr_linear_sums(const struct smr_job *job, const struct smr_linear *linear, int32_t *out);

/// Addresses of weights (not with SMR_LINEAR_CALLER) and bias, while running.
const void *smr_linear_weights(const struct smr_job *job, const struct smr_linear *linear);
const float *smr_linear_bias(const struct smr_job *job, const struct smr_linear *linear);

/// The post callback: `context` is a struct smr_linear_post.
void smr_linear_post(void *context, void *out, size_t rows, size_t columns, size_t out_stride,
                     smr_gemm_type out_type);

/// Set the arguments known here: batch, n, weights, bias, clamp, post. `thread_scratch`: the
/// thread's scratch while running.
void smr_linear_args(const struct smr_job *job, const struct smr_linear *linear,
                     void *thread_scratch, struct smr_f32_gemm_args *args);

/// smr_f32_gemm_run for a product inside a tile. Checks the deadline on the way.
samara_status smr_linear_multiply(struct smr_deadline_watch *watch,
                                  const struct smr_f32_gemm_plan *plan,
                                  const struct smr_f32_gemm_args *args, size_t begin, size_t end);

/// SMR_GEMM_F16 for float16, otherwise SMR_GEMM_F32.
static inline smr_gemm_type smr_linear_type(const struct smr_tensor *t) {
  return t->dtype == SAMARA_FLOAT16 ? SMR_GEMM_F16 : SMR_GEMM_F32;
}

#endif
