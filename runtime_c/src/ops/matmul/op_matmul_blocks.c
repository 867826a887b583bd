// SPDX-License-Identifier: Apache-2.0
// matmul_blocks: x @ ((w - zero_points) * scales)^T, with weights kept at 4 or 8 bits.
//
// Weights and scales come in panels (kernels/f32_narrow) or are packed to panels, as zero points
// are: constants once per model, others before the tiles.
//
// With activations=int8, rows of x are first quantized, each with its own scale: few elements
// before the tiles, otherwise in a phase of their own.
#include "base/fp.h"

#include "base/cut.h"
#include "kernels/i8_blocks/i8_blocks.h"
#include "kernels/i8_dynamic/i8_dynamic.h"
#include "ops/check/check.h"
#include "ops/matmul/linear.h"
#include "ops/quantize/block_weights.h"
#include "ops/table/funcs.h"
#include "simd/half.h"

#include <string.h>

enum {
  BLOCKS_W = 1,
  BLOCKS_SCALES = 2,
  BLOCKS_ZEROS = 3,
  BLOCKS_PARTS = 4,  // number of part indices
  BLOCKS_ROWS = 4,   // most rows of x for which weights are used without unfolding
  // activations=int8: panels and rows of x of a tile; elements that a tile quantizes, at most as
  // many before the tiles
  BLOCKS_INT8_PANELS = 4,
  BLOCKS_INT8_ROWS = 64,
  BLOCKS_INT8_PIECE = 16 * 1024,
  BLOCKS_HAVE_INT8 = SMR_HAS(i8_blocks_4) || SMR_HAS(i8_blocks_8),
};

// Rows of x as int8, in scratch.
struct blocks_int8 {
  const struct smr_i8_blocks_config *kernels;
  size_t stride;  // of rows
  size_t q_offset, less_offset, scale_offset;
  size_t rows, pieces;  // rows per tile of the first phase; number of such tiles, 0: quantized
                        // before the tiles
  size_t groups;        // of panels
};

struct blocks_state {
  struct smr_linear linear;
  smr_narrow_type type;
  size_t m, count, block;  // rows of x; blocks per row of w; their size
  size_t part_bytes[BLOCKS_PARTS], part_stride[BLOCKS_PARTS];  // of a panel
  enum smr_linear_source from[BLOCKS_PARTS];
  uint32_t derived[BLOCKS_PARTS];
  size_t offset[BLOCKS_PARTS];
  struct smr_f32_gemm_plan plan;
  bool rounds;  // activations=int8
  struct blocks_int8 int8;
};

// Context of the callbacks: the state, and the addresses of this run's panels.
struct blocks_panels {
  const struct blocks_state *s;
  const struct smr_job *job;
};

static const void *blocks_part(const struct smr_job *job, const struct blocks_state *s, int part) {
  switch (s->from[part]) {
    case SMR_LINEAR_DIRECT:
      return job->inputs[part]->data;
    case SMR_LINEAR_DERIVED:
      return job->derived[s->derived[part]].data;
    case SMR_LINEAR_SCRATCH:
      return (const char *)job->scratch + s->offset[part];
    default:
      return NULL;
  }
}

static struct smr_f32_narrow_panel blocks_panel(const struct blocks_panels *p, const void *w,
                                                size_t column) {
  const struct blocks_state *s = p->s;
  const size_t at = column / SMR_PANEL;
  const char *scales = blocks_part(p->job, s, BLOCKS_SCALES);
  const char *zeros = blocks_part(p->job, s, BLOCKS_ZEROS);
  if (zeros != NULL) zeros += at * s->part_stride[BLOCKS_ZEROS];
  return (struct smr_f32_narrow_panel){
      .w = w,
      .rows = s->linear.k,
      .block = s->block,
      .scales = scales + at * s->part_stride[BLOCKS_SCALES],
      .zeros = (const uint16_t *)(const void *)zeros,
      .scales_are_f16 = p->job->inputs[BLOCKS_SCALES]->dtype == SAMARA_FLOAT16,
  };
}

static void blocks_expand(const void *context, size_t batch, size_t column, size_t columns,
                          const void *w, size_t panel_stride_bytes, size_t first, size_t rows,
                          float *out, size_t out_stride_bytes) {
  const struct blocks_panels *p = context;
  (void)batch;
  for (size_t j = 0; j < columns; j += SMR_PANEL) {
    const struct smr_f32_narrow_panel panel =
        blocks_panel(p, (const char *)w + j / SMR_PANEL * panel_stride_bytes, column + j);
    float *to = (float *)(void *)((char *)out + j / SMR_PANEL * out_stride_bytes);
    p->s->linear.narrow->expand[p->s->type](&panel, first, rows, to);
  }
}

static void blocks_row(const void *context, size_t batch, size_t column, size_t columns,
                       const void *w, const float *a, float *sums) {
  const struct blocks_panels *p = context;
  (void)batch, (void)columns;
  const struct smr_f32_narrow_panel panel = blocks_panel(p, w, column);
  p->s->linear.narrow->row[p->s->type](&panel, a, sums);
}

// Decide where weights, scales or zero points come from.
static samara_status blocks_place(struct smr_job *job, struct blocks_state *s, int part,
                                  size_t panel_bytes) {
  const struct smr_tensor *t = smr_optional_input(job, (uint32_t)part);
  s->from[part] = SMR_LINEAR_ABSENT;
  if (t == NULL) return SAMARA_OK;
  const bool direct = t->layout != SMR_LAYOUT_PLAIN;
  if (direct) panel_bytes = (panel_bytes + 63) / 64 * 64;
  s->part_stride[part] = panel_bytes;
  size_t bytes;
  if (!smr_mul_size(panel_bytes, smr_panels(s->linear.n), &bytes) || bytes > PTRDIFF_MAX - 63)
    SMR_FAIL(job->error, LIMIT, "matmul_blocks: weights are too large to pack");
  s->part_bytes[part] = bytes;
  if (direct) {
    s->from[part] = SMR_LINEAR_DIRECT;
    return SAMARA_OK;
  }
  // The key encodes how dims are read. The block size follows from the number of scales per row.
  const uint32_t key = SMR_LINEAR_KEY_BLOCKS | (uint32_t)part;
  if (t->constant >= 0 && bytes > 0) {
    s->from[part] = SMR_LINEAR_DERIVED;
    s->derived[part] = smr_linear_derive(job, part, key, bytes);
    return SAMARA_OK;
  }
  s->from[part] = SMR_LINEAR_SCRATCH;
  return smr_scratch_take(job, bytes, 1, &s->offset[part]);
}

static samara_status blocks_prepare_float32(struct smr_job *job, struct blocks_state *s) {
  if (SMR_HAS(exact) && job->exact)
    SMR_FAIL(job->error, UNSUPPORTED,
             "%s: float activations have no exact form; use activations=int8 (scheme "
             "int4-dynamic), or set exact = SAMARA_EXACT_OFF",
             job->op->name);
  SMR_NEED(job, blocks_float32);
  if (!SMR_HAS(blocks_float32)) return SAMARA_OK;
  s->linear.narrow = smr_f32_narrow_config(job->isa);
  s->linear.w_type = SMR_GEMM_F32;
  s->linear.panel_stride_bytes = s->part_stride[BLOCKS_W];
  s->linear.source =
      (struct smr_f32_gemm_source){.expand = blocks_expand, .row = blocks_row, .rows = BLOCKS_ROWS};
  const struct smr_f32_gemm_args args = {.batch = 1,
                                         .m = s->m,
                                         .n = s->linear.n,
                                         .k = s->linear.k,
                                         .taps = 1,
                                         .a_stride = s->linear.k,
                                         .source = s->linear.source};
  SMR_TRY(smr_linear_plan(job, &args, &s->plan));
  job->kernel = s->type == SMR_NARROW_I8 ? "f32_narrow_8" : "f32_narrow_4";
  job->tiles = s->plan.units;
  return smr_linear_take_unfolded(job, &s->linear);
}

static samara_status blocks_prepare_int8(struct smr_job *job, struct blocks_state *s) {
  if (s->type == SMR_NARROW_I8)
    SMR_NEED(job, i8_blocks_8);
  else
    SMR_NEED(job, i8_blocks_4);
  if (!BLOCKS_HAVE_INT8) return SAMARA_OK;
  struct blocks_int8 *r = &s->int8;
  const size_t k = s->linear.k, panels = smr_panels(s->linear.n);
  r->kernels = smr_i8_blocks_config(job->isa);
  r->stride = smr_ceil_div(k, SMR_I8_BLOCKS_ALIGN) * SMR_I8_BLOCKS_ALIGN;
  SMR_TRY(smr_scratch_take(job, s->m, r->stride, &r->q_offset));
  SMR_TRY(smr_scratch_take(job, s->m, s->count * sizeof(int32_t), &r->less_offset));
  SMR_TRY(smr_scratch_take(job, s->m, sizeof(float), &r->scale_offset));
  r->rows = k < BLOCKS_INT8_PIECE ? BLOCKS_INT8_PIECE / (k != 0 ? k : 1) : 1;
  r->pieces = s->m <= r->rows ? 0 : smr_ceil_div(s->m, r->rows);
  r->groups = smr_ceil_div(panels, BLOCKS_INT8_PANELS);
  job->kernel = r->kernels->names[s->type == SMR_NARROW_I8];
  job->tiles = r->groups * smr_ceil_div(s->m, BLOCKS_INT8_ROWS);
  if (job->tiles == 0 || r->pieces == 0) return SAMARA_OK;
  job->barriers[0] = r->pieces;
  job->tiles += r->pieces;
  return SAMARA_OK;
}

static samara_status blocks_prepare(struct smr_job *job) {
  struct blocks_state *s = job->state;
  const struct smr_tensor *x = job->inputs[0], *w = job->inputs[BLOCKS_W];
  *s = (struct blocks_state){.m = (size_t)smr_product(x->dims, x->rank - 1u),
                             .block = (size_t)SMR_ATTR(job, matmul_blocks, block)->i};
  s->type = w->dtype == SAMARA_INT8   ? SMR_NARROW_I8
            : w->dtype == SAMARA_INT4 ? SMR_NARROW_I4
                                      : SMR_NARROW_U4;
  s->linear = (struct smr_linear){.groups = 1,
                                  .taps = 1,
                                  .n = (size_t)w->dims[0],
                                  .k = (size_t)w->dims[1],
                                  .bias_input = SMR_BLOCKS_BIAS};
  SMR_TRY(smr_linear_prepare_end(job, SMR_ATTR_GROUP(job, matmul_blocks, epilogue), &s->linear));
  s->count = s->linear.k / s->block + (s->linear.k % s->block != 0);
  const size_t scale = smr_dtype_bytes(job->inputs[BLOCKS_SCALES]->dtype);
  SMR_TRY(blocks_place(job, s, BLOCKS_W, smr_narrow_panel_bytes(s->type, s->linear.k)));
  SMR_TRY(blocks_place(job, s, BLOCKS_SCALES, s->count * SMR_PANEL * scale));
  SMR_TRY(blocks_place(job, s, BLOCKS_ZEROS, s->count * SMR_PANEL * sizeof(uint16_t)));
  s->rounds = SMR_ATTR(job, matmul_blocks, activations)->i != 0;
  return s->rounds ? blocks_prepare_int8(job, s) : blocks_prepare_float32(job, s);
}

// ---- panels ----

static void blocks_pack_weights(const struct smr_job *job, const struct blocks_state *s,
                                uint8_t *out) {
  const struct smr_tensor *w = job->inputs[BLOCKS_W];
  const size_t stride = s->part_stride[BLOCKS_W], depth = s->linear.k;
  memset(out, 0, s->part_bytes[BLOCKS_W]);
  for (size_t n = 0; n < s->linear.n; n++) {
    uint8_t *panel = out + n / SMR_PANEL * stride;
    const size_t lane = n % SMR_PANEL * 4;
    for (size_t k = 0; k < depth; k++) {
      const uint32_t q = (uint32_t)smr_blocks_at(w, n * depth + k);
      if (s->type == SMR_NARROW_I8) {
        panel[k / 4 * 64 + lane + k % 4] = (uint8_t)q;
        continue;
      }
      const size_t within = k % SMR_NARROW_ROWS_4;
      uint8_t *byte = panel + (k / SMR_NARROW_ROWS_4 * 4 + within % 16 / 4) * 64 + lane + k % 4;
      *byte = (uint8_t)(*byte | (q & 15u) << (within < 16 ? 0 : 4));
    }
  }
}

static void blocks_pack_scales(const struct smr_job *job, const struct blocks_state *s, char *out) {
  const struct smr_tensor *scales = job->inputs[BLOCKS_SCALES];
  const size_t element = smr_dtype_bytes(scales->dtype);
  memset(out, 0, s->part_bytes[BLOCKS_SCALES]);
  for (size_t n = 0; n < s->linear.n; n++)
    for (size_t b = 0; b < s->count; b++)
      memcpy(out + ((n / SMR_PANEL * s->count + b) * SMR_PANEL + n % SMR_PANEL) * element,
             (const char *)scales->data + (n * s->count + b) * element, element);
}

static void blocks_pack_zeros(const struct smr_job *job, const struct blocks_state *s,
                              uint16_t *out) {
  const struct smr_tensor *zeros = job->inputs[BLOCKS_ZEROS];
  memset(out, 0, s->part_bytes[BLOCKS_ZEROS]);
  for (size_t n = 0; n < s->linear.n; n++)
    for (size_t b = 0; b < s->count; b++)
      out[(n / SMR_PANEL * s->count + b) * SMR_PANEL + n % SMR_PANEL] =
          smr_f32_to_f16((float)smr_blocks_at(zeros, n * s->count + b));
}

static void blocks_pack_part(const struct smr_job *job, const struct blocks_state *s, int part,
                             void *out) {
  if (part == BLOCKS_W)
    blocks_pack_weights(job, s, out);
  else if (part == BLOCKS_SCALES)
    blocks_pack_scales(job, s, out);
  else
    blocks_pack_zeros(job, s, out);
}

static samara_status blocks_pack(const struct smr_job *job, const struct smr_derived *what,
                                 void *out) {
  if (what->input == SMR_BLOCKS_BIAS) return smr_linear_pack(job, what, out);
  blocks_pack_part(job, job->state, what->input, out);
  return SAMARA_OK;
}

// ---- running ----

static void *blocks_scratch(const struct smr_job *job, size_t offset) {
  return (char *)job->scratch + offset;
}

// Quantizes rows [first, last) of x.
static void blocks_quantize(const struct smr_job *job, const struct blocks_state *s, size_t first,
                            size_t last) {
  const struct smr_i8_dynamic_kernels *kernels = smr_i8_dynamic_kernels(job->isa);
  const struct blocks_int8 *r = &s->int8;
  const size_t k = s->linear.k;
  const bool shifted = s->from[BLOCKS_ZEROS] != SMR_LINEAR_ABSENT;
  const int32_t factor = shifted ? 1 : r->kernels->shift[s->type];
  for (size_t i = first; i < last; i++) {
    const float *x = (const float *)job->inputs[0]->data + i * k;
    int8_t *q = (int8_t *)blocks_scratch(job, r->q_offset) + i * r->stride;
    const struct smr_i8_dynamic_scale found = smr_i8_dynamic_scale(kernels->peak(k, x));
    smr_i8_dynamic_row(kernels, k, x, found.inv, q);
    if (r->stride != k) memset(q + k, 0, r->stride - k);
    smr_i8_blocks_less(k, s->block, q, factor,
                       (int32_t *)blocks_scratch(job, r->less_offset) + i * s->count);
    ((float *)blocks_scratch(job, r->scale_offset))[i] = found.scale;
  }
}

// A group of panels times a block of rows.
static void blocks_unit(const struct smr_job *job, const struct blocks_state *s, size_t unit) {
  const struct smr_linear *l = &s->linear;
  const struct blocks_int8 *r = &s->int8;
  const struct blocks_panels panels = {s, job};
  const size_t row = unit / r->groups * BLOCKS_INT8_ROWS;
  const size_t rows = s->m - row < BLOCKS_INT8_ROWS ? s->m - row : BLOCKS_INT8_ROWS;
  const size_t first = unit % r->groups * BLOCKS_INT8_PANELS * SMR_PANEL;
  const size_t most = BLOCKS_INT8_PANELS * SMR_PANEL;
  const size_t end = l->n - first < most ? l->n : first + most;
  const char *w = blocks_part(job, s, BLOCKS_W);
  const float *bias = smr_linear_bias(job, l);
  float *out = (float *)job->outputs[0]->data + row * l->n;
  for (size_t column = first; column < end; column += SMR_PANEL) {
    const size_t panel = column / SMR_PANEL;
    const struct smr_i8_blocks_call call = {
        .panel = blocks_panel(&panels, w + panel * s->part_stride[BLOCKS_W], column),
        .type = s->type,
        .x = (const int8_t *)blocks_scratch(job, r->q_offset) + row * r->stride,
        .x_stride = r->stride,
        .x_less = (const int32_t *)blocks_scratch(job, r->less_offset) + row * s->count,
        .less_stride = s->count,
        .shift = r->kernels->shift[s->type],
        .row_scale = (const float *)blocks_scratch(job, r->scale_offset) + row,
        .bias = bias != NULL ? bias + column : NULL,
        .lo = l->lo,
        .hi = l->hi,
        .out = out + column,
        .out_stride = l->n,
        .columns = end - column < SMR_PANEL ? end - column : SMR_PANEL,
    };
    r->kernels->rows[s->type == SMR_NARROW_I8](&call, rows);
  }
  if (SMR_HAS(linear_post) && l->post.function != NULL)
    smr_linear_post((void *)(uintptr_t)&l->post, out + first, rows, end - first, l->n,
                    SMR_GEMM_F32);
}

static void blocks_run_int8(const struct smr_job *job, const struct blocks_state *s, size_t begin,
                            size_t end) {
  const struct blocks_int8 *r = &s->int8;
  for (; begin < end && begin < r->pieces; begin++) {
    const size_t first = begin * r->rows;
    blocks_quantize(job, s, first, first + r->rows < s->m ? first + r->rows : s->m);
  }
  for (; begin < end; begin++) blocks_unit(job, s, begin - r->pieces);
}

static void blocks_run_float32(const struct smr_job *job, const struct blocks_state *s,
                               size_t begin, size_t end, void *thread_scratch) {
  const struct blocks_panels panels = {s, job};
  struct smr_f32_gemm_args args = {.m = s->m, .k = s->linear.k, .taps = 1, .a_stride = s->linear.k};
  smr_linear_args(job, &s->linear, thread_scratch, &args);
  args.a = job->inputs[0]->data;
  args.w = blocks_part(job, s, BLOCKS_W);
  args.w_batch_stride_bytes = 0;
  args.source.context = &panels;
  args.out = job->outputs[0]->data;
  args.out_stride = s->linear.n;
  smr_f32_gemm_run(&s->plan, &args, begin, end);
}

static samara_status blocks_run(const struct smr_job *job, size_t begin, size_t end,
                                void *thread_scratch) {
  const struct blocks_state *s = job->state;
  if (begin == end) {  // alone, before the tiles
    smr_linear_prologue(job, &s->linear);
    for (int part = BLOCKS_W; part < BLOCKS_PARTS; part++)
      if (s->from[part] == SMR_LINEAR_SCRATCH)
        blocks_pack_part(job, s, part, (char *)job->scratch + s->offset[part]);
    if (BLOCKS_HAVE_INT8 && s->rounds && job->tiles != 0 && s->int8.pieces == 0)
      blocks_quantize(job, s, 0, s->m);
    return SAMARA_OK;
  }
  if (BLOCKS_HAVE_INT8 && s->rounds)
    blocks_run_int8(job, s, begin, end);
  else if (SMR_HAS(blocks_float32))
    blocks_run_float32(job, s, begin, end, thread_scratch);
  return SAMARA_OK;
}

static samara_status blocks_check(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0], *w = job->inputs[1];
  const struct smr_tensor *bias = smr_optional_input(job, SMR_BLOCKS_BIAS);
  SMR_TRY(smr_expect_dtype(job, x, "x", SMR_DTYPE_F32));
  SMR_TRY(smr_blocks_check(job, w, job->inputs[2], smr_optional_input(job, 3)));
  if (bias != NULL) SMR_TRY(smr_expect_dtype(job, bias, "bias", SMR_DTYPE_F32));
  SMR_TRY(smr_expect_same_dtype(job, x, job->outputs[0], "x and output"));
  return smr_blocks_check_layouts(job, w, job->inputs[2]);
}

const struct smr_op_funcs smr_op_matmul_blocks_funcs = {.check = blocks_check,
                                                        .prepare = blocks_prepare,
                                                        .pack = blocks_pack,
                                                        .run = blocks_run,
                                                        .state_bytes = sizeof(struct blocks_state),
                                                        .more_dtypes = SMR_DTYPES_PACKED,
                                                        .packed_inputs = 1u << BLOCKS_SCALES};
