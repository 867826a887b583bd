// SPDX-License-Identifier: Apache-2.0
// Answer records of a file: the form for media/, and one fault after the other that opening
// refuses.
#include "base/fp.h"

#include <samara/samara_media.h>

#include "harness.h"
#include "media/answer.h"
#include "model/record.h"
#include "model/sample.h"

static const uint32_t zero = 0, both[] = {0, 1};
static const struct smr_part_fields first = {.outputs = &zero, .count = 1},
                                    pair = {.outputs = both, .count = 2, .begin = 1, .end = 3};
static const float sizes[] = {8, 16, 32, 24};
static const struct smr_answer_level level = {.stride = 8, .count = 4, .sizes = sizes};

static struct smr_answer_fields classes(void) {
  return (struct smr_answer_fields){.kind = SAMARA_CLASSES, .step = 2, .top = 5, .main = &first};
}

static struct smr_answer_fields boxes(void) {
  return (struct smr_answer_fields){
      .kind = SAMARA_BOXES, .step = 2, .top = 5, .iou = 0.5f, .main = &first, .score = &pair};
}

// main(x: float32 [1, 4], z: float32 [1]) -> x, z
static struct mb_model *model_of(const struct smr_answer_fields *answer) {
  struct mb_model *m = mb_new();
  struct mb_function *f = mb_function(m, "main");
  const uint32_t one = mb_const(f, 1), dims[] = {one, mb_const(f, 4)};
  mb_input(f, mb_value(f, "x", SAMARA_FLOAT32, 2, dims));
  mb_input(f, mb_value(f, "z", SAMARA_FLOAT32, 1, &one));
  mb_output(f, 0), mb_output(f, 1);
  f->answer = answer;
  return m;
}

// A file with these fields, and its record as media/ takes it.
static struct mb_file opened(const struct smr_answer_fields *fields,
                             struct smr_answer_record *out) {
  const struct mb_file file = mb_accept(model_of(fields));
  CHECK_EQ_INT(samara_model_answer_kind(file.model, NULL), fields->kind);
  CHECK_EQ_INT(smr_record_answer(file.model->functions[0].answer, out, NULL), SAMARA_OK);
  return file;
}

SMR_TEST(a_record_of_classes) {
  struct smr_answer_fields fields = classes();
  fields.activation = SMR_ANSWER_SOFTMAX, fields.limited = 1, fields.threshold = 0.25f;
  fields.input = 1, fields.scale = 0.5f, fields.zero_point = -3;
  struct smr_answer_record r;
  struct mb_file file = opened(&fields, &r);
  CHECK(r.kind == SAMARA_CLASSES && r.input == 1 && r.of.classify.output == 0);
  CHECK(r.of.classify.activation == SMR_ANSWER_SOFTMAX && r.of.classify.top == 5);
  CHECK(r.of.classify.limited && r.of.classify.threshold == 0.25f);
  CHECK(r.of.classify.scale == 0.5f && r.of.classify.zero_point == -3);
  mb_close(&file);
}

SMR_TEST(records_of_masks_and_points) {
  struct smr_answer_fields fields = {.kind = SAMARA_MASK, .step = 2, .main = &first};
  fields.layout = SMR_ANSWER_NHW, fields.activation = SMR_ANSWER_SIGMOID;
  struct smr_answer_record r;
  struct mb_file file = opened(&fields, &r);
  CHECK(r.of.mask.layout == SMR_ANSWER_NHW && r.of.mask.sigmoid && !r.of.mask.limited);
  mb_close(&file);
  fields = (struct smr_answer_fields){.kind = SAMARA_KEYPOINTS, .step = 3, .main = &first};
  fields.yx = 1, fields.ratio = 1;
  file = opened(&fields, &r);
  CHECK(!r.of.keypoints.heatmaps && r.of.keypoints.step == 3 && r.of.keypoints.yx);
  CHECK(r.of.keypoints.ratio && !r.of.keypoints.channels_last);
  mb_close(&file);
  fields.heatmaps = 1, fields.layout = SMR_ANSWER_NHWC, fields.refine = SMR_ANSWER_PARABOLA;
  file = opened(&fields, &r);
  CHECK(r.of.keypoints.heatmaps && r.of.keypoints.channels_last);
  CHECK(r.of.keypoints.refine == SMR_ANSWER_PARABOLA && !r.of.keypoints.sigmoid);
  mb_close(&file);
}

SMR_TEST(a_record_of_boxes) {
  static const float variances[] = {0.1f, 0.2f, 0.3f, 0.4f};
  struct smr_answer_fields fields = boxes();
  fields.form = SMR_ANSWER_ANCHORS, fields.levels = &level, fields.level_count = 1;
  fields.variances = variances, fields.variance_count = 4;
  fields.root = fields.channels_first = fields.yx = fields.corner = fields.agnostic = 1;
  fields.points = &first, fields.objectness = &first, fields.step = 3;
  struct smr_answer_record r;
  struct mb_file file = opened(&fields, &r);
  const struct smr_answer_boxes *b = &r.of.boxes;
  CHECK(b->form == SMR_ANSWER_ANCHORS && b->root && b->channels_first && b->yx && !b->ratio);
  CHECK(b->corner && b->agnostic && b->top == 5 && b->iou == 0.5f && b->point_step == 3);
  CHECK(b->score.count == 2 && b->score.outputs[1] == 1 && b->score.begin == 1);
  CHECK(b->score.end == 3 && b->objectness.count == 1 && b->anchors.count == 0);
  CHECK(b->variances[1] == 0.2f && b->variances[3] == 0.4f);
  REQUIRE(b->level_count == 1);
  CHECK(b->levels[0].stride == 8 && b->levels[0].count == 2 && b->levels[0].sizes[3] == 24);
  mb_close(&file);
  fields = boxes();
  file = opened(&fields, &r);
  for (int i = 0; i < 4; i++) CHECK(b->variances[i] == 1);
  mb_close(&file);
}

SMR_TEST(where_there_is_none) {
  const struct mb_file file = mb_accept(model_of(NULL));
  const samara_model *model = file.model;
  CHECK_EQ_INT(samara_model_answer_kind(model, NULL), 0);
  CHECK_EQ_INT(samara_model_answer_kind(model, "other"), 0);
  CHECK_EQ_INT(samara_model_answer_kind(NULL, NULL), 0);
  CHECK(samara_model_label(model, 0) == NULL && samara_model_label(model, SIZE_MAX) == NULL);
  CHECK(samara_model_label(NULL, 0) == NULL);
  mb_close(&file);
}

// ---- what is refused ----

static void check_refused(struct smr_answer_fields fields, const char *part) {
  CHECK_REFUSED(model_of(&fields), SAMARA_BAD_MODEL, part);
}

// A record of classes or boxes with one field set.
#define REFUSED(kind, field, value, part) \
  do {                                    \
    struct smr_answer_fields f_ = kind(); \
    f_.field = (value);                   \
    check_refused(f_, part);              \
  } while (0)

SMR_TEST(refuses_codes) {
  REFUSED(classes, kind, 0, "function 'main': answer record: no kind has code 0");
  REFUSED(classes, kind, 5, "no kind has code 5");
  REFUSED(boxes, form, 4, "form 4, activation 0");
  REFUSED(classes, activation, 3, "activation 3");
  REFUSED(classes, layout, 3, "layout 3");
  REFUSED(classes, refine, 3, "refine 3");
  REFUSED(boxes, step, 1, "step 1 has no meaning");
  REFUSED(boxes, step, 4, "step 4 has no meaning");
  REFUSED(boxes, yx, 2, "a bool is 0 or 1");
}

SMR_TEST(refuses_numbers) {
  REFUSED(classes, threshold, NAN, "threshold nan");
  REFUSED(classes, threshold, INFINITY, "threshold inf");
  REFUSED(classes, scale, NAN, "scale nan, expected a positive normal number");
  REFUSED(classes, scale, -1, "scale -1");
  REFUSED(classes, scale, INFINITY, "scale inf");
  REFUSED(boxes, iou, NAN, "iou nan is out of range");
  REFUSED(boxes, iou, 1.5f, "iou 1.5 is out of range");
  REFUSED(boxes, iou, -0.5f, "iou -0.5 is out of range");
  REFUSED(classes, top, 0, "top is 0, expected 1 to 65535");
  REFUSED(boxes, top, 65536, "top is 65536");
  REFUSED(classes, input, 2, "of input 2 of 2");
  REFUSED(classes, input, UINT32_MAX, "of 2");
  static const float variances[] = {1, 0, 1, NAN};
  struct smr_answer_fields fields = boxes();
  fields.variances = variances, fields.variance_count = 3;
  check_refused(fields, "3 variances, expected 4");
  fields.variance_count = 4;
  check_refused(fields, "variance 1 is 0, expected more than 0");
}

SMR_TEST(refuses_parts) {
  static const uint32_t two = 2, many[SMR_ANSWER_MOST_OUTPUTS + 1] = {0};
  static const struct smr_part_fields absent = {.outputs = &two, .count = 1}, none = {.count = 0},
                                      crowd = {.outputs = many,
                                               .count = SMR_ANSWER_MOST_OUTPUTS + 1},
                                      falling = {
                                          .outputs = &zero, .count = 1, .begin = 3, .end = 3};
  REFUSED(classes, main, NULL, "it names 0 outputs, expected one");
  REFUSED(classes, main, &pair, "it names 2 outputs, expected one");
  REFUSED(classes, main, &absent, "output 2 of 2");
  REFUSED(boxes, anchors, &absent, "output 2 of 2");
  REFUSED(boxes, main, NULL, "must name outputs for boxes and for scores");
  REFUSED(boxes, score, NULL, "must name outputs for boxes and for scores");
  REFUSED(boxes, score, &none, "a part of 0 outputs");
  REFUSED(boxes, points, &crowd, "a part of 17 outputs");
  REFUSED(boxes, objectness, &falling, "channels 3 up to 3");
  REFUSED(boxes, anchors, &first, "others need none");
  REFUSED(boxes, form, SMR_ANSWER_SIDES, "need anchors by a rule or from an output");
}

SMR_TEST(refuses_anchors) {
  static const float odd[] = {8, 0}, nan[] = {8, NAN};
  struct smr_answer_level l = level;
  struct smr_answer_fields fields = boxes();
  fields.form = SMR_ANSWER_ANCHORS, fields.levels = &l, fields.level_count = 1;
  l.count = 3;
  check_refused(fields, "sizes of anchors of level 0");
  l.count = 2, l.sizes = odd;
  check_refused(fields, "sizes of anchors of level 0");
  l.sizes = nan;
  check_refused(fields, "sizes of anchors of level 0");
  l.count = 0;
  check_refused(fields, "a stride of 8 pixels and 0 sizes");
  l = level, l.stride = 0;
  check_refused(fields, "a stride of 0 pixels");
}

SMR_TEST_MAIN(RUN(a_record_of_classes); RUN(records_of_masks_and_points); RUN(a_record_of_boxes);
              RUN(where_there_is_none); RUN(refuses_codes); RUN(refuses_numbers);
              RUN(refuses_parts); RUN(refuses_anchors))
