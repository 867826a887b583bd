/* SPDX-License-Identifier: Apache-2.0 */
/* Ids to text, one at a time: a chain of stages, each of which may hold text back. */
#ifndef SMR_TEXT_TEXT_DECODE_H_
#define SMR_TEXT_TEXT_DECODE_H_

#include "text/text_scan.h"

/// A stage's state.
struct smr_text_stage_state {
  struct smr_text_buffer made;  // what it passes on
  struct smr_text_buffer held;  // bytes, or characters at the end, that may still change
  struct smr_utf8_lossy lossy;
  size_t tokens;    // seen so far
  size_t stripped;  // characters taken off the start
};

/// Zeroed at first, except table, memory and error.
struct smr_text_decoder {
  const struct smr_text_table *table;
  const samara_allocator *memory;
  samara_error *error;
  struct smr_text_stage_state stages[SMR_TEXT_STEPS];
  struct smr_text_buffer out;  // text that is final; the caller takes it and sets size to 0
};

void smr_text_decoder_end(struct smr_text_decoder *decoder);

/// Append the text of a token to `out`, as far as it is final. Ids without a token add nothing.
samara_status smr_text_decode(struct smr_text_decoder *decoder, uint32_t id, bool skip_special);
/// Append what was held back.
samara_status smr_text_decode_rest(struct smr_text_decoder *decoder);

#endif /* SMR_TEXT_TEXT_DECODE_H_ */
