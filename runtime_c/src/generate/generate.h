/* SPDX-License-Identifier: Apache-2.0 */
/* A text model and its parts, for the functions that make text and those that keep it in a file. */
#ifndef SMR_GENERATE_GENERATE_H_
#define SMR_GENERATE_GENERATE_H_

#include <samara/samara_text.h>

#include "model/model.h"
#include "text/text_scan.h"

struct samara_text_model {
  const samara_model *model;
  samara_session *session;
  samara_tokenizer *tokenizer;  // NULL if the file has none
  samara_allocator memory;
  samara_error error;
  int32_t *ids;  // the tokens of the text
  size_t count, room;
  size_t cached;  // tokens that the session has seen: the first of them
  size_t rows;    // of the session's input; 0: not known
  size_t fixed;   // the only number of rows; 0: any up to `chunk`
  size_t chunk, context, vocabulary;
  bool has_logits;  // the session's output is of the last token that it has seen
  int32_t *ends;    // tokens that end a text, of the file
  size_t end_count;
  /* of the text that is being made */
  samara_sampler *sampler;  // NULL: none is
  samara_text_stream *stream;
  struct smr_text_buffer *stops;
  size_t stop_count;
  int32_t *chosen_ends;
  size_t chosen_end_count;
  size_t left;                  // most tokens still to come
  struct smr_text_buffer held;  // text of the stream
  size_t given;                 // bytes of it that were passed on
  samara_text_end end;
};

/// Stop making text.
void smr_generate_end(samara_text_model *model);

#endif /* SMR_GENERATE_GENERATE_H_ */
