// SPDX-License-Identifier: Apache-2.0
// layer_norm_grad and rms_norm_grad.
//
// A tile of the first phase is some rows: it writes their dx, and partial sums of dscale and dbias
// to scratch. The second phase adds these up in double, some columns per tile.
#include "base/fp.h"

#include "base/checked.h"
#include "base/cut.h"
#include "kernels/f32_norm_grad/f32_norm_grad.h"
#include "ops/check/check.h"
#include "ops/pointwise/elementwise.h"
#include "ops/table/funcs.h"
#include "ops/widen.h"

#include <string.h>

enum {
  NORM_GRAD_LEAST = 16,     // fewest rows per tile: keeps sums in scratch small beside x
  NORM_GRAD_MOST = 256,     // most rows per tile: they are added up one by one
  NORM_GRAD_COLUMNS = 256,  // columns per tile of the second phase
};

struct norm_grad_state {
  const struct smr_f32_norm_grad *kernels;
  size_t rows, n;
  size_t tile_rows, row_tiles;
  size_t sums;  // 2: dscale and dbias, 1: dscale alone
  float eps;
};

static samara_status norm_grad_check(const struct smr_job *job) {
  return smr_expect_one_dtype(job, SMR_DTYPES_FLOAT);
}

static samara_status norm_grad_prepare(struct smr_job *job) {
  struct norm_grad_state *s = job->state;
  const struct smr_tensor *x = job->inputs[0];
  const int64_t given = SMR_ATTR(job, layer_norm_grad, axis)->i;
  const uint32_t axis = (uint32_t)(given < 0 ? given + (int64_t)x->rank : given);
  *s = (struct norm_grad_state){.kernels = smr_f32_norm_grad_config(job->isa),
                                .rows = (size_t)smr_product(x->dims, axis),
                                .n = (size_t)smr_product(x->dims + axis, x->rank - axis),
                                .sums = job->output_count - 1,
                                .eps = SMR_ATTR(job, layer_norm_grad, eps)->f};
  job->kernel = s->kernels->name;
  if (s->n == 0) return SAMARA_OK;
  s->tile_rows = SMR_GRAIN / s->n;
  if (s->tile_rows < NORM_GRAD_LEAST) s->tile_rows = NORM_GRAD_LEAST;
  if (s->tile_rows > NORM_GRAD_MOST) s->tile_rows = NORM_GRAD_MOST;
  s->row_tiles = smr_ceil_div(s->rows, s->tile_rows);
  job->barriers[0] = s->row_tiles;
  job->tiles = s->row_tiles + smr_ceil_div(s->n, NORM_GRAD_COLUMNS);
  if (!smr_mul_size(s->row_tiles, s->n, &job->scratch_bytes) ||
      !smr_mul_size(job->scratch_bytes, s->sums * sizeof(float), &job->scratch_bytes))
    SMR_FAIL(job->error, LIMIT, "%s: scratch does not fit memory", job->op->name);
  return SAMARA_OK;
}

static void norm_grad_rows(const struct smr_job *job, size_t tile, smr_f32_norm_grad_row kernel) {
  const struct norm_grad_state *s = job->state;
  const struct smr_tensor *scale = smr_optional_input(job, 2);
  float *dscale = (float *)job->scratch + tile * s->sums * s->n;
  memset(dscale, 0, s->sums * s->n * sizeof *dscale);
  const size_t first = tile * s->tile_rows;
  const size_t last = s->rows - first < s->tile_rows ? s->rows : first + s->tile_rows;
  for (size_t i = first; i < last; i++)
    kernel(s->n, (const float *)job->inputs[0]->data + i * s->n,
           (const float *)job->inputs[1]->data + i * s->n, scale != NULL ? scale->data : NULL,
           s->eps, (float *)job->outputs[0]->data + i * s->n, dscale,
           s->sums == 2 ? dscale + s->n : NULL);
}

static void norm_grad_sum(const struct smr_job *job, size_t tile) {
  const struct norm_grad_state *s = job->state;
  const size_t first = tile * NORM_GRAD_COLUMNS, rest = s->n - first;
  const size_t count = rest < NORM_GRAD_COLUMNS ? rest : NORM_GRAD_COLUMNS;
  for (size_t k = 0; k < s->sums; k++) {
    double total[NORM_GRAD_COLUMNS] = {0};
    const float *part = (const float *)job->scratch + k * s->n + first;
    for (size_t i = 0; i < s->row_tiles; i++, part += s->sums * s->n)
      for (size_t j = 0; j < count; j++) total[j] += (double)part[j];
    float *out = (float *)job->outputs[1 + k]->data + first;
    for (size_t j = 0; j < count; j++) out[j] = (float)total[j];
  }
}

static samara_status norm_grad_run(const struct smr_job *job, size_t begin, size_t end,
                                   smr_f32_norm_grad_row kernel) {
  const struct norm_grad_state *s = job->state;
  for (size_t tile = begin; tile < end; tile++) {
    if (tile < s->row_tiles)
      norm_grad_rows(job, tile, kernel);
    else
      norm_grad_sum(job, tile - s->row_tiles);
  }
  return SAMARA_OK;
}

static samara_status layer_norm_grad_run(const struct smr_job *job, size_t begin, size_t end,
                                         void *thread_scratch) {
  (void)thread_scratch;
  const struct norm_grad_state *s = job->state;
  return norm_grad_run(job, begin, end, s->kernels->centred_row);
}

static samara_status rms_norm_grad_run(const struct smr_job *job, size_t begin, size_t end,
                                       void *thread_scratch) {
  (void)thread_scratch;
  const struct norm_grad_state *s = job->state;
  return norm_grad_run(job, begin, end, s->kernels->plain_row);
}

SMR_WIDENED_OP(layer_norm_grad, norm_grad_check, norm_grad_prepare, layer_norm_grad_run,
               sizeof(struct norm_grad_state))
SMR_WIDENED_OP(rms_norm_grad, norm_grad_check, norm_grad_prepare, rms_norm_grad_run,
               sizeof(struct norm_grad_state))
