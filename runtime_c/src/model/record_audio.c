// SPDX-License-Identifier: Apache-2.0
// Audio records: converts and checks their fields.
#include "base/fp.h"

#include "model/record.h"

#include <string.h>

#include "media/audio.h"

samara_status smr_record_audio_read(const struct smr_audio_fields *fields,
                                    const struct smr_value *input, samara_audio_record *out,
                                    struct smr_parts *parts, samara_error *error) {
  const struct smr_audio_fields *f = fields;
  samara_audio_record r = {
      .struct_size = sizeof r,
      .kind = (samara_audio_kind)f->kind,
      .dtype = (samara_dtype)f->dtype,
      .rate = f->rate,
      .window = f->window,
      .hop = f->hop,
      .fft = f->fft,
      .lead = f->lead,
      .shape = (samara_audio_window)f->shape,
      .symmetric = f->symmetric != 0,
      .center = f->center != 0,
      .dc = f->dc != 0,
      .wide_unit = f->wide_unit != 0,
      .slaney = f->slaney != 0,
      .slaney_norm = f->slaney_norm != 0,
      .mel_triangles = f->mel_triangles != 0,
      .plain_dct = f->plain_dct != 0,
      .spectrum = (samara_audio_spectrum)f->spectrum,
      .log = (samara_audio_log)f->log,
      .preemphasis = f->preemphasis,
      .low = f->low,
      .high = f->high,
      .floor = f->floor,
      .offset = f->offset,
      .bins = f->bins,
      .first = f->first,
      .coefficients = f->coefficients,
      .lifter = f->lifter,
      .frames = f->frames,
      .step = f->step,
      .mean_count = f->mean_count,
      .scale_count = f->scale_count,
      .mean = f->mean,
      .scale = f->scale,
      .quant_scale = f->quant_scale,
      .quant_zero = f->quant_zero,
  };
  if (f->layout == NULL || strlen(f->layout) >= sizeof r.layout)
    SMR_FAIL(error, BAD_ARGUMENT, "audio: layout '%.8s', expected up to 4 letters",
             f->layout != NULL ? f->layout : "");
  memcpy(r.layout, f->layout, strlen(f->layout));
  const bool integers = r.dtype == SAMARA_UINT8 || r.dtype == SAMARA_INT8;
  if (r.quant_scale == 0 && integers && input->quant != NULL) {
    r.quant_scale = input->quant->scales[0];
    r.quant_zero = input->quant->zero_points[0];
  }
  struct smr_audio_record checked;
  struct smr_audio_tensor tensor;
  SMR_TRY(smr_audio_record_of(&r, &checked, &tensor, parts, error));
  *out = r;
  return SAMARA_OK;
}

// Check that the tensor made by the record fits the input: the same shape, or [1, all elements].
static samara_status record_audio_fits(const struct smr_function *f, const struct smr_value *input,
                                       const samara_audio_record *record, samara_error *error) {
  const uint8_t dtype = input->dtype == SAMARA_QINT8 ? SAMARA_INT8 : input->dtype;
  if (dtype != (uint8_t)record->dtype || (input->quant != NULL && input->quant->count != 1))
    SMR_FAIL(error, BAD_ARGUMENT, "audio: the record makes dtype %d, the input is dtype %d",
             (int)record->dtype, (int)dtype);
  struct smr_audio_record r;
  struct smr_audio_tensor t;
  int64_t shape[SAMARA_MAX_RANK], all = 1;
  SMR_TRY(smr_audio_record_of(record, &r, &t, NULL, error));
  const uint32_t rank = (uint32_t)smr_audio_shape(&r, &t, shape);
  for (uint32_t axis = 0; axis < rank; axis++) all *= shape[axis];
  bool same = input->rank == rank, flat = input->rank == 2;
  for (uint32_t axis = 0; axis < input->rank; axis++) {
    const struct smr_expr *e = &f->exprs[input->dims[axis]];
    if (e->op != SMR_EXPR_CONST) continue;
    same = same && e->k == shape[axis];
    flat = flat && e->k == (axis == 0 ? 1 : all);
  }
  if (!same && !flat)
    SMR_FAIL(error, BAD_ARGUMENT,
             "audio: the record makes %d elements in the layout %s, which are no tensor of the "
             "input",
             (int)all, record->layout);
  return SAMARA_OK;
}

samara_status smr_record_audio_check(const struct smr_function *f, uint32_t index,
                                     const struct smr_audio_fields *fields, struct smr_parts *parts,
                                     samara_error *error) {
  const struct smr_value *input = &f->values[f->inputs[f->user_inputs[index]]];
  samara_audio_record record;
  SMR_TRY(smr_record_audio_read(fields, input, &record, parts, error));
  return record_audio_fits(f, input, &record, error);
}

const struct smr_audio_fields *smr_record_audio(const struct smr_function *f, size_t index) {
  for (uint32_t i = 0; i < f->record_count; i++) {
    if (f->records[i].input == index) return f->records[i].audio;
  }
  return NULL;
}

samara_status samara_model_audio_record(const samara_model *model, const char *function,
                                        size_t index, samara_audio_record *out) {
  if (model == NULL || out == NULL) return SAMARA_BAD_ARGUMENT;
  const struct smr_function *f = smr_model_entry(model, function);
  if (f == NULL) return SAMARA_NOT_FOUND;
  const struct smr_audio_fields *fields = smr_record_audio(f, index);
  if (fields == NULL) return SAMARA_NOT_FOUND;
  samara_audio_record r;
  SMR_TRY(
      smr_record_audio_read(fields, &f->values[f->inputs[f->user_inputs[index]]], &r, NULL, NULL));
  if (out->struct_size < sizeof r) return SAMARA_BAD_ARGUMENT;
  r.struct_size = out->struct_size;
  *out = r;
  return SAMARA_OK;
}
