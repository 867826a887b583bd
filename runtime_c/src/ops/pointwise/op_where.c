// SPDX-License-Identifier: Apache-2.0
// where: selects from two tensors, element by element.
#include "base/fp.h"

#include "kernels/vwhere/vwhere.h"
#include "ops/check/check.h"
#include "ops/pointwise/elementwise.h"
#include "ops/table/funcs.h"

struct where_state {
  struct smr_broadcast broadcast;
  smr_vwhere_ukernel kernel;
};

static samara_status where_check(const struct smr_job *job) {
  SMR_TRY(smr_expect_dtype(job, job->inputs[0], "condition", SMR_DTYPE_BOOL));
  SMR_TRY(smr_expect_dtype(job, job->inputs[1], "a", SMR_DTYPES_ANY | SMR_DTYPES_MORE));
  SMR_TRY(smr_expect_same_dtype(job, job->inputs[1], job->inputs[2], "a and b"));
  return smr_expect_same_dtype(job, job->inputs[1], job->outputs[0], "a and the output");
}

static samara_status where_prepare(struct smr_job *job) {
  struct where_state *s = job->state;
  const struct smr_tensor *operands[3] = {job->inputs[0], job->inputs[1], job->inputs[2]};
  smr_broadcast_make(&s->broadcast, job->outputs[0], operands, 3);
  s->kernel = smr_vwhere_kernel(smr_dtype_bytes(job->outputs[0]->dtype));
  job->kernel = "vwhere";
  job->tiles = smr_grain_tiles((size_t)smr_numel(job->outputs[0]));
  return SAMARA_OK;
}

static samara_status where_run(const struct smr_job *job, size_t begin, size_t end,
                               void *thread_scratch) {
  (void)thread_scratch;
  const struct where_state *s = job->state;
  const struct smr_broadcast *b = &s->broadcast;
  const struct smr_tensor *ty = job->outputs[0];
  const size_t element = smr_dtype_bytes(ty->dtype);
  char *y = (char *)ty->data + begin * SMR_GRAIN * element;
  struct smr_broadcast_cursor cursor;
  smr_broadcast_start(b, &cursor, begin * SMR_GRAIN, smr_grain_end((size_t)smr_numel(ty), end));
  size_t at[SMR_BROADCAST_OPERANDS], n;
  while ((n = smr_broadcast_next(b, &cursor, SIZE_MAX, at)) > 0) {
    s->kernel(n, (const uint8_t *)job->inputs[0]->data + at[0], smr_broadcast_step(b, 0),
              (const char *)job->inputs[1]->data + at[1] * element, smr_broadcast_step(b, 1),
              (const char *)job->inputs[2]->data + at[2] * element, smr_broadcast_step(b, 2), y);
    y += n * element;
  }
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_where_funcs = {.check = where_check,
                                                .prepare = where_prepare,
                                                .run = where_run,
                                                .state_bytes = sizeof(struct where_state),
                                                .more_dtypes = SMR_DTYPES_MORE};
