// SPDX-License-Identifier: Apache-2.0
// Tests boxes: the reference's bits, any bytes of outputs, huge counts, and what is refused.
#include "base/fp.h"

#include "media/answer_boxes.h"

#include <math.h>

#include "harness.h"
#include "media/answer_data.h"

struct boxes_case {
  struct smr_answer_boxes record;
  struct smr_answer_outputs outputs;
  struct smr_answer_geometry geometry;
  size_t count, words;
  const uint32_t *want;  // of each box: bits of its corners and score, class, bits of points
};
#include "media/answer_boxes_cases.inc"

// The memory for boxes, each block of its exact size.
struct boxes_room {
  struct smr_answer_boxes_size size;
  void *scratch;
  struct smr_answer_box *boxes;
  float *points;
  size_t count;
};

static samara_status find(const struct smr_answer_boxes *record,
                          const struct smr_answer_outputs *outputs,
                          const struct smr_answer_geometry *g, struct boxes_room *room) {
  const samara_status status = smr_answer_boxes_size(record, outputs, g, &room->size, NULL);
  if (status != SAMARA_OK) return status;
  room->scratch = kernel_alloc(room->size.scratch_bytes, 8);
  room->boxes = (struct smr_answer_box *)kernel_alloc(room->size.boxes * sizeof *room->boxes, 4);
  room->points = (float *)kernel_alloc(room->size.boxes * room->size.points * 8, 4);
  return smr_answer_boxes(record, outputs, g, room->scratch, room->size.scratch_bytes, room->boxes,
                          room->points, room->size.boxes, &room->count, NULL);
}

static void release(struct boxes_room *room) {
  kernel_free(room->scratch, 8);
  kernel_free(room->boxes, 4);
  kernel_free(room->points, 4);
}

static void check_box(const struct boxes_room *room, size_t index, const uint32_t *want) {
  const struct smr_answer_box *box = &room->boxes[index];
  const float floats[] = {box->x0, box->y0, box->x1, box->y1, box->score};
  for (uint32_t i = 0; i < 5; i++) CHECK_EQ_INT(answer_bits(floats[i]), want[i]);
  CHECK_EQ_INT(box->class_index, want[5]);
  const float *points = room->points + index * room->size.points * 2;
  for (size_t i = 0; i < room->size.points * 2; i++)
    CHECK_EQ_INT(answer_bits(points[i]), want[6 + i]);
}

SMR_TEST(as_the_reference) {
  for (size_t k = 0; k < sizeof boxes_cases / sizeof *boxes_cases; k++) {
    const struct boxes_case *c = &boxes_cases[k];
    struct boxes_room room;
    REQUIRE(find(&c->record, &c->outputs, &c->geometry, &room) == SAMARA_OK);
    const size_t words = 6 + 2 * room.size.points;
    if (CHECK(room.count == c->count && c->count * words == c->words))
      for (size_t i = 0; i < room.count; i++) check_box(&room, i, c->want + i * words);
    release(&room);
  }
}

// ---- any bytes ----

static struct smr_answer_boxes random_record(uint32_t *seed) {
  static const float sizes[] = {4, 8, 16, 3};
  static const struct smr_answer_level levels[] = {{8, 1, sizes}, {16, 2, sizes}};
  struct smr_answer_boxes record = {.form = (enum smr_answer_form)answer_below(4, seed),
                                    .activation = (enum smr_answer_activation)answer_below(3, seed),
                                    .box = {.count = 1, .end = 4},
                                    .score = {.count = 1, .begin = 4, .end = 6},
                                    .channels_first = answer_below(2, seed) != 0,
                                    .yx = answer_below(2, seed) != 0,
                                    .ratio = answer_below(2, seed) != 0,
                                    .agnostic = answer_below(2, seed) != 0,
                                    .root = answer_below(2, seed) != 0,
                                    .point_step = 2,
                                    .variances = {1, 1, 1, 1},
                                    .threshold = 0.25f,
                                    .iou = (float)answer_below(3, seed) / 2,
                                    .top = 1 + answer_below(20, seed)};
  if (answer_below(2, seed))
    record.objectness = (struct smr_answer_part){.count = 1, .begin = 6, .end = 7};
  if (answer_below(2, seed)) record.points = (struct smr_answer_part){.count = 1, .begin = 7};
  if (record.form == SMR_ANSWER_ANCHORS || record.form == SMR_ANSWER_SIDES) {
    record.levels = levels;
    record.level_count = 2;
    if (answer_below(2, seed)) {
      record.level_count = 0;
      record.anchors = record.box;
    }
  }
  return record;
}

static void check_order(const struct smr_answer_boxes *record, const struct boxes_room *room,
                        const struct smr_answer_geometry *g) {
  CHECK(room->count <= record->top && room->count <= room->size.boxes);
  for (size_t i = 0; i < room->count; i++) {
    const struct smr_answer_box *b = &room->boxes[i];
    CHECK(b->score > 0.25f && b->class_index < 2);
    CHECK(i == 0 || b[-1].score >= b->score);
    CHECK(0 <= b->x0 && b->x0 < b->x1 && b->x1 <= (float)g->width);
    CHECK(0 <= b->y0 && b->y0 < b->y1 && b->y1 <= (float)g->height);
    for (size_t p = 0; p < room->size.points * 2; p++)
      CHECK(isfinite(room->points[i * room->size.points * 2 + p]));
  }
}

SMR_TEST(any_bytes) {
  uint32_t seed = 1;
  size_t found = 0;
  for (uint32_t k = 0; k < 4000; k++) {
    const struct smr_answer_boxes record = random_record(&seed);
    // 4 by 3 cells of 8 pixels, and 2 by 2 of 16 with two sizes.
    const int64_t n = 12 + 8, channels = 11;
    const int64_t shape[] = {1, record.channels_first ? channels : n,
                             record.channels_first ? n : channels};
    samara_tensor t = answer_random(3, shape, &seed);
    const struct smr_answer_outputs outputs = {&t, 1};
    const struct smr_answer_geometry g = answer_picture(32, 24, &seed);
    struct boxes_room room;
    REQUIRE(find(&record, &outputs, &g, &room) == SAMARA_OK);
    check_order(&record, &room, &g);
    found += room.count;
    release(&room);
    answer_free(&t);
  }
  CHECK(found > 1000);
}

// Boxes of equal score are ordered by index. NaN and scores not above the threshold are dropped.
SMR_TEST(ties) {
  enum { N = 300 };
  static float boxes[N][4], scores[N];
  for (uint32_t i = 0; i < N; i++) {
    const float x = (float)(i % 20), y = (float)(i / 20);
    const float box[] = {x, y, x + 1, y + 1};
    memcpy(boxes[i], box, sizeof box);
    scores[i] = i % 3 == 0 ? NAN : i % 3 == 1 ? 0.5f : 0.75f;
  }
  const samara_tensor tensors[] = {
      {boxes, sizeof boxes, {N, 4}, 2, SAMARA_FLOAT32, 0, 0},
      {scores, sizeof scores, {N, 1}, 2, SAMARA_FLOAT32, 0, 0},
  };
  const struct smr_answer_outputs outputs = {tensors, 2};
  const struct smr_answer_geometry g = {20,    15,       {0, 0, 20, 15}, 0,
                                        false, {20, 15}, {0, 0},         {20, 15}};
  struct smr_answer_boxes record = {.box = {.count = 1},
                                    .score = {.count = 1, .outputs = {1}},
                                    .point_step = 2,
                                    .threshold = 0.4f,
                                    .top = 1000};
  struct boxes_room room;
  REQUIRE(find(&record, &outputs, &g, &room) == SAMARA_OK);
  CHECK_EQ_INT(room.count, 200);
  for (uint32_t i = 0; i < 100 && room.count == 200; i++) {
    const uint32_t better = 3 * i + 2, worse = 3 * i + 1;
    CHECK(room.boxes[i].x0 == (float)(better % 20) && room.boxes[i].y0 == (float)(better / 20));
    CHECK(room.boxes[100 + i].x0 == (float)(worse % 20));
  }
  release(&room);
  record.threshold = 0.5f;
  REQUIRE(find(&record, &outputs, &g, &room) == SAMARA_OK);
  CHECK_EQ_INT(room.count, 100);
  release(&room);
}

// Two boxes overlap if their IoU is above the threshold, not equal to it.
SMR_TEST(shares) {
  static float boxes[2][4] = {{0, 0, 10, 10}, {0, 0, 10, 5}};
  static float scores[2] = {0.9f, 0.8f};
  const samara_tensor tensors[] = {
      {boxes, sizeof boxes, {2, 4}, 2, SAMARA_FLOAT32, 0, 0},
      {scores, sizeof scores, {2, 1}, 2, SAMARA_FLOAT32, 0, 0},
  };
  const struct smr_answer_outputs outputs = {tensors, 2};
  const struct smr_answer_geometry g = {10,    10,       {0, 0, 10, 10}, 0,
                                        false, {10, 10}, {0, 0},         {10, 10}};
  struct smr_answer_boxes record = {.box = {.count = 1},
                                    .score = {.count = 1, .outputs = {1}},
                                    .point_step = 2,
                                    .iou = 0.5f,
                                    .top = 9};
  struct boxes_room room;
  REQUIRE(find(&record, &outputs, &g, &room) == SAMARA_OK);
  CHECK_EQ_INT(room.count, 2);
  release(&room);
  record.iou = nextafterf(0.5f, 0);
  REQUIRE(find(&record, &outputs, &g, &room) == SAMARA_OK);
  CHECK_EQ_INT(room.count, 1);
  release(&room);
  // Another order of the three terms rounds the union down, and the IoU would be above this.
  const float pair[2][4] = {{0x1.5f64c4p+1f, 0x1.aa7a8ep+1f, 0x1.421fcp+2f, 0x1.342ab8p+2f},
                            {0x1.2acb18p+2f, 0x1.5ffca6p+0f, 0x1.b613ap+2f, 0x1.a67eb6p+2f}};
  memcpy(boxes, pair, sizeof boxes);
  record.iou = 0x1.375542p-5f;
  REQUIRE(find(&record, &outputs, &g, &room) == SAMARA_OK);
  CHECK_EQ_INT(room.count, 2);
  release(&room);
}

// ---- refusals ----

static float some[3 * 12];
static const samara_tensor some_tensors[] = {
    {some, sizeof some, {1, 3, 12}, 3, SAMARA_FLOAT32, 0, 0},
    {some, sizeof some, {1, 2, 12}, 3, SAMARA_FLOAT32, 0, 0},
};
static const struct smr_answer_outputs some_outputs = {some_tensors, 2};
static const struct smr_answer_geometry some_picture = {8,     8,      {0, 0, 8, 8}, 0,
                                                        false, {8, 8}, {0, 0},       {8, 8}};
static const struct smr_answer_boxes some_record = {
    .box = {.count = 1, .end = 4}, .score = {.count = 1, .begin = 4}, .point_step = 2, .top = 5};

static void check_refused(const struct smr_answer_boxes *record, samara_status status,
                          const char *says) {
  struct smr_answer_boxes_size size;
  samara_error error = {SAMARA_OK, ""};
  CHECK_EQ_INT(smr_answer_boxes_size(record, &some_outputs, &some_picture, &size, &error), status);
  CHECK_CONTAINS(error.text, says);
}

SMR_TEST(refuses_records) {
  static const float sizes[] = {8, 8};
  static struct smr_answer_level level = {4, 1, sizes};
  struct smr_answer_boxes r = some_record;
  r.top = 0;
  check_refused(&r, SAMARA_BAD_ARGUMENT, "at most 0 boxes, expected 1 to 65535");
  r.top = 65536;
  check_refused(&r, SAMARA_BAD_ARGUMENT, "at most 65536 boxes");
  r = some_record, r.point_step = 0;
  check_refused(&r, SAMARA_BAD_ARGUMENT, "0 numbers for a point");
  r = some_record, r.score.count = 0;
  check_refused(&r, SAMARA_BAD_ARGUMENT, "must name outputs for boxes and for scores");
  r = some_record, r.form = SMR_ANSWER_ANCHORS;
  check_refused(&r, SAMARA_BAD_ARGUMENT, "anchors by a rule or from an output");
  r.levels = &level, r.level_count = 1;
  check_refused(&r, SAMARA_BAD_SHAPE, "3 boxes, but 3 scores, 0 of objectness, 0 of points, 4");
  level.stride = 0;
  check_refused(&r, SAMARA_BAD_ARGUMENT, "a stride of 0 pixels");
  level.stride = 1, level.count = UINT32_MAX;
  check_refused(&r, SAMARA_BAD_ARGUMENT, "4294967295 sizes");
  level.stride = 4, level.count = 1, level.sizes = NULL;
  check_refused(&r, SAMARA_BAD_ARGUMENT, "expected 1 to 16384");
}

SMR_TEST(refuses_outputs) {
  struct smr_answer_boxes r = some_record;
  r.box.end = 0;
  check_refused(&r, SAMARA_BAD_SHAPE, "boxes of 12 channels");
  r = some_record, r.score.outputs[0] = 1;
  check_refused(&r, SAMARA_BAD_SHAPE, "3 boxes, but 2 scores");
  r = some_record, r.objectness = r.score;
  check_refused(&r, SAMARA_BAD_SHAPE, "objectness of 8; expected 4, 4 and 1");
  r = some_record, r.points = (struct smr_answer_part){.count = 1, .end = 3};
  check_refused(&r, SAMARA_BAD_SHAPE, "points of 3 channels, expected a multiple of 2");
  r = some_record, r.score.begin = 12;
  check_refused(&r, SAMARA_BAD_SHAPE, "score: output 0 has 12 channels");
  r = some_record, r.box.outputs[0] = 9;
  check_refused(&r, SAMARA_BAD_ARGUMENT, "reads output 9");
}

SMR_TEST(refuses_room) {
  struct smr_answer_boxes_size size;
  struct smr_answer_box boxes[3];
  int64_t scratch[64];
  size_t count;
  samara_error error;
  REQUIRE(smr_answer_boxes_size(&some_record, &some_outputs, &some_picture, &size, NULL) ==
          SAMARA_OK);
  CHECK(size.boxes == 3 && size.points == 0 && size.scratch_bytes <= sizeof scratch);
  CHECK_EQ_INT(smr_answer_boxes(&some_record, &some_outputs, &some_picture, scratch,
                                size.scratch_bytes, boxes, NULL, 3, &count, &error),
               SAMARA_OK);
  CHECK_EQ_INT(count, 0);
  CHECK_EQ_INT(smr_answer_boxes(&some_record, &some_outputs, &some_picture, scratch,
                                size.scratch_bytes - 1, boxes, NULL, 3, &count, &error),
               SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(smr_answer_boxes(&some_record, &some_outputs, &some_picture, scratch,
                                size.scratch_bytes, boxes, NULL, 2, &count, &error),
               SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(error.text, "room for 2 boxes");
  CHECK_EQ_INT(smr_answer_boxes(&some_record, &some_outputs, &some_picture, NULL,
                                size.scratch_bytes, boxes, NULL, 3, &count, &error),
               SAMARA_BAD_ARGUMENT);
}

SMR_TEST_MAIN(RUN(as_the_reference); RUN(any_bytes); RUN(ties); RUN(shares); RUN(refuses_records);
              RUN(refuses_outputs); RUN(refuses_room))
