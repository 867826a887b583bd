// SPDX-License-Identifier: Apache-2.0
// mel_weights: triangular filters on the mel scale, [bins of a spectrum, filters].
#include "base/fp.h"

#include "ops/check/check.h"
#include "ops/move/move.h"
#include "ops/table/funcs.h"

#include <inttypes.h>
#include <math.h>

// Inputs: transform length, sample rate (int64), lowest and highest frequency (float32).
static samara_status mel_weights_check(const struct smr_job *job) {
  for (uint32_t i = 0; i < 4; i++)
    SMR_TRY(
        smr_expect_dtype(job, job->inputs[i], "an input", i < 2 ? SMR_DTYPE_I64 : SMR_DTYPE_F32));
  SMR_TRY(smr_expect_dtype(job, job->outputs[0], "output", SMR_DTYPE_F32));
  return smr_expect_rank(job, job->outputs[0], "output", 2, 2);
}

static samara_status mel_weights_prepare(struct smr_job *job) {
  job->tiles = smr_numel(job->outputs[0]) > 0;
  job->kernel = "mel";
  return SAMARA_OK;
}

static double mel_weights_float(const struct smr_tensor *t) {
  float value;
  memcpy(&value, t->data, sizeof value);
  return (double)value;
}

// log(1 + f / 700) is the mel scale up to a factor, which cancels. False if a frequency is outside
// the spectrum.
static bool mel_weights_edge(const struct smr_job *job, size_t i, size_t *edge) {
  const double length = (double)smr_index_at(job->inputs[0], 0);
  const double rate = (double)smr_index_at(job->inputs[1], 0);
  const double low = log1p(mel_weights_float(job->inputs[2]) / 700);
  const double high = log1p(mel_weights_float(job->inputs[3]) / 700);
  const double filters = (double)job->outputs[0]->dims[1];
  const double hertz = 700 * expm1(low + (high - low) / (filters + 2) * (double)i);
  const double at = floor((length + 1) * hertz / rate);
  if (!(at >= 0 && at < (double)job->outputs[0]->dims[0])) return false;
  *edge = (size_t)at;
  return true;
}

static samara_status mel_weights_run(const struct smr_job *job, size_t begin, size_t end,
                                     void *thread_scratch) {
  (void)thread_scratch;
  if (begin == end) return SAMARA_OK;
  float *y = job->outputs[0]->data;
  const size_t filters = (size_t)job->outputs[0]->dims[1];
  memset(y, 0, job->outputs[0]->size_bytes);
  for (size_t i = 0; i < filters; i++) {
    size_t left, middle, right;
    if (!mel_weights_edge(job, i, &left) || !mel_weights_edge(job, i + 1, &middle) ||
        !mel_weights_edge(job, i + 2, &right) || left > middle || middle > right)
      SMR_FAIL(job->error, BAD_DATA,
               "mel_weights: the edges of filter %zu do not lie in order within the %" PRId64
               " bins of the spectrum",
               i, job->outputs[0]->dims[0]);
    if (left == middle) y[middle * filters + i] = 1.0f;
    for (size_t j = left; left < middle && j <= middle; j++)
      y[j * filters + i] = (float)((double)(j - left) / (double)(middle - left));
    for (size_t j = middle; j < right; j++)
      y[j * filters + i] = (float)((double)(right - j) / (double)(right - middle));
  }
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_mel_weights_funcs = {
    .check = mel_weights_check, .prepare = mel_weights_prepare, .run = mel_weights_run};
