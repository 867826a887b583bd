// SPDX-License-Identifier: Apache-2.0
// Tests refusals of a record, and the sizes that it gives.
#include "base/fp.h"

#include "media/image.h"

#include <float.h>

#include "harness.h"

static samara_image_record plain(void) {
  return (samara_image_record){.struct_size = sizeof(samara_image_record),
                               .colour = SAMARA_COLOUR_RGB,
                               .dtype = SAMARA_UINT8,
                               .layout = SAMARA_NHWC};
}

static int record_refused(samara_image_record r, const char *part) {
  samara_error error = {SAMARA_OK, ""};
  return CHECK_EQ_INT(smr_image_record_check(&r, NULL, &error), SAMARA_BAD_ARGUMENT) &
         CHECK_EQ_INT(error.status, SAMARA_BAD_ARGUMENT) & CHECK_CONTAINS(error.text, part);
}

static int record_taken(samara_image_record r) {
  samara_error error = {SAMARA_OK, ""};
  const int taken = CHECK_EQ_INT(smr_image_record_check(&r, NULL, &error), SAMARA_OK);
  if (!taken) fprintf(stderr, "  %s\n", error.text);
  return taken;
}

// `r` with one field set is refused with this text.
#define REFUSED(field, value, part)  \
  do {                               \
    samara_image_record r_ = r;      \
    r_.field = (value);              \
    CHECK(record_refused(r_, part)); \
  } while (0)
#define TAKEN(field, value)     \
  do {                          \
    samara_image_record r_ = r; \
    r_.field = (value);         \
    CHECK(record_taken(r_));    \
  } while (0)

// Which parts a record needs of a build.
SMR_TEST(parts) {
  static const int steps[] = {SMR_PART_image_to_colour,  SMR_PART_image_to_gray,
                              SMR_PART_image_to_float32, SMR_PART_image_to_float16,
                              SMR_PART_image_to_bytes,   SMR_PART_image_area,
                              SMR_PART_image_antialias};
  static const struct {
    samara_colour colour;
    samara_dtype dtype;
    samara_image_filter filter;
    bool antialias;
    bool needs[7];
  } cases[] = {
      {SAMARA_COLOUR_RGB, SAMARA_UINT8, SAMARA_BILINEAR, false, {1, 0, 0, 0, 1, 0, 0}},
      {SAMARA_COLOUR_GRAY, SAMARA_FLOAT32, SAMARA_AREA, false, {0, 1, 1, 0, 0, 1, 0}},
      {SAMARA_COLOUR_BGR, SAMARA_FLOAT16, SAMARA_BILINEAR, true, {1, 0, 0, 1, 0, 0, 1}},
      {SAMARA_COLOUR_BGR, SAMARA_INT8, SAMARA_NEAREST, false, {1, 0, 0, 0, 1, 0, 0}},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    samara_image_record r = plain();
    r.colour = cases[k].colour, r.dtype = cases[k].dtype, r.filter = cases[k].filter;
    r.antialias = cases[k].antialias, r.quant_scale = 1;
    struct smr_parts parts = {.words = {0}};
    CHECK_EQ_INT(smr_image_record_check(&r, &parts, NULL), SAMARA_OK);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
      CHECK_EQ_INT(smr_parts_have(&parts, (size_t)steps[i]), cases[k].needs[i]);
  }
}

SMR_TEST(codes) {
  const samara_image_record r = plain();
  CHECK(record_taken(r));
  REFUSED(colour, (samara_colour)0, "no colour has code 0");
  REFUSED(colour, (samara_colour)4, "no colour has code 4");
  REFUSED(colour, (samara_colour)0x7fffffff, "no colour has code 2147483647");
  REFUSED(colour, (samara_colour)-1, "no colour has code -1");
  REFUSED(layout, (samara_image_layout)0, "no layout has code 0");
  REFUSED(layout, (samara_image_layout)7, "no layout has code 7");
  REFUSED(layout, (samara_image_layout)-1, "no layout has code -1");
  REFUSED(filter, (samara_image_filter)4, "no filter has code 4");
  REFUSED(filter, (samara_image_filter)-1, "no filter has code -1");
  REFUSED(matrix, (samara_yuv_matrix)3, "no matrix has code 3, or no range code 0");
  REFUSED(matrix, (samara_yuv_matrix)-1, "no matrix has code -1");
  REFUSED(range, (samara_yuv_range)3, "no matrix has code 0, or no range code 3");
  REFUSED(range, (samara_yuv_range)-1, "no range code -1");
  REFUSED(resize, (samara_image_resize)4, "no resize has code 4");
  REFUSED(resize, (samara_image_resize)-1, "no resize has code -1");
  static const samara_dtype wrong[] = {SAMARA_FLOAT64, SAMARA_BFLOAT16, SAMARA_INT32,  SAMARA_INT64,
                                       SAMARA_BOOL,    SAMARA_QINT8,    SAMARA_UINT16, SAMARA_INT4};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    REFUSED(dtype, wrong[i], "it makes float32, float16, uint8 and int8");
  REFUSED(dtype, (samara_dtype)-1, "dtype -1; it makes float32");
}

SMR_TEST(codes_that_are_taken) {
  samara_image_record r = plain();
  for (int colour = 1; colour <= 3; colour++) TAKEN(colour, (samara_colour)colour);
  for (int layout = 1; layout <= 4; layout++) TAKEN(layout, (samara_image_layout)layout);
  for (int filter = 0; filter <= 3; filter++) TAKEN(filter, (samara_image_filter)filter);
  for (int code = 0; code <= 2; code++) {
    TAKEN(matrix, (samara_yuv_matrix)code);
    TAKEN(range, (samara_yuv_range)code);
  }
  TAKEN(dtype, SAMARA_FLOAT32);
  TAKEN(dtype, SAMARA_FLOAT16);
  r.colour = SAMARA_COLOUR_GRAY;
  for (int layout = 1; layout <= 6; layout++) TAKEN(layout, (samara_image_layout)layout);
}

SMR_TEST(layouts_without_channels_are_for_gray) {
  samara_image_record r = plain();
  REFUSED(layout, SAMARA_NHW, "a layout without channels is for gray; take nchw");
  REFUSED(layout, SAMARA_HW, "a layout without channels is for gray");
  r.colour = SAMARA_COLOUR_BGR;
  REFUSED(layout, SAMARA_HW, "a layout without channels is for gray");
}

SMR_TEST(antialias_belongs_to_bilinear) {
  samara_image_record r = plain();
  r.antialias = true;
  CHECK(record_taken(r));
  TAKEN(filter, SAMARA_BILINEAR);
  REFUSED(filter, SAMARA_NEAREST, "antialias belongs to the filter bilinear");
  REFUSED(filter, SAMARA_AREA, "antialias belongs to the filter bilinear");
}

SMR_TEST(sides) {
  samara_image_record r = plain();
  r.resize = SAMARA_RESIZE_SIDE;
  REFUSED(resize_width, 0, "resize is 0x0; sides are 1 to 16384");
  REFUSED(resize_width, 16385, "resize is 16385x16385; sides are 1 to 16384");
  REFUSED(resize_width, UINT32_MAX, "resize is 4294967295x4294967295");
  TAKEN(resize_width, 1);
  TAKEN(resize_width, 16384);
  for (int resize = SAMARA_RESIZE_SIZE; resize <= SAMARA_RESIZE_LETTERBOX; resize++) {
    r.resize = (samara_image_resize)resize, r.resize_width = 640, r.resize_height = 480;
    CHECK(record_taken(r));
    REFUSED(resize_width, 0, "resize is 0x480");
    REFUSED(resize_height, 0, "resize is 640x0");
    REFUSED(resize_height, 16385, "resize is 640x16385");
    TAKEN(resize_height, 16384);
  }
}

SMR_TEST(crops) {
  samara_image_record r = plain();
  r.crop_width = 7, r.crop_height = 16384;
  CHECK(record_taken(r));
  REFUSED(crop_width, 0, "crop is 0x16384; sides are 1 to 16384");
  REFUSED(crop_height, 0, "crop is 7x0");
  REFUSED(crop_height, 16385, "crop is 7x16385");
  r.resize_width = r.resize_height = 9;
  REFUSED(resize, SAMARA_RESIZE_LETTERBOX, "crop and letterbox exclude each other");
  TAKEN(resize, SAMARA_RESIZE_SIZE);
}

SMR_TEST(means_and_scales) {
  samara_image_record r = plain();
  r.dtype = SAMARA_FLOAT32, r.normalize = true;
  for (int c = 0; c < 3; c++) r.mean[c] = 1, r.scale[c] = 2;
  CHECK(record_taken(r));
  REFUSED(mean[0], NAN, "channel 0 has mean nan and scale 2; both must be finite");
  REFUSED(mean[1], INFINITY, "channel 1 has mean inf");
  REFUSED(scale[2], -INFINITY, "channel 2 has mean 1 and scale -inf");
  REFUSED(scale[2], NAN, "channel 2");
  REFUSED(scale[1], 0, "channel 1 has mean 1 and scale 0");
  REFUSED(scale[1], -0.0f, "channel 1");
  REFUSED(mean[0], FLT_MIN / 2, "or at least 2^-126 in magnitude");
  REFUSED(scale[0], -FLT_MIN / 2, "or at least 2^-126 in magnitude");
  TAKEN(mean[0], 0);
  TAKEN(mean[0], -0.0f);
  TAKEN(mean[0], -FLT_MIN);
  TAKEN(mean[0], FLT_MAX);
  TAKEN(scale[0], FLT_MIN);
  TAKEN(scale[0], -FLT_MAX);
  // Unused fields may have any value.
  samara_image_record gray = r;
  gray.colour = SAMARA_COLOUR_GRAY, gray.mean[1] = NAN, gray.scale[2] = 0;
  CHECK(record_taken(gray));
  r.normalize = false, r.mean[0] = NAN, r.scale[0] = 0, r.quant_scale = NAN, r.quant_zero = 999;
  CHECK(record_taken(r));
}

SMR_TEST(quantization) {
  samara_image_record r = plain();
  REFUSED(dtype, SAMARA_INT8, "int8 needs a scale to quantize by; add quant=SCALE,ZERO");
  r.normalize = true;
  for (int c = 0; c < 3; c++) r.scale[c] = 1;
  CHECK(record_refused(r, "uint8 with mean or scale needs a scale to quantize by"));
  r.quant_scale = 0.5f, r.quant_zero = 255;
  CHECK(record_taken(r));
  REFUSED(quant_scale, NAN, "quant has scale nan; it must be finite and at least 2^-126");
  REFUSED(quant_scale, INFINITY, "quant has scale inf");
  REFUSED(quant_scale, -0.5f, "quant has scale -0.5");
  REFUSED(quant_scale, FLT_MIN / 2, "at least 2^-126");
  TAKEN(quant_scale, FLT_MIN);
  TAKEN(quant_scale, FLT_MAX);
  REFUSED(quant_zero, 256, "quant has zero point 256; the dtype takes 0 to 255");
  REFUSED(quant_zero, -1, "quant has zero point -1; the dtype takes 0 to 255");
  REFUSED(quant_zero, INT32_MIN, "zero point -2147483648");
  r.dtype = SAMARA_INT8;
  REFUSED(quant_zero, 128, "quant has zero point 128; the dtype takes -128 to 127");
  REFUSED(quant_zero, -129, "zero point -129");
  TAKEN(quant_zero, -128);
  TAKEN(quant_zero, 127);
}

// ---- sizes ----

static samara_image_record resizing(samara_image_resize resize, uint32_t width, uint32_t height) {
  samara_image_record r = plain();
  r.resize = resize, r.resize_width = width, r.resize_height = height;
  return r;
}

static samara_image_record cropping(samara_image_record r, uint32_t width, uint32_t height) {
  r.crop_width = width, r.crop_height = height;
  return r;
}

struct want {
  uint32_t new_width, new_height, width, height, left, top, inner_width, inner_height, from_x,
      from_y;
};

static void check_sizes(samara_image_record r, uint32_t width, uint32_t height, struct want want) {
  samara_error error = {SAMARA_OK, ""};
  struct smr_image_sizes s;
  memset(&s, 0xff, sizeof s);
  const int made = CHECK_EQ_INT(smr_image_sizes(&r, width, height, &s, &error), SAMARA_OK);
  const struct want got = {s.new_width, s.new_height,  s.width,        s.height, s.left,
                           s.top,       s.inner_width, s.inner_height, s.from_x, s.from_y};
  if (!made || !CHECK_MEM(&got, &want, sizeof got) || !CHECK_EQ_INT(s.old_width, width) ||
      !CHECK_EQ_INT(s.old_height, height))
    fprintf(stderr, "  of %ux%u: %ux%u, tensor %ux%u, %ux%u at %u, %u from %u, %u\n",
            (unsigned)width, (unsigned)height, (unsigned)s.new_width, (unsigned)s.new_height,
            (unsigned)s.width, (unsigned)s.height, (unsigned)s.inner_width,
            (unsigned)s.inner_height, (unsigned)s.left, (unsigned)s.top, (unsigned)s.from_x,
            (unsigned)s.from_y);
}

// Resized to new_width by new_height, all of it.
static void check_whole(samara_image_record r, uint32_t width, uint32_t height, uint32_t new_width,
                        uint32_t new_height) {
  check_sizes(r, width, height,
              (struct want){new_width, new_height, new_width, new_height, 0, 0, new_width,
                            new_height, 0, 0});
}

SMR_TEST(sizes_of_resize) {
  check_whole(plain(), 640, 480, 640, 480);
  check_whole(plain(), 1, 16384, 1, 16384);
  check_whole(resizing(SAMARA_RESIZE_SIZE, 3, 16384), 640, 480, 3, 16384);
  const samara_image_record side = resizing(SAMARA_RESIZE_SIDE, 256, 0);
  check_whole(side, 640, 480, 341, 256);  // 341.33
  check_whole(side, 480, 640, 256, 341);
  check_whole(side, 500, 375, 341, 256);
  check_whole(side, 256, 511, 256, 511);
  check_whole(side, 1000, 999, 256, 256);  // 256.26
  check_whole(side, 3, 5, 256, 426);       // 426.67, rounded down
  check_whole(side, 7, 7, 256, 256);
  check_whole(side, 512, 1023, 256, 511);  // 511.5
  check_whole(resizing(SAMARA_RESIZE_SIDE, 1, 0), 3, 2, 1, 1);
  check_whole(resizing(SAMARA_RESIZE_SIDE, 1, 0), 16384, 1, 16384, 1);
  check_whole(resizing(SAMARA_RESIZE_SIDE, 16384, 0), 1, 1, 16384, 16384);
}

// resize=256 crop=224 as the usual evaluation of classifiers has it; ties go to the even pixel.
SMR_TEST(sizes_of_crop) {
  const samara_image_record usual = cropping(resizing(SAMARA_RESIZE_SIDE, 256, 0), 224, 224);
  check_sizes(usual, 640, 480, (struct want){341, 256, 224, 224, 0, 0, 224, 224, 58, 16});  // 58.5
  check_sizes(usual, 480, 640, (struct want){256, 341, 224, 224, 0, 0, 224, 224, 16, 58});
  check_sizes(usual, 375, 500, (struct want){256, 341, 224, 224, 0, 0, 224, 224, 16, 58});
  check_sizes(usual, 500, 334, (struct want){383, 256, 224, 224, 0, 0, 224, 224, 80, 16});  // 79.5
  check_sizes(cropping(plain(), 2, 3), 5, 4, (struct want){5, 4, 2, 3, 0, 0, 2, 3, 2, 0});
  check_sizes(cropping(plain(), 1, 1), 4, 8, (struct want){4, 8, 1, 1, 0, 0, 1, 1, 2, 4});
  check_sizes(cropping(plain(), 9, 7), 9, 7, (struct want){9, 7, 9, 7, 0, 0, 9, 7, 0, 0});
}

SMR_TEST(sizes_of_letterbox) {
  const samara_image_record box = resizing(SAMARA_RESIZE_LETTERBOX, 640, 640);
  check_sizes(box, 1280, 720, (struct want){640, 360, 640, 640, 0, 140, 640, 360, 0, 0});
  check_sizes(box, 720, 1280, (struct want){360, 640, 640, 640, 140, 0, 360, 640, 0, 0});
  check_sizes(box, 640, 480, (struct want){640, 480, 640, 640, 0, 80, 640, 480, 0, 0});
  check_sizes(box, 3, 3, (struct want){640, 640, 640, 640, 0, 0, 640, 640, 0, 0});
  // 640 * 1 / 1281 rounds to 0, which is no size; 639 / 2 lie above, 320 below.
  check_sizes(box, 1281, 1, (struct want){640, 1, 640, 640, 0, 319, 640, 1, 0, 0});
  check_sizes(box, 1, 16384, (struct want){1, 640, 640, 640, 319, 0, 1, 640, 0, 0});
  // 2.5 and 3.5 rows go to the even number.
  const samara_image_record ten = resizing(SAMARA_RESIZE_LETTERBOX, 10, 10);
  check_sizes(ten, 8, 2, (struct want){10, 2, 10, 10, 0, 4, 10, 2, 0, 0});
  check_sizes(ten, 20, 7, (struct want){10, 4, 10, 10, 0, 3, 10, 4, 0, 0});
  check_sizes(ten, 7, 20, (struct want){4, 10, 10, 10, 3, 0, 4, 10, 0, 0});
  const samara_image_record wide = resizing(SAMARA_RESIZE_LETTERBOX, 16384, 1);
  check_sizes(wide, 1, 16384, (struct want){1, 1, 16384, 1, 8191, 0, 1, 1, 0, 0});
  check_sizes(wide, 16384, 1, (struct want){16384, 1, 16384, 1, 0, 0, 16384, 1, 0, 0});
}

static void check_no_sizes(samara_image_record r, uint32_t width, uint32_t height,
                           const char *part) {
  samara_error error = {SAMARA_OK, ""};
  struct smr_image_sizes s = {.width = 77};
  CHECK_EQ_INT(smr_image_sizes(&r, width, height, &s, &error), SAMARA_BAD_SHAPE);
  CHECK_CONTAINS(error.text, part);
  CHECK_EQ_INT(s.width, 77);
}

SMR_TEST(sizes_that_cannot_be) {
  const samara_image_record side = resizing(SAMARA_RESIZE_SIDE, 2, 0);
  check_whole(side, 2, 16384, 2, 16384);
  check_whole(side, 1, 8192, 2, 16384);
  check_no_sizes(side, 1, 8193, "the record resizes this picture to 2x16386; sides are at most");
  // Even if a crop makes it small again.
  check_no_sizes(cropping(side, 1, 1), 1, 8193, "resizes this picture to 2x16386");
  check_no_sizes(cropping(resizing(SAMARA_RESIZE_SIDE, 16384, 0), 5, 5), 16384, 1,
                 "to 268435456x16384");
  check_no_sizes(cropping(plain(), 5, 4), 4, 4,
                 "the picture is 4x4 after resizing and the record crops 5x4 out of it");
  check_no_sizes(cropping(plain(), 4, 5), 4, 4, "crops 4x5 out of it");
}

SMR_TEST(shapes_and_bytes) {
  const struct smr_image_sizes sizes = {.width = 5, .height = 3};
  static const int64_t rgb[4][4] = {{1, 3, 3, 5}, {1, 3, 5, 3}, {3, 3, 5}, {3, 5, 3}};
  static const int64_t gray[6][4] = {{1, 1, 3, 5}, {1, 3, 5, 1}, {1, 3, 5},
                                     {3, 5, 1},    {1, 3, 5},    {3, 5}};
  static const int32_t ranks[6] = {4, 4, 3, 3, 3, 2};
  samara_image_record r = plain();
  int64_t shape[SAMARA_MAX_RANK];
  for (int k = 0; k < 10; k++) {
    const int layout = k % 6;
    r.colour = k < 6 ? SAMARA_COLOUR_GRAY : SAMARA_COLOUR_BGR;
    r.layout = (samara_image_layout)(layout + 1);
    const int64_t *want = k < 6 ? gray[layout] : rgb[layout];
    CHECK_EQ_INT(smr_image_shape(&r, &sizes, shape), ranks[layout]);
    CHECK_MEM(shape, want, (size_t)ranks[layout] * sizeof shape[0]);
  }
  CHECK_EQ_INT(smr_image_bytes(&r, &sizes), 45);
  r.dtype = SAMARA_INT8;
  CHECK_EQ_INT(smr_image_bytes(&r, &sizes), 45);
  r.dtype = SAMARA_FLOAT16;
  CHECK_EQ_INT(smr_image_bytes(&r, &sizes), 90);
  r.dtype = SAMARA_FLOAT32, r.colour = SAMARA_COLOUR_GRAY;
  CHECK_EQ_INT(smr_image_bytes(&r, &sizes), 60);
}

SMR_TEST_MAIN(RUN(parts); RUN(codes); RUN(codes_that_are_taken);
              RUN(layouts_without_channels_are_for_gray); RUN(antialias_belongs_to_bilinear);
              RUN(sides); RUN(crops); RUN(means_and_scales); RUN(quantization);
              RUN(sizes_of_resize); RUN(sizes_of_crop); RUN(sizes_of_letterbox);
              RUN(sizes_that_cannot_be); RUN(shapes_and_bytes))
