// SPDX-License-Identifier: Apache-2.0
// Check classes of the recurrent networks.
#include "base/fp.h"

#include "ops/check.h"

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
  const int64_t hidden = smr_op_attr_int(job, "hidden");
  const int64_t direction = smr_op_attr_int(job, "direction");
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

// As above with four gates; c0 [D, N, H], p [D, 3 * H], y_c [D, N, H].
samara_status smr_check_lstm(const struct smr_job *job) {
  struct recurrent_dims d = {0};
  SMR_TRY(check_recurrent(job, 4, &d));
  SMR_TRY(recurrent_expect(job, 6, "c0", d.d, d.n, d.h, 3));
  SMR_TRY(recurrent_expect(job, 7, "p", d.d, 3 * d.h, 0, 2));
  const int64_t y_c[3] = {d.d, d.n, d.h};
  return job->output_count > 2 ? smr_expect_dims(job, job->outputs[2], "y_c", y_c, 3) : SAMARA_OK;
}

// As above with three gates.
samara_status smr_check_gru(const struct smr_job *job) {
  struct recurrent_dims d = {0};
  return check_recurrent(job, 3, &d);
}
