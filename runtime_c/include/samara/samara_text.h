/* SPDX-License-Identifier: Apache-2.0 */
/* Text of language models: tokenizers, and samplers, which choose tokens by logits.
 *
 * A tokenizer is a table that Python makes of a tokenizer.json (docs/guides/text.md); it is in the
 * model's file, or a file of its own. Then
 *
 *   samara_tokenizer *tokenizer;
 *   if (samara_tokenizer_of_model(model, &tokenizer, &error)) ...
 *   int32_t ids[512];
 *   size_t count;
 *   if (samara_tokenizer_encode(tokenizer, text, strlen(text), SAMARA_TEXT_ADD_SPECIAL, ids, 512,
 *                               &count, &error)) ...
 *
 * gives the ids that PyPI's `tokenizers` gives for the file, and a samara_text_stream makes text of
 * ids one at a time. Chat templates are the caller's business: encode takes rendered text.
 */
#ifndef SAMARA_SAMARA_TEXT_H_
#define SAMARA_SAMARA_TEXT_H_

#include <samara/samara.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A verified table. Immutable: any number of threads may use it. */
typedef struct samara_tokenizer samara_tokenizer;
/* Text that comes one token at a time. Belongs to one thread at a time. */
typedef struct samara_text_stream samara_text_stream;
/* Chooses tokens. Belongs to one thread at a time. */
typedef struct samara_sampler samara_sampler;

/* Choices of a call, added up. Values never change. */
typedef enum samara_text_flags {
  SAMARA_TEXT_PLAIN = 0,
  SAMARA_TEXT_ADD_SPECIAL = 1,  /* encode: add what the file's post-processor adds */
  SAMARA_TEXT_SKIP_SPECIAL = 2, /* decode: leave out special tokens */
  SAMARA_TEXT_NO_SPECIAL = 4    /* encode: special tokens in the text are plain text, so that text
                                   of a stranger cannot end a turn of a chat */
} samara_text_flags;

/* Open `size_bytes` bytes at `table`, which must be 4-aligned; the tokenizer borrows them until it
 * is closed. Every byte is verified: SAMARA_BAD_MODEL for a damaged or hostile table, and
 * SAMARA_BAD_VERSION for one of a later version. Copies `allocator` (NULL: malloc), which is also
 * used for the temporary memory of the calls below and must then be thread-safe if they come from
 * several threads. Any thread. */
SAMARA_API samara_status samara_tokenizer_open(const void *table, size_t size_bytes,
                                               const samara_allocator *allocator,
                                               samara_tokenizer **out, samara_error *error);
/* Open the tokenizer in a model's file. The table is verified as above and then read where it lies:
 * `model` must outlive the tokenizer, and a mapped file must not change. Uses the model's
 * allocator. Any thread. SAMARA_NOT_FOUND if the file has no tokenizer. */
SAMARA_API samara_status samara_tokenizer_of_model(const samara_model *model,
                                                   samara_tokenizer **out, samara_error *error);
/* The table, and its length: those given to samara_tokenizer_open, or in the model's file. Any
 * thread. */
SAMARA_API const void *samara_tokenizer_table(const samara_tokenizer *tokenizer,
                                              size_t *size_bytes);
/* Close. No stream of the tokenizer may be alive. NULL is a no-op. */
SAMARA_API void samara_tokenizer_close(samara_tokenizer *tokenizer);

/* The ids of `text_bytes` bytes of UTF-8. Sets *count to their number and writes the first `room`
 * of them to `ids` (may be NULL if room is 0); nothing is written behind them. `flags` are of
 * samara_text_flags. Allocates temporary memory, some 30 bytes per byte of the longest word. Takes
 * time in proportion to n log n for n bytes. Any thread.
 *
 * SAMARA_BAD_ARGUMENT if the text is not UTF-8. SAMARA_BAD_DATA if the tokenizer has no token for a
 * character and no unknown token. SAMARA_LIMIT if an expression of the table reads the text very
 * often, or a step makes very much of it: tables made from files in use do neither. */
SAMARA_API samara_status samara_tokenizer_encode(const samara_tokenizer *tokenizer,
                                                 const char *text, size_t text_bytes,
                                                 uint32_t flags, int32_t *ids, size_t room,
                                                 size_t *count, samara_error *error);

/* The text of `count` ids. Sets *text_bytes to its length and writes the first `room` bytes of it
 * to `text` (may be NULL if room is 0), which is not NUL-terminated. The whole text is UTF-8: bytes
 * that are none become U+FFFD. Ids that have no token are left out. Allocates temporary memory. Any
 * thread. */
SAMARA_API samara_status samara_tokenizer_decode(const samara_tokenizer *tokenizer,
                                                 const int32_t *ids, size_t count, uint32_t flags,
                                                 char *text, size_t room, size_t *text_bytes,
                                                 samara_error *error);

/* A text behind the file's normalizer, as added tokens and words are searched in it. *normal_bytes
 * and `room` as for samara_tokenizer_decode, errors as for samara_tokenizer_encode. Any thread. */
SAMARA_API samara_status samara_tokenizer_normalize(const samara_tokenizer *tokenizer,
                                                    const char *text, size_t text_bytes,
                                                    char *normal, size_t room, size_t *normal_bytes,
                                                    samara_error *error);

/* Ids are below this number; some may have no token. Any thread. */
SAMARA_API size_t samara_tokenizer_vocabulary(const samara_tokenizer *tokenizer);
/* The token of an id as the file spells it; NULL if it has none. *bytes (may be NULL) is its
 * length: it is not NUL-terminated. Lives as long as the table. Any thread. */
SAMARA_API const char *samara_tokenizer_token(const samara_tokenizer *tokenizer, int32_t id,
                                              size_t *bytes);
/* The id of a token as the file spells it; -1 if there is none. Any thread. */
SAMARA_API int32_t samara_tokenizer_id(const samara_tokenizer *tokenizer, const char *token,
                                       size_t token_bytes);

/* Begin a text. Borrows `tokenizer` until destroy. `flags`: SAMARA_TEXT_SKIP_SPECIAL or 0. */
SAMARA_API samara_status samara_text_stream_create(const samara_tokenizer *tokenizer,
                                                   uint32_t flags, samara_text_stream **out,
                                                   samara_error *error);
/* Add a token. *text and *text_bytes are the text that is now certain: whole characters, and none
 * that a later token can still change; often none. Borrowed until the next call with the stream.
 * All parts together are what samara_tokenizer_decode makes of all ids. Allocates if more memory is
 * needed than before. On failure the stream can only be destroyed. */
SAMARA_API samara_status samara_text_stream_push(samara_text_stream *stream, int32_t id,
                                                 const char **text, size_t *text_bytes,
                                                 samara_error *error);
/* End the text: the rest of it, as above. The stream then begins the next one. */
SAMARA_API samara_status samara_text_stream_finish(samara_text_stream *stream, const char **text,
                                                   size_t *text_bytes, samara_error *error);
/* NULL is a no-op. */
SAMARA_API void samara_text_stream_destroy(samara_text_stream *stream);

/* How a sampler chooses. The steps come in the order of the fields and mean what the parameters of
 * these names mean in Hugging Face's transformers, but for what docs/guides/text.md lists. Zero:
 * always the highest logit. */
typedef struct samara_sampler_options {
  size_t struct_size;
  /* Logits of tokens that were there before are divided by it, those below 0 multiplied; above 0.
   * 0, 1: no penalty. */
  float repetition_penalty;
  /* Logits are divided by it, not below 0. 0: take the highest logit, without the steps below. */
  float temperature;
  /* Keep the most likely tokens until their probabilities add up to this; at most 1. 0, 1: all. */
  float top_p;
  /* Then keep tokens with at least this share of the highest probability; at most 1. */
  float min_p;
  /* Before top_p: keep so many of the most likely tokens. 0: all. */
  size_t top_k;
  /* The penalty is for the last so many tokens. 0: all since the sampler was created or reset. */
  size_t repetition_window;
  /* The same seed, logits and calls give the same tokens on every machine. */
  uint64_t seed;
} samara_sampler_options;

/* Create a sampler for so many logits, at most 2^23. `options`: NULL is like zeros. Copies
 * `allocator` (NULL: malloc); takes at most 12 bytes per token of the vocabulary and 4 per token of
 * the window. Any thread. SAMARA_BAD_ARGUMENT for options out of range. */
SAMARA_API samara_status samara_sampler_create(const samara_sampler_options *options,
                                               size_t vocabulary, const samara_allocator *allocator,
                                               samara_sampler **out, samara_error *error);
/* Choose a token by its `count` logits, which must be as many as the vocabulary, and remember it
 * for the penalty. Allocates nothing, and takes time in proportion to the vocabulary.
 * SAMARA_BAD_DATA if a logit is NaN or +infinity, or all are -infinity: the sampler is then as
 * before. */
SAMARA_API samara_status samara_sampler_next(samara_sampler *sampler, const float *logits,
                                             size_t count, int32_t *token, samara_error *error);
/* Remember a token that the sampler did not choose, such as one of the prompt. Does not change the
 * random numbers. */
SAMARA_API samara_status samara_sampler_accept(samara_sampler *sampler, int32_t token,
                                               samara_error *error);
/* As after create: no token is remembered, and the random numbers begin again. NULL is a no-op. */
SAMARA_API void samara_sampler_reset(samara_sampler *sampler);
/* NULL is a no-op. */
SAMARA_API void samara_sampler_destroy(samara_sampler *sampler);

/* ---- text models ----
 *
 * A model whose function takes the next token numbers, int64 [1, S], and gives the logits of the
 * token after them, float32 [1, V]; its variables hold the tokens before. samara.export_text makes
 * its file. One text model holds one text:
 *
 *   samara_text_model *m;
 *   if (samara_text_model_create(model, NULL, &m, &error)) ...
 *   if (samara_text_model_prompt(m, "Once", 4, SAMARA_TEXT_ADD_SPECIAL, NULL)) ...
 *   if (samara_text_model_begin(m, &(samara_text_options){.struct_size =
 * sizeof(samara_text_options), .max_tokens = 100})) ... do { if (samara_text_model_step(m, &token,
 * &text, &text_bytes, &end)) ... fwrite(text, 1, text_bytes, stdout); } while (end ==
 * SAMARA_TEXT_GOING);
 *
 * It belongs to one thread at a time, but for samara_text_model_cancel. Failures keep their message
 * in it: samara_text_model_error. */
typedef struct samara_text_model samara_text_model;

/* Create one. Borrows `model`, and the pool of `options` (NULL: defaults), until destroy.
 * SAMARA_UNSUPPORTED for a model of another form, such as an encoder, which is run as a session on
 * the tokens of samara_tokenizer_encode. Any thread. */
SAMARA_API samara_status samara_text_model_create(const samara_model *model,
                                                  const samara_session_options *options,
                                                  samara_text_model **out, samara_error *error);
/* NULL is a no-op. */
SAMARA_API void samara_text_model_destroy(samara_text_model *model);
/* Text of the last failure; "" if none. Valid until the next call. */
SAMARA_API const char *samara_text_model_error(const samara_text_model *model);
/* The most tokens of a text; 0: any number, because every layer has a window. */
SAMARA_API size_t samara_text_model_context(const samara_text_model *model);
/* The tokenizer of the file, NULL if it has none; and the session that runs it, for profiles and
 * reports: whoever runs or resizes it, or changes its variables, must reset it and put the text
 * again. Both belong to the text model. */
SAMARA_API const samara_tokenizer *samara_text_model_tokenizer(const samara_text_model *model);
SAMARA_API samara_session *samara_text_model_session(samara_text_model *model);

/* Make the text exactly these tokens, and run those that are not in the cache: the longest common
 * beginning with the text before is kept. *reused (may be NULL) is how many were. Ends what is
 * being made. Allocates only where the text is longer than any before, and for new shapes.
 * SAMARA_LIMIT if the model takes fewer tokens; the text is then as before. If a run fails, for
 * example cancelled, the text is these tokens, and the next call runs those that are missing. */
SAMARA_API samara_status samara_text_model_put(samara_text_model *model, const int32_t *ids,
                                               size_t count, size_t *reused);
/* The same for the tokens of a text, with flags of samara_text_flags. SAMARA_NOT_FOUND if the file
 * has no tokenizer. */
SAMARA_API samara_status samara_text_model_prompt(samara_text_model *model, const char *text,
                                                  size_t text_bytes, uint32_t flags,
                                                  size_t *reused);
/* The tokens of the text, those that were made too. Valid until the next call. *count may be NULL.
 */
SAMARA_API const int32_t *samara_text_model_tokens(const samara_text_model *model, size_t *count);
/* The logits of the token after the text, of which there are *count (may be NULL). Runs tokens that
 * have not run, and the last one again after samara_text_state_load. Valid until the next call. */
SAMARA_API samara_status samara_text_model_logits(samara_text_model *model, const float **logits,
                                                  size_t *count);

/* Why a text ends. Values never change. */
typedef enum samara_text_end {
  SAMARA_TEXT_GOING = 0,
  SAMARA_TEXT_END_TOKEN = 1,   /* the model made a token that ends a text */
  SAMARA_TEXT_STOP = 2,        /* one of the stops; the text ends before it */
  SAMARA_TEXT_MOST_TOKENS = 3, /* max_tokens were made */
  SAMARA_TEXT_FULL = 4         /* the model takes no more */
} samara_text_end;

/* How a text is made. */
typedef struct samara_text_options {
  size_t struct_size;
  /* NULL: always the likeliest token. Read by begin only, as is all that follows. */
  const samara_sampler_options *sampler;
  /* 0: no limit. */
  size_t max_tokens;
  /* NUL-terminated texts that end it. They need the file's tokenizer. */
  const char *const *stops;
  size_t stop_count;
  /* Tokens that end it, in place of those that the file names. */
  const int32_t *end_tokens;
  size_t end_token_count;
  /* Go on behind tokens that end a text. */
  bool ignore_end_tokens;
} samara_text_options;

/* Begin to make text behind the present one, which must have a token. The sampler remembers all of
 * its tokens. SAMARA_BAD_ARGUMENT for options out of range. */
SAMARA_API samara_status samara_text_model_begin(samara_text_model *model,
                                                 const samara_text_options *options);
/* Make the next token. *text is what is now certain of the text: whole characters, nothing that may
 * begin a stop; often nothing. Valid until the next call. *token is -1 if none was made. Once *end
 * is not SAMARA_TEXT_GOING, begin comes next. On failure the text is as before the call. The call
 * can then be repeated, after SAMARA_CANCELLED for example; SAMARA_OUT_OF_MEMORY may end what is
 * being made: begin comes next if the repeated call says SAMARA_BAD_STATE. */
SAMARA_API samara_status samara_text_model_step(samara_text_model *model, int32_t *token,
                                                const char **text, size_t *text_bytes,
                                                samara_text_end *end);
/* Ask a run in another thread to stop, as samara_session_cancel. Any thread. */
SAMARA_API void samara_text_model_cancel(samara_text_model *model);

/* Write the tokens that have run and the cache to one file with a checksum
 * (docs/reference/format.md). To never leave an incomplete file, write to another name, sync, and
 * rename after SAMARA_OK. Takes 1 MiB of temporary memory. */
SAMARA_API samara_status samara_text_state_save(samara_text_model *model,
                                                const samara_writer *writer);
/* Make the text that of a file, and end what is being made. The whole file is checked first:
 * SAMARA_BAD_ARGUMENT if another model made it, SAMARA_BAD_MODEL or SAMARA_BAD_CHECKSUM if it is
 * damaged. On failure the text is as before, or empty if the file contradicts itself. */
SAMARA_API samara_status samara_text_state_load(samara_text_model *model,
                                                const samara_reader *reader);

#ifdef __cplusplus
}
#endif

#endif /* SAMARA_SAMARA_TEXT_H_ */
