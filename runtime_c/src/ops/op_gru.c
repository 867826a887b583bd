// SPDX-License-Identifier: Apache-2.0
// gru: the steps of one direction are one tile.
#include "base/fp.h"

#include "ops/attrs.h"
#include "ops/recurrent.h"

enum { GRU_GATES = 3, GRU_ZR = 0, GRU_H = 1 };  // gates z, r, h; the recurrent weights in two parts

static samara_status gru_prepare(struct smr_job *job) {
  struct smr_recurrent *all = (struct smr_recurrent *)job->state;
  SMR_TRY(smr_recurrent_prepare(job, all, GRU_GATES, 2));
  all->inner_bias = smr_op_attr_int(job, "linear_before_reset") != 0;
  return SAMARA_OK;
}

// The gates of one step, all of it but the last formula. `input` is the step's part from x; returns
// what the reset gate still has to meet, or NULL.
static const float *gru_gates(const struct smr_recurrent_run *run, float *input) {
  const struct smr_recurrent *all = run->all;
  const size_t hidden = all->hidden, wide = GRU_GATES * hidden;
  float *h = run->state[0], *reset_h = run->more, *inner = run->more + all->batch * hidden;
  smr_recurrent_product(run, GRU_ZR, h, NULL, true, input, wide);
  for (size_t n = 0; n < all->batch; n++)
    all->cell->gru_gates(hidden, all->clip, input + n * wide, h + n * hidden,
                         all->inner_bias ? NULL : reset_h + n * hidden);
  if (all->inner_bias) {
    smr_recurrent_product(run, GRU_H, h, run->inner_bias, false, inner, hidden);
    return inner;
  }
  smr_recurrent_product(run, GRU_H, reset_h, NULL, true, input + 2 * hidden, wide);
  return NULL;
}

static void gru_direction(const struct smr_job *job, const struct smr_recurrent *all,
                          size_t direction) {
  const size_t hidden = all->hidden, wide = GRU_GATES * hidden;
  struct smr_recurrent_run run;
  smr_recurrent_begin(job, all, direction, &run);
  for (size_t step = 0; step < all->steps; step++) {
    const size_t t = run.reverse ? all->steps - 1 - step : step;
    float *gates = run.gates + t * all->batch * wide;
    const float *inner = gru_gates(&run, gates);
    for (size_t n = 0; n < all->batch; n++) {
      const bool live = t < smr_recurrent_length(&run, n);
      if (live)
        all->cell->gru(hidden, all->clip, gates + n * wide, gates + n * wide + 2 * hidden,
                       inner != NULL ? inner + n * hidden : NULL, run.state[0] + n * hidden);
      smr_recurrent_emit(&run, t, n, live);
    }
  }
  smr_recurrent_end(&run);
}

static samara_status gru_run(const struct smr_job *job, size_t begin, size_t end, void *scratch) {
  (void)scratch;
  for (size_t direction = begin; direction < end; direction++)
    gru_direction(job, (const struct smr_recurrent *)job->state, direction);
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_gru_funcs = {.check = smr_recurrent_check,
                                              .prepare = gru_prepare,
                                              .pack = smr_recurrent_pack,
                                              .run = gru_run,
                                              .state_bytes = sizeof(struct smr_recurrent)};
