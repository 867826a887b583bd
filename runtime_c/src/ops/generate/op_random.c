// SPDX-License-Identifier: Apache-2.0
// dropout and random_uniform: numbers from a Philox stream selected by a key tensor.
//
// Element i always takes word i of the stream, because tiles start at whole blocks. The thread does
// not matter.
#include "base/fp.h"

#include "kernels/philox/philox.h"
#include "ops/check/check.h"
#include "ops/pointwise/elementwise.h"
#include "ops/table/funcs.h"
#include "ops/widen.h"

#include <math.h>
#include <string.h>

enum { RANDOM_BLOCK = 4 };  // words per block; SMR_GRAIN is a multiple

struct random_state {
  const struct smr_philox_kernels *kernels;
  size_t n;
};

// A key is two integers: the generator's key, and the first block of the stream.
static samara_status random_key_check(const struct smr_job *job, const struct smr_tensor *key) {
  static const int64_t two = 2;
  SMR_TRY(smr_expect_dtype(job, key, "the key", SMR_DTYPE_I64));
  return smr_expect_dims(job, key, "the key", &two, 1);
}

static samara_status random_prepare(struct smr_job *job) {
  struct random_state *s = job->state;
  *s = (struct random_state){.kernels = smr_philox_kernels(job->isa),
                             .n = (size_t)smr_numel(job->outputs[0])};
  job->kernel = s->kernels->name;
  job->tiles = smr_grain_tiles(s->n);
  return SAMARA_OK;
}

// The stream from element `at` on, a multiple of a block. The bits of the key are used unchanged.
static struct smr_philox random_stream(const struct smr_tensor *key, size_t at) {
  uint64_t words[2];
  memcpy(words, key->data, sizeof words);
  return (struct smr_philox){.key = words[0], .block = words[1] + at / RANDOM_BLOCK};
}

// ---- dropout: x, key ----

static samara_status dropout_check(const struct smr_job *job) {
  const float p = SMR_ATTR(job, dropout, p)->f;
  SMR_TRY(smr_expect_dtype(job, job->inputs[0], "input", SMR_DTYPES_FLOAT));
  SMR_TRY(smr_expect_same_dtype(job, job->inputs[0], job->outputs[0], "input and output"));
  if (!(p >= 0 && p <= 1))
    SMR_FAIL(job->error, BAD_SHAPE, "dropout: p is %g, expected 0 to 1", smr_g(p));
  return random_key_check(job, job->inputs[1]);
}

static samara_status dropout_run(const struct smr_job *job, size_t begin, size_t end,
                                 void *thread_scratch) {
  (void)thread_scratch;
  const struct random_state *s = job->state;
  const size_t at = begin * SMR_GRAIN, last = smr_grain_end(s->n, end);
  const double p = (double)SMR_ATTR(job, dropout, p)->f;
  if (at >= last) return SAMARA_OK;
  const struct smr_philox stream = random_stream(job->inputs[1], at);
  // u >= p if and only if the integer 2^24 u is at least 2^24 p rounded up.
  const int32_t threshold = (int32_t)ceil(p * 0x1p24);
  s->kernels->dropout(last - at, &stream, threshold, p < 1 ? (float)(1 / (1 - p)) : 0.0f,
                      (const float *)job->inputs[0]->data + at,
                      (float *)job->outputs[0]->data + at);
  return SAMARA_OK;
}

SMR_WIDENED_OP(dropout, dropout_check, random_prepare, dropout_run, sizeof(struct random_state))

// ---- random_uniform: key ----

static samara_status random_uniform_check(const struct smr_job *job) {
  SMR_TRY(smr_expect_dtype(job, job->outputs[0], "output", SMR_DTYPE_F32));
  return random_key_check(job, job->inputs[0]);
}

static samara_status random_uniform_run(const struct smr_job *job, size_t begin, size_t end,
                                        void *thread_scratch) {
  (void)thread_scratch;
  const struct random_state *s = job->state;
  const size_t at = begin * SMR_GRAIN, last = smr_grain_end(s->n, end);
  if (at >= last) return SAMARA_OK;
  const struct smr_philox stream = random_stream(job->inputs[0], at);
  s->kernels->uniform(last - at, &stream, (float *)job->outputs[0]->data + at);
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_random_uniform_funcs = {
    .check = random_uniform_check,
    .prepare = random_prepare,
    .run = random_uniform_run,
    .state_bytes = sizeof(struct random_state)};
