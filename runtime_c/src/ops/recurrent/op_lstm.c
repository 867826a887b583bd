// SPDX-License-Identifier: Apache-2.0
// lstm and lstm_train.
#include "base/fp.h"

#include "ops/recurrent/recurrent.h"
#include "ops/recurrent/recurrent_pack.h"
#include "ops/table/attrs.h"

#include <string.h>

// The common part must be first: smr_recurrent_pack reads it from the state.
struct lstm_state {
  struct smr_recurrent all;
  bool input_forget;
};

enum { LSTM_GATES = 4 };  // i, o, f, c

static samara_status lstm_prepare(struct smr_job *job) {
  struct lstm_state *state = (struct lstm_state *)job->state;
  state->input_forget = SMR_ATTR(job, lstm, input_forget)->i != 0;
  SMR_TRY(smr_recurrent_prepare(job, &state->all, LSTM_GATES, 1));
  smr_recurrent_share_steps(job, &state->all);
  return SAMARA_OK;
}

// Computes the cells of hidden units [begin, end) after the product of a step.
static void lstm_step(const struct smr_recurrent_run *run, size_t step, size_t begin, size_t end) {
  const struct lstm_state *state = (const struct lstm_state *)run->job->state;
  const struct smr_recurrent *all = run->all;
  const size_t hidden = all->hidden, wide = all->gate_stride, t = smr_recurrent_time(run, step);
  const struct smr_lstm_options options = {hidden, all->clip, state->input_forget, run->peepholes};
  float *gates = run->gates + t * all->batch * wide;
  for (size_t n = 0; n < all->batch; n++) {
    const bool live = t < smr_recurrent_length(run, n);
    float *row = gates + n * wide, *h = run->state[0] + n * hidden;
    if (live)
      all->cell->lstm(begin, end, row, &options, run->state[1] + n * hidden, h,
                      all->kept ? row : NULL);
    else if (all->kept)
      memset(row, 0, wide * sizeof *row);
    else if (run->before != run->state[0])
      memcpy(h + begin, run->before + n * hidden + begin, (end - begin) * sizeof *h);
    smr_recurrent_emit(run, t, n, begin, end, live);
  }
}

static samara_status lstm_steps(struct smr_recurrent_run *run) {
  const struct smr_recurrent *all = run->all;
  const size_t wide = all->gate_stride;
  for (size_t step = 0; step < all->steps; step++) {
    float *gates = run->gates + smr_recurrent_time(run, step) * all->batch * wide;
    smr_recurrent_keep(run, smr_recurrent_time(run, step));
    SMR_TRY(smr_recurrent_product(run, 0, run->state[0], NULL, true, gates, wide));
    lstm_step(run, step, 0, all->hidden);
  }
  smr_recurrent_end(run);
  return SAMARA_OK;
}

static samara_status lstm_run(const struct smr_job *job, size_t begin, size_t end, void *scratch) {
  const struct lstm_state *state = (const struct lstm_state *)job->state;
  static const struct smr_recurrent_cell cell = {lstm_steps, lstm_step};
  return smr_recurrent_tiles(job, &state->all, begin, end, scratch, &cell);
}

const struct smr_op_funcs smr_op_lstm_funcs = {.check = smr_recurrent_check,
                                               .prepare = lstm_prepare,
                                               .pack = smr_recurrent_pack,
                                               .run = lstm_run,
                                               .state_bytes = sizeof(struct lstm_state)};

const struct smr_op_funcs smr_op_lstm_train_funcs = {.check = smr_recurrent_check,
                                                     .prepare = lstm_prepare,
                                                     .pack = smr_recurrent_pack,
                                                     .run = lstm_run,
                                                     .state_bytes = sizeof(struct lstm_state)};
