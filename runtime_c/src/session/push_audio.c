// SPDX-License-Identifier: Apache-2.0
// Audio as inputs, by the record of the file.
#include "base/fp.h"

#include "media/audio.h"
#include "model/record.h"
#include "session/session.h"

// The audio state of an input: a plan for one format of samples, and the stream.
struct push_audio {
  struct smr_audio_format format;
  struct smr_audio_batch *batch;
};

// One call: the input, its record and its audio state.
struct push_job {
  samara_session *session;
  struct smr_session_input *input;
  const struct smr_tensor *tensor;
  struct smr_audio_record record;
  struct smr_audio_tensor makes;
};

enum { PUSH_ALIGN = 64 };

static size_t push_rounded(size_t bytes) {
  return (bytes + PUSH_ALIGN - 1) & ~(size_t)(PUSH_ALIGN - 1);
}

static samara_status push_job(samara_session *session, size_t index, struct push_job *job) {
  samara_error *error = &session->error;
  const struct smr_function *f = session->function;
  const struct smr_audio_fields *fields = smr_record_audio(f, index);
  if (fields == NULL)
    SMR_FAIL(error, NOT_FOUND,
             "it has no audio record: export the model with preprocess=, or set the tensor");
  const struct smr_value *value = &f->values[f->inputs[f->user_inputs[index]]];
  samara_audio_record record;
  SMR_TRY(smr_record_audio_read(fields, value, &record, NULL, error));
  SMR_TRY(smr_audio_record_of(&record, &job->record, &job->makes, NULL, error));
  int64_t shape[SAMARA_MAX_RANK], all = 1, have = 1;
  const int32_t rank = smr_audio_shape(&job->record, &job->makes, shape);
  const struct smr_tensor *t = job->tensor;
  for (int32_t axis = 0; axis < rank; axis++) all *= shape[axis];
  bool same = t->rank == rank;
  for (int32_t axis = 0; axis < t->rank; axis++) {
    have *= t->dims[axis];
    same = same && t->dims[axis] == shape[axis];
  }
  if (!same && !(t->rank == 2 && t->dims[0] == 1 && have == all))
    SMR_FAIL(error, BAD_SHAPE,
             "the record makes %lld elements in the layout %.4s, the input has %lld: resize the "
             "session",
             (long long)all, job->makes.layout, (long long)have);
  return SAMARA_OK;
}

// Make the block at least that large; ends its stream.
static samara_status push_room(samara_session *session, struct smr_block *block, size_t bytes) {
  SMR_TRY(smr_block_ensure(&session->common, block, bytes, 0, "sound"));
  *(struct push_audio *)block->data = (struct push_audio){.batch = NULL};
  return SAMARA_OK;
}

// Begin a new plan and stream in the input's block.
static samara_status push_begin(const struct push_job *job, const struct smr_audio_format *format) {
  samara_session *session = job->session;
  size_t plan_bytes = 0;
  SMR_TRY(smr_audio_plan_bytes(&job->record, format, &plan_bytes, &session->error));
  // The size of a batch is known only from a plan.
  const size_t head = push_rounded(sizeof(struct push_audio)), planned = push_rounded(plan_bytes);
  struct smr_block *block = &job->input->audio;
  const struct smr_audio_plan *plan = NULL;
  SMR_TRY(push_room(session, block, head + planned));
  SMR_TRY(smr_audio_plan_make(&job->record, format, session->common.isa,
                              (uint8_t *)block->data + head, &plan, &session->error));
  const size_t all = head + planned + smr_audio_batch_bytes(plan, &job->makes);
  if (block->size_bytes < all) {
    SMR_TRY(push_room(session, block, all));
    SMR_TRY(smr_audio_plan_make(&job->record, format, session->common.isa,
                                (uint8_t *)block->data + head, &plan, &session->error));
  }
  struct push_audio *kept = block->data;
  *kept = (struct push_audio){
      .format = *format,
      .batch = smr_audio_batch_reset(plan, &job->makes, (uint8_t *)block->data + head + planned),
  };
  return SAMARA_OK;
}

static bool push_same(const struct smr_audio_format *a, const struct smr_audio_format *b) {
  return a->rate == b->rate && a->channels == b->channels && a->is_float == b->is_float;
}

// The stream of an input; NULL if none has begun.
static struct push_audio *push_kept(const struct push_job *job) {
  struct push_audio *kept = job->input->audio.data;
  return kept != NULL && kept->batch != NULL ? kept : NULL;
}

static void push_write(const struct push_job *job, const struct push_audio *kept) {
  job->input->data = job->input->own.data;
  smr_audio_batch_write(kept->batch, job->input->own.data);
}

static samara_status push_samples(struct push_job *job, size_t index, const samara_audio *audio,
                                  size_t *taken, bool *ready) {
  samara_audio given;
  struct smr_audio_format format;
  SMR_TRY(push_job(job->session, index, job));
  SMR_TRY(smr_audio_samples_of(audio, job->record.rate, &given, &format, &job->session->error));
  struct push_audio *kept = push_kept(job);
  if (kept == NULL || !push_same(&kept->format, &format)) {
    SMR_TRY(push_begin(job, &format));
    kept = push_kept(job);
  }
  size_t took = 0;
  bool full = false;
  SMR_TRY(smr_audio_batch_push(kept->batch, given.samples, given.count, &took, &full,
                               &job->session->error));
  if (full) push_write(job, kept);
  *taken = took, *ready = full;
  return SAMARA_OK;
}

static samara_status push_end(struct push_job *job, size_t index, bool *ready) {
  SMR_TRY(push_job(job->session, index, job));
  struct push_audio *kept = push_kept(job);
  bool full = false;
  if (kept != NULL) smr_audio_batch_flush(kept->batch, &full);
  if (full) push_write(job, kept);
  *ready = full;
  return SAMARA_OK;
}

samara_status samara_session_push_audio(samara_session *session, size_t index,
                                        const samara_audio *audio, size_t *taken, bool *ready) {
  struct push_job job = {.session = session};
  if (session == NULL || taken == NULL || ready == NULL) return SAMARA_BAD_ARGUMENT;
  SMR_TRY(smr_session_input(session, index, &job.input, &job.tensor));
  const samara_status status = push_samples(&job, index, audio, taken, ready);
  if (status == SAMARA_OK) return status;
  return smr_fail_prefix(&session->error, status, "input '%.80s': ", job.tensor->name);
}

samara_status samara_session_end_audio(samara_session *session, size_t index, bool *ready) {
  struct push_job job = {.session = session};
  if (session == NULL || ready == NULL) return SAMARA_BAD_ARGUMENT;
  SMR_TRY(smr_session_input(session, index, &job.input, &job.tensor));
  const samara_status status = push_end(&job, index, ready);
  if (status == SAMARA_OK) return status;
  return smr_fail_prefix(&session->error, status, "input '%.80s': ", job.tensor->name);
}
