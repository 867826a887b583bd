/* SPDX-License-Identifier: Apache-2.0 */
/* One encoding: its buffers, and the functions that a text goes through. */
#ifndef SMR_TEXT_TEXT_RUN_H_
#define SMR_TEXT_TEXT_RUN_H_

#include "text/text_scan.h"

/// The state of one call. Zeroed at first, except table, memory, error and ids.
struct smr_text_run {
  const struct smr_text_table *table;
  const samara_allocator *memory;
  samara_error *error;
  size_t most;  // bytes that a step may make of the text
  struct smr_text_buffer normal[2];
  struct smr_text_buffer steps[SMR_TEXT_STEPS];
  struct smr_text_buffer points;   // characters as uint32_t
  struct smr_text_buffer symbols;  // models: the pieces of a word
  struct smr_text_buffer queue;    // models: merges to do
  int32_t *ids;                    // may be NULL if room is 0
  size_t room, count;
};

/// Release the buffers.
void smr_text_run_end(struct smr_text_run *run);

/// Append an id, or count it if there is no room.
static inline void smr_text_emit(struct smr_text_run *run, uint32_t id) {
  if (run->count < run->room) run->ids[run->count] = (int32_t)id;
  run->count++;
}

/// Apply a step other than SPLIT to `text`, into `out`. `at_start`: the text begins the input.
samara_status smr_text_step(struct smr_text_run *run, const uint32_t *step, const uint8_t *text,
                            size_t size, bool at_start, struct smr_text_buffer *out);

/// Normalize a text. *out and *out_size describe the result, in a buffer of the run.
samara_status smr_text_normalize(struct smr_text_run *run, const uint8_t *text, size_t size,
                                 bool at_start, const uint8_t **out, size_t *out_size);

/// Append the ids of a word to the run.
samara_status smr_text_word(struct smr_text_run *run, const uint8_t *text, size_t size);

/// Append the ids of a text: added tokens, normalizer, pre-tokenizer, model. `plain`: special
/// tokens in the text are text.
samara_status smr_text_encode(struct smr_text_run *run, const uint8_t *text, size_t size,
                              bool plain);

#endif /* SMR_TEXT_TEXT_RUN_H_ */
