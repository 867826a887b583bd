// SPDX-License-Identifier: Apache-2.0
// matmul: batched matrix products with a fused epilogue.
#include "base/fp.h"

#include "kernels/pack/transpose_f32.h"
#include "kernels/vmatmul/vmatmul.h"
#include "ops/check/check.h"
#include "ops/conv/weight_grad.h"
#include "ops/matmul/linear.h"
#include "ops/pointwise/elementwise.h"
#include "ops/table/funcs.h"

#include <math.h>

enum {
  MATMUL_TURN = 64,           // columns of x transposed together
  MATMUL_OUTER_ROWS = 1024,   // fewest rows to compute xᵀw as a sum of outer products,
  MATMUL_OUTER_SIZE = 16384,  // unless x has at most so many elements
  MATMUL_ANY_ROWS = 16,       // rows per tile for integers and float64
  MATMUL_MORE = SMR_DTYPE_F64 | SMR_DTYPE_U32 | SMR_DTYPE_U64,
};

// Long sums occur in weight gradients. A library that only runs models transposes x instead.
#ifdef SMR_NO_TRAINING
enum { MATMUL_SUMS = 0 };
#else
enum { MATMUL_SUMS = 1 };
#endif

struct matmul_state;
// Writes `count` matrices of x, from number `first` on, as rows of float32.
typedef void (*matmul_copy)(const struct smr_job *job, const struct matmul_state *s, size_t first,
                            size_t count, float *out);

struct matmul_state {
  struct smr_linear linear;
  struct smr_f32_gemm_plan plan;  // of one product
  smr_vmatmul_ukernel any;        // for integers and float64; replaces all fields after `k`
  struct smr_broadcast batch;     // maps product i to its matrices of x and w
  size_t products, m, n, k;       // with a single w, all rows of x form one product
  size_t x_count;                 // matrices of x
  size_t copy_offset;             // in scratch: x as rows of float32, if it must be copied
  size_t pack_offset;             // in thread scratch: a w packed at run time
  size_t turns;                   // tiles that transpose x first
  matmul_copy copy;               // NULL: x is already rows of float32
  bool transposes_x;
  struct smr_weight_grad weight_grad;  // for a sum of outer products; replaces all fields but the
                                       // sizes
};

// Whether the product is of integers or of float64.
static bool matmul_is_plain(const struct smr_job *job) {
  const uint8_t dtype = job->inputs[0]->dtype;
  return dtype != SAMARA_FLOAT32 && dtype != SAMARA_FLOAT16 &&
         (1u << dtype & (SMR_DTYPE_I32 | SMR_DTYPE_I64 | MATMUL_MORE)) != 0;
}

static samara_status matmul_check(const struct smr_job *job) {
  if (!matmul_is_plain(job)) {
    const uint32_t rank = job->inputs[1]->rank;
    return smr_linear_check_weights(job,
                                    rank - (SMR_ATTR(job, matmul, transpose_w)->i != 0 ? 2 : 1));
  }
  for (uint32_t i = 1; i < job->input_count; i++)
    if (job->inputs[i] != NULL)
      SMR_TRY(smr_expect_same_dtype(job, job->inputs[0], job->inputs[i], "inputs"));
  SMR_TRY(smr_expect_same_dtype(job, job->inputs[0], job->outputs[0], "x and output"));
  if (job->inputs[1]->layout != SMR_LAYOUT_PLAIN || SMR_ATTR(job, matmul, post)->i != 0 ||
      SMR_ATTR(job, matmul, lo)->f != -INFINITY || SMR_ATTR(job, matmul, hi)->f != INFINITY)
    SMR_FAIL(job->error, BAD_SHAPE, "matmul: %s takes no packed weights and no activation",
             smr_dtype_name(job->inputs[0]->dtype));
  return SAMARA_OK;
}

// The leading dims, as a tensor.
static struct smr_tensor matmul_leading(const struct smr_tensor *t) {
  struct smr_tensor leading = *t;
  leading.rank = (uint8_t)(t->rank - 2u);
  return leading;
}

// Set the sizes and the mapping of products to matrices.
static void matmul_geometry(const struct smr_job *job, struct matmul_state *s) {
  const struct smr_tensor *x = job->inputs[0], *w = job->inputs[1], *y = job->outputs[0];
  s->transposes_x = SMR_ATTR(job, matmul, transpose_x)->i != 0;
  s->m = (size_t)y->dims[y->rank - 2];
  s->n = (size_t)y->dims[y->rank - 1];
  s->k = (size_t)x->dims[x->rank - (s->transposes_x ? 2 : 1)];
  const struct smr_tensor leading_x = matmul_leading(x), leading_w = matmul_leading(w);
  const struct smr_tensor leading_y = matmul_leading(y);
  s->x_count = (size_t)smr_numel(&leading_x);
  s->products = (size_t)smr_numel(&leading_y);
  smr_broadcast_make(&s->batch, &leading_y, (const struct smr_tensor *[]){&leading_x, &leading_w},
                     2);
}

// ---- products of float weights ----

// Widen matrices of float16, and transpose them if needed.
static void matmul_widen(const struct smr_job *job, const struct matmul_state *s, size_t first,
                         size_t count, float *out) {
  enum { BLOCK = 16 };
  const struct smr_tensor *x = job->inputs[0];
  const size_t rows = (size_t)x->dims[x->rank - 2], columns = (size_t)x->dims[x->rank - 1];
  const uint16_t *half = (const uint16_t *)x->data + first * rows * columns;
  const smr_f16_to_f32_ukernel widen = smr_f16_to_f32_kernel(job->isa);
  if (!s->transposes_x) {
    widen(count * rows * columns, half, out);
    return;
  }
  for (size_t i = 0; i < count; i++, half += rows * columns) {
    for (size_t r = 0; r < rows; r++) {
      for (size_t c = 0; c < columns; c += BLOCK) {
        const size_t n = columns - c < BLOCK ? columns - c : BLOCK;
        float block[BLOCK];
        widen(n, half + r * columns + c, block);
        for (size_t j = 0; j < n; j++) out[(i * columns + c + j) * rows + r] = block[j];
      }
    }
  }
}

// Transpose columns [first, first + count) of float32 matrix `i`.
static void matmul_turn(const struct smr_job *job, size_t i, size_t first, size_t count,
                        float *out) {
  const struct smr_tensor *x = job->inputs[0];
  const size_t rows = (size_t)x->dims[x->rank - 2], columns = (size_t)x->dims[x->rank - 1];
  smr_transpose_f32(rows, count, (const float *)x->data + i * rows * columns + first, columns, out,
                    rows, job->isa);
}

// Transpose float32 matrices, for products whose w is packed at run time.
static void matmul_transpose(const struct smr_job *job, const struct matmul_state *s, size_t first,
                             size_t count, float *out) {
  for (size_t i = first; i < first + count; i++, out += s->k * s->m)
    matmul_turn(job, i, 0, s->m, out);
}

// Arguments of product `i` except x and w, whose matrices are at[0] and at[1].
static void matmul_args(const struct smr_job *job, const struct matmul_state *s, size_t i,
                        char *thread_scratch, size_t *at, struct smr_f32_gemm_args *args) {
  at[0] = at[1] = 0;
  if (s->products > 1) {
    struct smr_broadcast_cursor cursor;
    smr_broadcast_start(&s->batch, &cursor, i, i + 1);
    smr_broadcast_next(&s->batch, &cursor, 1, at);
  }
  *args = (struct smr_f32_gemm_args){.m = s->m, .k = s->k, .taps = 1, .a_stride = s->k};
  smr_linear_args(job, &s->linear, thread_scratch, args);
  args->batch = 1;
  const struct smr_tensor *residual = smr_optional_input(job, 3), *y = job->outputs[0];
  const size_t offset = i * s->m * s->n * smr_dtype_bytes(y->dtype);
  args->out = (char *)y->data + offset;
  args->out_type = smr_linear_type(y);
  args->out_stride = args->residual_stride = s->n;
  args->residual = residual != NULL ? (const char *)residual->data + offset : NULL;
}

// Run units of products whose w is packed beforehand.
static samara_status matmul_product_run(const struct smr_job *job, size_t begin, size_t end,
                                        void *thread_scratch) {
  const struct matmul_state *s = job->state;
  float *copy = (float *)(void *)((char *)job->scratch + s->copy_offset);
  if (begin == end) {  // alone, before the tiles
    smr_linear_prologue(job, &s->linear);
    if (s->copy != NULL && s->turns == 0) s->copy(job, s, 0, s->x_count, copy);
    return SAMARA_OK;
  }
  const float *x = s->copy != NULL ? copy : (const float *)job->inputs[0]->data;
  const size_t units = s->plan.units;
  for (size_t tile = begin; tile < end;) {
    const size_t product = tile / units, first = tile % units;
    const size_t count = units - first < end - tile ? units - first : end - tile;
    struct smr_f32_gemm_args args;
    size_t at[SMR_BROADCAST_OPERANDS];
    matmul_args(job, s, product, thread_scratch, at, &args);
    args.a = x + at[0] * s->m * s->k;
    args.w = (const char *)args.w + at[1] * s->linear.w_group_bytes;
    smr_f32_gemm_run(&s->plan, &args, first, first + count);
    tile += count;
  }
  return SAMARA_OK;
}

// The same after tiles that transpose x.
static samara_status matmul_turned_run(const struct smr_job *job, size_t begin, size_t end,
                                       void *thread_scratch) {
  const struct matmul_state *s = job->state;
  if (begin == end) return matmul_product_run(job, 0, 0, thread_scratch);
  const struct smr_tensor *x = job->inputs[0];
  const size_t rows = (size_t)x->dims[x->rank - 2], columns = (size_t)x->dims[x->rank - 1];
  const size_t pieces = s->turns / s->x_count;
  float *copy = (float *)(void *)((char *)job->scratch + s->copy_offset);
  for (; begin < end && begin < s->turns; begin++) {
    const size_t matrix = begin / pieces, first = begin % pieces * MATMUL_TURN;
    matmul_turn(job, matrix, first, columns - first < MATMUL_TURN ? columns - first : MATMUL_TURN,
                copy + (matrix * columns + first) * rows);
  }
  if (begin == end) return SAMARA_OK;
  return matmul_product_run(job, begin - s->turns, end - s->turns, thread_scratch);
}

// A tile is a whole product: it packs w and copies x itself.
static samara_status matmul_computed_run(const struct smr_job *job, size_t begin, size_t end,
                                         void *thread_scratch) {
  const struct matmul_state *s = job->state;
  if (begin == end) {
    smr_linear_prologue(job, &s->linear);
    return SAMARA_OK;
  }
  char *w = (char *)thread_scratch + s->pack_offset;
  float *copy = (float *)(void *)((char *)thread_scratch + s->copy_offset);
  struct smr_deadline_watch watch = {.job = job};
  for (size_t product = begin; product < end; product++) {
    struct smr_f32_gemm_args args;
    size_t at[SMR_BROADCAST_OPERANDS];
    matmul_args(job, s, product, thread_scratch, at, &args);
    smr_linear_pack_group(job, &s->linear, at[1], w);
    args.w = w;
    args.a = (const float *)job->inputs[0]->data + at[0] * s->m * s->k;
    if (s->copy != NULL) {
      s->copy(job, s, at[0], 1, copy);
      args.a = copy;
    }
    SMR_TRY(smr_linear_multiply(&watch, &s->plan, &args, 0, s->plan.units));
  }
  return SAMARA_OK;
}

// ---- a sum of outer products ----

// Whether the product can be a long sum over rows of both operands, as in weight gradients. Both
// are then read in place, and the sum is divided among threads.
static bool matmul_may_be_sum(const struct smr_job *job, const struct matmul_state *s) {
  const struct smr_tensor *x = job->inputs[0], *w = job->inputs[1], *y = job->outputs[0];
  const bool plain =
      x->dtype == SAMARA_FLOAT32 && w->dtype == SAMARA_FLOAT32 && y->dtype == SAMARA_FLOAT32 &&
      w->layout == SMR_LAYOUT_PLAIN && smr_optional_input(job, 2) == NULL &&
      smr_optional_input(job, 3) == NULL && SMR_ATTR(job, matmul, post)->i == 0 &&
      SMR_ATTR(job, matmul, lo)->f == -INFINITY && SMR_ATTR(job, matmul, hi)->f == INFINITY;
  return plain && s->transposes_x && SMR_ATTR(job, matmul, transpose_w)->i == 0;
}

// Whether the product is computed that way.
static bool matmul_is_sum(const struct smr_job *job, const struct matmul_state *s) {
  const struct smr_tensor leading_w = matmul_leading(job->inputs[1]);
  return s->products == 1 && s->x_count == 1 && smr_numel(&leading_w) == 1 && s->k <= INT32_MAX &&
         (s->k >= MATMUL_OUTER_ROWS || s->k * s->m <= MATMUL_OUTER_SIZE);
}

static samara_status matmul_sum_run(const struct smr_job *job, size_t begin, size_t end,
                                    void *thread_scratch) {
  const struct matmul_state *s = job->state;
  if (begin == end) return SAMARA_OK;
  return smr_weight_grad_run(job, &s->weight_grad, job->inputs[0]->data, job->inputs[1]->data,
                             job->outputs[0]->data, begin, end, thread_scratch);
}

static samara_status matmul_prepare_sum(struct smr_job *job, struct matmul_state *s) {
  for (uint32_t i = 0; i < SMR_MAX_DERIVED; i++) job->derived[i].input = -1;
  struct smr_window w = {.spatial = 1, .batch = 1};
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++)
    w.in[i] = w.out[i] = w.kernel[i] = w.stride[i] = w.dilation[i] = 1;
  w.in[1] = w.out[1] = (int64_t)s->k;
  job->run = matmul_sum_run;
  s->weight_grad =
      (struct smr_weight_grad){.window = w, .groups = 1, .a_channels = s->m, .b_channels = s->n};
  return smr_weight_grad_prepare(job, &s->weight_grad);
}

// ---- the other dtypes ----

// Element `i` of an optional operand.
static const void *matmul_at(const struct smr_tensor *t, size_t i) {
  return t == NULL ? NULL : (const char *)t->data + i * smr_dtype_bytes(t->dtype);
}

// A tile is some rows of a product. Each block of columns visits all of them while its weights are
// in cache.
static samara_status matmul_plain_run(const struct smr_job *job, size_t begin, size_t end,
                                      void *thread_scratch) {
  (void)thread_scratch;
  const struct matmul_state *s = job->state;
  const size_t k = s->k, n = s->n, per = s->m / MATMUL_ANY_ROWS + (s->m % MATMUL_ANY_ROWS != 0);
  const bool turned = SMR_ATTR(job, matmul, transpose_w)->i != 0;
  struct smr_vmatmul_args args = {.k = k,
                                  .x_row = s->transposes_x ? 1 : k,
                                  .x_step = s->transposes_x ? s->m : 1,
                                  .w_row = turned ? 1 : n,
                                  .w_step = turned ? k : 1,
                                  .y_row = n};
  for (size_t tile = begin; tile < end; tile++) {
    const size_t product = tile / per, row = tile % per * MATMUL_ANY_ROWS;
    size_t at[SMR_BROADCAST_OPERANDS];
    struct smr_broadcast_cursor cursor;
    smr_broadcast_start(&s->batch, &cursor, product, product + 1);
    smr_broadcast_next(&s->batch, &cursor, 1, at);
    args.rows = s->m - row < MATMUL_ANY_ROWS ? s->m - row : MATMUL_ANY_ROWS;
    args.x = matmul_at(job->inputs[0], at[0] * s->m * k + row * args.x_row);
    for (size_t j = 0; j < n; j += SMR_VMATMUL_COLUMNS) {
      const size_t out = (product * s->m + row) * n + j;
      args.n = n - j < SMR_VMATMUL_COLUMNS ? n - j : SMR_VMATMUL_COLUMNS;
      args.w = matmul_at(job->inputs[1], at[1] * k * n + j * args.w_step);
      args.start = matmul_at(smr_optional_input(job, 2), j);
      args.more = matmul_at(smr_optional_input(job, 3), out);
      args.y = (char *)job->outputs[0]->data + out * smr_dtype_bytes(job->outputs[0]->dtype);
      s->any(&args);
    }
  }
  return SAMARA_OK;
}

static samara_status matmul_prepare_plain(struct smr_job *job) {
  struct matmul_state *s = job->state;
  *s = (struct matmul_state){.products = 0};
  for (uint32_t i = 0; i < SMR_MAX_DERIVED; i++) job->derived[i].input = -1;
  matmul_geometry(job, s);
  switch (job->inputs[0]->dtype) {
    case SAMARA_FLOAT64:
      SMR_NEED(job, matmul_float64);
      break;
    case SAMARA_INT64:
    case SAMARA_UINT64:
      SMR_NEED(job, matmul_int64);
      break;
    default:
      SMR_NEED(job, matmul_int32);
  }
  job->run = matmul_plain_run;
  s->any = smr_vmatmul_kernel(job->inputs[0]->dtype);
  job->kernel = "vmatmul";
  job->tiles = s->n ? s->products * (s->m / MATMUL_ANY_ROWS + (s->m % MATMUL_ANY_ROWS != 0)) : 0;
  return SAMARA_OK;
}

// ---- preparing ----

static samara_status matmul_prepare(struct smr_job *job) {
  if (matmul_is_plain(job)) return matmul_prepare_plain(job);
  const struct smr_tensor *x = job->inputs[0], *w = job->inputs[1];
  struct matmul_state *s = job->state;
  *s = (struct matmul_state){.products = 0};
  matmul_geometry(job, s);
  const bool exact = SMR_HAS(exact) && job->exact;
  if (exact && w->dtype == SAMARA_QINT8)
    SMR_FAIL(job->error, UNSUPPORTED,
             "matmul: quantized weights beside float x have no exact form; export with scheme "
             "int8-dynamic or int4-weights, or set exact = SAMARA_EXACT_OFF");
  const bool may_be_sum = MATMUL_SUMS && !exact && matmul_may_be_sum(job, s);
  const bool is_sum = may_be_sum && matmul_is_sum(job, s);
  if (is_sum || (job->dims_vary && may_be_sum)) SMR_NEED(job, f32_reduce_columns_sum);
  SMR_WAY(job, matmul_outer, is_sum, may_be_sum, return matmul_prepare_sum(job, s));
  SMR_WAY(job, matmul_transpose, s->transposes_x, false, s->copy = matmul_transpose);
  const bool half = x->dtype == SAMARA_FLOAT16;
  if (SMR_HAS(type_float16) && half) s->copy = matmul_widen;
  const struct smr_tensor leading_w = matmul_leading(w);
  const size_t w_count = (size_t)smr_numel(&leading_w);
  if (w_count == 1) {  // x's matrices are contiguous: one tall matrix
    s->m *= s->products;
    s->products = s->products != 0;
  }
  const bool transpose_w = SMR_ATTR(job, matmul, transpose_w)->i != 0;
  s->linear = (struct smr_linear){
      .groups = w_count,
      .taps = 1,
      .k = s->k,
      .n = s->n,
      .group_stride = s->k * s->n,
      .k_stride = transpose_w ? 1 : s->n,
      .n_stride = transpose_w ? s->k : 1,
      .weight_key = SMR_LINEAR_KEY_MATMUL | (uint32_t)transpose_w,
      .caller_packs = s->products > 1,
      .may_round = true,
  };
  SMR_TRY(smr_linear_prepare(job, SMR_ATTR_GROUP(job, matmul, epilogue), &s->linear));
  const bool computed = s->linear.w_from == SMR_LINEAR_CALLER;
  job->run = matmul_product_run;
  SMR_WAY(job, matmul_computed, computed, w->constant < 0, job->run = matmul_computed_run);
  if (computed) SMR_TRY(smr_thread_scratch_take(job, s->linear.w_group_bytes, 1, &s->pack_offset));
  if (s->copy != NULL && computed)
    SMR_TRY(smr_thread_scratch_take(job, s->m * s->k, sizeof(float), &s->copy_offset));
  else if (s->copy != NULL)
    SMR_TRY(smr_scratch_take(job, (size_t)smr_numel(x), sizeof(float), &s->copy_offset));
  const struct smr_f32_gemm_args args = {.batch = 1,
                                         .m = s->m,
                                         .n = s->n,
                                         .k = s->k,
                                         .taps = 1,
                                         .a_stride = s->k,
                                         .w_type = s->linear.w_type,
                                         .source = s->linear.source};
  job->work = smr_work_of(smr_numel(job->outputs[0])) * smr_work_of((int64_t)s->k);
  SMR_TRY(smr_linear_plan(job, &args, &s->plan));
  SMR_TRY(smr_linear_take_unfolded(job, &s->linear));
  job->kernel = s->plan.kernel;
  job->tiles = computed ? (s->plan.units ? s->products : 0) : s->products * s->plan.units;
  if (SMR_HAS(matmul_transpose) && s->transposes_x && !half && !computed && job->tiles > 0) {
    job->run = matmul_turned_run;
    const size_t columns = (size_t)x->dims[x->rank - 1];
    s->turns = s->x_count * (columns / MATMUL_TURN + (columns % MATMUL_TURN != 0));
    job->tiles += s->turns;
    job->barriers[0] = s->turns;
  }
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_matmul_funcs = {.check = matmul_check,
                                                 .prepare = matmul_prepare,
                                                 .pack = smr_linear_pack,
                                                 .state_bytes = sizeof(struct matmul_state),
                                                 .more_dtypes = MATMUL_MORE};
