// SPDX-License-Identifier: Apache-2.0
// Answer records: converts fields of a file to the records of media/.
#include "base/fp.h"

#include "model/record.h"

#include <float.h>

#include "media/answer.h"

// The only output of a part.
static samara_status record_output(const struct smr_part_fields *part, uint32_t *out,
                                   samara_error *error) {
  if (part == NULL || part->count != 1)
    SMR_FAIL(error, BAD_ARGUMENT, "answer record: it names %u outputs, expected one",
             (unsigned)(part != NULL ? part->count : 0));
  *out = part->outputs[0];
  return SAMARA_OK;
}

static samara_status record_part(const struct smr_part_fields *part, struct smr_answer_part *out,
                                 samara_error *error) {
  *out = (struct smr_answer_part){0};
  if (part == NULL) return SAMARA_OK;
  if (part->count == 0 || part->count > SMR_ANSWER_MOST_OUTPUTS ||
      (part->end != 0 && part->end <= part->begin))
    SMR_FAIL(error, BAD_ARGUMENT,
             "answer record: a part of %u outputs, channels %u up to %u; expected 1 to %d outputs "
             "and channels that rise",
             (unsigned)part->count, (unsigned)part->begin, (unsigned)part->end,
             SMR_ANSWER_MOST_OUTPUTS);
  out->count = part->count, out->begin = part->begin, out->end = part->end;
  for (uint32_t i = 0; i < part->count; i++) out->outputs[i] = part->outputs[i];
  return SAMARA_OK;
}

static samara_status record_boxes(const struct smr_answer_fields *f, struct smr_answer_boxes *out,
                                  samara_error *error) {
  *out = (struct smr_answer_boxes){
      .form = (enum smr_answer_form)f->form,
      .activation = (enum smr_answer_activation)f->activation,
      .levels = f->levels,
      .level_count = f->level_count,
      .root = f->root != 0,
      .channels_first = f->channels_first != 0,
      .yx = f->yx != 0,
      .ratio = f->ratio != 0,
      .corner = f->corner != 0,
      .agnostic = f->agnostic != 0,
      .point_step = f->step,
      .threshold = f->threshold,
      .iou = f->iou,
      .top = f->top,
  };
  if (f->variance_count != 0 && f->variance_count != 4)
    SMR_FAIL(error, BAD_ARGUMENT, "answer record: %u variances, expected 4",
             (unsigned)f->variance_count);
  for (uint32_t i = 0; i < 4; i++) {
    out->variances[i] = f->variance_count != 0 ? f->variances[i] : 1.0f;
    if (!(out->variances[i] > 0 && out->variances[i] <= FLT_MAX))
      SMR_FAIL(error, BAD_ARGUMENT, "answer record: variance %u is %g, expected more than 0",
               (unsigned)i, smr_g(out->variances[i]));
  }
  SMR_TRY(record_part(f->main, &out->box, error));
  SMR_TRY(record_part(f->score, &out->score, error));
  SMR_TRY(record_part(f->objectness, &out->objectness, error));
  SMR_TRY(record_part(f->points, &out->points, error));
  SMR_TRY(record_part(f->anchors, &out->anchors, error));
  return smr_answer_boxes_check(out, error);
}

samara_status smr_record_answer(const struct smr_answer_fields *fields,
                                struct smr_answer_record *out, samara_error *error) {
  const struct smr_answer_fields *f = fields;
  struct smr_answer_record made = {.kind = (samara_answer_kind)f->kind, .input = f->input};
  if (SMR_HAS(answer_boxes) && f->kind == SAMARA_BOXES) {
    SMR_TRY(record_boxes(f, &made.of.boxes, error));
    *out = made;
    return SAMARA_OK;
  }
  uint32_t output = 0;
  SMR_TRY(record_output(f->main, &output, error));
  if (f->kind == SAMARA_CLASSES)
    made.of.classify = (struct smr_answer_classify){
        .output = output,
        .activation = (enum smr_answer_activation)f->activation,
        .top = f->top,
        .limited = f->limited != 0,
        .threshold = f->threshold,
        .scale = f->scale,
        .zero_point = f->zero_point,
    };
  else if (f->kind == SAMARA_MASK)
    made.of.mask = (struct smr_answer_mask){
        .output = output,
        .layout = (enum smr_answer_layout)f->layout,
        .sigmoid = f->activation == SMR_ANSWER_SIGMOID,
        .limited = f->limited != 0,
        .threshold = f->threshold,
    };
  else
    made.of.keypoints = (struct smr_answer_keypoints){
        .output = output,
        .heatmaps = f->heatmaps != 0,
        .channels_last = f->layout == SMR_ANSWER_NHWC,
        .refine = (enum smr_answer_refine)f->refine,
        .sigmoid = f->activation == SMR_ANSWER_SIGMOID,
        .yx = f->yx != 0,
        .ratio = f->ratio != 0,
        .step = f->step,
    };
  *out = made;
  return SAMARA_OK;
}

// ---- checks, when a file is opened ----

static bool record_finite(float x) { return x >= -FLT_MAX && x <= FLT_MAX; }

static samara_status record_codes(const struct smr_answer_fields *f, samara_error *error) {
  if (f->kind < SAMARA_CLASSES || f->kind > SAMARA_KEYPOINTS)
    SMR_FAIL(error, BAD_ARGUMENT, "answer record: no kind has code %d", (int)f->kind);
  if (f->form > SMR_ANSWER_SIDES || f->activation > SMR_ANSWER_SOFTMAX ||
      f->layout > SMR_ANSWER_NHW || f->refine > SMR_ANSWER_PARABOLA ||
      (f->step != 2 && f->step != 3))
    SMR_FAIL(
        error, BAD_ARGUMENT,
        "answer record: form %d, activation %d, layout %d, refine %d or step %d has no meaning",
        (int)f->form, (int)f->activation, (int)f->layout, (int)f->refine, (int)f->step);
  if (!record_finite(f->threshold) || !(f->iou >= 0 && f->iou <= 1))
    SMR_FAIL(error, BAD_ARGUMENT, "answer record: threshold %g or iou %g is out of range",
             smr_g(f->threshold), smr_g(f->iou));
  if (!(f->scale == 0 || (f->scale >= FLT_MIN && f->scale <= FLT_MAX)))
    SMR_FAIL(error, BAD_ARGUMENT, "answer record: scale %g, expected a positive normal number",
             smr_g(f->scale));
  const bool ranks = f->kind == SAMARA_CLASSES || f->kind == SAMARA_BOXES;
  if (ranks && (f->top < 1 || f->top > SMR_ANSWER_MOST_TOP))
    SMR_FAIL(error, BAD_ARGUMENT, "answer record: top is %u, expected 1 to %d", (unsigned)f->top,
             SMR_ANSWER_MOST_TOP);
  return SAMARA_OK;
}

static samara_status record_outputs(const struct smr_function *f,
                                    const struct smr_part_fields *part, samara_error *error) {
  for (uint32_t i = 0; part != NULL && i < part->count; i++) {
    if (part->outputs[i] >= f->user_output_count)
      SMR_FAIL(error, BAD_ARGUMENT, "answer record: output %u of %u", (unsigned)part->outputs[i],
               (unsigned)f->user_output_count);
  }
  return SAMARA_OK;
}

// Check the sizes of anchors, and convert the count of the decoded level from numbers to boxes of
// two.
static samara_status record_levels(const struct smr_answer_fields *f, samara_error *error) {
  for (uint32_t i = 0; i < f->level_count; i++) {
    struct smr_answer_level *level = (struct smr_answer_level *)&f->levels[i];
    bool sound = level->count % 2 == 0;
    for (uint32_t k = 0; k < level->count; k++)
      sound = sound && level->sizes[k] > 0 && level->sizes[k] <= FLT_MAX;
    if (!sound)
      SMR_FAIL(error, BAD_ARGUMENT, "answer record: sizes of anchors of level %u", (unsigned)i);
    level->count /= 2;
  }
  return SAMARA_OK;
}

static samara_status record_kind(uint8_t kind, struct smr_parts *parts, samara_error *error) {
  if (kind == SAMARA_CLASSES) SMR_NEED_IN(parts, error, answer_classes);
  if (kind == SAMARA_MASK) SMR_NEED_IN(parts, error, answer_mask);
  if (kind == SAMARA_BOXES) SMR_NEED_IN(parts, error, answer_boxes);
  if (kind == SAMARA_KEYPOINTS) SMR_NEED_IN(parts, error, answer_keypoints);
  return SAMARA_OK;
}

samara_status smr_record_answer_check(const struct smr_function *f, struct smr_parts *parts,
                                      samara_error *error) {
  const struct smr_answer_fields *a = f->answer;
  struct smr_answer_record record;
  if (a == NULL) return SAMARA_OK;
  SMR_TRY(record_codes(a, error));
  SMR_TRY(record_kind(a->kind, parts, error));
  if (a->input >= f->user_input_count)
    SMR_FAIL(error, BAD_ARGUMENT, "answer record: of input %u of %u", (unsigned)a->input,
             (unsigned)f->user_input_count);
  const struct smr_part_fields *channels[] = {a->main, a->score, a->objectness, a->points,
                                              a->anchors};
  for (int i = 0; i < 5; i++) SMR_TRY(record_outputs(f, channels[i], error));
  SMR_TRY(record_levels(a, error));
  return smr_record_answer(a, &record, error);
}

// ---- public functions ----

int samara_model_answer_kind(const samara_model *model, const char *function) {
  const struct smr_function *f = model != NULL ? smr_model_entry(model, function) : NULL;
  return f != NULL && f->answer != NULL ? f->answer->kind : 0;
}

const char *samara_model_label(const samara_model *model, size_t index) {
  return model != NULL && index < model->label_count ? model->labels[index] : NULL;
}
