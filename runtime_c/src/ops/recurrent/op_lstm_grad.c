// SPDX-License-Identifier: Apache-2.0
// lstm_grad: a tile is one direction, with all steps in reverse order.
#include "base/fp.h"

#include "ops/recurrent/recurrent_grad.h"
#include "ops/table/attrs.h"
#include "ops/widen.h"

#include <string.h>

struct lstm_grad_state {
  struct smr_recurrent_grad all;
  bool input_forget;
};

enum { LSTM_GRAD_GATES = 4, LSTM_GRAD_DH0 = 1 };

static samara_status lstm_grad_prepare(struct smr_job *job) {
  struct lstm_grad_state *state = (struct lstm_grad_state *)job->state;
  SMR_NEED(job, f32_cell_lstm_grad);
  state->input_forget = SMR_ATTR(job, lstm_grad, input_forget)->i != 0;
  return smr_recurrent_grad_prepare(job, &state->all, LSTM_GRAD_GATES, LSTM_GRAD_GATES);
}

static samara_status lstm_grad_direction(const struct smr_job *job,
                                         const struct lstm_grad_state *state, size_t direction) {
  const struct smr_recurrent_grad *all = &state->all;
  const size_t hidden = all->hidden, wide = LSTM_GRAD_GATES * hidden;
  struct smr_recurrent_grad_run run;
  smr_recurrent_grad_begin(job, all, direction, LSTM_GRAD_DH0, &run);
  const struct smr_lstm_options options = {hidden, all->clip, state->input_forget, run.peepholes};
  float *all_gates = (float *)job->outputs[0]->data;
  for (size_t step = 0; step < all->steps; step++) {
    const size_t t = run.reverse ? step : all->steps - 1 - step;
    for (size_t n = 0; n < all->batch; n++) {
      struct smr_recurrent_grad_row row;
      const bool live = smr_recurrent_grad_row(&run, t, n, &row);
      float *gates = all_gates + row.index * wide;
      if (live)
        all->cell->lstm_grad(row.kept, &options, row.before, row.dy, run.dh + n * hidden,
                             run.dc + n * hidden, gates);
      else
        memset(gates, 0, wide * sizeof *gates);
    }
    // dh stays unchanged for entries that lack this step; their row is 0.
    const float *gates = all_gates + (direction * all->steps + t) * all->batch * wide;
    SMR_TRY(smr_recurrent_grad_product(&run, 0, gates, wide, true, run.dh));
  }
  return SAMARA_OK;
}

static samara_status lstm_grad_run(const struct smr_job *job, size_t begin, size_t end,
                                   void *scratch) {
  (void)scratch;
  for (size_t direction = begin; direction < end; direction++)
    SMR_TRY(lstm_grad_direction(job, (const struct lstm_grad_state *)job->state, direction));
  return SAMARA_OK;
}

SMR_WIDENED_OP(lstm_grad, smr_recurrent_grad_check, lstm_grad_prepare, lstm_grad_run,
               sizeof(struct lstm_grad_state))
