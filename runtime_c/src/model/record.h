// SPDX-License-Identifier: Apache-2.0
// Records of a file.
#ifndef SMR_MODEL_RECORD_H
#define SMR_MODEL_RECORD_H

#include "model/model.h"

#include <samara/samara_media.h>

struct smr_answer_record;

/// Check all records of a function against its inputs; user_inputs must be set. BAD_MODEL, or
/// UNSUPPORTED if this build lacks a part. Adds the parts they need to `parts`.
samara_status smr_records_check(const struct smr_function *f, struct smr_parts *parts,
                                samara_error *error);

/// The record of user input `index`, or NULL.
const struct smr_image_fields *smr_record_image(const struct smr_function *f, size_t index);

/// Convert checked fields to the public record, with the scale and zero point of the input if the
/// record needs them and has none. Adds the parts it needs to `parts`, which may be NULL.
samara_status smr_record_read(const struct smr_image_fields *fields, const struct smr_value *input,
                              samara_image_record *out, struct smr_parts *parts,
                              samara_error *error);

/// The audio record of a user input, or NULL.
const struct smr_audio_fields *smr_record_audio(const struct smr_function *f, size_t index);
/// Convert and check an audio record, completed from its input; `parts` as in smr_record_read. It
/// points into the model.
samara_status smr_record_audio_read(const struct smr_audio_fields *fields,
                                    const struct smr_value *input, samara_audio_record *out,
                                    struct smr_parts *parts, samara_error *error);
/// Check an audio record against user input `index`.
samara_status smr_record_audio_check(const struct smr_function *f, uint32_t index,
                                     const struct smr_audio_fields *fields, struct smr_parts *parts,
                                     samara_error *error);

/// Convert checked fields to the answer record of media/. It points into the model.
samara_status smr_record_answer(const struct smr_answer_fields *fields,
                                struct smr_answer_record *out, samara_error *error);
/// Check the function's answer record, if any, against its inputs and outputs; `parts` as in
/// smr_record_read.
samara_status smr_record_answer_check(const struct smr_function *f, struct smr_parts *parts,
                                      samara_error *error);

#endif
