// SPDX-License-Identifier: Apache-2.0
// Writes the records of inputs for fb_builder.h.
#ifndef SMR_TESTS_MODEL_FB_RECORD_H
#define SMR_TESTS_MODEL_FB_RECORD_H

#include "model/fb.h"
#include "model/flatbuffer.h"
#include "model/model.h"

/// The record of a user input; without an image it is of a kind that this version does not know.
struct mb_record {
  uint32_t input;
  const struct smr_image_fields *image;
};

static inline size_t mb_write_image(struct fbb *b, const struct smr_image_fields *f) {
  const size_t t = fbb_table(b, "bbbbbrrrrrriibb");
  fbb_u8(b, t, SMR_FB_IMAGE_RECORD_colour, f->colour);
  fbb_u8(b, t, SMR_FB_IMAGE_RECORD_dtype, f->dtype);
  fbb_u8(b, t, SMR_FB_IMAGE_RECORD_layout, f->layout);
  fbb_u8(b, t, SMR_FB_IMAGE_RECORD_filter, f->filter);
  fbb_u8(b, t, SMR_FB_IMAGE_RECORD_antialias, f->antialias);
  fbb_f32(b, t, SMR_FB_IMAGE_RECORD_quant_scale, f->quant_scale);
  fbb_i32(b, t, SMR_FB_IMAGE_RECORD_quant_zero, f->quant_zero);
  fbb_u8(b, t, SMR_FB_IMAGE_RECORD_matrix, f->matrix);
  fbb_u8(b, t, SMR_FB_IMAGE_RECORD_range, f->range);
  fbb_list(b, t, SMR_FB_IMAGE_RECORD_resize, f->resize, f->resize_count, 4, 4);
  fbb_list(b, t, SMR_FB_IMAGE_RECORD_crop, f->crop, f->crop_count, 4, 4);
  fbb_list(b, t, SMR_FB_IMAGE_RECORD_letterbox, f->letterbox, f->letterbox_count, 4, 4);
  fbb_list(b, t, SMR_FB_IMAGE_RECORD_fill, f->fill, f->fill_count, 4, 4);
  fbb_list(b, t, SMR_FB_IMAGE_RECORD_mean, f->mean, f->mean_count, 4, 4);
  fbb_list(b, t, SMR_FB_IMAGE_RECORD_scale, f->scale, f->scale_count, 4, 4);
  return t;
}

static inline void mb_write_records(struct fbb *b, size_t function, const struct mb_record *records,
                                    uint32_t count) {
  const size_t first = fbb_offsets(b, function, SMR_FB_FUNCTION_input_records, count);
  for (uint32_t i = 0; i < count; i++) {
    const size_t at = fbb_table(b, records[i].image != NULL ? "ir" : "i");
    fbb_u32(b, at, SMR_FB_INPUT_RECORD_input, records[i].input);
    fbb_link(b, first + 4 * (size_t)i, at);
    if (records[i].image == NULL) continue;
    const size_t image = mb_write_image(b, records[i].image);
    fbb_link(b, fbb_field(b, at, SMR_FB_INPUT_RECORD_image), image);
  }
}

#endif
