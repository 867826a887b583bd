// SPDX-License-Identifier: Apache-2.0
// float16 for operators that compute in float32.
#include "base/fp.h"

#include "ops/widen.h"

#include "base/checked.h"
#include "kernels/f16_convert/f16_convert.h"
#include "ops/check/check.h"
#include "ops/deadline.h"

#include <assert.h>

// Stored in front of the operator's own state if a tensor is float16.
struct widen_state {
  size_t tiles;  // of the float32 job
  samara_status (*run)(const struct smr_job *job, size_t begin, size_t end, void *thread_scratch);
};

// The job that the float32 functions see.
struct widen_job {
  struct smr_job job;
  struct smr_tensor tensors[SMR_WIDEN_TENSORS];
  struct smr_tensor *pointers[SMR_WIDEN_TENSORS];
  size_t offsets[SMR_WIDEN_TENSORS];  // of the copies, in scratch
  size_t copies_bytes;                // of all copies; the operator's own scratch follows
};

bool smr_widen_needed(const struct smr_job *job) {
  bool needed = false;
  if (!SMR_HAS(type_float16)) return false;
  for (uint32_t i = 0; i < job->input_count; i++)
    needed = needed || (job->inputs[i] != NULL && job->inputs[i]->dtype == SAMARA_FLOAT16);
  for (uint32_t i = 0; i < job->output_count; i++)
    needed = needed || job->outputs[i]->dtype == SAMARA_FLOAT16;
  return needed;
}

// Adds a float32 copy of `t`. False if the copies exceed the address space.
static bool widen_tensor(struct widen_job *wide, uint32_t slot, const struct smr_tensor *t) {
  if (t == NULL) {
    wide->pointers[slot] = NULL;
    return true;
  }
  struct smr_tensor *copy = &wide->tensors[slot];
  *copy = *t;
  wide->pointers[slot] = copy;
  if (t->dtype != SAMARA_FLOAT16) return true;
  copy->dtype = SAMARA_FLOAT32;
  copy->constant = -1;
  copy->data = NULL;
  copy->pixel_stride = t->rank ? t->dims[t->rank - 1] : 1;
  copy->size_bytes = (size_t)smr_numel(t) * sizeof(float);  // cannot overflow: checked dims leave a
                                                            // bit to spare
  wide->offsets[slot] = wide->copies_bytes;
  return smr_add_size(wide->copies_bytes, (copy->size_bytes + 63) & ~(size_t)63,
                      &wide->copies_bytes) &&
         wide->copies_bytes <= PTRDIFF_MAX;
}

static bool widen_make(struct widen_job *wide, const struct smr_job *job) {
  static_assert(sizeof(struct widen_state) <= SMR_WIDEN_STATE_BYTES, "it fits");
  assert(job->input_count + job->output_count <= SMR_WIDEN_TENSORS);
  bool fits = true;
  wide->copies_bytes = 0;
  for (uint32_t i = 0; i < job->input_count; i++)
    fits = fits && widen_tensor(wide, i, job->inputs[i]);
  for (uint32_t i = 0; i < job->output_count; i++)
    fits = fits && widen_tensor(wide, job->input_count + i, job->outputs[i]);
  wide->job = *job;
  wide->job.inputs = wide->pointers;
  wide->job.outputs = wide->pointers + job->input_count;
  wide->job.state = (char *)job->state + SMR_WIDEN_STATE_BYTES;
  return fits;
}

// Elements of a tensor as matrix rows: float16 rows may be `pixel_stride` apart.
static void widen_rows(const struct smr_tensor *t, size_t *rows, size_t *n, size_t *stride) {
  *n = t->rank ? (size_t)t->dims[t->rank - 1] : 1;
  *rows = t->rank ? (size_t)smr_product(t->dims, t->rank - 1u) : 1;
  *stride = (size_t)t->pixel_stride;
  if (*stride == *n || t->rank == 0) {
    *n *= *rows;
    *rows = 1;
  }
}

static void widen_copy_in(const struct smr_job *job, const struct smr_tensor *t, float *copy) {
  size_t rows, n, stride;
  widen_rows(t, &rows, &n, &stride);
  for (size_t i = 0; i < rows; i++)
    smr_f16_to_f32_kernel(job->isa)(n, (const uint16_t *)t->data + i * stride, copy + i * n);
}

static void widen_copy_out(const struct smr_job *job, const struct smr_tensor *t,
                           const float *copy) {
  size_t rows, n, stride;
  widen_rows(t, &rows, &n, &stride);
  for (size_t i = 0; i < rows; i++)
    smr_f32_to_f16_kernel(job->isa)(n, copy + i * n, (uint16_t *)t->data + i * stride);
}

static samara_status widen_run(const struct smr_job *job, size_t begin, size_t end,
                               void *thread_scratch) {
  const struct widen_state *state = job->state;
  if (begin == end) return SAMARA_OK;  // the single tile runs the prologue too
  struct widen_job wide;
  if (!widen_make(&wide, job)) return SAMARA_LIMIT;  // cannot happen: prepare has checked it
  char *scratch = job->scratch;
  wide.job.scratch = scratch + wide.copies_bytes;
  wide.job.tiles = state->tiles;
  for (uint32_t i = 0; i < job->input_count; i++) {
    if (job->inputs[i] == NULL || job->inputs[i]->dtype != SAMARA_FLOAT16) continue;
    wide.tensors[i].data = scratch + wide.offsets[i];
    widen_copy_in(job, job->inputs[i], wide.tensors[i].data);
  }
  for (uint32_t i = 0; i < job->output_count; i++)
    if (job->outputs[i]->dtype == SAMARA_FLOAT16)
      wide.tensors[job->input_count + i].data = scratch + wide.offsets[job->input_count + i];
  if (job->op->flags & SMR_OP_SERIAL_PROLOGUE) SMR_TRY(state->run(&wide.job, 0, 0, thread_scratch));
  SMR_TRY(smr_deadline_run(&wide.job, 0, wide.job.tiles, thread_scratch, state->run));
  for (uint32_t i = 0; i < job->output_count; i++)
    if (job->outputs[i]->dtype == SAMARA_FLOAT16)
      widen_copy_out(job, job->outputs[i], wide.tensors[job->input_count + i].data);
  return SAMARA_OK;
}

samara_status smr_widen_prepare(struct smr_job *job) {
  if (!smr_widen_needed(job)) return job->op->funcs->float32_prepare(job);
  struct widen_job wide;
  if (!widen_make(&wide, job))
    SMR_FAIL(job->error, LIMIT, "%s: float32 copies do not fit memory", job->op->name);
  SMR_TRY(job->op->funcs->float32_prepare(&wide.job));
  *(struct widen_state *)job->state = (struct widen_state){wide.job.tiles, wide.job.run};
  job->run = widen_run;
  job->tiles = wide.job.tiles != 0;
  job->kernel = wide.job.kernel;
  job->thread_scratch_bytes = wide.job.thread_scratch_bytes;
  if (!smr_add_size(wide.copies_bytes, wide.job.scratch_bytes, &job->scratch_bytes))
    SMR_FAIL(job->error, LIMIT, "%s: scratch does not fit memory", job->op->name);
  return SAMARA_OK;
}
