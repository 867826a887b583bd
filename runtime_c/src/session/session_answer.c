// SPDX-License-Identifier: Apache-2.0
// Interprets the outputs of a run by the record of the file.
#include "base/fp.h"

#include "media/answer.h"
#include "media/image.h"
#include "model/record.h"
#include "session/session.h"

#include <string.h>

#include "base/checked.h"

// The session's block for an answer: outputs first, then memory for the kind of answer.
struct answer_job {
  samara_session *session;
  struct smr_answer_record record;
  struct smr_answer_outputs outputs;
  struct smr_answer_geometry geometry;
  size_t held;  // bytes of outputs
};

static const char *answer_label(const samara_session *session, size_t index) {
  return samara_model_label(session->common.model, index);
}

// `bytes` bytes after the outputs, aligned to 64. The outputs may move.
static samara_status answer_room(struct answer_job *job, size_t bytes, uint8_t **out) {
  samara_session *session = job->session;
  size_t all;
  if (!smr_add_size(job->held, bytes, &all)) return smr_no_memory(&session->error, SIZE_MAX);
  SMR_TRY(smr_block_ensure(&session->common, &session->answer, all, job->held, "the answer"));
  job->outputs.tensors = session->answer.data;
  *out = (uint8_t *)session->answer.data + job->held;
  return SAMARA_OK;
}

static size_t answer_round(size_t bytes) { return (bytes + 63) & ~(size_t)63; }

static samara_status answer_outputs(struct answer_job *job) {
  samara_session *session = job->session;
  const uint32_t count = session->function->user_output_count;
  uint8_t *none;
  job->held = answer_round(count * sizeof(samara_tensor));
  SMR_TRY(answer_room(job, 0, &none));
  samara_tensor *tensors = session->answer.data;
  for (uint32_t i = 0; i < count; i++) SMR_TRY(samara_session_output(session, i, &tensors[i]));
  job->outputs.count = count;
  return SAMARA_OK;
}

// For an input set as a tensor: use its pixels as the picture.
static samara_status answer_own_pixels(struct answer_job *job) {
  samara_session *session = job->session;
  samara_tensor t;
  const struct smr_function *f = session->function;
  const uint32_t position = (uint32_t)f->user_inputs[job->record.input];
  const struct smr_tensor *input = &session->entry->values[f->inputs[position]].tensor;
  smr_public_tensor(input, NULL, &t);
  if (t.rank < 2) SMR_FAIL(&session->error, BAD_SHAPE, "input '%s' is not a picture", input->name);
  const bool last = t.rank > 2 && (t.shape[t.rank - 1] == 1 || t.shape[t.rank - 1] == 3);
  const int64_t height = t.shape[t.rank - (last ? 3 : 2)], width = t.shape[t.rank - (last ? 2 : 1)];
  const int64_t most = SMR_ANSWER_MOST_SIZE + 1;
  const int32_t w = (int32_t)(width < most ? width : most),
                h = (int32_t)(height < most ? height : most);
  job->geometry = (struct smr_answer_geometry){
      .width = w, .height = h, .crop = {0, 0, w, h}, .resized = {w, h}, .tensor = {w, h}};
  return SAMARA_OK;
}

// ---- kinds ----

static samara_status answer_classes(struct answer_job *job, samara_answer *out) {
  samara_session *session = job->session;
  const struct smr_answer_classify *record = &job->record.of.classify;
  const samara_tensor *scores = &job->outputs.tensors[record->output];
  size_t most = 1;
  for (int32_t axis = 0; axis < scores->rank; axis++)
    most = scores->shape[axis] > 1 ? (size_t)scores->shape[axis] : most;
  most = most < record->top ? most : record->top;
  const size_t bytes = answer_round(most * sizeof(samara_class));
  uint8_t *room;
  SMR_TRY(answer_room(job, bytes + most * sizeof(struct smr_answer_ranked), &room));
  samara_class *classes = (samara_class *)(void *)room;
  struct smr_answer_ranked *ranked = (struct smr_answer_ranked *)(void *)(room + bytes);
  SMR_TRY(smr_answer_classify(record, &job->outputs, ranked, most, &out->count, &session->error));
  for (size_t i = 0; i < out->count; i++)
    classes[i] = (samara_class){.label = answer_label(session, ranked[i].index),
                                .index = ranked[i].index,
                                .score = ranked[i].score};
  out->classes = classes;
  return SAMARA_OK;
}

static samara_status answer_mask(struct answer_job *job, samara_answer *out) {
  samara_session *session = job->session;
  const struct smr_answer_mask *record = &job->record.of.mask;
  struct smr_answer_mask_size size = {0};
  SMR_TRY(smr_answer_mask_size(record, &job->outputs, &job->geometry, &size, &session->error));
  const size_t bytes = answer_round(size.classes_bytes);
  uint8_t *room;
  SMR_TRY(answer_room(job, bytes + size.scratch_bytes, &room));
  SMR_TRY(smr_answer_mask(record, &job->outputs, &job->geometry, room + bytes, size.scratch_bytes,
                          room, size.classes_bytes, &session->error));
  out->mask = room, out->mask_element_bytes = size.element_bytes;
  out->width = (uint32_t)job->geometry.width, out->height = (uint32_t)job->geometry.height;
  out->count = (size_t)out->width * out->height;
  return SAMARA_OK;
}

static samara_status answer_boxes_of(struct answer_job *job, samara_answer *out) {
  samara_session *session = job->session;
  const struct smr_answer_boxes *record = &job->record.of.boxes;
  struct smr_answer_boxes_size size = {0};
  SMR_TRY(smr_answer_boxes_size(record, &job->outputs, &job->geometry, &size, &session->error));
  size_t numbers, points, most = size.boxes;
  if (!smr_mul_size(most, 2 * size.points, &numbers) || !smr_mul_size(numbers, 4, &points) ||
      points > SIZE_MAX / 4 || size.scratch_bytes > SIZE_MAX / 4)
    return smr_no_memory(&session->error, SIZE_MAX);
  const size_t made = answer_round(most * sizeof(samara_box));
  const size_t raw = answer_round(most * sizeof(struct smr_answer_box));
  points = answer_round(points);
  uint8_t *room;
  SMR_TRY(answer_room(job, made + raw + points + size.scratch_bytes, &room));
  samara_box *boxes = (samara_box *)(void *)room;
  struct smr_answer_box *found = (struct smr_answer_box *)(void *)(room + made);
  float *at = (float *)(void *)(room + made + raw);
  SMR_TRY(smr_answer_boxes(record, &job->outputs, &job->geometry, room + made + raw + points,
                           size.scratch_bytes, found, at, most, &out->count, &session->error));
  for (size_t i = 0; i < out->count; i++)
    boxes[i] = (samara_box){.label = answer_label(session, found[i].class_index),
                            .points = size.points != 0 ? at + i * size.points * 2 : NULL,
                            .x0 = found[i].x0,
                            .y0 = found[i].y0,
                            .x1 = found[i].x1,
                            .y1 = found[i].y1,
                            .score = found[i].score,
                            .class_index = found[i].class_index};
  out->boxes = boxes, out->points_per_box = size.points;
  return SAMARA_OK;
}

static samara_status answer_points(struct answer_job *job, samara_answer *out) {
  samara_session *session = job->session;
  const struct smr_answer_keypoints *record = &job->record.of.keypoints;
  size_t count = 0;
  SMR_TRY(smr_answer_keypoints_count(record, &job->outputs, &count, &session->error));
  if (count > SIZE_MAX / 64) return smr_no_memory(&session->error, SIZE_MAX);
  const size_t bytes = answer_round(count * sizeof(samara_point));
  uint8_t *room;
  SMR_TRY(answer_room(job, bytes + count * sizeof(struct smr_answer_point), &room));
  samara_point *points = (samara_point *)(void *)room;
  struct smr_answer_point *found = (struct smr_answer_point *)(void *)(room + bytes);
  SMR_TRY(
      smr_answer_keypoints(record, &job->outputs, &job->geometry, found, count, &session->error));
  for (size_t i = 0; i < count; i++)
    points[i] = (samara_point){.label = answer_label(session, i),
                               .x = found[i].x,
                               .y = found[i].y,
                               .score = found[i].score};
  out->points = points, out->count = count;
  return SAMARA_OK;
}

static samara_status answer_of(struct answer_job *job, samara_answer *out) {
  samara_session *session = job->session;
  out->kind = job->record.kind;
  if (SMR_HAS(answer_classes) && out->kind == SAMARA_CLASSES) return answer_classes(job, out);
  if (!SMR_HAS(answer_mask) && !SMR_HAS(answer_boxes) && !SMR_HAS(answer_keypoints))
    return smr_part_missing(&session->error, "answer");
  if (session->pictured)
    job->geometry = session->picture;
  else
    SMR_TRY(answer_own_pixels(job));
  // The file reader refuses kinds that the build lacks.
  if (SMR_HAS(answer_mask) && out->kind == SAMARA_MASK) return answer_mask(job, out);
  if (SMR_HAS(answer_boxes) && out->kind == SAMARA_BOXES) return answer_boxes_of(job, out);
  if (SMR_HAS(answer_keypoints)) return answer_points(job, out);
  return smr_part_missing(&session->error, "answer");
}

samara_status samara_session_answer(samara_session *session, samara_answer *out) {
  if (session == NULL || out == NULL) return SAMARA_BAD_ARGUMENT;
  const struct smr_function *f = session->function;
  if (f->answer == NULL)
    SMR_FAIL(&session->error, NOT_FOUND,
             "function '%s' has no record for its outputs: export the model with "
             "postprocess=, or read the outputs",
             f->name);
  if (out->struct_size < sizeof *out)
    SMR_FAIL(&session->error, BAD_ARGUMENT, "samara_answer: struct_size is %zu, expected %zu",
             out->struct_size, sizeof *out);
  struct answer_job job = {.session = session};
  samara_answer made = {.struct_size = out->struct_size};
  SMR_TRY(smr_record_answer(f->answer, &job.record, &session->error));
  SMR_TRY(answer_outputs(&job));
  SMR_TRY(answer_of(&job, &made));
  *out = made;
  return SAMARA_OK;
}
