// SPDX-License-Identifier: Apache-2.0
// Pictures as inputs: the bits of samara_preprocess, in memory that is kept from frame to frame.
#include "base/fp.h"

#include <samara/samara_media.h>

#include "harness.h"
#include "kernels/kernel_data.h"
#include "session/model_literal.h"
#include "session/session.h"

enum { WIDTH = 9, HEIGHT = 6, MOST = 40, BLOCK = 4 * MOST * MOST };
enum { PICTURE, OTHER };  // inputs

// ---- models: main(picture [1, 3, h, w], other [1]) -> both ----

struct made {
  struct literal *literal;
  const samara_model *model;
  struct smr_image_fields fields;
  struct smr_input_record record;
  struct smr_quant quant;
  float scale;
  int32_t zero;
};

static struct smr_image_fields fields_of(samara_dtype dtype) {
  static const uint32_t size[] = {WIDTH, HEIGHT};
  static const float mean[] = {10, 20, 30}, scale[] = {0.25f};
  struct smr_image_fields f = {.colour = SAMARA_COLOUR_RGB,
                               .dtype = (uint8_t)dtype,
                               .layout = SAMARA_NCHW,
                               .resize = size,
                               .resize_count = 2};
  if (dtype == SAMARA_UINT8) return f;
  f.mean = mean, f.mean_count = 3, f.scale = scale, f.scale_count = 1;
  return f;
}

// Heights and widths of 0 are symbols.
static void make(struct made *m, struct smr_image_fields fields, uint32_t height, uint32_t width) {
  const uint8_t dtype = fields.dtype == SAMARA_INT8 ? SAMARA_QINT8 : fields.dtype;
  *m = (struct made){.literal = literal_new(), .fields = fields, .scale = 0.5f, .zero = -5};
  m->quant =
      (struct smr_quant){.scales = &m->scale, .zero_points = &m->zero, .count = 1, .axis = -1};
  m->record = (struct smr_input_record){.image = &m->fields, .input = PICTURE};
  struct literal_function *f = literal_add(m->literal, "main", true);
  const uint32_t one = literal_int(f, 1), three = literal_int(f, 3);
  const uint32_t h = height != 0 ? literal_int(f, height) : literal_symbol(f, "h", 0, 2, INT64_MAX);
  const uint32_t w = width != 0 ? literal_int(f, width) : literal_symbol(f, "w", 0, 3, INT64_MAX);
  const uint32_t x = literal_value(f, "picture", dtype, 4, one, three, h, w);
  if (dtype == SAMARA_QINT8) f->values[x].quant = &m->quant;
  const uint32_t z = literal_vector(f, "other", one);
  literal_input(f, x), literal_input(f, z);
  literal_output(f, x, "x"), literal_output(f, z, "z");
  f->f.records = &m->record, f->f.record_count = 1;
  m->model = literal_finish(m->literal);
}

static void drop(struct made *m, samara_session *session) {
  samara_session_destroy(session);
  literal_free(m->literal);
}

// ---- pictures ----

static uint8_t pixels[BLOCK];

static samara_image picture(samara_image_format format, uint32_t width, uint32_t height) {
  static const size_t bytes[] = {0, 3, 3, 4, 4, 1, 1, 1, 1};
  uint32_t seed = 5;
  for (size_t k = 0; k < BLOCK; k++) pixels[k] = (uint8_t)kernel_random(&seed);
  samara_image i = {.struct_size = sizeof i, .format = format, .width = width, .height = height};
  i.planes[0] = (samara_plane){.data = pixels, .size_bytes = bytes[format] * width * height};
  for (int p = 1; p < 3; p++)
    i.planes[p] = (samara_plane){.data = pixels + p * 11, .size_bytes = BLOCK - 22};
  return i;
}

// Whether the session's input has the bits of samara_preprocess, and the run sees them.
static int shows(const struct made *m, samara_session *session, const samara_image *image) {
  static uint8_t want[4 * 3 * MOST * MOST];
  samara_image_record record = {.struct_size = sizeof record};
  samara_tensor t;
  if (!CHECK_EQ_INT(samara_model_image_record(m->model, NULL, PICTURE, &record), SAMARA_OK) ||
      !CHECK_EQ_INT(literal_run(session), SAMARA_OK) ||
      !CHECK_EQ_INT(samara_session_output(session, PICTURE, &t), SAMARA_OK))
    return 0;
  return CHECK_EQ_INT(samara_preprocess(&record, image, NULL, NULL, want, t.size_bytes, NULL),
                      SAMARA_OK) &
         CHECK_MEM(t.data, want, t.size_bytes);
}

static int set(const struct made *m, samara_session *session, samara_image image) {
  const int done = CHECK_EQ_INT(samara_session_set_image(session, PICTURE, &image), SAMARA_OK);
  if (!done) fprintf(stderr, "  %s\n", samara_session_error(session));
  return done & shows(m, session, &image);
}

// Fails as expected, and the input is what `before` makes.
static void check_fails(const struct made *m, samara_session *session, samara_image image,
                        samara_status status, const char *part, const samara_image *before) {
  CHECK_EQ_INT(samara_session_set_image(session, PICTURE, &image), status);
  CHECK_CONTAINS(samara_session_error(session), "input 'picture': ");
  CHECK_CONTAINS(samara_session_error(session), part);
  CHECK(shows(m, session, before));
}

// ---- tests ----

SMR_TEST(the_bits_of_preprocess) {
  static const samara_dtype dtypes[] = {SAMARA_FLOAT32, SAMARA_FLOAT16, SAMARA_UINT8, SAMARA_INT8};
  for (int k = 0; k < 4; k++) {
    struct made m;
    make(&m, fields_of(dtypes[k]), HEIGHT, WIDTH);
    samara_session *s = literal_session(m.model, (samara_session_options){0});
    for (int format = SAMARA_RGB; format <= SAMARA_I420; format++) {
      samara_image image = picture((samara_image_format)format, 20, 15);
      image.rotation = 90 * (uint32_t)(format % 4), image.mirror = format % 3 == 0;
      CHECK(set(&m, s, image));
    }
    drop(&m, s);
  }
}

// Pictures that differ in one thing only: the plan of one must not be used for the other.
enum { PAIRS = 12 };
static void draw_pair(int k, samara_image *a, samara_image *b) {
  static const samara_image_format formats[PAIRS] = {
      SAMARA_RGBA, SAMARA_RGBA, SAMARA_RGBA, SAMARA_RGBA, SAMARA_RGB,  SAMARA_I420,
      SAMARA_I420, SAMARA_NV12, SAMARA_NV12, SAMARA_GRAY, SAMARA_RGBA, SAMARA_RGBA};
  *a = picture(formats[k], 12, 10);
  for (int p = 0; p < 3; p++) a->planes[p].size_bytes = BLOCK - 22;
  a->crop_x = 2, a->crop_y = 1, a->crop_width = 5, a->crop_height = 6;
  *b = *a;
  if (k == 0) b->crop_x = 3;
  if (k == 1) b->crop_y = 0;
  if (k == 2) b->crop_width = 6;
  if (k == 3) b->crop_height = 5;
  if (k == 4) a->planes[0].row_stride = b->planes[0].row_stride = 48;
  if (k == 4) b->planes[0].pixel_stride = 4;
  if (k == 5) b->planes[1].pixel_stride = b->planes[2].pixel_stride = 2;
  if (k == 6) b->planes[1].row_stride = b->planes[2].row_stride = 9;
  if (k == 7) b->format = SAMARA_NV21;
  if (k == 8) b->range = SAMARA_FULL_RANGE;
  if (k == 9) b->format = SAMARA_RGB, b->planes[0].pixel_stride = 3, a->planes[0] = b->planes[0];
  if (k == 10) a->crop_x = 4, b->crop_x = 0, b->mirror = true;  // both begin at column 4
  if (k == 11) b->planes[0].row_stride = 49;
}

SMR_TEST(one_picture_after_another) {
  struct made m;
  make(&m, fields_of(SAMARA_FLOAT32), HEIGHT, WIDTH);
  samara_session *s = literal_session(m.model, (samara_session_options){0});
  for (int k = 0; k < PAIRS * 8; k++) {
    samara_image a, b;
    draw_pair(k / 8, &a, &b);
    a.rotation = b.rotation = 90 * (uint32_t)(k % 4);
    if (k % 8 >= 4) a.mirror = !a.mirror, b.mirror = !b.mirror;
    if (!(CHECK(set(&m, s, a)) & CHECK(set(&m, s, b)) & CHECK(set(&m, s, a))))
      fprintf(stderr, "  pair %d, rotation %u\n", k / 8, (unsigned)a.rotation);
  }
  CHECK_STR(samara_session_error(s), "");
  drop(&m, s);
}

SMR_TEST(inputs_without_a_record) {
  struct made m;
  make(&m, fields_of(SAMARA_FLOAT32), HEIGHT, WIDTH);
  samara_session *s = literal_session(m.model, (samara_session_options){0});
  const samara_image image = picture(SAMARA_RGB, 4, 4);
  const float seven = 7;
  CHECK(literal_feed(s, OTHER, &seven, 1));
  CHECK_EQ_INT(samara_session_set_image(s, OTHER, &image), SAMARA_NOT_FOUND);
  CHECK_CONTAINS(samara_session_error(s), "input 'other': it has no image record");
  CHECK(literal_gives(s, OTHER, &seven, 1));
  CHECK_EQ_INT(samara_session_set_image(s, 2, &image), SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(samara_session_error(s), "there is no input 2");
  CHECK_EQ_INT(samara_session_set_image(s, SIZE_MAX, &image), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_session_set_image(NULL, PICTURE, &image), SAMARA_BAD_ARGUMENT);
  drop(&m, s);
}

SMR_TEST(pictures_that_are_wrong) {
  struct made m;
  struct smr_image_fields fields = fields_of(SAMARA_FLOAT32);
  fields.resize_count = 0;  // the tensor has the picture's size
  make(&m, fields, HEIGHT, WIDTH);
  samara_session *s = literal_session(m.model, (samara_session_options){0});
  const samara_image right = picture(SAMARA_BGR, WIDTH, HEIGHT);
  CHECK(set(&m, s, right));
  samara_image wrong = picture(SAMARA_NV12, WIDTH, HEIGHT + 1);
  check_fails(&m, s, wrong, SAMARA_BAD_SHAPE,
              "the record makes 9 x 7 pixels of this picture, axis 2 of the input is 6 and not 7",
              &right);
  wrong = right, wrong.rotation = 90;
  check_fails(&m, s, wrong, SAMARA_BAD_SHAPE, "axis 2 of the input is 6 and not 9", &right);
  wrong = right, wrong.planes[0].size_bytes--;
  check_fails(&m, s, wrong, SAMARA_BAD_ARGUMENT, "BGR picture: plane 0 has 161 bytes", &right);
  wrong = right, wrong.crop_width = WIDTH + 1, wrong.crop_height = 1;
  check_fails(&m, s, wrong, SAMARA_BAD_ARGUMENT, "crop of 10x1", &right);
  wrong = right, wrong.struct_size = 0;
  check_fails(&m, s, wrong, SAMARA_BAD_ARGUMENT, "struct_size is 0", &right);
  CHECK_EQ_INT(samara_session_set_image(s, PICTURE, NULL), SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(samara_session_error(s), "input 'picture': the picture is NULL");
  CHECK(shows(&m, s, &right));
  drop(&m, s);
}

static samara_status reshape(samara_session *s, int64_t height, int64_t width) {
  const int64_t picture_dims[] = {1, 3, height, width}, one = 1;
  const int64_t *const shapes[] = {picture_dims, &one};
  return samara_session_resize(s, shapes, 2);
}

SMR_TEST(symbolic_sizes) {
  struct made m;
  struct smr_image_fields fields = fields_of(SAMARA_FLOAT32);
  fields.resize_count = 0;
  make(&m, fields, 0, 0);
  samara_session *s = literal_session(m.model, (samara_session_options){0});
  const samara_image small = picture(SAMARA_RGB, 5, 4), large = picture(SAMARA_I420, 31, 17);
  CHECK_EQ_INT(samara_session_set_image(s, PICTURE, &small), SAMARA_BAD_STATE);
  CHECK_CONTAINS(samara_session_error(s), "resize it first");
  CHECK_EQ_INT(reshape(s, 4, 5), SAMARA_OK);
  CHECK(set(&m, s, small));
  check_fails(&m, s, large, SAMARA_BAD_SHAPE, "resize the session", &small);
  CHECK_EQ_INT(reshape(s, 17, 31), SAMARA_OK);
  CHECK(set(&m, s, large));
  CHECK_EQ_INT(reshape(s, 4, 5), SAMARA_OK);
  CHECK(set(&m, s, small));
  drop(&m, s);
}

SMR_TEST(memory_is_kept) {
  struct made m;
  struct literal_memory memory;
  literal_memory_init(&memory);
  make(&m, fields_of(SAMARA_FLOAT32), HEIGHT, WIDTH);
  samara_session *s =
      literal_session(m.model, (samara_session_options){.allocator = &memory.allocator});
  samara_image image = picture(SAMARA_NV21, 30, 20);
  size_t calls = memory.calls;
  CHECK(set(&m, s, image));
  CHECK_EQ_INT(memory.calls, calls + 1);
  const size_t arena = samara_session_arena_bytes(s);
  calls = memory.calls;
  for (int frame = 0; frame < 5; frame++) CHECK(set(&m, s, image));
  // A plan that needs no more memory replaces the last one.
  image.mirror = true;
  CHECK(set(&m, s, image));
  image.format = SAMARA_NV12;
  CHECK(set(&m, s, image));
  CHECK(set(&m, s, picture(SAMARA_GRAY, 30, 20)));
  CHECK(set(&m, s, picture(SAMARA_RGBA, 8, 20)));
  image.rotation = 180;
  CHECK(set(&m, s, image));
  CHECK_EQ_INT(memory.calls, calls);
  CHECK_EQ_INT(samara_session_arena_bytes(s), arena);
  // A turned picture needs more memory, once.
  for (int frame = 0; frame < 3; frame++) {
    image.rotation = 90;
    CHECK(set(&m, s, image));
    image.rotation = 0;
    CHECK(set(&m, s, image));
  }
  CHECK_EQ_INT(memory.calls, calls + 1);
  CHECK(samara_session_arena_bytes(s) > arena);
  drop(&m, s);
  CHECK_EQ_INT(memory.live, 0);
}

// A byte after the scratch rows of a run: planning clears it, a run does not write it.
static uint8_t *behind_rows(samara_session *s) {
  const struct smr_block *block = &s->inputs[PICTURE].image;
  return (uint8_t *)block->data + block->size_bytes - 64;
}

SMR_TEST(plans_are_kept) {
  struct made m;
  struct smr_image_fields fields = fields_of(SAMARA_FLOAT32);
  static const uint32_t size[] = {MOST, HEIGHT};
  fields.resize = size;
  make(&m, fields, HEIGHT, MOST);
  samara_session *s = literal_session(m.model, (samara_session_options){0});
  samara_image image = picture(SAMARA_NV21, 30, 20);
  for (int turn = 0; turn < 3; turn++) {
    image.rotation = turn == 1 ? 180 : 0;
    CHECK(set(&m, s, image));
    CHECK_EQ_INT(*behind_rows(s), 0);
    *behind_rows(s) = 0x77;
    for (int frame = 0; frame < 3; frame++) CHECK(set(&m, s, image));
    CHECK_EQ_INT(*behind_rows(s), 0x77);
  }
  drop(&m, s);
}

// Area averages: larger pictures need more weights.
static struct smr_image_fields fields_of_area(void) {
  struct smr_image_fields fields = fields_of(SAMARA_FLOAT32);
  fields.filter = SAMARA_AREA;
  return fields;
}

SMR_TEST(memory_that_runs_out) {
  struct made m;
  struct literal_memory memory;
  literal_memory_init(&memory);
  make(&m, fields_of_area(), HEIGHT, WIDTH);
  samara_session *s =
      literal_session(m.model, (samara_session_options){.allocator = &memory.allocator});
  static float before[3 * WIDTH * HEIGHT];
  for (int i = 0; i < 3 * WIDTH * HEIGHT; i++) before[i] = (float)i;
  CHECK(literal_feed(s, PICTURE, before, 3 * WIDTH * HEIGHT));
  const samara_image small = picture(SAMARA_RGBA, 4, 4), large = picture(SAMARA_NV12, 40, 40);
  memory.fail_at = memory.calls + 1;
  CHECK_EQ_INT(samara_session_set_image(s, PICTURE, &small), SAMARA_OUT_OF_MEMORY);
  CHECK_CONTAINS(samara_session_error(s), "input 'picture': ");
  CHECK(literal_gives(s, PICTURE, before, 3 * WIDTH * HEIGHT));
  const size_t calls = memory.calls;
  CHECK(set(&m, s, small));
  CHECK_EQ_INT(memory.calls, calls + 1);
  memory.fail_at = memory.calls + 1;
  check_fails(&m, s, large, SAMARA_OUT_OF_MEMORY, "needs", &small);
  CHECK(set(&m, s, small));
  CHECK_EQ_INT(memory.calls, calls + 2);
  CHECK(set(&m, s, large));
  CHECK_EQ_INT(memory.calls, calls + 3);
  CHECK(set(&m, s, small));
  CHECK(set(&m, s, large));
  CHECK_EQ_INT(memory.calls, calls + 3);
  drop(&m, s);
  CHECK_EQ_INT(memory.live, 0);
}

SMR_TEST(limits_of_memory) {
  struct made m;
  make(&m, fields_of_area(), HEIGHT, WIDTH);
  const samara_image small = picture(SAMARA_RGB, 4, 4), large = picture(SAMARA_RGB, 36, 36);
  samara_session *s = literal_session(m.model, (samara_session_options){0});
  CHECK(set(&m, s, small));
  CHECK(set(&m, s, large));
  const size_t needed = samara_session_arena_bytes(s);
  samara_session_destroy(s);
  s = literal_session(m.model, (samara_session_options){.max_arena_bytes = needed});
  CHECK(set(&m, s, small));
  CHECK(set(&m, s, large));
  samara_session_destroy(s);
  s = literal_session(m.model, (samara_session_options){.max_arena_bytes = needed - 1});
  CHECK(set(&m, s, small));
  check_fails(&m, s, large, SAMARA_LIMIT, "max_arena_bytes is", &small);
  CHECK(set(&m, s, small));
  drop(&m, s);
}

// set_image ends a binding: the caller's memory is neither written nor read afterwards.
SMR_TEST(bound_inputs) {
  struct made m;
  make(&m, fields_of(SAMARA_UINT8), HEIGHT, WIDTH);
  samara_session *s = literal_session(m.model, (samara_session_options){0});
  static uint8_t mine[3 * WIDTH * HEIGHT], zeros[3 * WIDTH * HEIGHT];
  const samara_image image = picture(SAMARA_RGB, 13, 7);
  CHECK_EQ_INT(samara_session_bind_input(s, PICTURE, mine, sizeof mine), SAMARA_OK);
  samara_image wrong = image;
  wrong.rotation = 1;
  CHECK_EQ_INT(samara_session_set_image(s, PICTURE, &wrong), SAMARA_BAD_ARGUMENT);
  memset(mine, 3, sizeof mine);
  samara_tensor t;
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  CHECK_EQ_INT(samara_session_output(s, PICTURE, &t), SAMARA_OK);
  CHECK_MEM(t.data, mine, sizeof mine);  // still bound after the failure
  memset(mine, 0, sizeof mine);
  CHECK(set(&m, s, image));
  CHECK_MEM(mine, zeros, sizeof mine);
  drop(&m, s);
}

SMR_TEST(threads_give_the_same_bits) {
  samara_pool *pool = literal_pool(3);
  struct made m;
  struct smr_image_fields fields = fields_of(SAMARA_FLOAT32);
  static const uint32_t size[] = {39, 37};
  fields.resize = size;
  make(&m, fields, 37, 39);
  samara_session *s = literal_session(m.model, (samara_session_options){.pool = pool});
  for (int n = 0; n < 50; n++) {
    samara_image image = picture((samara_image_format)(1 + n % 8), 21, 32);
    image.rotation = 90 * (uint32_t)(n % 4);
    CHECK(set(&m, s, image));
  }
  drop(&m, s);
  samara_pool_destroy(pool);
}

SMR_TEST_MAIN(RUN(the_bits_of_preprocess); RUN(one_picture_after_another);
              RUN(inputs_without_a_record); RUN(pictures_that_are_wrong); RUN(symbolic_sizes);
              RUN(memory_is_kept); RUN(plans_are_kept); RUN(memory_that_runs_out);
              RUN(limits_of_memory); RUN(bound_inputs); RUN(threads_give_the_same_bits))
