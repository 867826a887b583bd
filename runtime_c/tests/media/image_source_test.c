// SPDX-License-Identifier: Apache-2.0
// Tests wrong values in every field of a picture: each is refused with a text that names the field.
// Unusual but valid values are accepted.
#include "base/fp.h"

#include "media/image.h"

#include "harness.h"
#include "kernels/kernel_data.h"

// A picture of 6 x 5 pixels in exactly as many bytes as its format takes.
enum { WIDTH = 6, HEIGHT = 5, HALF_WIDTH = 3, HALF_HEIGHT = 3, LUMA = WIDTH * HEIGHT };

static samara_image_record record_of(void) {
  return (samara_image_record){.struct_size = sizeof(samara_image_record),
                               .colour = SAMARA_COLOUR_RGB,
                               .dtype = SAMARA_UINT8,
                               .layout = SAMARA_NHWC};
}

static uint8_t source_bytes[4 * LUMA];

static samara_image picture(samara_image_format format) {
  static const size_t pixel[] = {0, 3, 3, 4, 4, 1, 1, 1, 1};
  samara_image i = {.struct_size = sizeof i, .format = format, .width = WIDTH, .height = HEIGHT};
  i.planes[0] = (samara_plane){.data = source_bytes, .size_bytes = LUMA * pixel[format]};
  if (format < SAMARA_NV21) return i;
  const bool planar = format == SAMARA_I420;
  const size_t size = HALF_WIDTH * HALF_HEIGHT * (planar ? 1 : 2);
  i.planes[1] = (samara_plane){.data = source_bytes + LUMA, .size_bytes = size};
  if (planar) i.planes[2] = (samara_plane){.data = source_bytes + 2 * LUMA, .size_bytes = size};
  return i;
}

static samara_status source_of(const samara_image *image, struct smr_image_source *out,
                               samara_error *error) {
  const samara_image_record record = record_of();
  return smr_image_source(image, &record, out, error);
}

static int source_refused(samara_image image, const char *part) {
  samara_error error = {SAMARA_OK, ""};
  struct smr_image_source source;
  memset(&source, 0x5a, sizeof source);
  const struct smr_image_source before = source;
  return CHECK_EQ_INT(source_of(&image, &source, &error), SAMARA_BAD_ARGUMENT) &
         CHECK_EQ_INT(error.status, SAMARA_BAD_ARGUMENT) & CHECK_CONTAINS(error.text, part) &
         CHECK_MEM(&source, &before, sizeof source);
}

static int source_taken(samara_image image, struct smr_image_source *out) {
  samara_error error = {SAMARA_OK, ""};
  const int taken = CHECK_EQ_INT(source_of(&image, out, &error), SAMARA_OK);
  if (!taken) fprintf(stderr, "  %s\n", error.text);
  return taken;
}

#define REFUSED(field, value, part)  \
  do {                               \
    samara_image i_ = image;         \
    i_.field = (value);              \
    CHECK(source_refused(i_, part)); \
  } while (0)
#define TAKEN(field, value)       \
  do {                            \
    samara_image i_ = image;      \
    struct smr_image_source s_;   \
    i_.field = (value);           \
    CHECK(source_taken(i_, &s_)); \
  } while (0)

// The axes of the oriented picture.
static const struct smr_image_axis_source *axis_x(const struct smr_image_source *s) {
  return s->turned ? &s->over : &s->along;
}
static const struct smr_image_axis_source *axis_y(const struct smr_image_source *s) {
  return s->turned ? &s->along : &s->over;
}

SMR_TEST(struct_size) {
  const samara_image image = picture(SAMARA_RGB);
  samara_error error;
  struct smr_image_source source;
  CHECK_EQ_INT(source_of(NULL, &source, &error), SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(error.text, "the picture is NULL");
  REFUSED(struct_size, 0, "samara_image: struct_size is 0");
  REFUSED(struct_size, sizeof(size_t) - 1, "samara_image: struct_size is");
  REFUSED(struct_size, sizeof(size_t), "no format has code 0");  // nothing but the size is set
  // A newer program: fields that this library does not know may be zero only.
  struct {
    samara_image image;
    uint32_t more[2];
  } newer = {.image = image};
  newer.image.struct_size = sizeof newer;
  CHECK_EQ_INT(source_of(&newer.image, &source, &error), SAMARA_OK);
  newer.more[1] = 1;
  CHECK_EQ_INT(source_of(&newer.image, &source, &error), SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(error.text, "and 0 in fields beyond the");
}

SMR_TEST(codes) {
  for (int format = SAMARA_RGB; format <= SAMARA_I420; format++) {
    struct smr_image_source source;
    CHECK(source_taken(picture((samara_image_format)format), &source));
  }
  const samara_image image = picture(SAMARA_NV12);
  REFUSED(format, (samara_image_format)0, "no format has code 0");
  REFUSED(format, (samara_image_format)9, "no format has code 9");
  REFUSED(format, (samara_image_format)0x7fffffff, "no format has code 2147483647");
  REFUSED(format, (samara_image_format)-1, "no format has code -1");
  REFUSED(matrix, (samara_yuv_matrix)3, "no matrix has code 3, or no range code 0");
  REFUSED(matrix, (samara_yuv_matrix)-1, "no matrix has code -1");
  REFUSED(range, (samara_yuv_range)3, "no matrix has code 0, or no range code 3");
  REFUSED(range, (samara_yuv_range)-1, "no range code -1");
}

SMR_TEST(sides) {
  const samara_image image = picture(SAMARA_GRAY);
  REFUSED(width, 0, "picture of 0x5; sides are 1 to 16384");
  REFUSED(height, 0, "picture of 6x0; sides are 1 to 16384");
  REFUSED(width, 16385, "picture of 16385x5; sides are 1 to 16384");
  REFUSED(height, UINT32_MAX, "picture of 6x4294967295");
  REFUSED(width, 16384, "plane 0 has 30 bytes; 16384x5 with row stride 16384 takes 81920");
  static uint8_t longest[SAMARA_MAX_SIDE];
  samara_image line = image;
  line.planes[0] = (samara_plane){.data = longest, .size_bytes = sizeof longest};
  struct smr_image_source source;
  line.width = SAMARA_MAX_SIDE, line.height = 1;
  CHECK(source_taken(line, &source) && axis_x(&source)->count == SAMARA_MAX_SIDE &&
        axis_y(&source)->count == 1);
  line.width = 1, line.height = SAMARA_MAX_SIDE;
  CHECK(source_taken(line, &source) && axis_y(&source)->count == SAMARA_MAX_SIDE &&
        axis_x(&source)->count == 1);
}

SMR_TEST(crops) {
  samara_image image = picture(SAMARA_BGRA);
  REFUSED(crop_width, 3, "crop of 3x0 at (0, 0) leaves the picture of 6x5");
  REFUSED(crop_height, 3, "crop of 0x3 at (0, 0) leaves the picture");
  REFUSED(crop_x, 1, "crop of 0x0 at (1, 0) leaves the picture");
  image.crop_width = WIDTH, image.crop_height = HEIGHT;
  struct smr_image_source source;
  CHECK(source_taken(image, &source));
  REFUSED(crop_width, WIDTH + 1, "crop of 7x5 at (0, 0) leaves the picture of 6x5");
  REFUSED(crop_height, HEIGHT + 1, "crop of 6x6 at (0, 0) leaves");
  REFUSED(crop_x, 1, "crop of 6x5 at (1, 0) leaves");
  REFUSED(crop_y, 1, "crop of 6x5 at (0, 1) leaves");
  // Sums that overflow 32 bits.
  REFUSED(crop_x, UINT32_MAX, "crop of 6x5 at (4294967295, 0) leaves");
  REFUSED(crop_y, UINT32_MAX - 3, "crop of 6x5 at (0, 4294967292) leaves");
  image.crop_x = 2, image.crop_y = 3, image.crop_width = 4, image.crop_height = 2;
  CHECK(source_taken(image, &source) && axis_x(&source)->count == 4 && axis_y(&source)->count == 2);
  REFUSED(crop_width, UINT32_MAX, "crop of 4294967295x2 at (2, 3) leaves");
  REFUSED(crop_width, UINT32_MAX - 1, "crop of 4294967294x2");  // x + width is 0
  REFUSED(crop_height, UINT32_MAX - 2, "crop of 4x4294967293");
  REFUSED(crop_x, 6, "crop of 4x2 at (6, 3) leaves");
  REFUSED(crop_height, 3, "crop of 4x3 at (2, 3) leaves");
}

SMR_TEST(rotations) {
  const samara_image image = picture(SAMARA_I420);
  static const uint32_t wrong[] = {1, 45, 89, 271, 360, 450, 0x80000000u, 4294967280u};
  for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++)
    REFUSED(rotation, wrong[k], "degrees; 0, 90, 180 or 270 are known");
  for (uint32_t angle = 0; angle < 360; angle += 90) TAKEN(rotation, angle);
}

// Every plane of every format, with one byte too few, and none.
SMR_TEST(short_planes) {
  static const char *const names[] = {"",     "RGB",  "BGR",  "RGBA", "BGRA",
                                      "GRAY", "NV21", "NV12", "I420"};
  for (int format = SAMARA_RGB; format <= SAMARA_I420; format++) {
    const samara_image image = picture((samara_image_format)format);
    const int planes = format < SAMARA_NV21 ? 1 : format == SAMARA_I420 ? 3 : 2;
    for (int p = 0; p < planes; p++) {
      char part[64];
      snprintf(part, sizeof part, "%s picture: plane %d has %zu bytes; %s", names[format], p,
               image.planes[p].size_bytes - 1, p == 0 ? "6x5" : "3x3");
      REFUSED(planes[p].size_bytes, image.planes[p].size_bytes - 1, part);
      REFUSED(planes[p].size_bytes, 0, "has 0 bytes");
      TAKEN(planes[p].size_bytes, image.planes[p].size_bytes + 1);
      TAKEN(planes[p].size_bytes, SIZE_MAX);
      snprintf(part, sizeof part, "%s picture: plane %d is NULL", names[format], p);
      REFUSED(planes[p].data, NULL, part);
    }
  }
}

SMR_TEST(strides) {
  samara_image image = picture(SAMARA_RGB);
  samara_plane *p = &image.planes[0];
  p->row_stride = 3 * WIDTH;
  struct smr_image_source source;
  CHECK(source_taken(image, &source) && axis_x(&source)->strides[0] == 3 &&
        axis_y(&source)->strides[0] == 18);
  REFUSED(planes[0].row_stride, 17, "rows of plane 0 are 17 bytes apart and take 18");
  REFUSED(planes[0].row_stride, 19, "plane 0 has 90 bytes; 6x5 with row stride 19 takes 94");
  REFUSED(planes[0].pixel_stride, 2, "pixels of plane 0 are 2 bytes apart and take 3");
  REFUSED(planes[0].pixel_stride, 4, "rows of plane 0 are 18 bytes apart and take 23");
  REFUSED(planes[0].row_stride, SIZE_MAX, "plane 0 spans more than 2 GiB");
  REFUSED(planes[0].row_stride, SIZE_MAX / 4 + 1, "plane 0 spans more than 2 GiB");
  REFUSED(planes[0].pixel_stride, SIZE_MAX, "plane 0 spans more than 2 GiB");
  REFUSED(planes[0].row_stride, (size_t)1 << 29, "plane 0 spans more than 2 GiB");
  // The last row ends with its last pixel, not with the stride.
  p->row_stride = 21, p->size_bytes = 4 * 21 + 18;
  CHECK(source_taken(image, &source) && axis_y(&source)->strides[0] == 21);
  REFUSED(planes[0].size_bytes, p->size_bytes - 1, "plane 0 has 101 bytes; 6x5 with row stride 21");
  // The stride of a single row or column is ignored.
  image.height = 1, p->row_stride = 1, p->size_bytes = 18;
  CHECK(source_taken(image, &source));
  p->row_stride = SIZE_MAX;
  CHECK(source_taken(image, &source));
  image = picture(SAMARA_RGB), image.width = 1, image.planes[0].pixel_stride = 4;
  CHECK(source_taken(image, &source) && axis_y(&source)->strides[0] == 4);
}

SMR_TEST(strides_of_colours) {
  samara_image image = picture(SAMARA_NV21);
  REFUSED(planes[1].pixel_stride, 1, "pixels of plane 1 are 1 bytes apart and take 2");
  REFUSED(planes[1].row_stride, 5, "rows of plane 1 are 5 bytes apart and take 6");
  REFUSED(planes[1].row_stride, 7, "plane 1 has 18 bytes; 3x3 with row stride 7 takes 20");
  image = picture(SAMARA_I420);
  image.planes[1].size_bytes = image.planes[2].size_bytes = 100;
  image.planes[1].row_stride = 4, image.planes[2].pixel_stride = 2;
  struct smr_image_source source;
  REQUIRE(source_taken(image, &source));
  CHECK(axis_y(&source)->strides[1] == 4 && axis_y(&source)->strides[2] == 6);
  CHECK(axis_x(&source)->strides[1] == 1 && axis_x(&source)->strides[2] == 2);
}

// Interleaved U and V, given as two overlapping planes, the second one byte shorter, as Android
// cameras do.
SMR_TEST(planes_that_overlap) {
  enum { PAIRS = 2 * HALF_WIDTH * HALF_HEIGHT };
  samara_image image = picture(SAMARA_I420);
  for (int p = 1; p <= 2; p++)
    image.planes[p] = (samara_plane){.data = source_bytes + LUMA + (p - 1),
                                     .size_bytes = PAIRS - 1,
                                     .row_stride = 2 * HALF_WIDTH,
                                     .pixel_stride = 2};
  struct smr_image_source source;
  REQUIRE(source_taken(image, &source));
  CHECK(source.planes[1] == source_bytes + LUMA && source.planes[2] == source_bytes + LUMA + 1);
  CHECK(axis_x(&source)->strides[1] == 2 && axis_y(&source)->strides[1] == 2 * HALF_WIDTH);
  REFUSED(planes[2].size_bytes, PAIRS - 2, "plane 2 has 16 bytes; 3x3 with row stride 6 takes 17");
}

SMR_TEST(order_of_colours) {
  struct smr_image_source source;
  CHECK(source_taken(picture(SAMARA_NV12), &source) && source.kind == SMR_IMAGE_YUV);
  CHECK(source.planes[1] == source_bytes + LUMA && source.planes[2] == source_bytes + LUMA + 1);
  CHECK(source_taken(picture(SAMARA_NV21), &source) && source.kind == SMR_IMAGE_YUV);
  CHECK(source.planes[2] == source_bytes + LUMA && source.planes[1] == source_bytes + LUMA + 1);
  CHECK(source_taken(picture(SAMARA_BGRA), &source) && source.kind == SMR_IMAGE_FOUR);
  CHECK(source.at[0] == 2 && source.at[1] == 1 && source.at[2] == 0);
  CHECK(source_taken(picture(SAMARA_RGB), &source) && source.kind == SMR_IMAGE_PACKED);
  CHECK(source.at[0] == 0 && source.at[1] == 1 && source.at[2] == 2);
  CHECK(source_taken(picture(SAMARA_GRAY), &source) && source.kind == SMR_IMAGE_ONE);
}

// The picture takes precedence, then the record, then BT.601 and limited range.
SMR_TEST(matrix_and_range) {
  static const int32_t red[3][3] = {{104597, 104597, 91881},
                                    {104597, 104597, 91881},
                                    {117489, 117489, 103206}};  // by matrix and range
  for (int k = 0; k < 81; k++) {
    const int of_image[2] = {k % 3, k / 3 % 3}, of_record[2] = {k / 9 % 3, k / 27};
    samara_image image = picture(SAMARA_NV12);
    samara_image_record record = record_of();
    image.matrix = (samara_yuv_matrix)of_image[0], image.range = (samara_yuv_range)of_image[1];
    record.matrix = (samara_yuv_matrix)of_record[0], record.range = (samara_yuv_range)of_record[1];
    struct smr_image_source source;
    samara_error error;
    REQUIRE(smr_image_source(&image, &record, &source, &error) == SAMARA_OK);
    const int matrix = of_image[0] != 0 ? of_image[0] : of_record[0];
    const int range = of_image[1] != 0 ? of_image[1] : of_record[1];
    CHECK_EQ_INT(source.colour.rv, red[matrix][range]);
    CHECK_EQ_INT(source.colour.offset, range == SAMARA_FULL_RANGE ? 0 : 16);
  }
}

// Where the first pixel of the oriented picture is, and which way its axes go.
SMR_TEST(orientation) {
  static const int want[8][6] = {
      // x: first, step, stride; y: the same; of a crop of 3 x 2 at (1, 2), rotated, then mirrored
      {1, 1, 1, 2, 1, 6},   {3, -1, 1, 2, 1, 6}, {3, -1, 6, 1, 1, 1}, {2, 1, 6, 1, 1, 1},
      {3, -1, 1, 3, -1, 6}, {1, 1, 1, 3, -1, 6}, {2, 1, 6, 3, -1, 1}, {3, -1, 6, 3, -1, 1},
  };
  for (int k = 0; k < 8; k++) {
    samara_image image = picture(SAMARA_GRAY);
    image.crop_x = 1, image.crop_y = 2, image.crop_width = 3, image.crop_height = 2;
    image.rotation = 90 * (uint32_t)(k / 2), image.mirror = k % 2 != 0;
    struct smr_image_source s;
    REQUIRE(source_taken(image, &s));
    const int got[6] = {axis_x(&s)->first, axis_x(&s)->step, (int)axis_x(&s)->strides[0],
                        axis_y(&s)->first, axis_y(&s)->step, (int)axis_y(&s)->strides[0]};
    if (!CHECK_MEM(got, want[k], sizeof got)) fprintf(stderr, "  turn %d\n", k);
    CHECK_EQ_INT(axis_x(&s)->count, k / 2 % 2 != 0 ? 2 : 3);
    CHECK_EQ_INT(axis_y(&s)->count, k / 2 % 2 != 0 ? 3 : 2);
  }
}

SMR_TEST_MAIN(RUN(struct_size); RUN(codes); RUN(sides); RUN(crops); RUN(rotations);
              RUN(short_planes); RUN(strides); RUN(strides_of_colours); RUN(planes_that_overlap);
              RUN(order_of_colours); RUN(matrix_and_range); RUN(orientation))
