// SPDX-License-Identifier: Apache-2.0
// write_rows: a tensor with some of its rows replaced. A session lets x and y be the same bytes
// where y is the next value of a variable that grows; only the rows are written then.
#include "base/fp.h"

#include "ops/check/check.h"
#include "ops/move/move.h"
#include "ops/table/attrs.h"
#include "ops/table/opattrs.h"

#include <inttypes.h>

static samara_status write_rows_check(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0], *rows = job->inputs[1];
  SMR_TRY(smr_expect_same_dtype(job, x, rows, "x and rows"));
  SMR_TRY(smr_expect_same_dtype(job, x, job->outputs[0], "x and output"));
  SMR_TRY(smr_expect_dtype(job, job->inputs[2], "start", SMR_DTYPE_I64));
  if (rows->dims[1] <= x->dims[1]) return SAMARA_OK;
  SMR_FAIL(job->error, BAD_SHAPE, "%s: %" PRId64 " rows do not fit into the %" PRId64 " of x",
           job->op->name, rows->dims[1], x->dims[1]);
}

static samara_status write_rows_prepare(struct smr_job *job) {
  job->kernel = "write_rows";
  job->tiles = smr_numel(job->outputs[0]) != 0;
  return SAMARA_OK;
}

static samara_status write_rows_run(const struct smr_job *job, size_t begin, size_t end,
                                    void *scratch) {
  (void)begin, (void)end, (void)scratch;
  const struct smr_tensor *x = job->inputs[0], *rows = job->inputs[1], *y = job->outputs[0];
  const bool ring = SMR_ATTR(job, write_rows, ring)->i != 0;
  const int64_t start = *(const int64_t *)job->inputs[2]->data;
  const int64_t room = x->dims[1], count = rows->dims[1];
  if (start < 0 || (!ring && start > room - count))
    SMR_FAIL(job->error, BAD_DATA,
             "%" PRId64 " new rows do not fit behind %" PRId64 " into the %" PRId64
             " that there are: reset the session or set its length back, or export with more rows",
             count, start, room);
  if (y->data != x->data) memcpy(y->data, x->data, y->size_bytes);
  if (count == 0) return SAMARA_OK;
  const size_t row_bytes = smr_extent(x, 2, x->rank) * smr_dtype_bytes(x->dtype);
  const size_t first = (size_t)(start % room), n = (size_t)count;
  const size_t before_end = n < (size_t)room - first ? n : (size_t)room - first;
  for (size_t b = 0; b < (size_t)x->dims[0]; b++) {
    char *to = (char *)y->data + b * (size_t)room * row_bytes;
    const char *from = (const char *)rows->data + b * n * row_bytes;
    memcpy(to + first * row_bytes, from, before_end * row_bytes);
    memcpy(to, from + before_end * row_bytes, (n - before_end) * row_bytes);
  }
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_write_rows_funcs = {.check = write_rows_check,
                                                     .prepare = write_rows_prepare,
                                                     .run = write_rows_run,
                                                     .more_dtypes = SMR_DTYPES_MORE};
