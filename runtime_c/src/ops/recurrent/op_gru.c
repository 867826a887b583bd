// SPDX-License-Identifier: Apache-2.0
// gru and gru_train.
#include "base/fp.h"

#include "ops/recurrent/recurrent.h"
#include "ops/recurrent/recurrent_pack.h"
#include "ops/table/attrs.h"

#include <string.h>

enum {
  GRU_GATES = 3,
  GRU_ZR = 0,
  GRU_H = 1
};  // gates z, r, h; the recurrent weights are in two
    // parts

static samara_status gru_prepare(struct smr_job *job) {
  struct smr_recurrent *all = (struct smr_recurrent *)job->state;
  SMR_TRY(smr_recurrent_prepare(job, all, GRU_GATES, 2));
  all->inner_bias = SMR_ATTR(job, gru, linear_before_reset)->i != 0;
  return SAMARA_OK;
}

// h R_h^T, if the reset gate multiplies it; NULL if the gate multiplies h. Rows are `stride` floats
// apart.
struct gru_inner {
  const float *rows;
  size_t stride;
};

// The gates of one step, except the last formula. `input`: the contribution of x to the step.
static samara_status gru_gates(struct smr_recurrent_run *run, float *input,
                               struct gru_inner *inner) {
  const struct smr_recurrent *all = run->all;
  const size_t hidden = all->hidden, wide = all->gate_stride;
  float *h = run->state[0], *reset_h = run->more;
  *inner = (struct gru_inner){NULL, 0};
  SMR_TRY(smr_recurrent_product(run, GRU_ZR, h, NULL, true, input, wide));
  for (size_t n = 0; n < all->batch; n++)
    all->cell->gru_gates(hidden, all->clip, input + n * wide, h + n * hidden,
                         all->inner_bias ? NULL : reset_h + n * hidden);
  if (all->inner_bias) {
    float *rows = all->kept ? input + 3 * hidden : run->more + all->batch * hidden;
    *inner = (struct gru_inner){rows, all->kept ? wide : hidden};
    return smr_recurrent_product(run, GRU_H, h, run->inner_bias, false, rows, inner->stride);
  }
  SMR_TRY(smr_recurrent_product(run, GRU_H, reset_h, NULL, true, input + 2 * hidden, wide));
  for (size_t n = 0; all->kept && n < all->batch; n++)
    memcpy(input + n * wide + 3 * hidden, reset_h + n * hidden, hidden * sizeof *input);
  return SAMARA_OK;
}

static samara_status gru_steps(struct smr_recurrent_run *run) {
  const struct smr_recurrent *all = run->all;
  const size_t hidden = all->hidden, wide = all->gate_stride;
  for (size_t step = 0; step < all->steps; step++) {
    const size_t t = run->reverse ? all->steps - 1 - step : step;
    float *gates = run->gates + t * all->batch * wide;
    struct gru_inner inner;
    smr_recurrent_keep(run, t);
    SMR_TRY(gru_gates(run, gates, &inner));
    for (size_t n = 0; n < all->batch; n++) {
      const bool live = t < smr_recurrent_length(run, n);
      float *row = gates + n * wide, *input = row + 2 * hidden;
      if (live)
        all->cell->gru(hidden, all->clip, row, input,
                       inner.rows != NULL ? inner.rows + n * inner.stride : NULL,
                       run->state[0] + n * hidden, all->kept ? input : NULL);
      else if (all->kept)
        memset(row, 0, wide * sizeof *row);
      smr_recurrent_emit(run, t, n, 0, hidden, live);
    }
  }
  smr_recurrent_end(run);
  return SAMARA_OK;
}

static samara_status gru_run(const struct smr_job *job, size_t begin, size_t end, void *scratch) {
  const struct smr_recurrent *all = (const struct smr_recurrent *)job->state;
  static const struct smr_recurrent_cell cell = {.steps = gru_steps};
  return smr_recurrent_tiles(job, all, begin, end, scratch, &cell);
}

const struct smr_op_funcs smr_op_gru_funcs = {.check = smr_recurrent_check,
                                              .prepare = gru_prepare,
                                              .pack = smr_recurrent_pack,
                                              .run = gru_run,
                                              .state_bytes = sizeof(struct smr_recurrent)};

const struct smr_op_funcs smr_op_gru_train_funcs = {.check = smr_recurrent_check,
                                                    .prepare = gru_prepare,
                                                    .pack = smr_recurrent_pack,
                                                    .run = gru_run,
                                                    .state_bytes = sizeof(struct smr_recurrent)};
