// SPDX-License-Identifier: Apache-2.0
// Answers of a session: of every kind, about pictures and tensors, in memory that is kept.
#include "base/fp.h"

#include <samara/samara_media.h>

#include "harness.h"
#include "media/answer.h"
#include "session/model_literal.h"
#include "session/session.h"

enum { PICTURE, SCORES };  // inputs, and outputs
enum { SIDE = 4, CLASSES = 6, WIDTH = 8, HEIGHT = 2 };

// ---- models: main(picture float32 [1, 3, SIDE, SIDE], scores float32 [...]) -> both ----

static const uint32_t scores_output = SCORES;
static const struct smr_part_fields scores_part = {.outputs = &scores_output, .count = 1},
                                    box_part = {.outputs = &scores_output, .count = 1, .end = 4},
                                    rest_part = {.outputs = &scores_output, .count = 1, .begin = 4};

struct made {
  struct literal *literal;
  const samara_model *model;
  struct smr_answer_fields answer;
  struct smr_image_fields image;
  struct smr_input_record record;
};

static void make(struct made *m, struct smr_answer_fields answer, uint32_t rank,
                 const int64_t *shape) {
  static const uint32_t letterbox[] = {SIDE, SIDE};
  *m = (struct made){.literal = literal_new(), .answer = answer};
  m->image = (struct smr_image_fields){.colour = SAMARA_COLOUR_RGB,
                                       .dtype = SAMARA_FLOAT32,
                                       .layout = SAMARA_NCHW,
                                       .letterbox = letterbox,
                                       .letterbox_count = 2};
  m->record = (struct smr_input_record){.image = &m->image, .input = PICTURE};
  struct literal_function *f = literal_add(m->literal, "main", true);
  const uint32_t one = literal_int(f, 1), three = literal_int(f, 3), side = literal_int(f, SIDE);
  uint32_t d[4] = {0};
  for (uint32_t i = 0; i < rank; i++) d[i] = literal_int(f, shape[i]);
  const uint32_t x = literal_value(f, "picture", SAMARA_FLOAT32, 4, one, three, side, side);
  const uint32_t y = literal_value(f, "scores", SAMARA_FLOAT32, rank, d[0], d[1], d[2], d[3]);
  literal_input(f, x), literal_input(f, y);
  literal_output(f, x, "x"), literal_output(f, y, "y");
  f->f.answer = &m->answer;
  f->f.records = &m->record, f->f.record_count = 1;
  m->model = literal_finish(m->literal);
}

static void drop(struct made *m, samara_session *session) {
  samara_session_destroy(session);
  literal_free(m->literal);
}

static uint8_t pixels[3 * WIDTH * HEIGHT];

// A picture of WIDTH by HEIGHT, which fills the middle rows of the input.
static samara_status show(samara_session *session) {
  samara_image i = {
      .struct_size = sizeof i, .format = SAMARA_RGB, .width = WIDTH, .height = HEIGHT};
  i.planes[0] = (samara_plane){.data = pixels, .size_bytes = sizeof pixels};
  return samara_session_set_image(session, PICTURE, &i);
}

static samara_status give(samara_session *session, const float *scores, size_t count) {
  static const float tensor[3 * SIDE * SIDE];
  SMR_TRY(samara_session_set_input(session, PICTURE, tensor, sizeof tensor));
  return samara_session_set_input(session, SCORES, scores, count * sizeof *scores);
}

static samara_status run(samara_session *session, samara_answer *answer) {
  SMR_TRY(literal_run(session));
  return samara_session_answer(session, answer);
}

// ---- kinds ----

SMR_TEST(classes_best_first) {
  static const float scores[CLASSES] = {1, 3, 2, 3, -1, 0};
  struct made m;
  make(
      &m,
      (struct smr_answer_fields){.kind = SAMARA_CLASSES, .step = 2, .top = 3, .main = &scores_part},
      2, (int64_t[]){1, CLASSES});
  samara_session *s = literal_session(m.model, (samara_session_options){0});
  samara_answer a = {.struct_size = sizeof a};
  CHECK_EQ_INT(give(s, scores, CLASSES), SAMARA_OK);
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  const size_t before = s->common.memory.total_bytes;
  CHECK_EQ_INT(samara_session_answer(s, &a), SAMARA_OK);
  CHECK(a.kind == SAMARA_CLASSES && a.count == 3 && a.boxes == NULL && a.mask == NULL);
  CHECK(a.classes[0].index == 1 && a.classes[1].index == 3 && a.classes[2].index == 2);
  CHECK(a.classes[0].score == 3 && a.classes[2].score == 2 && a.classes[0].label == NULL);
  CHECK(s->common.memory.total_bytes > before);
  // The block is kept.
  const size_t after = s->common.memory.total_bytes;
  CHECK_EQ_INT(samara_session_answer(s, &a), SAMARA_OK);
  CHECK(a.count == 3 && s->common.memory.total_bytes == after);
  drop(&m, s);
}

static struct smr_answer_fields box_fields(void) {
  return (struct smr_answer_fields){.kind = SAMARA_BOXES,
                                    .step = 2,
                                    .top = 4,
                                    .iou = 0.5f,
                                    .threshold = 0.5f,
                                    .main = &box_part,
                                    .score = &rest_part};
}

// Boxes of a tensor are in its pixels; of a letterboxed picture in those of the picture.
SMR_TEST(boxes_of_tensors_and_pictures) {
  static const float boxes[2][5] = {{0, 1, 2, 3, 0.75f}, {0, 1, 4, 2, 1}};
  struct made m;
  make(&m, box_fields(), 3, (int64_t[]){1, 2, 5});
  samara_session *s = literal_session(m.model, (samara_session_options){0});
  samara_answer a = {.struct_size = sizeof a};
  CHECK_EQ_INT(give(s, boxes[0], 10), SAMARA_OK);
  CHECK_EQ_INT(run(s, &a), SAMARA_OK);
  REQUIRE(a.kind == SAMARA_BOXES && a.count == 2 && a.points_per_box == 0);
  CHECK(a.boxes[0].score == 1 && a.boxes[0].x1 == 4 && a.boxes[0].y0 == 1 && a.boxes[0].y1 == 2);
  CHECK(a.boxes[1].x1 == 2 && a.boxes[1].y1 == 3 && a.boxes[1].points == NULL);
  // 8 by 2 pixels become 4 by 1, in row 1 of 4.
  CHECK_EQ_INT(show(s), SAMARA_OK);
  CHECK_EQ_INT(run(s, &a), SAMARA_OK);
  REQUIRE(a.count == 2);
  CHECK(a.boxes[0].x0 == 0 && a.boxes[0].x1 == 8 && a.boxes[0].y0 == 0 && a.boxes[0].y1 == 2);
  CHECK(a.boxes[1].x1 == 4 && a.boxes[1].y1 == 2);
  // A tensor again.
  CHECK_EQ_INT(give(s, boxes[0], 10), SAMARA_OK);
  CHECK_EQ_INT(run(s, &a), SAMARA_OK);
  CHECK(a.count == 2 && a.boxes[0].x1 == 4);
  drop(&m, s);
}

SMR_TEST(boxes_with_points) {
  static const struct smr_part_fields scores = {.outputs = &scores_output,
                                                .count = 1,
                                                .begin = 4,
                                                .end = 5},
                                      points = {.outputs = &scores_output, .count = 1, .begin = 5};
  static const float rows[2][9] = {{0, 0, 1, 1, 0.75f, 1, 2, 3, 4}, {2, 2, 4, 4, 1, 5, 6, 7, 8}};
  struct smr_answer_fields fields = box_fields();
  fields.score = &scores, fields.points = &points;
  struct made m;
  make(&m, fields, 3, (int64_t[]){1, 2, 9});
  samara_session *s = literal_session(m.model, (samara_session_options){0});
  samara_answer a = {.struct_size = sizeof a};
  CHECK_EQ_INT(give(s, rows[0], 18), SAMARA_OK);
  CHECK_EQ_INT(run(s, &a), SAMARA_OK);
  REQUIRE(a.count == 2 && a.points_per_box == 2);
  CHECK(a.boxes[0].points[0] == 5 && a.boxes[0].points[3] == 8 && a.boxes[1].points[2] == 3);
  drop(&m, s);
}

SMR_TEST(a_mask_of_the_picture) {
  static const float logits[2][SIDE][SIDE] = {{{0}}, {{1, 1}, {1, -1, 1}, {1}, {1}}};
  struct made m;
  make(&m, (struct smr_answer_fields){.kind = SAMARA_MASK, .step = 2, .main = &scores_part}, 4,
       (int64_t[]){1, 2, SIDE, SIDE});
  samara_session *s = literal_session(m.model, (samara_session_options){0});
  samara_answer a = {.struct_size = sizeof a};
  CHECK_EQ_INT(give(s, logits[0][0], 2 * SIDE * SIDE), SAMARA_OK);
  CHECK_EQ_INT(show(s), SAMARA_OK);
  CHECK_EQ_INT(run(s, &a), SAMARA_OK);
  REQUIRE(a.kind == SAMARA_MASK && a.mask_element_bytes == 1 && a.count == WIDTH * HEIGHT);
  CHECK(a.width == WIDTH && a.height == HEIGHT);
  static const uint8_t want[WIDTH * HEIGHT] = {1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0};
  CHECK_MEM(a.mask, want, sizeof want);
  drop(&m, s);
}

SMR_TEST(points_of_the_picture) {
  static const float points[2][3] = {{2, 1.5f, 0.25f}, {4, 2, 0.5f}};
  struct made m;
  make(&m, (struct smr_answer_fields){.kind = SAMARA_KEYPOINTS, .step = 3, .main = &scores_part}, 3,
       (int64_t[]){1, 2, 3});
  samara_session *s = literal_session(m.model, (samara_session_options){0});
  samara_answer a = {.struct_size = sizeof a};
  CHECK_EQ_INT(give(s, points[0], 6), SAMARA_OK);
  CHECK_EQ_INT(show(s), SAMARA_OK);
  CHECK_EQ_INT(run(s, &a), SAMARA_OK);
  REQUIRE(a.kind == SAMARA_KEYPOINTS && a.count == 2);
  CHECK(a.points[0].x == 4 && a.points[0].y == 1 && a.points[0].score == 0.25f);
  CHECK(a.points[1].x == 8 && a.points[1].y == 2 && a.points[1].label == NULL);
  drop(&m, s);
}

// ---- what is refused ----

SMR_TEST(refusals) {
  static const float scores[CLASSES] = {0};
  struct made m;
  make(
      &m,
      (struct smr_answer_fields){.kind = SAMARA_CLASSES, .step = 2, .top = 3, .main = &scores_part},
      2, (int64_t[]){2, 3});
  samara_session *s = literal_session(m.model, (samara_session_options){0});
  samara_answer a = {.struct_size = sizeof a, .count = 77};
  CHECK_EQ_INT(samara_session_answer(NULL, &a), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_answer(s, NULL), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_answer(s, &a), SAMARA_BAD_STATE);  // before a run
  CHECK_EQ_INT(give(s, scores, CLASSES), SAMARA_OK);
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  CHECK_EQ_INT(samara_session_answer(s, &a), SAMARA_BAD_SHAPE);  // two axes
  a.struct_size = sizeof a - 1;
  CHECK_EQ_INT(samara_session_answer(s, &a), SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(samara_session_error(s), "struct_size");
  CHECK_EQ_INT((int)a.count, 77);
  m.literal->functions[0].answer = NULL;
  CHECK_EQ_INT(samara_session_answer(s, &a), SAMARA_NOT_FOUND);
  CHECK_CONTAINS(samara_session_error(s), "function 'main' has no record for its outputs");
  drop(&m, s);
}

// Whichever allocation fails: an error, and the next answer is right.
SMR_TEST(memory_that_runs_out) {
  static const float boxes[2][5] = {{0, 1, 2, 3, 0.75f}, {0, 1, 4, 2, 1}};
  size_t failures = 0;
  for (size_t k = 1; k <= 4; k++) {
    struct made m;
    struct literal_memory memory;
    literal_memory_init(&memory);
    make(&m, box_fields(), 3, (int64_t[]){1, 2, 5});
    samara_session *s =
        literal_session(m.model, (samara_session_options){.allocator = &memory.allocator});
    samara_answer a = {.struct_size = sizeof a};
    CHECK_EQ_INT(give(s, boxes[0], 10), SAMARA_OK);
    CHECK_EQ_INT(literal_run(s), SAMARA_OK);
    memory.fail_at = memory.calls + k;
    const samara_status status = samara_session_answer(s, &a);
    if (status != SAMARA_OK) {
      failures++;
      CHECK_EQ_INT(status, SAMARA_OUT_OF_MEMORY);
      CHECK_CONTAINS(samara_session_error(s), "the answer needs");
    }
    memory.fail_at = 0;
    CHECK_EQ_INT(samara_session_answer(s, &a), SAMARA_OK);
    CHECK(a.count == 2 && a.boxes[0].x1 == 4);
    drop(&m, s);
    CHECK_EQ_INT(memory.live, 0);
  }
  CHECK_EQ_INT(failures, 2);
}

SMR_TEST_MAIN(RUN(classes_best_first); RUN(boxes_of_tensors_and_pictures); RUN(boxes_with_points);
              RUN(a_mask_of_the_picture); RUN(points_of_the_picture); RUN(refusals);
              RUN(memory_that_runs_out))
