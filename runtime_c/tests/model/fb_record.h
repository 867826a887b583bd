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

static inline void mb_write_part(struct fbb *b, size_t answer, uint32_t id,
                                 const struct smr_part_fields *part) {
  if (part == NULL) return;
  const size_t at = fbb_table(b, "rii");
  fbb_u32(b, at, SMR_FB_OUTPUT_PART_begin, part->begin);
  fbb_u32(b, at, SMR_FB_OUTPUT_PART_end, part->end);
  fbb_list(b, at, SMR_FB_OUTPUT_PART_outputs, part->outputs, part->count, 4, 4);
  fbb_link(b, fbb_field(b, answer, id), at);
}

/// Sizes of levels are counted in numbers, two for each box.
static inline void mb_write_answer(struct fbb *b, size_t function,
                                   const struct smr_answer_fields *f) {
  const struct smr_part_fields *parts[] = {f->main, f->score, f->objectness, f->points, f->anchors};
  char layout[] = "bibbbbbbbbbbbbbiiirrrrrrr";
  for (int i = 0; i < 5; i++)
    if (parts[i] == NULL) layout[SMR_FB_ANSWER_RECORD_main + i] = '-';
  const size_t t = fbb_table(b, layout);
  fbb_link(b, fbb_field(b, function, SMR_FB_FUNCTION_answer), t);
  fbb_u8(b, t, SMR_FB_ANSWER_RECORD_kind, f->kind);
  fbb_u32(b, t, SMR_FB_ANSWER_RECORD_input, f->input);
  fbb_u8(b, t, SMR_FB_ANSWER_RECORD_form, f->form);
  fbb_u8(b, t, SMR_FB_ANSWER_RECORD_activation, f->activation);
  fbb_u8(b, t, SMR_FB_ANSWER_RECORD_layout, f->layout);
  fbb_u8(b, t, SMR_FB_ANSWER_RECORD_refine, f->refine);
  fbb_u8(b, t, SMR_FB_ANSWER_RECORD_step, f->step);
  fbb_u8(b, t, SMR_FB_ANSWER_RECORD_limited, f->limited);
  fbb_u8(b, t, SMR_FB_ANSWER_RECORD_root, f->root);
  fbb_u8(b, t, SMR_FB_ANSWER_RECORD_channels_first, f->channels_first);
  fbb_u8(b, t, SMR_FB_ANSWER_RECORD_yx, f->yx);
  fbb_u8(b, t, SMR_FB_ANSWER_RECORD_ratio, f->ratio);
  fbb_u8(b, t, SMR_FB_ANSWER_RECORD_corner, f->corner);
  fbb_u8(b, t, SMR_FB_ANSWER_RECORD_agnostic, f->agnostic);
  fbb_u8(b, t, SMR_FB_ANSWER_RECORD_heatmaps, f->heatmaps);
  fbb_u32(b, t, SMR_FB_ANSWER_RECORD_top, f->top);
  fbb_f32(b, t, SMR_FB_ANSWER_RECORD_threshold, f->threshold);
  fbb_f32(b, t, SMR_FB_ANSWER_RECORD_iou, f->iou);
  fbb_list(b, t, SMR_FB_ANSWER_RECORD_variances, f->variances, f->variance_count, 4, 4);
  for (uint32_t i = 0; i < 5; i++) mb_write_part(b, t, SMR_FB_ANSWER_RECORD_main + i, parts[i]);
  const size_t first = fbb_offsets(b, t, SMR_FB_ANSWER_RECORD_levels, f->level_count);
  for (uint32_t i = 0; i < f->level_count; i++) {
    const size_t at = fbb_table(b, "ir");
    fbb_u32(b, at, SMR_FB_ANCHOR_LEVEL_stride, f->levels[i].stride);
    fbb_list(b, at, SMR_FB_ANCHOR_LEVEL_sizes, f->levels[i].sizes, f->levels[i].count, 4, 4);
    fbb_link(b, first + 4 * (size_t)i, at);
  }
}

#endif
