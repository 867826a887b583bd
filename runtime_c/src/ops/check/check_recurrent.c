// SPDX-License-Identifier: Apache-2.0
// Check classes of the recurrent networks.
#include "base/fp.h"

#include "ops/check/check.h"

#include <inttypes.h>

struct recurrent_dims {
  int64_t t, n, i, h, d;  // steps, batch, inputs, hidden, directions
};

static samara_status recurrent_expect(const struct smr_job *job, uint32_t input, const char *what,
                                      int64_t a, int64_t b, int64_t c, uint32_t rank) {
  const int64_t dims[3] = {a, b, c};
  const struct smr_tensor *t = smr_optional_input(job, input);
  return t == NULL ? SAMARA_OK : smr_expect_dims(job, t, what, dims, rank);
}

// x [T, N, I], w [D, gates * H, I], r [D, gates * H, H], bias [D, 2 * gates * H], lengths int32
// [N], h0 [D, N, H]; y [T, D, N, H], y_h [D, N, H].
static samara_status check_recurrent(const struct smr_job *job, int64_t gates,
                                     struct recurrent_dims *out) {
  const struct smr_tensor *x = job->inputs[0], *lengths = smr_optional_input(job, 4);
  SMR_TRY(smr_expect_rank(job, x, "x", 3, 3));
  const int64_t hidden = SMR_ATTR(job, lstm, hidden)->i;
  const int64_t direction = SMR_ATTR(job, lstm, direction)->i;
  if (hidden < 1 || hidden > INT32_MAX / 16 || direction < 0 || direction > 2)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: hidden is %" PRId64 ", direction %" PRId64, job->op->name,
             hidden, direction);
  const struct recurrent_dims d = {
      .t = x->dims[0], .n = x->dims[1], .i = x->dims[2], .h = hidden, .d = direction == 2 ? 2 : 1};
  SMR_TRY(recurrent_expect(job, 1, "w", d.d, gates * d.h, d.i, 3));
  SMR_TRY(recurrent_expect(job, 2, "r", d.d, gates * d.h, d.h, 3));
  SMR_TRY(recurrent_expect(job, 3, "bias", d.d, 2 * gates * d.h, 0, 2));
  SMR_TRY(recurrent_expect(job, 4, "lengths", d.n, 0, 0, 1));
  SMR_TRY(recurrent_expect(job, 5, "h0", d.d, d.n, d.h, 3));
  if (lengths != NULL) SMR_TRY(smr_expect_dtype(job, lengths, "lengths", SMR_DTYPE_I32));
  const int64_t y[4] = {d.t, d.d, d.n, d.h}, y_h[3] = {d.d, d.n, d.h};
  SMR_TRY(smr_expect_dims(job, job->outputs[0], "y", y, 4));
  if (job->output_count > 1) SMR_TRY(smr_expect_dims(job, job->outputs[1], "y_h", y_h, 3));
  *out = d;
  return SAMARA_OK;
}

// What training keeps, outputs `first` and up: gates [D, T, N, 4 * H], and `states` states before
// each step, [D, T, N, H].
static samara_status check_recurrent_kept(const struct smr_job *job, struct recurrent_dims d,
                                          uint32_t first, uint32_t states) {
  const int64_t gates[4] = {d.d, d.t, d.n, 4 * d.h}, before[4] = {d.d, d.t, d.n, d.h};
  for (uint32_t i = first; i < job->output_count && i <= first + states; i++)
    SMR_TRY(smr_expect_dims(job, job->outputs[i], i == first ? "gates" : "states before",
                            i == first ? gates : before, 4));
  return SAMARA_OK;
}

// As above with four gates; c0 [D, N, H], p [D, 3 * H], y_c [D, N, H].
samara_status smr_check_lstm(const struct smr_job *job) {
  struct recurrent_dims d = {0};
  SMR_TRY(check_recurrent(job, 4, &d));
  SMR_TRY(recurrent_expect(job, 6, "c0", d.d, d.n, d.h, 3));
  SMR_TRY(recurrent_expect(job, 7, "p", d.d, 3 * d.h, 0, 2));
  const int64_t y_c[3] = {d.d, d.n, d.h};
  if (job->output_count > 2) SMR_TRY(smr_expect_dims(job, job->outputs[2], "y_c", y_c, 3));
  return check_recurrent_kept(job, d, 3, 2);
}

// As above with three gates.
samara_status smr_check_gru(const struct smr_job *job) {
  struct recurrent_dims d = {0};
  SMR_TRY(check_recurrent(job, 3, &d));
  return check_recurrent_kept(job, d, 2, 1);
}

// gates [D, T, N, 4 * H], before [D, T, N, H], r [D, gates * H, H], lengths int32 [N], dy
// [T, D, N, H], dy_h and all outputs from `state` on [D, N, H]; those before it [D, T, N, wide *
// H].
static samara_status check_recurrent_grad(const struct smr_job *job, int64_t gates, int64_t wide,
                                          uint32_t state, struct recurrent_dims *out) {
  const struct smr_tensor *kept = job->inputs[0], *lengths = smr_optional_input(job, 3);
  SMR_TRY(smr_expect_rank(job, kept, "gates", 4, 4));
  const int64_t hidden = SMR_ATTR(job, lstm_grad, hidden)->i;
  const int64_t direction = SMR_ATTR(job, lstm_grad, direction)->i;
  if (hidden < 1 || hidden > INT32_MAX / 16 || direction < 0 || direction > 2)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: hidden is %" PRId64 ", direction %" PRId64, job->op->name,
             hidden, direction);
  const struct recurrent_dims d = {
      .t = kept->dims[1], .n = kept->dims[2], .h = hidden, .d = direction == 2 ? 2 : 1};
  const int64_t all[4] = {d.d, d.t, d.n, 4 * d.h}, before[4] = {d.d, d.t, d.n, d.h};
  const int64_t dy[4] = {d.t, d.d, d.n, d.h}, states[3] = {d.d, d.n, d.h};
  const int64_t made[4] = {d.d, d.t, d.n, wide * d.h};
  SMR_TRY(smr_expect_dims(job, kept, "gates", all, 4));
  SMR_TRY(smr_expect_dims(job, job->inputs[1], "before", before, 4));
  SMR_TRY(recurrent_expect(job, 2, "r", d.d, gates * d.h, d.h, 3));
  SMR_TRY(recurrent_expect(job, 3, "lengths", d.n, 0, 0, 1));
  if (lengths != NULL) SMR_TRY(smr_expect_dtype(job, lengths, "lengths", SMR_DTYPE_I32));
  if (smr_optional_input(job, 4) != NULL)
    SMR_TRY(smr_expect_dims(job, job->inputs[4], "dy", dy, 4));
  SMR_TRY(recurrent_expect(job, 5, "dy_h", d.d, d.n, d.h, 3));
  for (uint32_t i = 0; i < job->output_count; i++)
    SMR_TRY(smr_expect_dims(job, job->outputs[i], "output", i < state ? made : states,
                            i < state ? 4 : 3));
  *out = d;
  return SAMARA_OK;
}

// As above with four gates; dy_c [D, N, H], p [D, 3 * H].
samara_status smr_check_lstm_grad(const struct smr_job *job) {
  struct recurrent_dims d = {0};
  SMR_TRY(check_recurrent_grad(job, 4, 4, 1, &d));
  SMR_TRY(recurrent_expect(job, 6, "dy_c", d.d, d.n, d.h, 3));
  return recurrent_expect(job, 7, "p", d.d, 3 * d.h, 0, 2);
}

// As above with three gates, and two such outputs.
samara_status smr_check_gru_grad(const struct smr_job *job) {
  struct recurrent_dims d = {0};
  return check_recurrent_grad(job, 3, 3, 2, &d);
}
