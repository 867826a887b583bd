// SPDX-License-Identifier: Apache-2.0
// qmatmul: batched products of int8 matrices.
#include "base/fp.h"

#include "ops/check/check.h"
#include "ops/matmul/qlinear.h"
#include "ops/partition.h"
#include "ops/pointwise/elementwise.h"
#include "ops/table/funcs.h"

#include <string.h>

enum { QMATMUL_TURN = 64 };  // columns of x transposed together

struct qmatmul_state {
  struct smr_qlinear linear;
  struct smr_i8_gemm_plan plan;      // of one product
  struct smr_broadcast batch;        // maps product i to its matrices of x and w
  size_t products, m, k;             // with a single w, all rows of x form one product
  size_t x_count;                    // matrices of x
  size_t copy_offset;                // in scratch: x as rows, if it is transposed
  size_t pack_offset, start_offset;  // in thread scratch: a w packed at run time; its start values
  size_t turns;                      // tiles that transpose x first
  bool transposes_x;
  // Runs the products, after the tiles that transpose x.
  samara_status (*run)(const struct smr_job *job, size_t begin, size_t end, void *thread_scratch);
};

static samara_status qmatmul_check(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0], *w = job->inputs[1];
  const bool transpose_x = SMR_ATTR(job, qmatmul, transpose_x)->i != 0;
  const bool transpose_w = SMR_ATTR(job, qmatmul, transpose_w)->i != 0;
  return smr_qlinear_check(job, SMR_ATTR_GROUP(job, qmatmul, int8_output),
                           SMR_ATTR(job, qmatmul, to)->i, w->rank - (transpose_w ? 2u : 1u),
                           x->dims[x->rank - (transpose_x ? 2 : 1)]);
}

// The leading dims, as a tensor.
static struct smr_tensor qmatmul_leading(const struct smr_tensor *t) {
  struct smr_tensor leading = *t;
  leading.rank = (uint8_t)(t->rank - 2u);
  return leading;
}

// Set the sizes and the mapping of products to matrices. Returns the number of matrices of w.
static size_t qmatmul_geometry(const struct smr_job *job, struct qmatmul_state *s) {
  const struct smr_tensor *x = job->inputs[0], *w = job->inputs[1], *y = job->outputs[0];
  const struct smr_tensor leading_x = qmatmul_leading(x), leading_w = qmatmul_leading(w);
  const struct smr_tensor leading_y = qmatmul_leading(y);
  s->transposes_x = SMR_ATTR(job, qmatmul, transpose_x)->i != 0;
  s->m = (size_t)y->dims[y->rank - 2];
  s->k = (size_t)x->dims[x->rank - (s->transposes_x ? 2 : 1)];
  s->x_count = (size_t)smr_numel(&leading_x);
  s->products = (size_t)smr_numel(&leading_y);
  if (SMR_HAS(qmatmul_many))
    smr_broadcast_make(&s->batch, &leading_y, (const struct smr_tensor *[]){&leading_x, &leading_w},
                       2);
  const size_t w_count = (size_t)smr_numel(&leading_w);
  if (w_count == 1) {  // x's matrices are contiguous: one tall matrix
    s->m *= s->products;
    s->products = s->products != 0;
  }
  return w_count;
}

// out[c][r] = in[r][c], with the given strides between rows.
static void qmatmul_transpose(size_t rows, size_t columns, const int8_t *in, size_t in_stride,
                              int8_t *out, size_t out_stride) {
  enum { BLOCK = 16 };
  for (size_t r = 0; r < rows; r += BLOCK) {
    const size_t r_end = rows - r < BLOCK ? rows : r + BLOCK;
    for (size_t c = 0; c < columns; c++)
      for (size_t i = r; i < r_end; i++) out[c * out_stride + i] = in[i * in_stride + c];
  }
}

// Transpose part `turn` of all matrices into scratch.
static void qmatmul_turn(const struct smr_job *job, const struct qmatmul_state *s, size_t turn) {
  const struct smr_tensor *x = job->inputs[0];
  const size_t rows = (size_t)x->dims[x->rank - 2], columns = (size_t)x->dims[x->rank - 1];
  const size_t pieces = s->turns / s->x_count;
  const size_t first = turn % pieces * QMATMUL_TURN, matrix = turn / pieces * rows * columns;
  const size_t count = columns - first < QMATMUL_TURN ? columns - first : QMATMUL_TURN;
  int8_t *copy = (int8_t *)job->scratch + s->copy_offset;
  qmatmul_transpose(rows, count, (const int8_t *)x->data + matrix + first, columns,
                    copy + matrix + first * rows, rows);
}

// Address of x as rows.
static const int8_t *qmatmul_x(const struct smr_job *job, const struct qmatmul_state *s) {
  return s->transposes_x ? (const int8_t *)job->scratch + s->copy_offset : job->inputs[0]->data;
}

// ---- running ----

// Run units of the only product.
static samara_status qmatmul_one_run(const struct smr_job *job, size_t begin, size_t end,
                                     void *thread_scratch) {
  (void)thread_scratch;
  const struct qmatmul_state *s = job->state;
  if (begin == end) {  // alone, before the tiles
    if (job->tiles != 0) smr_qlinear_prologue(job, &s->linear);
    return SAMARA_OK;
  }
  struct smr_i8_gemm_args args = {.m = s->m, .k = s->k, .taps = 1, .a_stride = s->k};
  smr_qlinear_args(job, &s->linear, 0, &args);
  args.batch = 1;
  args.a = qmatmul_x(job, s);
  args.out = job->outputs[0]->data;
  args.out_stride = s->linear.n;
  smr_i8_gemm_run(&s->plan, &args, begin, end);
  return SAMARA_OK;
}

// Arguments of product `i` of several, except x, w and its columns. The matrices are at[0] and
// at[1].
static void qmatmul_args(const struct smr_job *job, const struct qmatmul_state *s, size_t i,
                         size_t *at, struct smr_i8_gemm_args *args) {
  struct smr_broadcast_cursor cursor;
  smr_broadcast_start(&s->batch, &cursor, i, i + 1);
  smr_broadcast_next(&s->batch, &cursor, 1, at);
  *args = (struct smr_i8_gemm_args){.m = s->m, .k = s->k, .taps = 1, .a_stride = s->k};
  smr_qlinear_args(job, &s->linear, 0, args);
  args->batch = 1;
  const size_t n = s->linear.n;
  args->out = (char *)job->outputs[0]->data + i * s->m * n * smr_qlinear_out_bytes(&s->linear);
  args->out_stride = n;
}

// Run units of products whose w is packed beforehand.
static samara_status qmatmul_many_run(const struct smr_job *job, size_t begin, size_t end,
                                      void *thread_scratch) {
  (void)thread_scratch;
  const struct qmatmul_state *s = job->state;
  if (begin == end) {
    if (job->tiles != 0) smr_qlinear_prologue(job, &s->linear);
    return SAMARA_OK;
  }
  const size_t units = s->plan.units;
  for (size_t tile = begin; tile < end;) {
    const size_t product = tile / units, first = tile % units;
    const size_t count = units - first < end - tile ? units - first : end - tile;
    struct smr_i8_gemm_args args;
    size_t at[SMR_BROADCAST_OPERANDS];
    qmatmul_args(job, s, product, at, &args);
    args.a = qmatmul_x(job, s) + at[0] * s->m * s->k;
    args.w += at[1] * s->linear.w_group_bytes;
    args.columns = smr_qlinear_columns(job, &s->linear, 0, at[1]);
    smr_i8_gemm_run(&s->plan, &args, first, first + count);
    tile += count;
  }
  return SAMARA_OK;
}

// Either of the two, after tiles that transpose x.
static samara_status qmatmul_turned_run(const struct smr_job *job, size_t begin, size_t end,
                                        void *thread_scratch) {
  const struct qmatmul_state *s = job->state;
  if (begin == end) return s->run(job, 0, 0, thread_scratch);
  for (; begin < end && begin < s->turns; begin++) qmatmul_turn(job, s, begin);
  if (begin == end) return SAMARA_OK;
  return s->run(job, begin - s->turns, end - s->turns, thread_scratch);
}

// A tile is a whole product: it packs w and transposes x itself.
static samara_status qmatmul_computed_run(const struct smr_job *job, size_t begin, size_t end,
                                          void *thread_scratch) {
  const struct qmatmul_state *s = job->state;
  if (begin == end) {
    if (job->tiles != 0) smr_qlinear_prologue(job, &s->linear);
    return SAMARA_OK;
  }
  char *scratch = thread_scratch;
  int8_t *panels = (int8_t *)scratch + s->pack_offset, *copy = (int8_t *)scratch + s->copy_offset;
  int32_t *start = (int32_t *)(void *)(scratch + s->start_offset);
  struct smr_deadline_watch watch = {.job = job};
  for (size_t product = begin; product < end; product++) {
    struct smr_i8_gemm_args args;
    size_t at[SMR_BROADCAST_OPERANDS];
    SMR_TRY(smr_deadline_step(&watch, s->linear.w_group_bytes));
    qmatmul_args(job, s, product, at, &args);
    smr_qlinear_pack_group(job, &s->linear, at[1], panels);
    smr_qlinear_start(job, &s->linear, panels, start);
    args.w = panels;
    args.columns = smr_qlinear_columns(job, &s->linear, 0, 0);
    args.columns.start = start;
    args.a = (const int8_t *)job->inputs[0]->data + at[0] * s->m * s->k;
    if (SMR_HAS(qmatmul_transpose_x) && s->transposes_x) {
      qmatmul_transpose(s->k, s->m, args.a, s->m, copy, s->k);
      args.a = copy;
    }
    SMR_TRY(smr_qlinear_multiply(&watch, &s->plan, &args, 0, s->plan.units));
  }
  return SAMARA_OK;
}

// ---- preparing ----

// Take scratch for a transposed x, and for weights packed at run time (`computed`).
static samara_status qmatmul_take(struct smr_job *job, struct qmatmul_state *s, bool computed,
                                  bool transposes) {
  if (computed) {
    SMR_TRY(smr_thread_scratch_take(job, s->linear.w_group_bytes, 1, &s->pack_offset));
    SMR_TRY(smr_thread_scratch_take(job, s->linear.columns, sizeof(int32_t), &s->start_offset));
  }
  if (!transposes) return SAMARA_OK;
  if (computed) return smr_thread_scratch_take(job, s->m * s->k, 1, &s->copy_offset);
  return smr_scratch_take(job, (size_t)smr_numel(job->inputs[0]), 1, &s->copy_offset);
}

static samara_status qmatmul_prepare(struct smr_job *job) {
  struct qmatmul_state *s = job->state;
  *s = (struct qmatmul_state){.products = 0};
  const size_t w_count = qmatmul_geometry(job, s);
  const struct smr_tensor *x = job->inputs[0], *y = job->outputs[0];
  const bool transpose_w = SMR_ATTR(job, qmatmul, transpose_w)->i != 0;
  const size_t n = (size_t)y->dims[y->rank - 1];
  s->linear = (struct smr_qlinear){
      .groups = w_count,
      .taps = 1,
      .k = s->k,
      .n = n,
      .group_stride = s->k * n,
      .k_stride = transpose_w ? 1 : n,
      .n_stride = transpose_w ? s->k : 1,
      .weight_key = SMR_LINEAR_KEY_MATMUL | (uint32_t)transpose_w,
      .caller_packs = s->products > 1,
  };
  SMR_TRY(smr_qlinear_prepare(job, SMR_ATTR_GROUP(job, qmatmul, int8_output), &s->linear));
  const bool computed = SMR_HAS(qmatmul_many) && s->linear.w_from == SMR_LINEAR_CALLER;
  const bool transposes = s->transposes_x;
  s->run = qmatmul_one_run;
  SMR_WAY(job, qmatmul_many, s->products > 1, w_count != 1 || job->inputs[1]->open != 0,
          s->run = computed ? qmatmul_computed_run : qmatmul_many_run);
  job->run = s->run;
  SMR_WAY(job, qmatmul_transpose_x, transposes, false,
          if (!computed) job->run = qmatmul_turned_run);
  SMR_TRY(qmatmul_take(job, s, computed, transposes));
  struct smr_i8_gemm_args args = {.m = s->m, .k = s->k, .taps = 1, .a_stride = s->k};
  smr_qlinear_args(job, &s->linear, 0, &args);
  args.batch = 1;
  smr_i8_gemm_plan_make(s->linear.config, &args, &s->plan);
  job->work = smr_work_of(smr_numel(job->outputs[0])) * smr_work_of((int64_t)s->k);
  if (s->products == 1) smr_i8_gemm_plan_share(&s->plan, smr_partition(job));
  job->kernel = s->plan.kernel;
  job->tiles = s->products * (computed ? s->plan.units != 0 : s->plan.units);
  if (transposes && !computed && job->tiles > 0) {
    const size_t columns = (size_t)x->dims[x->rank - 1];
    s->turns = s->x_count * (columns / QMATMUL_TURN + (columns % QMATMUL_TURN != 0));
    job->tiles += s->turns;
    job->barriers[0] = s->turns;
  }
  return SAMARA_OK;
}

static samara_status qmatmul_pack(const struct smr_job *job, const struct smr_derived *what,
                                  void *out) {
  (void)what;
  const struct qmatmul_state *s = job->state;
  return smr_qlinear_pack(job, &s->linear, out);
}

const struct smr_op_funcs smr_op_qmatmul_funcs = {.check = qmatmul_check,
                                                  .prepare = qmatmul_prepare,
                                                  .pack = qmatmul_pack,
                                                  .state_bytes = sizeof(struct qmatmul_state)};
