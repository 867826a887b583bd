// SPDX-License-Identifier: Apache-2.0
// Tests pre-processing without a model: shapes, memory, and wrong arguments.
#include "base/fp.h"

#include <samara/samara_media.h>

#include "harness.h"
#include "kernels/kernel_data.h"
#include "session/model_literal.h"

enum { WIDTH = 23, HEIGHT = 17, MOST_BYTES = 4 * 3 * 64 * 64, FILL = 0xff };

// An RGBA picture in a block of exactly its size.
static samara_image picture(void) {
  uint32_t seed = 3;
  uint8_t *pixels = kernel_alloc(4 * WIDTH * HEIGHT, 1);
  for (int i = 0; i < 4 * WIDTH * HEIGHT; i++) pixels[i] = (uint8_t)kernel_random(&seed);
  samara_image image = {
      .struct_size = sizeof image, .format = SAMARA_RGBA, .width = WIDTH, .height = HEIGHT};
  image.planes[0] = (samara_plane){.data = pixels, .size_bytes = 4 * WIDTH * HEIGHT};
  return image;
}

static void drop(const samara_image *image) {
  const samara_plane plane = image->planes[0];
  kernel_free((uint8_t *)(uintptr_t)plane.data, 1);
}

static samara_image_record record_of(samara_dtype dtype) {
  samara_image_record r = {.struct_size = sizeof r,
                           .colour = SAMARA_COLOUR_RGB,
                           .dtype = dtype,
                           .layout = SAMARA_NCHW,
                           .resize = SAMARA_RESIZE_LETTERBOX,
                           .resize_width = 31,
                           .resize_height = 33,
                           .fill = {1, 2, 3},
                           .normalize = true,
                           .quant_scale = 0.25f};
  for (int c = 0; c < 3; c++) r.mean[c] = (float)(100 + c), r.scale[c] = 0.5f;
  return r;
}

static size_t bytes_of(const samara_image_record *record, const samara_image *image) {
  int64_t shape[SAMARA_MAX_RANK];
  int32_t rank = 0;
  CHECK_EQ_INT(samara_preprocess_shape(record, image, shape, &rank, NULL), SAMARA_OK);
  size_t bytes = record->dtype == SAMARA_FLOAT32 ? 4 : record->dtype == SAMARA_FLOAT16 ? 2 : 1;
  for (int32_t axis = 0; axis < rank; axis++) bytes *= (size_t)shape[axis];
  return bytes;
}

static int untouched(const uint8_t *out, size_t bytes) {
  for (size_t i = 0; i < bytes; i++)
    if (out[i] != FILL) return 0;
  return 1;
}

SMR_TEST(bytes_pass_through) {
  const samara_image image = picture();
  const samara_image_record r = {.struct_size = sizeof r,
                                 .colour = SAMARA_COLOUR_BGR,
                                 .dtype = SAMARA_UINT8,
                                 .layout = SAMARA_HWC};
  int64_t shape[SAMARA_MAX_RANK];
  int32_t rank;
  CHECK_EQ_INT(samara_preprocess_shape(&r, &image, shape, &rank, NULL), SAMARA_OK);
  CHECK(rank == 3 && shape[0] == HEIGHT && shape[1] == WIDTH && shape[2] == 3);
  uint8_t *out = kernel_alloc(3 * WIDTH * HEIGHT, 1);
  CHECK_EQ_INT(samara_preprocess(&r, &image, NULL, NULL, out, 3 * WIDTH * HEIGHT, NULL), SAMARA_OK);
  const uint8_t *pixels = image.planes[0].data;
  for (int i = 0; i < WIDTH * HEIGHT; i++)
    for (int c = 0; c < 3; c++) CHECK_EQ_INT(out[3 * i + c], pixels[4 * i + 2 - c]);
  kernel_free(out, 1), drop(&image);
}

// The shape follows the rotation and the crop of the picture.
SMR_TEST(shapes) {
  samara_image image = picture();
  samara_image_record r = record_of(SAMARA_UINT8);
  r.resize = SAMARA_RESIZE_NONE;
  int64_t shape[SAMARA_MAX_RANK];
  int32_t rank;
  image.rotation = 90, image.crop_width = 5, image.crop_height = 6;
  CHECK_EQ_INT(samara_preprocess_shape(&r, &image, shape, &rank, NULL), SAMARA_OK);
  CHECK(rank == 4 && shape[0] == 1 && shape[1] == 3 && shape[2] == 5 && shape[3] == 6);
  r.crop_width = 7, r.crop_height = 5, rank = 77;
  samara_error error;
  CHECK_EQ_INT(samara_preprocess_shape(&r, &image, shape, &rank, &error), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(error.text, "the picture is 6x5 after resizing and the record crops 7x5");
  CHECK_EQ_INT(rank, 77);
  drop(&image);
}

SMR_TEST(memory_of_any_alignment) {
  static const samara_dtype dtypes[] = {SAMARA_FLOAT32, SAMARA_FLOAT16, SAMARA_UINT8, SAMARA_INT8};
  const samara_image image = picture();
  for (int k = 0; k < 4; k++) {
    const samara_image_record r = record_of(dtypes[k]);
    const size_t bytes = bytes_of(&r, &image);
    uint8_t *want = kernel_alloc(bytes, 16);
    CHECK_EQ_INT(samara_preprocess(&r, &image, NULL, NULL, want, bytes, NULL), SAMARA_OK);
    CHECK(!untouched(want, bytes));
    for (size_t shift = 1; shift < 8; shift++) {
      uint8_t *out = kernel_alloc(bytes, shift);
      CHECK_EQ_INT(samara_preprocess(&r, &image, NULL, NULL, out, bytes, NULL), SAMARA_OK);
      CHECK_MEM(out, want, bytes);
      kernel_free(out, shift);
    }
    kernel_free(want, 16);
  }
  drop(&image);
}

static void check_fails(const samara_image_record *record, const samara_image *image,
                        size_t size_bytes, samara_status status, const char *part) {
  struct literal_memory memory;
  literal_memory_init(&memory);
  samara_error error = {SAMARA_OK, ""};
  static uint8_t out[MOST_BYTES];
  memset(out, FILL, sizeof out);
  CHECK_EQ_INT(samara_preprocess(record, image, NULL, &memory.allocator, out, size_bytes, &error),
               status);
  CHECK_EQ_INT(error.status, status);
  CHECK_CONTAINS(error.text, part);
  CHECK(untouched(out, sizeof out) && memory.live == 0);
  CHECK_EQ_INT(samara_preprocess(record, image, NULL, &memory.allocator, out, size_bytes, NULL),
               status);
}

SMR_TEST(what_callers_get_wrong) {
  const samara_image image = picture();
  const samara_image_record r = record_of(SAMARA_FLOAT32);
  const size_t bytes = bytes_of(&r, &image);
  check_fails(NULL, &image, bytes, SAMARA_BAD_ARGUMENT, "the record is NULL");
  check_fails(&r, NULL, bytes, SAMARA_BAD_ARGUMENT, "the picture is NULL");
  check_fails(&r, &image, bytes - 1, SAMARA_BAD_SHAPE, "the tensor takes 12276 bytes, out has");
  check_fails(&r, &image, bytes + 1, SAMARA_BAD_SHAPE, "the tensor takes 12276 bytes, out has");
  check_fails(&r, &image, 0, SAMARA_BAD_SHAPE, "out has 0");
  samara_image_record wrong = r;
  wrong.struct_size = 0;
  check_fails(&wrong, &image, bytes, SAMARA_BAD_ARGUMENT, "samara_image_record: struct_size is 0");
  wrong = r, wrong.scale[2] = 0;
  check_fails(&wrong, &image, bytes, SAMARA_BAD_ARGUMENT, "channel 2");
  wrong = r, wrong.resize = SAMARA_RESIZE_NONE, wrong.crop_width = wrong.crop_height = 24;
  check_fails(&wrong, &image, bytes, SAMARA_BAD_SHAPE, "crops 24x24 out of it");
  samara_image lie = image;
  lie.planes[0].size_bytes--;
  check_fails(&r, &lie, bytes, SAMARA_BAD_ARGUMENT, "RGBA picture: plane 0 has 1563 bytes");
  samara_error error;
  CHECK_EQ_INT(samara_preprocess(&r, &image, NULL, NULL, NULL, bytes, &error), SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(error.text, "out is NULL");
  int64_t shape[SAMARA_MAX_RANK];
  int32_t rank;
  CHECK_EQ_INT(samara_preprocess_shape(&r, &image, NULL, &rank, &error), SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(error.text, "shape or rank is NULL");
  CHECK_EQ_INT(samara_preprocess_shape(&r, &image, shape, NULL, NULL), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_preprocess_shape(NULL, &image, shape, &rank, &error), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_preprocess_shape(&r, NULL, shape, &rank, &error), SAMARA_BAD_ARGUMENT);
  drop(&image);
}

// The record of an older program: fields past its end count as zero.
SMR_TEST(records_of_other_sizes) {
  const samara_image image = picture();
  struct {
    samara_image_record record;
    uint32_t more[2];  // no bytes between or behind them
  } newer = {.record = record_of(SAMARA_UINT8)};
  samara_image_record older = newer.record;
  older.matrix = (samara_yuv_matrix)77;  // not looked at
  older.struct_size = offsetof(samara_image_record, matrix);
  newer.record.struct_size = sizeof newer;
  const size_t bytes = bytes_of(&older, &image);
  CHECK_EQ_INT(bytes, bytes_of(&newer.record, &image));
  newer.more[1] = 1;
  check_fails(&newer.record, &image, bytes, SAMARA_BAD_ARGUMENT, "and 0 in fields beyond");
  drop(&image);
}

// With an allocator whose call `k` fails, until none does.
SMR_TEST(memory_that_runs_out) {
  const samara_image image = picture();
  const samara_image_record r = record_of(SAMARA_FLOAT32);
  const size_t bytes = bytes_of(&r, &image);
  for (size_t shift = 0; shift < 2; shift++) {  // aligned, and not
    samara_status status = SAMARA_OUT_OF_MEMORY;
    for (size_t k = 1; status != SAMARA_OK && k < 10; k++) {
      struct literal_memory memory;
      literal_memory_init(&memory);
      memory.fail_at = k;
      uint8_t *out = kernel_alloc(bytes, 16 + shift);
      samara_error error = {SAMARA_OK, ""};
      status = samara_preprocess(&r, &image, NULL, &memory.allocator, out, bytes, &error);
      CHECK_EQ_INT(memory.live, 0);
      if (status != SAMARA_OK) {
        CHECK_EQ_INT(status, SAMARA_OUT_OF_MEMORY);
        CHECK_EQ_INT(error.status, SAMARA_OUT_OF_MEMORY);
        CHECK(error.text[0] != '\0' && untouched(out, bytes));
      } else {
        CHECK(k > 1);
      }
      kernel_free(out, 16 + shift);
    }
    CHECK_EQ_INT(status, SAMARA_OK);
  }
  drop(&image);
}

SMR_TEST(threads_give_the_same_bits) {
  const samara_image image = picture();
  for (size_t threads = 1; threads <= 4; threads++) {
    samara_pool *pool = NULL;
    const samara_pool_options options = {.struct_size = sizeof options, .threads = threads};
    REQUIRE(samara_pool_create(&options, &pool, NULL) == SAMARA_OK);
    samara_image_record r = record_of(threads % 2 != 0 ? SAMARA_INT8 : SAMARA_FLOAT16);
    r.resize = SAMARA_RESIZE_SIZE, r.resize_height = 2000;  // enough that all threads take some
    const size_t bytes = bytes_of(&r, &image);
    uint8_t *want = kernel_alloc(bytes, 4), *out = kernel_alloc(bytes, 4);
    CHECK_EQ_INT(samara_preprocess(&r, &image, NULL, NULL, want, bytes, NULL), SAMARA_OK);
    for (int turn = 0; turn < 5; turn++) {
      memset(out, FILL, bytes);
      CHECK_EQ_INT(samara_preprocess(&r, &image, pool, NULL, out, bytes, NULL), SAMARA_OK);
      CHECK_MEM(out, want, bytes);
    }
    kernel_free(want, 4), kernel_free(out, 4);
    samara_pool_destroy(pool);
  }
  drop(&image);
}

SMR_TEST_MAIN(RUN(bytes_pass_through); RUN(shapes); RUN(memory_of_any_alignment);
              RUN(what_callers_get_wrong); RUN(records_of_other_sizes); RUN(memory_that_runs_out);
              RUN(threads_give_the_same_bits))
