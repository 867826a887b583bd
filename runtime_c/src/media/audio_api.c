// SPDX-License-Identifier: Apache-2.0
// Audio to tensors without a model.
#include "base/fp.h"

#include "base/alloc.h"
#include "media/audio.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/isa.h"

// Conversion of a recording: where the next tensor goes, and the number of tensors so far.
struct audio_job {
  struct smr_audio_record record;
  struct smr_audio_tensor makes;
  struct smr_audio_format format;
  samara_audio given;
  size_t bytes;  // of a tensor
  unsigned char *out;
  size_t room, made;  // in tensors
};

static samara_status audio_job(const samara_audio_record *record, const samara_audio *audio,
                               struct audio_job *job, samara_error *error) {
  samara_audio_record own;
  if (record == NULL) SMR_FAIL(error, BAD_ARGUMENT, "the record is NULL");
  SMR_TRY(smr_options_read(record, &own, sizeof own, "samara_audio_record", error));
  SMR_TRY(smr_audio_record_of(&own, &job->record, &job->makes, NULL, error));
  return smr_audio_samples_of(audio, job->record.rate, &job->given, &job->format, error);
}

static void audio_take(struct audio_job *job, const struct smr_audio_batch *batch) {
  if (job->made < job->room) smr_audio_batch_write(batch, job->out + job->made * job->bytes);
  job->made++;
}

static samara_status audio_stream(struct audio_job *job, struct smr_audio_batch *batch,
                                  samara_error *error) {
  bool full = true;
  for (size_t at = 0, taken; full; at += taken) {
    SMR_TRY(smr_audio_batch_push(batch, smr_audio_behind(&job->given, &job->format, at),
                                 job->given.count - at, &taken, &full, error));
    if (full) audio_take(job, batch);
  }
  for (full = true; full;) {
    smr_audio_batch_flush(batch, &full);
    if (full) audio_take(job, batch);
  }
  return SAMARA_OK;
}

samara_status samara_preprocess_audio(const samara_audio_record *record, const samara_audio *audio,
                                      const samara_allocator *allocator, void *out,
                                      size_t size_bytes, size_t *tensors, int64_t *shape,
                                      int32_t *rank, samara_error *error) {
  struct audio_job job = {.out = out};
  int64_t sides[SAMARA_MAX_RANK];
  size_t plan_bytes = 0;
  if (tensors == NULL) SMR_FAIL(error, BAD_ARGUMENT, "tensors is NULL");
  SMR_TRY(audio_job(record, audio, &job, error));
  const int32_t axes = smr_audio_shape(&job.record, &job.makes, sides);
  job.bytes = smr_audio_element_bytes(job.record.dtype);
  for (int32_t axis = 0; axis < axes; axis++) job.bytes *= (size_t)sides[axis];
  job.room = out != NULL ? size_bytes / job.bytes : 0;
  SMR_TRY(smr_audio_plan_bytes(&job.record, &job.format, &plan_bytes, error));
  const samara_allocator memory = smr_allocator(allocator);
  const struct smr_audio_plan *plan = NULL;
  void *tables = smr_allocate(&memory, plan_bytes), *stream = NULL;
  samara_status status = tables == NULL ? smr_no_memory(error, plan_bytes) : SAMARA_OK;
  if (status == SAMARA_OK)
    status = smr_audio_plan_make(&job.record, &job.format, smr_cpu_isa(), tables, &plan, error);
  if (status == SAMARA_OK) {
    const size_t bytes = smr_audio_batch_bytes(plan, &job.makes);
    stream = smr_allocate(&memory, bytes);
    if (stream == NULL) status = smr_no_memory(error, bytes);
  }
  if (status == SAMARA_OK)
    status = audio_stream(&job, smr_audio_batch_reset(plan, &job.makes, stream), error);
  smr_release(&memory, stream);
  smr_release(&memory, tables);
  if (status != SAMARA_OK) return status;
  *tensors = job.made;
  for (int32_t axis = 0; shape != NULL && axis < axes; axis++) shape[axis] = sides[axis];
  if (rank != NULL) *rank = axes;
  return SAMARA_OK;
}
