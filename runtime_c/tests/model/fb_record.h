// SPDX-License-Identifier: Apache-2.0
// Writes the records of inputs for fb_builder.h.
#ifndef SMR_TESTS_MODEL_FB_RECORD_H
#define SMR_TESTS_MODEL_FB_RECORD_H

#include "model/fb.h"
#include "model/flatbuffer.h"
#include "model/model.h"

/// The record of a user input; without image and audio it is of a kind that this version does not
/// know.
struct mb_record {
  uint32_t input;
  const struct smr_image_fields *image;
  const struct smr_audio_fields *audio;
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

static inline size_t mb_write_audio(struct fbb *b, const struct smr_audio_fields *f) {
  const size_t t = fbb_table(b, "bbriiiiibbbbbbbbbbbiiiiiiiiiiirrii");
#define MB_AUDIO(put, name) fbb_##put(b, t, SMR_FB_AUDIO_RECORD_##name, f->name);
  MB_AUDIO(u8, kind)
  MB_AUDIO(u8, dtype)
  MB_AUDIO(u32, rate)
  MB_AUDIO(u32, window)
  MB_AUDIO(u32, hop)
  MB_AUDIO(u32, fft)
  MB_AUDIO(u32, lead)
  MB_AUDIO(u8, shape)
  MB_AUDIO(u8, symmetric)
  MB_AUDIO(u8, center)
  MB_AUDIO(u8, dc)
  MB_AUDIO(u8, wide_unit)
  MB_AUDIO(u8, spectrum)
  MB_AUDIO(u8, slaney)
  MB_AUDIO(u8, slaney_norm)
  MB_AUDIO(u8, mel_triangles)
  MB_AUDIO(u8, log)
  MB_AUDIO(u8, plain_dct)
  MB_AUDIO(f32, preemphasis)
  MB_AUDIO(u32, bins)
  MB_AUDIO(f32, low)
  MB_AUDIO(f32, high)
  MB_AUDIO(u32, first)
  MB_AUDIO(f32, floor)
  MB_AUDIO(f32, offset)
  MB_AUDIO(u32, coefficients)
  MB_AUDIO(u32, lifter)
  MB_AUDIO(u32, frames)
  MB_AUDIO(u32, step)
  MB_AUDIO(f32, quant_scale)
  MB_AUDIO(i32, quant_zero)
#undef MB_AUDIO
  fbb_text(b, t, SMR_FB_AUDIO_RECORD_layout, f->layout);
  fbb_list(b, t, SMR_FB_AUDIO_RECORD_mean, f->mean, f->mean_count, 4, 4);
  fbb_list(b, t, SMR_FB_AUDIO_RECORD_scale, f->scale, f->scale_count, 4, 4);
  return t;
}

static inline void mb_write_records(struct fbb *b, size_t function, const struct mb_record *records,
                                    uint32_t count) {
  const size_t first = fbb_offsets(b, function, SMR_FB_FUNCTION_input_records, count);
  for (uint32_t i = 0; i < count; i++) {
    const struct mb_record *r = &records[i];
    const size_t at = fbb_table(b, r->audio != NULL ? "i-r" : r->image != NULL ? "ir" : "i");
    fbb_u32(b, at, SMR_FB_INPUT_RECORD_input, r->input);
    fbb_link(b, first + 4 * (size_t)i, at);
    if (r->audio != NULL)
      fbb_link(b, fbb_field(b, at, SMR_FB_INPUT_RECORD_audio), mb_write_audio(b, r->audio));
    else if (r->image != NULL)
      fbb_link(b, fbb_field(b, at, SMR_FB_INPUT_RECORD_image), mb_write_image(b, r->image));
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
  char layout[] = "bibbbbbbbbbbbbbiiirrrrrrrii";
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
  fbb_f32(b, t, SMR_FB_ANSWER_RECORD_scale, f->scale);
  fbb_i32(b, t, SMR_FB_ANSWER_RECORD_zero_point, f->zero_point);
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
