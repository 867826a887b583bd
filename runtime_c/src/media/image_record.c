// SPDX-License-Identifier: Apache-2.0
// Image records: checks, and sizes of the result.
#include "base/fp.h"

#include "media/image.h"

#include <float.h>

#include "base/format.h"

// Zero or normal: some machines flush subnormal numbers to zero.
static bool image_number(float x) {
  const float size = x < 0 ? -x : x;
  return size == 0 || (size >= FLT_MIN && size <= FLT_MAX);
}

static samara_status image_record_side(uint32_t width, uint32_t height, const char *what,
                                       samara_error *error) {
  if (width >= 1 && width <= SAMARA_MAX_SIDE && height >= 1 && height <= SAMARA_MAX_SIDE)
    return SAMARA_OK;
  SMR_FAIL(error, BAD_ARGUMENT, "image record: %s is %ux%u; sides are 1 to %d", what,
           (unsigned)width, (unsigned)height, SAMARA_MAX_SIDE);
}

static samara_status image_record_layout(const samara_image_record *r, samara_error *error) {
  if (r->colour < SAMARA_COLOUR_RGB || r->colour > SAMARA_COLOUR_GRAY)
    SMR_FAIL(error, BAD_ARGUMENT, "image record: no colour has code %d", (int)r->colour);
  if (r->layout < SAMARA_NCHW || r->layout > SAMARA_HW)
    SMR_FAIL(error, BAD_ARGUMENT, "image record: no layout has code %d", (int)r->layout);
  if (r->layout >= SAMARA_NHW && r->colour != SAMARA_COLOUR_GRAY)
    SMR_FAIL(error, BAD_ARGUMENT,
             "image record: a layout without channels is for gray; take nchw, nhwc, chw or hwc");
  if ((unsigned)r->filter > SAMARA_AREA)
    SMR_FAIL(error, BAD_ARGUMENT, "image record: no filter has code %d", (int)r->filter);
  if (r->antialias && r->filter > SAMARA_BILINEAR)
    SMR_FAIL(error, BAD_ARGUMENT, "image record: antialias belongs to the filter bilinear");
  const samara_dtype dtype = r->dtype;
  if (dtype != SAMARA_FLOAT32 && dtype != SAMARA_FLOAT16 && dtype != SAMARA_UINT8 &&
      dtype != SAMARA_INT8)
    SMR_FAIL(error, BAD_ARGUMENT,
             "image record: dtype %d; it makes float32, float16, uint8 and int8", (int)dtype);
  if ((unsigned)r->matrix > SAMARA_BT709 || (unsigned)r->range > SAMARA_FULL_RANGE)
    SMR_FAIL(error, BAD_ARGUMENT, "image record: no matrix has code %d, or no range code %d",
             (int)r->matrix, (int)r->range);
  return SAMARA_OK;
}

static samara_status image_record_fit(const samara_image_record *r, samara_error *error) {
  if ((unsigned)r->resize > SAMARA_RESIZE_LETTERBOX)
    SMR_FAIL(error, BAD_ARGUMENT, "image record: no resize has code %d", (int)r->resize);
  if (r->resize != SAMARA_RESIZE_NONE) {
    const uint32_t height = r->resize == SAMARA_RESIZE_SIDE ? r->resize_width : r->resize_height;
    SMR_TRY(image_record_side(r->resize_width, height, "resize", error));
  }
  if (r->crop_width == 0 && r->crop_height == 0) return SAMARA_OK;
  if (r->resize == SAMARA_RESIZE_LETTERBOX)
    SMR_FAIL(error, BAD_ARGUMENT, "image record: crop and letterbox exclude each other");
  return image_record_side(r->crop_width, r->crop_height, "crop", error);
}

static samara_status image_record_numbers(const samara_image_record *r, samara_error *error) {
  for (uint32_t c = 0; r->normalize && c < smr_image_channels(r); c++) {
    if (!image_number(r->mean[c]) || !image_number(r->scale[c]) || r->scale[c] == 0)
      SMR_FAIL(
          error, BAD_ARGUMENT,
          "image record: channel %d has mean %g and scale %g; both must be finite, a mean 0 or "
          "at least 2^-126 in magnitude, a scale at least that",
          (int)c, (double)r->mean[c], (double)r->scale[c]);
  }
  if (!smr_image_is_bytes(r)) return SAMARA_OK;
  const bool quantizes = r->quant_scale >= FLT_MIN && r->quant_scale <= FLT_MAX;
  if (!quantizes && r->quant_scale != 0)
    SMR_FAIL(error, BAD_ARGUMENT,
             "image record: quant has scale %g; it must be finite and at least 2^-126",
             (double)r->quant_scale);
  if (!quantizes && (r->normalize || r->dtype == SAMARA_INT8))
    SMR_FAIL(error, BAD_ARGUMENT,
             "image record: %s needs a scale to quantize by; add quant=SCALE,ZERO",
             r->dtype == SAMARA_INT8 ? "int8" : "uint8 with mean or scale");
  const int32_t low = r->dtype == SAMARA_INT8 ? -128 : 0;
  if (r->quant_zero < low || r->quant_zero > low + 255)
    SMR_FAIL(error, BAD_ARGUMENT, "image record: quant has zero point %d; the dtype takes %d to %d",
             (int)r->quant_zero, (int)low, (int)low + 255);
  return SAMARA_OK;
}

// The parts that a consistent record needs.
static samara_status image_record_needs(const samara_image_record *r, struct smr_parts *parts,
                                        samara_error *error) {
  if (r->colour == SAMARA_COLOUR_GRAY)
    SMR_NEED_IN(parts, error, image_to_gray);
  else
    SMR_NEED_IN(parts, error, image_to_colour);
  if (r->dtype == SAMARA_FLOAT32)
    SMR_NEED_IN(parts, error, image_to_float32);
  else if (r->dtype == SAMARA_FLOAT16)
    SMR_NEED_IN(parts, error, image_to_float16);
  else
    SMR_NEED_IN(parts, error, image_to_bytes);
  if (r->filter == SAMARA_AREA) SMR_NEED_IN(parts, error, image_area);
  if (r->antialias) SMR_NEED_IN(parts, error, image_antialias);
  return SAMARA_OK;
}

samara_status smr_image_record_check(const samara_image_record *record, struct smr_parts *parts,
                                     samara_error *error) {
  SMR_TRY(image_record_layout(record, error));
  SMR_TRY(image_record_fit(record, error));
  SMR_TRY(image_record_needs(record, parts, error));
  return image_record_numbers(record, error);
}

// a / b to the nearest, half to even.
static uint32_t image_rne(uint64_t a, uint64_t b) {
  const uint64_t whole = a / b, rest = a % b;
  return (uint32_t)(whole + (2 * rest > b || (2 * rest == b && whole % 2 != 0)));
}

static uint32_t image_at_least_one(uint64_t x) { return x > 0 ? (uint32_t)x : 1; }

static void image_resized(const samara_image_record *r, struct smr_image_sizes *s) {
  const uint64_t w = s->old_width, h = s->old_height, rw = r->resize_width, rh = r->resize_height;
  s->new_width = (uint32_t)w, s->new_height = (uint32_t)h;
  if (r->resize == SAMARA_RESIZE_SIDE) {
    s->new_width = w <= h ? (uint32_t)rw : image_at_least_one(rw * w / h);
    s->new_height = w <= h ? image_at_least_one(rw * h / w) : (uint32_t)rw;
  } else if (r->resize == SAMARA_RESIZE_SIZE) {
    s->new_width = (uint32_t)rw, s->new_height = (uint32_t)rh;
  } else if (r->resize == SAMARA_RESIZE_LETTERBOX) {
    const bool wide = w * rh >= h * rw;
    s->new_width = wide ? (uint32_t)rw : image_at_least_one(image_rne(w * rh, h));
    s->new_height = wide ? image_at_least_one(image_rne(h * rw, w)) : (uint32_t)rh;
  }
}

samara_status smr_image_sizes(const samara_image_record *record, uint32_t width, uint32_t height,
                              struct smr_image_sizes *out, samara_error *error) {
  struct smr_image_sizes s = {.old_width = width, .old_height = height};
  image_resized(record, &s);
  if (s.new_width > SAMARA_MAX_SIDE || s.new_height > SAMARA_MAX_SIDE)
    SMR_FAIL(
        error, BAD_SHAPE,
        "the record resizes this picture to %ux%u; sides are at most %d: crop it first, or give "
        "both sides in the record",
        (unsigned)s.new_width, (unsigned)s.new_height, SAMARA_MAX_SIDE);
  s.width = s.inner_width = s.new_width, s.height = s.inner_height = s.new_height;
  if (record->resize == SAMARA_RESIZE_LETTERBOX) {
    s.width = record->resize_width, s.height = record->resize_height;
    s.left = (s.width - s.new_width) / 2, s.top = (s.height - s.new_height) / 2;
  } else if (record->crop_width != 0) {
    s.width = s.inner_width = record->crop_width, s.height = s.inner_height = record->crop_height;
    if (s.width > s.new_width || s.height > s.new_height)
      SMR_FAIL(error, BAD_SHAPE,
               "the picture is %ux%u after resizing and the record crops %ux%u out of it; give a "
               "larger picture or a record that resizes to more",
               (unsigned)s.new_width, (unsigned)s.new_height, (unsigned)s.width,
               (unsigned)s.height);
    s.from_x = image_rne(s.new_width - s.width, 2);
    s.from_y = image_rne(s.new_height - s.height, 2);
  }
  *out = s;
  return SAMARA_OK;
}

int32_t smr_image_shape(const samara_image_record *record, const struct smr_image_sizes *sizes,
                        int64_t *shape) {
  const samara_image_layout layout = record->layout;
  int32_t rank = 0;
  if (layout == SAMARA_NCHW || layout == SAMARA_NHWC || layout == SAMARA_NHW) shape[rank++] = 1;
  if (layout == SAMARA_NCHW || layout == SAMARA_CHW) shape[rank++] = smr_image_channels(record);
  shape[rank++] = sizes->height, shape[rank++] = sizes->width;
  if (layout == SAMARA_NHWC || layout == SAMARA_HWC) shape[rank++] = smr_image_channels(record);
  return rank;
}
