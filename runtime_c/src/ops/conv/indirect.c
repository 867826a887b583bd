// SPDX-License-Identifier: Apache-2.0
// Convolutions as products over pointers to pixels.
//
// Output pixels are divided into blocks. A block is one product, and its units (smr_f32_gemm_plan)
// are the tiles that threads claim. Several threads may share a block; each writes the block's
// pointers into its own scratch before it multiplies. The division does not depend on the number of
// threads.
// of threads changes nothing here.
#include "base/fp.h"

#include "ops/conv/indirect.h"

#include "base/checked.h"
#include "base/lean.h"
#include "ops/conv/conv_indirection.h"
#include "ops/matmul/linear.h"

#include <string.h>

enum {
  INDIRECT_POINTERS = SMR_LEAN(4096, 256)
};  // of a block: half of a 64 KiB L1, next to x and w

// Rows of a block, a multiple of the mr rows of a register tile. Must not depend on threads: a
// selective build asks for the last block's kernels (indirect_least_rows) before a session exists.
static size_t indirect_rows(const struct smr_indirect *s, size_t mr) {
  const size_t all = s->pixels ? s->pixels : 1, most = INDIRECT_POINTERS / s->taps;
  const size_t rows = most < mr ? mr : most - most % mr;
  return rows < all ? rows : all;
}

// The fewest rows that the last block has on any instruction set (mr differs): a selective build
// keeps the kernels for that many.
static size_t indirect_least_rows(const struct smr_indirect *s) {
  static const uint8_t tiles[] = {4, 6, 8};
  size_t least = SIZE_MAX;
  for (size_t i = 0; i < sizeof tiles; i++) {
    const size_t last = (s->pixels ? s->pixels - 1 : 0) % indirect_rows(s, tiles[i]) + 1;
    if (last < least) least = last;
  }
  return least;
}

static const float *const indirect_some[1] = {NULL};  // needs and plans only ask whether there are
                                                      // pointers

samara_status smr_indirect_need(struct smr_job *job, const struct smr_window *window, size_t n,
                                smr_gemm_type w_type) {
  const struct smr_indirect s = {
      .taps = (size_t)smr_window_taps(window),
      .pixels = (size_t)(window->batch * smr_window_pixels(window)),
  };
  if (s.pixels == 0 && !job->dims_vary) return SAMARA_OK;
  const struct smr_f32_gemm_args last = {
      .m = indirect_least_rows(&s), .n = n, .indirect = indirect_some, .w_type = w_type};
  return smr_linear_need(job, &last, job->dims_vary && job->inputs[1]->constant < 0);
}

samara_status smr_indirect_prepare(struct smr_job *job, struct smr_indirect *s,
                                   const struct smr_window *window, size_t groups, size_t channels,
                                   size_t n, smr_gemm_type w_type) {
  const struct smr_f32_gemm_config *config = smr_linear_config_of(job, w_type);
  s->window = *window;
  s->taps = (size_t)smr_window_taps(window);
  s->channels = channels;
  s->pixels = (size_t)(window->batch * smr_window_pixels(window));
  s->rows = indirect_rows(s, config->mr);
  s->blocks = (s->pixels + s->rows - 1) / s->rows;
  struct smr_f32_gemm_args args = {.batch = groups,
                                   .m = s->rows,
                                   .n = n,
                                   .k = channels,
                                   .taps = s->taps,
                                   .indirect = indirect_some,
                                   .w_type = w_type};
  smr_f32_gemm_plan_make(config, &args, &s->plan);
  args.m = s->blocks ? s->pixels - (s->blocks - 1) * s->rows : 0;
  smr_f32_gemm_plan_make(config, &args, &s->tail);
  job->kernel = s->plan.kernel;
  job->tiles = s->blocks ? (s->blocks - 1) * s->plan.units + s->tail.units : 0;
  size_t offset;
  SMR_TRY(smr_scratch_take(job, channels, sizeof(float), &s->zero_offset));
  size_t pointers;
  if (!smr_mul_size(s->rows, s->taps, &pointers)) pointers = SIZE_MAX;
  return smr_thread_scratch_take(job, pointers, sizeof(float *), &offset);
}

static float *indirect_zero(const struct smr_job *job, const struct smr_indirect *s) {
  return (float *)(void *)((char *)job->scratch + s->zero_offset);
}

void smr_indirect_prologue(const struct smr_job *job, const struct smr_indirect *s) {
  memset(indirect_zero(job, s), 0, s->channels * sizeof(float));
}

void smr_indirect_run(const struct smr_job *job, const struct smr_indirect *s,
                      const struct smr_f32_gemm_args *all, const float *x, size_t begin, size_t end,
                      const float **pointers) {
  const float *zero = indirect_zero(job, s);
  const size_t element = all->out_type == SMR_GEMM_F16 ? sizeof(uint16_t) : sizeof(float);
  const size_t last = s->blocks - 1, before_last = last * s->plan.units;
  for (size_t tile = begin; tile < end;) {
    const size_t block = tile < before_last ? tile / s->plan.units : last;
    const struct smr_f32_gemm_plan *plan = block < last ? &s->plan : &s->tail;
    const size_t unit = tile - block * s->plan.units;
    const size_t count = plan->units - unit < end - tile ? plan->units - unit : end - tile;
    const size_t first = block * s->rows;
    struct smr_f32_gemm_args args = *all;
    args.m = block < last ? s->rows : s->pixels - first;
    args.a_stride = 0;
    args.taps = s->taps;
    args.indirect = pointers;
    args.zero = zero;
    args.out = (char *)all->out + first * all->out_stride * element;
    if (all->residual != NULL)
      args.residual = (const char *)all->residual + first * all->residual_stride * element;
    smr_conv_indirection(&s->window, x, all->a_stride, zero, first, args.m, pointers);
    smr_f32_gemm_run(plan, &args, unit, unit + count);
    tile += count;
  }
}
