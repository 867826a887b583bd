// SPDX-License-Identifier: Apache-2.0
// Records of a file: what its inputs are made of.
#ifndef SMR_MODEL_RECORD_H
#define SMR_MODEL_RECORD_H

#include "model/model.h"

#include <samara/samara_media.h>

struct smr_answer_record;

/// Check all records of a function against its inputs; user_inputs are known. BAD_MODEL, or
/// UNSUPPORTED where this build lacks a part that they need; else these join `parts`.
samara_status smr_records_check(const struct smr_function *f, struct smr_parts *parts,
                                samara_error *error);

/// The record of user input `index`, or NULL.
const struct smr_image_fields *smr_record_image(const struct smr_function *f, size_t index);

/// What smr_records_check has checked, as callers see it, with the scale and zero point of the
/// input where the record has none and needs one. Parts that it needs join `parts`, which may be
/// NULL.
samara_status smr_record_read(const struct smr_image_fields *fields, const struct smr_value *input,
                              samara_image_record *out, struct smr_parts *parts,
                              samara_error *error);

/// The record of a user input, NULL where it has none.
const struct smr_audio_fields *smr_record_audio(const struct smr_function *f, size_t index);
/// The record, filled in from the input it is of and checked; `parts` as of smr_record_read. It
/// points into the model.
samara_status smr_record_audio_read(const struct smr_audio_fields *fields,
                                    const struct smr_value *input, samara_audio_record *out,
                                    struct smr_parts *parts, samara_error *error);
/// A record against the user input `index`.
samara_status smr_record_audio_check(const struct smr_function *f, uint32_t index,
                                     const struct smr_audio_fields *fields, struct smr_parts *parts,
                                     samara_error *error);

/// What smr_record_answer_check has checked, as media/ takes it. It points into the model.
samara_status smr_record_answer(const struct smr_answer_fields *fields,
                                struct smr_answer_record *out, samara_error *error);
/// The record of the function's answer, if it has one, against its inputs and outputs; `parts` as
/// of smr_record_read.
samara_status smr_record_answer_check(const struct smr_function *f, struct smr_parts *parts,
                                      samara_error *error);

#endif
