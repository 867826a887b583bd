// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes as an answer's record, a geometry and outputs. Accepted input must yield a
// valid answer and no more of it than was asked for.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "media/answer_boxes.h"
#include "media/answer_classify.h"
#include "media/answer_keypoints.h"
#include "media/answer_mask.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ANSWER_FUZZ_OUTPUTS = 3, ANSWER_FUZZ_BYTES = 1 << 22 };

// The remaining bytes; zeros follow them.
struct answer_fuzz_bytes {
  const uint8_t *at;
  size_t left;
};

static uint32_t answer_fuzz_byte(struct answer_fuzz_bytes *b) {
  if (b->left == 0) return 0;
  b->left--;
  return *b->at++;
}

static bool answer_fuzz_bit(struct answer_fuzz_bytes *b) { return (answer_fuzz_byte(b) & 1) != 0; }

// Usually a small number, sometimes any number.
static uint32_t answer_fuzz_number(struct answer_fuzz_bytes *b) {
  const uint32_t low = answer_fuzz_byte(b);
  if (low < 250) return low;
  uint32_t word = 0;
  for (uint32_t i = 0; i < 4; i++) word = word << 8 | answer_fuzz_byte(b);
  return word;
}

static float answer_fuzz_float(struct answer_fuzz_bytes *b) {
  const uint32_t low = answer_fuzz_byte(b);
  if (low < 200) return (float)low / 64;
  uint32_t word = 0;
  for (uint32_t i = 0; i < 4; i++) word = word << 8 | answer_fuzz_byte(b);
  float f;
  memcpy(&f, &word, sizeof f);
  return f;
}

// ---- input ----

static void answer_fuzz_geometry(struct answer_fuzz_bytes *b, struct smr_answer_geometry *g) {
  int32_t *const pairs[] = {g->resized, g->offset, g->tensor};
  g->width = (int32_t)answer_fuzz_number(b);
  g->height = (int32_t)answer_fuzz_number(b);
  for (uint32_t i = 0; i < 4; i++) g->crop[i] = (int32_t)answer_fuzz_number(b);
  g->quarters = (int32_t)answer_fuzz_number(b);
  g->mirror = answer_fuzz_bit(b);
  for (uint32_t i = 0; i < 6; i++) pairs[i / 2][i % 2] = (int32_t)answer_fuzz_number(b);
}

// A valid geometry, so that most inputs get past the checks.
static void answer_fuzz_right_geometry(struct answer_fuzz_bytes *b, struct smr_answer_geometry *g) {
  int32_t *const pairs[] = {g->resized, g->tensor};
  for (uint32_t i = 0; i < 4; i++) pairs[i / 2][i % 2] = 1 + (int32_t)answer_fuzz_byte(b);
  for (uint32_t i = 0; i < 2; i++) {
    g->crop[i] = (int32_t)answer_fuzz_byte(b);
    g->crop[2 + i] = 1 + (int32_t)answer_fuzz_byte(b);
    g->offset[i] = (int32_t)answer_fuzz_byte(b) - 128;
  }
  g->width = g->crop[0] + g->crop[2] + (int32_t)answer_fuzz_byte(b);
  g->height = g->crop[1] + g->crop[3] + (int32_t)answer_fuzz_byte(b);
  g->quarters = (int32_t)answer_fuzz_byte(b) % 4;
  g->mirror = answer_fuzz_bit(b);
}

static void answer_fuzz_part(struct answer_fuzz_bytes *b, struct smr_answer_part *part) {
  part->count = answer_fuzz_number(b);
  for (uint32_t i = 0; i < SMR_ANSWER_MOST_OUTPUTS && i < part->count; i++)
    part->outputs[i] = answer_fuzz_number(b);
  part->begin = answer_fuzz_number(b);
  part->end = answer_fuzz_number(b);
}

// size_bytes may contradict the shape; the memory has exactly size_bytes.
static samara_tensor answer_fuzz_tensor(struct answer_fuzz_bytes *b) {
  samara_tensor t = {.rank = (int32_t)answer_fuzz_number(b)};
  for (int32_t i = 0; i < SAMARA_MAX_RANK && i < t.rank; i++)
    t.shape[i] = (int64_t)answer_fuzz_number(b) - 1;
  t.dtype = (samara_dtype)(answer_fuzz_byte(b) % 17);
  t.scale = answer_fuzz_float(b);
  t.zero_point = (int32_t)answer_fuzz_number(b);
  t.size_bytes = answer_fuzz_byte(b) * 16 + answer_fuzz_byte(b) % 16;
  uint8_t *bytes = (uint8_t *)malloc(t.size_bytes + (t.size_bytes == 0));
  if (bytes == NULL) abort();
  const size_t given = answer_fuzz_byte(b);  // repeated over the tensor
  for (size_t i = 0; i < t.size_bytes; i++)
    bytes[i] = given > 0 && i >= given ? bytes[i - given] : (uint8_t)answer_fuzz_byte(b);
  t.data = bytes;
  return t;
}

static void *answer_fuzz_room(size_t bytes) {
  void *room = malloc(bytes + (bytes == 0));
  if (room == NULL) abort();
  return room;
}

static void answer_fuzz_expect(bool right) {
  if (!right) abort();
}

// ---- kinds of answers ----

static void answer_fuzz_classify(struct answer_fuzz_bytes *b,
                                 const struct smr_answer_outputs *outputs) {
  const struct smr_answer_classify record = {
      .output = answer_fuzz_number(b),
      .activation = (enum smr_answer_activation)(answer_fuzz_byte(b) % 3),
      .top = answer_fuzz_number(b),
      .limited = answer_fuzz_bit(b),
      .threshold = answer_fuzz_float(b),
      .scale = answer_fuzz_float(b),
      .zero_point = (int32_t)answer_fuzz_number(b)};
  const size_t room = answer_fuzz_byte(b);
  struct smr_answer_ranked *classes =
      (struct smr_answer_ranked *)answer_fuzz_room(room * sizeof *classes);
  size_t count = 0;
  if (smr_answer_classify(&record, outputs, classes, room, &count, NULL) == SAMARA_OK)
    for (size_t i = 0; i < count; i++)
      answer_fuzz_expect(!isnan(classes[i].score) &&
                         (i == 0 || smr_answer_better(&classes[i - 1], &classes[i])));
  answer_fuzz_expect(count <= room);
  free(classes);
}

static void answer_fuzz_mask(struct answer_fuzz_bytes *b, const struct smr_answer_outputs *outputs,
                             const struct smr_answer_geometry *g) {
  const struct smr_answer_mask record = {
      .output = answer_fuzz_number(b),
      .layout = (enum smr_answer_layout)(answer_fuzz_byte(b) % 3),
      .sigmoid = answer_fuzz_bit(b),
      .limited = answer_fuzz_bit(b),
      .threshold = answer_fuzz_float(b)};
  struct smr_answer_mask_size size;
  if (smr_answer_mask_size(&record, outputs, g, &size, NULL) != SAMARA_OK) return;
  if (size.classes_bytes > ANSWER_FUZZ_BYTES || size.scratch_bytes > ANSWER_FUZZ_BYTES) return;
  void *scratch = answer_fuzz_room(size.scratch_bytes);
  void *classes = answer_fuzz_room(size.classes_bytes);
  const samara_status status = smr_answer_mask(&record, outputs, g, scratch, size.scratch_bytes,
                                               classes, size.classes_bytes, NULL);
  answer_fuzz_expect(status == SAMARA_OK || status == SAMARA_BAD_DATA);
  free(scratch);
  free(classes);
}

static void answer_fuzz_keypoints(struct answer_fuzz_bytes *b,
                                  const struct smr_answer_outputs *outputs,
                                  const struct smr_answer_geometry *g) {
  const struct smr_answer_keypoints record = {
      .output = answer_fuzz_number(b),
      .heatmaps = answer_fuzz_bit(b),
      .channels_last = answer_fuzz_bit(b),
      .refine = (enum smr_answer_refine)(answer_fuzz_byte(b) % 3),
      .sigmoid = answer_fuzz_bit(b),
      .yx = answer_fuzz_bit(b),
      .ratio = answer_fuzz_bit(b),
      .step = answer_fuzz_number(b)};
  size_t count;
  if (smr_answer_keypoints_count(&record, outputs, &count, NULL) != SAMARA_OK) return;
  struct smr_answer_point *points =
      (struct smr_answer_point *)answer_fuzz_room(count * sizeof *points);
  if (smr_answer_keypoints(&record, outputs, g, points, count, NULL) == SAMARA_OK)
    for (size_t i = 0; i < count; i++)
      answer_fuzz_expect(isfinite(points[i].x) && isfinite(points[i].y) && !isnan(points[i].score));
  free(points);
}

static void answer_fuzz_find(const struct smr_answer_boxes *record,
                             const struct smr_answer_outputs *outputs,
                             const struct smr_answer_geometry *g) {
  struct smr_answer_boxes_size size;
  if (smr_answer_boxes_size(record, outputs, g, &size, NULL) != SAMARA_OK) return;
  void *scratch = answer_fuzz_room(size.scratch_bytes);
  struct smr_answer_box *boxes =
      (struct smr_answer_box *)answer_fuzz_room(size.boxes * sizeof *boxes);
  float *points = (float *)answer_fuzz_room(size.boxes * size.points * 2 * sizeof *points);
  size_t count = 0;
  answer_fuzz_expect(smr_answer_boxes(record, outputs, g, scratch, size.scratch_bytes, boxes,
                                      points, size.boxes, &count, NULL) == SAMARA_OK);
  answer_fuzz_expect(count <= size.boxes);
  for (size_t i = 0; i < count; i++) {
    const struct smr_answer_box *x = &boxes[i];
    answer_fuzz_expect(x->score > record->threshold && (i == 0 || x[-1].score >= x->score));
    answer_fuzz_expect(0 <= x->x0 && x->x0 < x->x1 && x->x1 <= (float)g->width);
    answer_fuzz_expect(0 <= x->y0 && x->y0 < x->y1 && x->y1 <= (float)g->height);
  }
  for (size_t i = 0; i < count * size.points * 2; i++) answer_fuzz_expect(isfinite(points[i]));
  free(scratch);
  free(boxes);
  free(points);
}

// Valid parts of a row: as many rows of some channels as fit in the first output.
static void answer_fuzz_right_parts(struct answer_fuzz_bytes *b, struct smr_answer_boxes *record,
                                    samara_tensor *t) {
  const bool anchored = record->form == SMR_ANSWER_ANCHORS || record->form == SMR_ANSWER_SIDES;
  const struct smr_answer_part four = {.count = 1, .end = 4};
  const int64_t channels = 12 + answer_fuzz_byte(b) % 4;
  const int64_t rows = (int64_t)t->size_bytes / 8 / channels;  // 8 bytes: the widest element
  t->rank = 3;
  t->shape[0] = 1;
  t->shape[1] = record->channels_first ? channels : rows;
  t->shape[2] = record->channels_first ? rows : channels;
  record->box = four;
  record->score = (struct smr_answer_part){.count = 1, .begin = 4};
  record->objectness = (struct smr_answer_part){.count = answer_fuzz_bit(b), .begin = 5, .end = 6};
  record->points = (struct smr_answer_part){.count = answer_fuzz_bit(b), .begin = 6, .end = 12};
  record->point_step = 2 + answer_fuzz_byte(b) % 2;
  record->top = 1 + answer_fuzz_byte(b);
  if (!anchored) record->level_count = 0;
  record->anchors = four;
  if (!anchored || record->level_count > 0) record->anchors.count = 0;
}

static void answer_fuzz_boxes(struct answer_fuzz_bytes *b, samara_tensor *tensors,
                              const struct smr_answer_outputs *outputs,
                              const struct smr_answer_geometry *g) {
  struct smr_answer_boxes record = {
      .form = (enum smr_answer_form)(answer_fuzz_byte(b) % 4),
      .activation = (enum smr_answer_activation)(answer_fuzz_byte(b) % 3),
      .root = answer_fuzz_bit(b),
      .channels_first = answer_fuzz_bit(b),
      .yx = answer_fuzz_bit(b),
      .ratio = answer_fuzz_bit(b),
      .corner = answer_fuzz_bit(b),
      .agnostic = answer_fuzz_bit(b),
      .point_step = answer_fuzz_number(b),
      .threshold = answer_fuzz_float(b),
      .iou = answer_fuzz_float(b),
      .top = answer_fuzz_number(b)};
  struct smr_answer_part *const parts[] = {&record.box, &record.score, &record.objectness,
                                           &record.points, &record.anchors};
  for (uint32_t i = 0; i < 5; i++) answer_fuzz_part(b, parts[i]);
  for (uint32_t i = 0; i < 4; i++) record.variances[i] = answer_fuzz_float(b);
  float sizes[2][4];
  struct smr_answer_level levels[2];
  for (uint32_t i = 0; i < 8; i++) sizes[i / 4][i % 4] = answer_fuzz_float(b);
  for (uint32_t i = 0; i < 2; i++)
    levels[i] = (struct smr_answer_level){answer_fuzz_number(b), answer_fuzz_byte(b) % 3, sizes[i]};
  record.levels = levels;
  record.level_count = answer_fuzz_byte(b) % 3;
  if (outputs->count > 0 && !answer_fuzz_bit(b)) answer_fuzz_right_parts(b, &record, &tensors[0]);
  answer_fuzz_find(&record, outputs, g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct answer_fuzz_bytes b = {data, size};
  struct smr_answer_geometry g;
  samara_tensor tensors[ANSWER_FUZZ_OUTPUTS];
  const uint32_t kind = answer_fuzz_byte(&b) % 4;
  const struct smr_answer_outputs outputs = {tensors, answer_fuzz_byte(&b) % 4};
  if (answer_fuzz_bit(&b))
    answer_fuzz_geometry(&b, &g);
  else
    answer_fuzz_right_geometry(&b, &g);
  for (uint32_t i = 0; i < outputs.count; i++) tensors[i] = answer_fuzz_tensor(&b);
  if (kind == 0) answer_fuzz_classify(&b, &outputs);
  if (kind == 1) answer_fuzz_mask(&b, &outputs, &g);
  if (kind == 2) answer_fuzz_keypoints(&b, &outputs, &g);
  if (kind == 3) answer_fuzz_boxes(&b, tensors, &outputs, &g);
  for (uint32_t i = 0; i < outputs.count; i++) free(tensors[i].data);
  return 0;
}
