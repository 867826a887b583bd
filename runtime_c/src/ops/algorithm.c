// SPDX-License-Identifier: Apache-2.0
// Choosing among an operator's algorithms.
#include "base/fp.h"

#include "ops/algorithm.h"

#include <assert.h>

#include "ops/check/check.h"

enum { ALGORITHM_MOST = 8 };  // most rows of one table

static bool algorithm_fits(const struct smr_algorithm *row, const struct smr_job *job) {
  const uint32_t dtype = UINT32_C(1) << job->inputs[0]->dtype;
  return (row->dtypes == 0 || (row->dtypes & dtype) != 0) && (row->fits == NULL || row->fits(job));
}

static samara_status algorithm_missing(const struct smr_job *job, const char *name) {
  SMR_FAIL(
      job->error, UNSUPPORTED,
      "this build leaves out how %s computes this node%s%s: samara build with this model makes a "
      "library that has it",
      job->op->name, *name ? ", " : "", name);
}

// Record that the node needs this row.
static samara_status algorithm_need(const struct smr_algorithm *row, struct smr_job *job) {
  if (row->prepare == NULL) return algorithm_missing(job, row->name);
  if (SMR_HAS(survey)) smr_parts_add(job->parts, row->part);
  return row->kernels != NULL ? row->kernels(job) : SAMARA_OK;
}

static samara_status algorithm_prepare(const struct smr_algorithm *row, struct smr_job *job) {
  job->algorithm = row;
  job->run = row->run;
  return row->prepare(job);
}

// Prepare `chosen`. A loose row fits too, and `exact` is the row that strict sessions take.
static samara_status algorithm_prepare_loose(const struct smr_algorithm *chosen,
                                             const struct smr_algorithm *exact,
                                             const struct smr_algorithm *loose,
                                             struct smr_job *job) {
  if (chosen != exact) SMR_TRY(algorithm_need(exact, job));
  if (!job->dims_vary) return algorithm_prepare(chosen, job);
  // A resize may switch between the two rows, so reserve room for both.
  SMR_TRY(algorithm_prepare(exact, job));
  return chosen == exact ? loose->reserve(job) : algorithm_prepare(chosen, job);
}

samara_status smr_prepare_algorithm(struct smr_job *job) {
  const struct smr_algorithms *table = job->op->funcs->algorithms;
  struct smr_candidate list[ALGORITHM_MOST];
  uint32_t count = 0, exact = 0;  // rows that fit; how many of them are not loose
  const struct smr_algorithm *chosen = NULL;
  assert(table->count <= ALGORITHM_MOST);
  SMR_TRY(table->begin(job));
  for (size_t i = 0; i < table->count; i++) {
    const struct smr_algorithm *row = table->rows[i];
    if (row == NULL) continue;
    const bool fits = algorithm_fits(row, job);
    if (fits) chosen = row;
    if (fits && row->work != NULL)
      list[count++] = (struct smr_candidate){row->name, row->work(job), (int32_t)i};
    if (!row->loose) exact = count;
    // With symbolic dims, each row that can fit may become the best one after a resize.
    if (SMR_HAS(symbolic) && job->dims_vary && (row->fits_any != NULL ? row->fits_any(job) : fits))
      SMR_TRY(algorithm_need(row, job));
  }
  if (chosen == NULL) return algorithm_missing(job, "");
  const struct smr_algorithm *strict = NULL;
  if (SMR_HAS_LOOSE_ROWS && 0 < exact && exact < count)
    strict = table->rows[smr_choose(job, list, exact)];
  if (count != 0) chosen = table->rows[smr_choose(job, list, count)];
  SMR_TRY(algorithm_need(chosen, job));
  if (SMR_HAS_LOOSE_ROWS && strict != NULL)
    return algorithm_prepare_loose(chosen, strict, table->rows[list[exact].code], job);
  return algorithm_prepare(chosen, job);
}
