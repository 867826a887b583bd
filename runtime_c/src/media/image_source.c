// SPDX-License-Identifier: Apache-2.0
// Pictures from callers: checks every field before a sample is read.
#include "base/fp.h"

#include "media/image.h"

#include "base/checked.h"
#include "base/format.h"

// Formats by code: whether this build has it, number of planes, bytes per pixel of the first plane,
// and positions of R, G and B in a pixel.
static const struct image_format {
  const char *name;
  uint8_t taken, planes, pixel_bytes, at[3];
} image_formats[] = {
    [SAMARA_RGB] = {"RGB", SMR_HAS(image_from_rgb), 1, 3, {0, 1, 2}},
    [SAMARA_BGR] = {"BGR", SMR_HAS(image_from_bgr), 1, 3, {2, 1, 0}},
    [SAMARA_RGBA] = {"RGBA", SMR_HAS(image_from_rgba), 1, 4, {0, 1, 2}},
    [SAMARA_BGRA] = {"BGRA", SMR_HAS(image_from_bgra), 1, 4, {2, 1, 0}},
    [SAMARA_GRAY] = {"GRAY", SMR_HAS(image_from_gray), 1, 1, {0}},
    [SAMARA_NV21] = {"NV21", SMR_HAS(image_from_nv21), 2, 1, {0}},
    [SAMARA_NV12] = {"NV12", SMR_HAS(image_from_nv12), 2, 1, {0}},
    [SAMARA_I420] = {"I420", SMR_HAS(image_from_i420), 3, 1, {0}},
};

// Factors by matrix and range, from docs/guides/preprocessing.md.
static const struct smr_image_colour image_colours[2][2] = {
    {{16, 76309, 104597, -25675, -53279, 132201}, {0, 65536, 91881, -22553, -46802, 116130}},
    {{16, 76309, 117489, -13975, -34925, 138438}, {0, 65536, 103206, -12276, -30679, 121609}},
};

// Refuse a picture in a format that this build leaves out.
static samara_status image_not_taken(const struct image_format *format, samara_error *error) {
#define IMAGE_TAKEN(part, name) (SMR_HAS(image_from_##part) ? " " name : "")
  SMR_FAIL(error, UNSUPPORTED,
           "%s picture: this build takes%s%s%s%s%s%s%s%s pictures only; build it with the feature "
           "of this format too (that of RGBA is image_rgba)",
           format->name, IMAGE_TAKEN(rgb, "RGB"), IMAGE_TAKEN(bgr, "BGR"),
           IMAGE_TAKEN(rgba, "RGBA"), IMAGE_TAKEN(bgra, "BGRA"), IMAGE_TAKEN(gray, "GRAY"),
           IMAGE_TAKEN(nv21, "NV21"), IMAGE_TAKEN(nv12, "NV12"), IMAGE_TAKEN(i420, "I420"));
#undef IMAGE_TAKEN
}

// A plane with its defaults filled in, of width x height samples of `bytes` bytes.
static samara_status image_plane(const samara_image *image, int index, uint32_t width,
                                 uint32_t height, size_t bytes, samara_plane *out,
                                 samara_error *error) {
  samara_plane p = image->planes[index];
  const char *name = image_formats[image->format].name;
  if (p.data == NULL) SMR_FAIL(error, BAD_ARGUMENT, "%s picture: plane %d is NULL", name, index);
  if (p.pixel_stride == 0) p.pixel_stride = bytes;
  size_t row, rows, columns, needed;
  const bool fits =
      smr_mul_size(width - 1, p.pixel_stride, &columns) && smr_add_size(columns, bytes, &row) &&
      (p.row_stride != 0 || smr_mul_size(width, p.pixel_stride, &p.row_stride)) &&
      smr_mul_size(height - 1, p.row_stride, &rows) && smr_add_size(rows, row, &needed);
  if (p.pixel_stride < bytes)
    SMR_FAIL(error, BAD_ARGUMENT, "%s picture: pixels of plane %d are %zu bytes apart and take %zu",
             name, index, p.pixel_stride, bytes);
  if (!fits || needed > INT32_MAX)
    SMR_FAIL(error, BAD_ARGUMENT,
             "%s picture: plane %d spans more than 2 GiB with row stride %zu, pixel stride %zu",
             name, index, p.row_stride, p.pixel_stride);
  if (p.row_stride < row && height > 1)
    SMR_FAIL(error, BAD_ARGUMENT, "%s picture: rows of plane %d are %zu bytes apart and take %zu",
             name, index, p.row_stride, row);
  if (p.size_bytes < needed)
    SMR_FAIL(error, BAD_ARGUMENT,
             "%s picture: plane %d has %zu bytes; %ux%u with row stride %zu takes %zu", name, index,
             p.size_bytes, (unsigned)width, (unsigned)height, p.row_stride, needed);
  *out = p;
  return SAMARA_OK;
}

// The planes of U and V, each as a plane of separate samples.
static samara_status image_chroma_planes(const samara_image *image, samara_plane *u,
                                         samara_plane *v, samara_error *error) {
  const uint32_t width = (image->width + 1) / 2, height = (image->height + 1) / 2;
  if (SMR_HAS(image_from_i420) && image->format == SAMARA_I420) {
    SMR_TRY(image_plane(image, 1, width, height, 1, u, error));
    return image_plane(image, 2, width, height, 1, v, error);
  }
  SMR_TRY(image_plane(image, 1, width, height, 2, u, error));
  *v = *u;
  samara_plane *second = image->format == SAMARA_NV21 ? u : v;
  second->data = (const uint8_t *)second->data + 1;
  return SAMARA_OK;
}

// The crop.
struct image_part {
  uint32_t x, y, width, height;
};

static samara_status image_part(const samara_image *image, struct image_part *out,
                                samara_error *error) {
  if (image->width - 1 >= SAMARA_MAX_SIDE || image->height - 1 >= SAMARA_MAX_SIDE)
    SMR_FAIL(error, BAD_ARGUMENT, "picture of %ux%u; sides are 1 to %d", (unsigned)image->width,
             (unsigned)image->height, SAMARA_MAX_SIDE);
  struct image_part p = {image->crop_x, image->crop_y, image->crop_width, image->crop_height};
  if (p.width == 0 && p.height == 0 && p.x == 0 && p.y == 0)
    p.width = image->width, p.height = image->height;
  if (p.width == 0 || p.height == 0 || p.x >= image->width || p.y >= image->height ||
      p.width > image->width - p.x || p.height > image->height - p.y)
    SMR_FAIL(error, BAD_ARGUMENT, "crop of %ux%u at (%u, %u) leaves the picture of %ux%u",
             (unsigned)p.width, (unsigned)p.height, (unsigned)p.x, (unsigned)p.y,
             (unsigned)image->width, (unsigned)image->height);
  if (image->rotation > 270 || image->rotation % 90 != 0)
    SMR_FAIL(error, BAD_ARGUMENT, "rotation of %u degrees; 0, 90, 180 or 270 are known",
             (unsigned)image->rotation);
  *out = p;
  return SAMARA_OK;
}

static void image_axis_source(uint32_t first, uint32_t count, bool backwards,
                              struct smr_image_axis_source *out) {
  out->count = count;
  out->first = (int32_t)(backwards ? first + count - 1 : first);
  out->step = backwards ? -1 : 1;
}

// After a clockwise turn by 90 degrees, columns of the source are rows from top to bottom, and its
// rows are columns from right to left. A mirror reverses the columns.
static void image_orient(const samara_image *image, const struct image_part *part,
                         const samara_plane *planes, struct smr_image_source *out) {
  const bool turned = image->rotation % 180 != 0;
  const bool left = image->rotation == 90 || image->rotation == 180;
  const bool up = image->rotation == 180 || image->rotation == 270;
  const bool x_back = left != image->mirror, y_back = up;
  struct smr_image_axis_source x, y;
  image_axis_source(part->x, part->width, turned ? y_back : x_back, &x);
  image_axis_source(part->y, part->height, turned ? x_back : y_back, &y);
  for (int p = 0; p < 3; p++) {
    out->planes[p] = planes[p].data;
    x.strides[p] = planes[p].pixel_stride, y.strides[p] = planes[p].row_stride;
  }
  out->turned = turned, out->along = x, out->over = y;
}

samara_status smr_image_source(const samara_image *given, const samara_image_record *record,
                               struct smr_image_source *out, samara_error *error) {
  samara_image image;
  if (given == NULL) SMR_FAIL(error, BAD_ARGUMENT, "the picture is NULL");
  SMR_TRY(smr_options_read(given, &image, sizeof image, "samara_image", error));
  if (image.format < SAMARA_RGB || image.format > SAMARA_I420)
    SMR_FAIL(error, BAD_ARGUMENT, "picture: no format has code %d", (int)image.format);
  const struct image_format *format = &image_formats[image.format];
  if (!format->taken) return image_not_taken(format, error);
  if ((unsigned)image.matrix > SAMARA_BT709 || (unsigned)image.range > SAMARA_FULL_RANGE)
    SMR_FAIL(error, BAD_ARGUMENT, "picture: no matrix has code %d, or no range code %d",
             (int)image.matrix, (int)image.range);
  struct image_part part = {0};
  SMR_TRY(image_part(&image, &part, error));
  struct smr_image_source s = {.kind = SMR_IMAGE_ONE};
  samara_plane planes[3] = {{.data = NULL}};
  SMR_TRY(
      image_plane(&image, 0, image.width, image.height, format->pixel_bytes, &planes[0], error));
  if (SMR_IMAGE_HAS_YUV && format->planes > 1) {
    SMR_TRY(image_chroma_planes(&image, &planes[1], &planes[2], error));
    s.kind = SMR_IMAGE_YUV;
    const int matrix = image.matrix != 0 ? (int)image.matrix : (int)record->matrix;
    const int range = image.range != 0 ? (int)image.range : (int)record->range;
    s.colour = image_colours[matrix == SAMARA_BT709][range == SAMARA_FULL_RANGE];
  } else if ((SMR_IMAGE_HAS_THREE || SMR_IMAGE_HAS_FOUR) && format->pixel_bytes > 1) {
    s.kind = format->pixel_bytes == 4 ? SMR_IMAGE_FOUR : SMR_IMAGE_PACKED;
  }
  for (int c = 0; c < 3; c++) s.at[c] = format->at[c];
  image_orient(&image, &part, planes, &s);
  *out = s;
  return SAMARA_OK;
}
