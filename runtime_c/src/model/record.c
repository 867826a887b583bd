// SPDX-License-Identifier: Apache-2.0
// Image records: converts and checks their fields.
#include "base/fp.h"

#include "model/record.h"

#include "media/image.h"

// A list must have one value, or one per channel.
static bool record_channels(uint32_t count, uint32_t channels) {
  return count == 0 || count == 1 || count == channels;
}

static bool record_counts(const struct smr_image_fields *f, uint32_t channels) {
  return f->resize_count <= 2 && (f->crop_count == 0 || f->crop_count == 2) &&
         (f->letterbox_count == 0 || f->letterbox_count == 2) &&
         (f->resize_count == 0 || f->letterbox_count == 0) &&
         record_channels(f->fill_count, channels) && record_channels(f->mean_count, channels) &&
         record_channels(f->scale_count, channels);
}

static void record_sizes(const struct smr_image_fields *f, samara_image_record *r) {
  if (f->resize_count != 0) {
    r->resize = f->resize_count == 1 ? SAMARA_RESIZE_SIDE : SAMARA_RESIZE_SIZE;
    r->resize_width = f->resize[0];
    if (f->resize_count == 2) r->resize_height = f->resize[1];
  } else if (f->letterbox_count != 0) {
    r->resize = SAMARA_RESIZE_LETTERBOX;
    r->resize_width = f->letterbox[0], r->resize_height = f->letterbox[1];
  }
  if (f->crop_count != 0) r->crop_width = f->crop[0], r->crop_height = f->crop[1];
}

samara_status smr_record_read(const struct smr_image_fields *fields, const struct smr_value *input,
                              samara_image_record *out, struct smr_parts *parts,
                              samara_error *error) {
  const struct smr_image_fields *f = fields;
  samara_image_record r = {
      .struct_size = sizeof r,
      .colour = (samara_colour)f->colour,
      .dtype = (samara_dtype)f->dtype,
      .layout = (samara_image_layout)f->layout,
      .filter = (samara_image_filter)f->filter,
      .antialias = f->antialias != 0,
      .normalize = f->mean_count != 0 || f->scale_count != 0,
      .quant_scale = f->quant_scale,
      .quant_zero = f->quant_zero,
      .matrix = (samara_yuv_matrix)f->matrix,
      .range = (samara_yuv_range)f->range,
  };
  // The record is not checked yet.
  const uint32_t channels = r.colour == SAMARA_COLOUR_GRAY ? 1 : 3;
  if (!record_counts(f, channels))
    SMR_FAIL(error, BAD_ARGUMENT, "image record: lists of a wrong length");
  record_sizes(f, &r);
  for (uint32_t c = 0; c < channels; c++) {
    const uint32_t fill = f->fill_count != 0 ? f->fill[f->fill_count == 1 ? 0 : c] : 0;
    if (fill > 255)
      SMR_FAIL(error, BAD_ARGUMENT, "image record: fill %u is not 0 to 255", (unsigned)fill);
    r.fill[c] = (uint8_t)fill;
    r.mean[c] = f->mean_count != 0 ? f->mean[f->mean_count == 1 ? 0 : c] : 0.0f;
    r.scale[c] = f->scale_count != 0 ? f->scale[f->scale_count == 1 ? 0 : c] : 1.0f;
  }
  const bool quantizes = r.dtype == SAMARA_INT8 || (r.dtype == SAMARA_UINT8 && r.normalize);
  if (r.quant_scale == 0 && quantizes && input->quant != NULL) {
    r.quant_scale = input->quant->scales[0];
    r.quant_zero = input->quant->zero_points[0];
  }
  SMR_TRY(smr_image_record_check(&r, parts, error));
  *out = r;
  return SAMARA_OK;
}

// Check that the tensor made by the record fits the input.
static samara_status record_fits(const struct smr_function *f, const struct smr_value *input,
                                 const samara_image_record *r, samara_error *error) {
  const uint8_t dtype = input->dtype == SAMARA_QINT8 ? SAMARA_INT8 : input->dtype;
  const struct smr_image_sizes sizes = {.width = 1, .height = 1};
  int64_t shape[SAMARA_MAX_RANK];
  const int32_t rank = smr_image_shape(r, &sizes, shape);
  if (dtype != (uint8_t)r->dtype || input->rank != rank ||
      (input->quant != NULL && input->quant->count != 1))
    SMR_FAIL(error, BAD_ARGUMENT,
             "image record: it makes dtype %d of rank %d, the input is dtype %d "
             "of rank %d",
             (int)r->dtype, (int)rank, (int)dtype, (int)input->rank);
  const struct smr_expr *batch = &f->exprs[input->dims[0]];
  const bool batched = rank == 4 || r->layout == SAMARA_NHW;
  if (batched && batch->op == SMR_EXPR_CONST && batch->k != 1)
    SMR_FAIL(error, BAD_ARGUMENT,
             "image record: of an input with batch %d; pictures come one by one", (int)batch->k);
  const int axis = r->layout == SAMARA_NCHW ? 1 : r->layout == SAMARA_CHW ? 0 : rank - 1;
  const struct smr_expr *e = &f->exprs[input->dims[axis]];
  if (r->layout < SAMARA_NHW && e->op == SMR_EXPR_CONST && e->k != shape[axis])
    SMR_FAIL(error, BAD_ARGUMENT, "image record: it makes %d channels, the input has %d",
             (int)shape[axis], (int)e->k);
  return SAMARA_OK;
}

static samara_status record_check(const struct smr_function *f,
                                  const struct smr_input_record *record, struct smr_parts *parts,
                                  samara_error *error) {
  if (record->input >= f->user_input_count)
    SMR_FAIL(error, BAD_ARGUMENT, "record of input %u of %u", (unsigned)record->input,
             (unsigned)f->user_input_count);
  if (SMR_HAS(audio) && record->audio != NULL)
    return smr_record_audio_check(f, record->input, record->audio, parts, error);
  // A kind of record from a newer version, or left out of this build.
  if (!SMR_HAS(image) || record->image == NULL) return SAMARA_OK;
  const struct smr_value *input = &f->values[f->inputs[f->user_inputs[record->input]]];
  samara_image_record r;
  SMR_TRY(smr_record_read(record->image, input, &r, parts, error));
  return record_fits(f, input, &r, error);
}

// An invalid record is an error of the file; a missing part of the build is not.
static samara_status record_refused(samara_status status, samara_error *error) {
  if (status == SAMARA_OK || status == SAMARA_UNSUPPORTED) return status;
  if (error != NULL) error->status = SAMARA_BAD_MODEL;
  return SAMARA_BAD_MODEL;
}

samara_status smr_records_check(const struct smr_function *f, struct smr_parts *parts,
                                samara_error *error) {
  for (uint32_t i = 0; i < f->record_count; i++) {
    if (i > 0 && f->records[i].input <= f->records[i - 1].input)
      SMR_FAIL(error, BAD_MODEL, "record of input %u after that of %u",
               (unsigned)f->records[i].input, (unsigned)f->records[i - 1].input);
    SMR_TRY(record_refused(record_check(f, &f->records[i], parts, error), error));
  }
  if (SMR_HAS(answer)) return record_refused(smr_record_answer_check(f, parts, error), error);
  return SAMARA_OK;
}

const struct smr_image_fields *smr_record_image(const struct smr_function *f, size_t index) {
  for (uint32_t i = 0; i < f->record_count; i++) {
    if (f->records[i].input == index) return f->records[i].image;
  }
  return NULL;
}

samara_status samara_model_image_record(const samara_model *model, const char *function,
                                        size_t index, samara_image_record *out) {
  if (model == NULL || out == NULL) return SAMARA_BAD_ARGUMENT;
  const struct smr_function *f = smr_model_entry(model, function);
  if (f == NULL) return SAMARA_NOT_FOUND;
  const struct smr_image_fields *fields = smr_record_image(f, index);
  if (fields == NULL) return SAMARA_NOT_FOUND;
  samara_image_record r;
  SMR_TRY(smr_record_read(fields, &f->values[f->inputs[f->user_inputs[index]]], &r, NULL, NULL));
  if (out->struct_size < sizeof r) return SAMARA_BAD_ARGUMENT;
  r.struct_size = out->struct_size;
  memcpy(out, &r, sizeof r);
  return SAMARA_OK;
}
