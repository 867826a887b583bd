// SPDX-License-Identifier: Apache-2.0
// gru_grad: a tile is one direction, with all steps in reverse order.
#include "base/fp.h"

#include "ops/recurrent/recurrent_grad.h"
#include "ops/table/attrs.h"
#include "ops/widen.h"

#include <string.h>

struct gru_grad_state {
  struct smr_recurrent_grad all;
  bool linear;  // the reset gate multiplies h R_h^T instead of h
};

enum { GRU_GRAD_GATES = 3, GRU_GRAD_ZR = 2, GRU_GRAD_DH0 = 2 };

static samara_status gru_grad_prepare(struct smr_job *job) {
  SMR_NEED(job, f32_cell_gru_grad);
  struct gru_grad_state *state = (struct gru_grad_state *)job->state;
  state->linear = SMR_ATTR(job, gru_grad, linear_before_reset)->i != 0;
  return smr_recurrent_grad_prepare(job, &state->all, GRU_GRAD_GATES,
                                    state->linear ? GRU_GRAD_GATES : GRU_GRAD_ZR);
}

// The gates of one step that do not depend on the gradient of r h.
static void gru_grad_cells(const struct gru_grad_state *state,
                           const struct smr_recurrent_grad_run *run, size_t t, float *dx_gates,
                           float *dr_gates) {
  const struct smr_recurrent_grad *all = &state->all;
  const size_t hidden = all->hidden, wide = GRU_GRAD_GATES * hidden;
  for (size_t n = 0; n < all->batch; n++) {
    struct smr_recurrent_grad_row row;
    float *dx = dx_gates + n * wide, *dr = dr_gates + n * wide;
    if (smr_recurrent_grad_row(run, t, n, &row)) {
      all->cell->gru_grad(hidden, all->clip, row.kept, row.before, row.dy, run->dh + n * hidden, dx,
                          state->linear ? dr : NULL);
    } else {
      memset(dx, 0, wide * sizeof *dx);
      memset(dr, 0, wide * sizeof *dr);
    }
  }
}

// The other gates, if the reset gate multiplies h. `more` is the gradient of r h.
static void gru_grad_resets(const struct smr_recurrent_grad_run *run, size_t t, float *dx_gates,
                            float *dr_gates) {
  const struct smr_recurrent_grad *all = run->all;
  const size_t hidden = all->hidden, wide = GRU_GRAD_GATES * hidden;
  for (size_t n = 0; n < all->batch; n++) {
    struct smr_recurrent_grad_row row;
    if (!smr_recurrent_grad_row(run, t, n, &row)) continue;
    float *dx = dx_gates + n * wide;
    all->cell->gru_reset_grad(hidden, all->clip, row.kept + hidden, row.before,
                              run->more + n * hidden, run->dh + n * hidden, dx + hidden);
    memcpy(dr_gates + n * wide, dx, wide * sizeof *dx);
  }
}

static samara_status gru_grad_direction(const struct smr_job *job,
                                        const struct gru_grad_state *state, size_t direction) {
  const struct smr_recurrent_grad *all = &state->all;
  const size_t wide = GRU_GRAD_GATES * all->hidden;
  struct smr_recurrent_grad_run run;
  smr_recurrent_grad_begin(job, all, direction, GRU_GRAD_DH0, &run);
  for (size_t step = 0; step < all->steps; step++) {
    const size_t t = run.reverse ? step : all->steps - 1 - step;
    const size_t at = (direction * all->steps + t) * all->batch * wide;
    float *dx = (float *)job->outputs[0]->data + at, *dr = (float *)job->outputs[1]->data + at;
    gru_grad_cells(state, &run, t, dx, dr);
    if (!state->linear) {
      const float *fresh = dx + GRU_GRAD_ZR * all->hidden;
      SMR_TRY(smr_recurrent_grad_product(&run, 1, fresh, wide, false, run.more));
      gru_grad_resets(&run, t, dx, dr);
    }
    SMR_TRY(smr_recurrent_grad_product(&run, 0, dr, wide, true, run.dh));
  }
  return SAMARA_OK;
}

static samara_status gru_grad_run(const struct smr_job *job, size_t begin, size_t end,
                                  void *scratch) {
  (void)scratch;
  for (size_t direction = begin; direction < end; direction++)
    SMR_TRY(gru_grad_direction(job, (const struct gru_grad_state *)job->state, direction));
  return SAMARA_OK;
}

SMR_WIDENED_OP(gru_grad, smr_recurrent_grad_check, gru_grad_prepare, gru_grad_run,
               sizeof(struct gru_grad_state))
