// SPDX-License-Identifier: Apache-2.0
// An answer record of any kind.
#ifndef SMR_MEDIA_ANSWER_H
#define SMR_MEDIA_ANSWER_H

#include "media/answer_boxes.h"
#include "media/answer_classify.h"
#include "media/answer_keypoints.h"
#include "media/answer_mask.h"

#include <samara/samara_media.h>

struct smr_answer_record {
  samara_answer_kind kind;
  uint32_t input;  /// user input that holds the picture
  union {
    struct smr_answer_classify classify;
    struct smr_answer_mask mask;
    struct smr_answer_boxes boxes;
    struct smr_answer_keypoints keypoints;
  } of;
};

#endif
