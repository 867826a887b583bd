// SPDX-License-Identifier: Apache-2.0
// Text models: what runs for a prompt, how a text ends, stops, limits, cancelling and memory.
#include "base/fp.h"

#include <samara/samara_text.h>

#include <math.h>

#include "harness.h"

#include "base/os.h"
#include "generate/text_sample.h"
#include "model/sample.h"
#include "text/text_build.h"

static struct text_build built;

// Tokens: "a", "b", "ab", "c", two bytes that are an e with an acute accent, a special one, "d".
enum { A, B, AB, C, E_FIRST, E_SECOND, SPECIAL, D };

static const void *tokenizer_table(size_t *size_bytes) {
  static const char *const tokens[] = {"a", "b", "ab", "c", "<0xC3>", "<0xA9>", "<x>", "d"};
  static const char *const sorted[] = {"<0xA9>", "<0xC3>", "a", "ab", "b", "c", "d"};
  static const uint32_t ids[] = {E_SECOND, E_FIRST, A, AB, B, C, D};
  static const char *const special[] = {"<x>"};
  static const char *const kinds[] = {"abcdefghijklmnopqrstuvwxyz", " \n"};
  static const uint8_t flags[] = {1, 1, 1, 1, 1, 1, 3, 1};
  static const uint32_t none = 0, id = SPECIAL;
  static const uint32_t added[] = {SPECIAL, SMR_TEXT_IS_SPECIAL};
  struct text_build *b = &built;
  text_build_begin(b);
  uint32_t *w = b->words;
  w[SMR_TEXT_MODEL] = SMR_TEXT_BPE;
  w[SMR_TEXT_VOCABULARY] = TEXT_SAMPLE_TOKENS;
  w[SMR_TEXT_UNKNOWN] = D;
  w[SMR_TEXT_LONGEST] = 6;
  w[SMR_TEXT_TOKENS] = text_build_strings(b, tokens, TEXT_SAMPLE_TOKENS) + 1;
  w[SMR_TEXT_TOKEN_FLAGS] =
      text_build_add(b, SMR_TEXT_KIND_BYTES, flags, sizeof flags, sizeof flags, 0) + 1;
  w[SMR_TEXT_TRIE] = text_build_trie(b, sorted, ids, 7, TEXT_SAMPLE_TOKENS) + 1;
  w[SMR_TEXT_WORDS] = text_build_classes(b, kinds, 2) + 1;
  w[SMR_TEXT_ADDED] = text_build_words(b, added, 2) + 1;
  w[SMR_TEXT_RAW] = text_build_trie(b, special, &none, 1, 1) + 1;
  w[SMR_TEXT_NAMES] = text_build_trie(b, special, &id, 1, TEXT_SAMPLE_TOKENS) + 1;
  const uint32_t split[] = {SMR_TEXT_OP_SPLIT, text_build_set(b, " ", 1), SMR_TEXT_REMOVED, 0};
  const uint32_t decode[] = {SMR_TEXT_STAGE_BYTE_FALLBACK, 0, 0, 0, SMR_TEXT_STAGE_FUSE, 0, 0, 0};
  w[SMR_TEXT_PRETOKENIZER] = text_build_steps(b, split, 1) + 1;
  w[SMR_TEXT_DECODER] = text_build_steps(b, decode, 2) + 1;
  const uint32_t merges[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 2};
  w[SMR_TEXT_MERGES] = text_build_add(b, SMR_TEXT_KIND_MERGES, merges, sizeof merges, 1, 0) + 1;
  return text_build_finish(b, size_bytes);
}

static void add_tokenizer(struct mb_model *m) {
  size_t bytes;
  const void *table = tokenizer_table(&bytes);
  m->segments[0].size = m->data.size;
  const size_t at = fbb_grow(&m->data, bytes, 64);
  fbb_put(&m->data, at, table, bytes);
  m->segments[m->segment_count++] =
      (struct mb_segment){.offset = at, .size = bytes, .name = SMR_TOKENIZER_SEGMENT};
}

// ---- a text model, and what its session ran ----

enum { MOST_RUNS = 64 };

struct fixture {
  struct text_sample sample;
  struct mb_file file;
  samara_text_model *m;
  size_t rows[MOST_RUNS], runs;  // tokens of each run
  bool cancels;                  // the next run, from another thread
};

static void cancel(void *model) { samara_text_model_cancel(model); }

static int watch(void *user, const char *node, const char *const *names,
                 const samara_tensor *tensors, size_t count) {
  struct fixture *x = user;
  (void)names, (void)count;
  if (strcmp(node, "kv") != 0) return 0;
  if (x->runs < MOST_RUNS) x->rows[x->runs] = (size_t)tensors[0].shape[1];
  x->runs++;
  if (!x->cancels) return 0;
  struct smr_os_thread thread;
  x->cancels = false;
  if (!smr_os_thread_start(&thread, cancel, x->m)) abort();
  smr_os_thread_join(&thread);
  return 0;
}

static void begin(struct fixture *x, const struct text_sample *sample, bool has_tokenizer) {
  samara_error error = {SAMARA_OK, ""};
  *x = (struct fixture){.sample = *sample};
  struct mb_model *m = text_sample_model(sample);
  if (has_tokenizer) add_tokenizer(m);
  x->file = mb_accept(m);
  if (!CHECK_EQ_INT(samara_text_model_create(x->file.model, NULL, &x->m, &error), SAMARA_OK)) {
    fprintf(stderr, "%s\n", error.text);
    abort();
  }
  CHECK_EQ_INT(samara_session_watch(samara_text_model_session(x->m), watch, x), SAMARA_OK);
}

static void finish(const struct fixture *x) {
  samara_text_model_destroy(x->m);
  mb_close(&x->file);
}

static bool ran(struct fixture *x, size_t runs, size_t first, size_t last) {
  const bool right =
      x->runs == runs && (runs == 0 || (x->rows[0] == first && x->rows[runs - 1] == last));
  if (!right) {
    fprintf(stderr, "%zu runs:", x->runs);
    for (size_t i = 0; i < x->runs && i < MOST_RUNS; i++) fprintf(stderr, " %zu", x->rows[i]);
    fprintf(stderr, "\n");
  }
  x->runs = 0;
  return right;
}

// Whether the text is these tokens, and its logits are those of the formula.
static bool text_is(const struct fixture *x, const int32_t *ids, size_t count) {
  const float *logits = NULL;
  size_t given = 0;
  const int32_t *tokens = samara_text_model_tokens(x->m, &given);
  if (given != count || (count != 0 && memcmp(tokens, ids, count * sizeof *ids) != 0)) {
    fprintf(stderr, "the text has %zu other tokens\n", given);
    return false;
  }
  if (samara_text_model_logits(x->m, &logits, &given) != SAMARA_OK) {
    fprintf(stderr, "logits: %s\n", samara_text_model_error(x->m));
    return false;
  }
  for (size_t i = 0; i < TEXT_SAMPLE_TOKENS; i++) {
    const float want = text_sample_logit(&x->sample, ids, count, i);
    if (fabsf(logits[i] - want) <= 1e-5f) continue;
    fprintf(stderr, "logit %zu is %g, not %g\n", i, (double)logits[i], (double)want);
    return false;
  }
  return given == TEXT_SAMPLE_TOKENS;
}

static const struct text_sample plain = {.context = "12", .chunk = "4"};

// ---- creation ----

static samara_status refusal(struct mb_model *model, samara_error *error) {
  const struct mb_file file = mb_accept(model);
  samara_text_model *m = (samara_text_model *)&built;
  *error = (samara_error){SAMARA_OK, ""};
  const samara_status status = samara_text_model_create(file.model, NULL, &m, error);
  CHECK((status == SAMARA_OK) == (m != NULL));
  CHECK_EQ_INT(error->status, status);
  samara_text_model_destroy(m);
  mb_close(&file);
  return status;
}

static struct mb_model *renamed(const char *name) {
  struct mb_model *m = text_sample_model(&plain);
  m->variables[0].name = name;
  return m;
}

SMR_TEST(other_models_are_refused) {
  samara_error error;
  CHECK_EQ_INT(refusal(mb_sample(), &error), SAMARA_UNSUPPORTED);
  CHECK_CONTAINS(error.text, "samara.export_text");
  CHECK_EQ_INT(refusal(renamed("lengths"), &error), SAMARA_UNSUPPORTED);
  CHECK_CONTAINS(error.text, "'length'");
  CHECK_EQ_INT(refusal(renamed("length"), &error), SAMARA_OK);
  CHECK_EQ_INT(refusal(text_sample_model(&(struct text_sample){.rows = 2}), &error),
               SAMARA_UNSUPPORTED);
  CHECK_CONTAINS(error.text, "1 or any number of tokens, not 2");
  CHECK_EQ_INT(refusal(text_sample_model(&(struct text_sample){.chunk = "0"}), &error),
               SAMARA_BAD_MODEL);
  CHECK_CONTAINS(error.text, "text.chunk is 0");
  struct mb_model *m = text_sample_model(&plain);
  m->functions[0]->write_count = 1;  // the cache becomes an output, as of a model with two
  CHECK_EQ_INT(refusal(m, &error), SAMARA_UNSUPPORTED);
  m = text_sample_model(&plain);
  text_sample_metadata(m, "text.kind", "encoder");
  CHECK_EQ_INT(refusal(m, &error), SAMARA_UNSUPPORTED);
  CHECK_CONTAINS(error.text, "has an encoder");
  static const char *const lists[] = {"x", "1,,2", "1,", ",1", "1 2", "-1", "99999999999999999999"};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    CHECK_EQ_INT(refusal(text_sample_model(&(struct text_sample){.ends = lists[i]}), &error),
                 SAMARA_BAD_MODEL);
    CHECK_CONTAINS(error.text, "text.end_tokens");
  }
}

SMR_TEST(what_callers_get_wrong) {
  samara_error error = {SAMARA_OK, ""};
  samara_text_model *m = (samara_text_model *)&built;
  CHECK_EQ_INT(samara_text_model_create(NULL, NULL, &m, &error), SAMARA_BAD_ARGUMENT);
  CHECK(m == NULL);
  CHECK_EQ_INT(samara_text_model_create(NULL, NULL, NULL, &error), SAMARA_BAD_ARGUMENT);
  samara_text_model_destroy(NULL);
  samara_text_model_cancel(NULL);
  CHECK_EQ_INT(samara_text_model_context(NULL), 0);
  CHECK(samara_text_model_tokenizer(NULL) == NULL && samara_text_model_session(NULL) == NULL);
  CHECK_STR(samara_text_model_error(NULL), "no text model");
  size_t count = 3;
  CHECK(samara_text_model_tokens(NULL, &count) == NULL && count == 0);
  CHECK_EQ_INT(samara_text_model_put(NULL, NULL, 0, NULL), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_text_model_prompt(NULL, "", 0, 0, NULL), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_text_model_begin(NULL, NULL), SAMARA_BAD_ARGUMENT);

  struct fixture x;
  const float *logits;
  begin(&x, &plain, false);
  CHECK_STR(samara_text_model_error(x.m), "");
  CHECK_EQ_INT(samara_text_model_context(x.m), 12);
  CHECK(samara_text_model_tokenizer(x.m) == NULL);
  CHECK_EQ_INT(samara_text_model_prompt(x.m, "a", 1, 0, NULL), SAMARA_NOT_FOUND);
  CHECK_CONTAINS(samara_text_model_error(x.m), "no tokenizer");
  CHECK_EQ_INT(samara_text_model_put(x.m, NULL, 1, NULL), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_text_model_put(x.m, (const int32_t[]){1, 8}, 2, NULL), SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(samara_text_model_error(x.m), "token 1 is 8, the model has 0 to 7");
  CHECK_EQ_INT(samara_text_model_put(x.m, (const int32_t[]){-1}, 1, NULL), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_text_model_logits(x.m, NULL, NULL), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_text_model_logits(x.m, &logits, NULL), SAMARA_BAD_STATE);
  CHECK_EQ_INT(samara_text_model_begin(x.m, NULL), SAMARA_BAD_STATE);
  CHECK_EQ_INT(samara_text_model_put(x.m, (const int32_t[]){1}, 1, NULL), SAMARA_OK);
  samara_text_options o = {
      .struct_size = sizeof o, .stops = (const char *const[]){"a"}, .stop_count = 1};
  CHECK_EQ_INT(samara_text_model_begin(x.m, &o), SAMARA_BAD_ARGUMENT);  // no tokenizer
  o = (samara_text_options){
      .struct_size = sizeof o, .end_tokens = (const int32_t[]){8}, .end_token_count = 1};
  CHECK_EQ_INT(samara_text_model_begin(x.m, &o), SAMARA_BAD_ARGUMENT);
  o.end_tokens = NULL;
  CHECK_EQ_INT(samara_text_model_begin(x.m, &o), SAMARA_BAD_ARGUMENT);
  o.struct_size = 3;
  CHECK_EQ_INT(samara_text_model_begin(x.m, &o), SAMARA_BAD_ARGUMENT);
  samara_sampler_options sampler = {.struct_size = sizeof sampler, .temperature = -1};
  o = (samara_text_options){.struct_size = sizeof o, .sampler = &sampler};
  CHECK_EQ_INT(samara_text_model_begin(x.m, &o), SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(samara_text_model_error(x.m), "temperature");
  int32_t token;
  const char *text;
  size_t bytes;
  samara_text_end end;
  CHECK_EQ_INT(samara_text_model_step(x.m, &token, &text, &bytes, &end), SAMARA_BAD_STATE);
  CHECK_EQ_INT(samara_text_model_step(x.m, NULL, &text, &bytes, &end), SAMARA_BAD_ARGUMENT);
  finish(&x);
}

// ---- what runs ----

SMR_TEST(a_common_beginning_is_kept) {
  static const int32_t first[] = {1, 2, 3, 4, 5, 6, 7, 0, 1, 2}, other[] = {1, 2, 3, 0, 0};
  struct fixture x;
  size_t reused = 99;
  begin(&x, &plain, false);
  CHECK_EQ_INT(samara_text_model_put(x.m, first, 10, &reused), SAMARA_OK);
  CHECK_EQ_INT(reused, 0);
  CHECK(ran(&x, 3, 4, 2));
  CHECK(text_is(&x, first, 10));
  CHECK_EQ_INT(samara_text_model_put(x.m, first, 10, &reused), SAMARA_OK);
  CHECK_EQ_INT(reused, 10);
  CHECK(ran(&x, 0, 0, 0));
  CHECK(text_is(&x, first, 10));
  CHECK_EQ_INT(samara_text_model_put(x.m, other, 5, &reused), SAMARA_OK);
  CHECK_EQ_INT(reused, 3);
  CHECK(ran(&x, 1, 2, 2));
  CHECK(text_is(&x, other, 5));
  // A shorter text: its last token runs again, for the logits.
  CHECK_EQ_INT(samara_text_model_put(x.m, other, 3, &reused), SAMARA_OK);
  CHECK_EQ_INT(reused, 2);
  CHECK(ran(&x, 1, 1, 1));
  CHECK(text_is(&x, other, 3));
  CHECK_EQ_INT(samara_text_model_put(x.m, first, 9, &reused), SAMARA_OK);
  CHECK_EQ_INT(reused, 3);
  CHECK(ran(&x, 2, 4, 2));
  CHECK(text_is(&x, first, 9));
  CHECK_EQ_INT(samara_text_model_put(x.m, NULL, 0, &reused), SAMARA_OK);
  CHECK_EQ_INT(reused, 0);
  CHECK(ran(&x, 0, 0, 0));
  size_t count = 1;
  const float *logits;
  (void)samara_text_model_tokens(x.m, &count);
  CHECK_EQ_INT(count, 0);
  CHECK_EQ_INT(samara_text_model_logits(x.m, &logits, NULL), SAMARA_BAD_STATE);
  finish(&x);
}

SMR_TEST(a_text_beyond_the_context_changes_nothing) {
  static const int32_t good[] = {3, 1, 4}, many[13] = {3, 1, 4, 1};
  struct fixture x;
  begin(&x, &plain, false);
  CHECK_EQ_INT(samara_text_model_put(x.m, good, 3, NULL), SAMARA_OK);
  x.runs = 0;
  size_t reused = 77;
  CHECK_EQ_INT(samara_text_model_put(x.m, many, 13, &reused), SAMARA_LIMIT);
  CHECK_CONTAINS(samara_text_model_error(x.m), "13 tokens, and the model takes 12");
  CHECK_EQ_INT(reused, 77);
  CHECK(text_is(&x, good, 3));
  CHECK(ran(&x, 0, 0, 0));
  CHECK_EQ_INT(samara_text_model_put(x.m, many, 12, &reused), SAMARA_OK);
  CHECK_EQ_INT(reused, 3);
  CHECK(text_is(&x, many, 12));
  finish(&x);
}

// Without text.chunk, and in a model that takes one token, tokens run one by one.
SMR_TEST(one_token_at_a_time) {
  static const int32_t ids[] = {3, 1, 4, 1, 5};
  for (int fixed = 0; fixed < 2; fixed++) {
    struct fixture x;
    begin(&x, &(struct text_sample){.rows = fixed, .chunk = fixed != 0 ? "4" : NULL}, false);
    CHECK_EQ_INT(samara_text_model_put(x.m, ids, 5, NULL), SAMARA_OK);
    CHECK(ran(&x, 5, 1, 1));
    CHECK(text_is(&x, ids, 5));
    finish(&x);
  }
}

// A ring that has gone round cannot go back: the whole text runs again.
SMR_TEST(rings_begin_anew) {
  static const int32_t ids[] = {3, 1, 4, 1, 5, 6, 2, 6, 5, 3, 5, 7, 7, 7}, less[] = {3, 1, 4, 1, 5};
  struct fixture x;
  size_t reused = 99;
  begin(&x, &(struct text_sample){.chunk = "4", .room = 6, .window = 3}, false);
  CHECK_EQ_INT(samara_text_model_context(x.m), 0);
  CHECK_EQ_INT(samara_text_model_put(x.m, less, 5, NULL), SAMARA_OK);
  CHECK_EQ_INT(samara_text_model_put(x.m, ids, 6, &reused), SAMARA_OK);
  CHECK_EQ_INT(reused, 5);
  CHECK(text_is(&x, ids, 6));
  CHECK_EQ_INT(samara_text_model_put(x.m, less, 5, &reused), SAMARA_OK);  // 6 rows: none is lost
  CHECK_EQ_INT(reused, 4);
  CHECK(text_is(&x, less, 5));
  CHECK_EQ_INT(samara_text_model_put(x.m, ids, 14, &reused), SAMARA_OK);
  CHECK_EQ_INT(reused, 5);
  CHECK(text_is(&x, ids, 14));
  x.runs = 0;
  CHECK_EQ_INT(samara_text_model_put(x.m, ids, 13, &reused), SAMARA_OK);
  CHECK_EQ_INT(reused, 0);
  CHECK(ran(&x, 4, 4, 1));
  CHECK(text_is(&x, ids, 13));
  finish(&x);
}

SMR_TEST(a_cancelled_run_is_repeated) {
  static const int32_t ids[] = {3, 1, 4, 1, 5, 2, 6};
  struct fixture x;
  int32_t token = -7;
  const char *text;
  size_t bytes, count;
  samara_text_end end;
  begin(&x, &plain, true);
  x.cancels = true;
  CHECK_EQ_INT(samara_text_model_put(x.m, ids, 7, NULL), SAMARA_CANCELLED);
  CHECK(ran(&x, 1, 4, 4));
  (void)samara_text_model_tokens(x.m, &count);
  CHECK_EQ_INT(count, 7);
  CHECK(text_is(&x, ids, 7));  // runs what is missing
  CHECK(ran(&x, 2, 4, 3));

  CHECK_EQ_INT(samara_text_model_put(x.m, ids, 2, NULL), SAMARA_OK);
  CHECK_EQ_INT(samara_text_model_begin(x.m, NULL), SAMARA_OK);
  CHECK_EQ_INT(samara_text_model_step(x.m, &token, &text, &bytes, &end), SAMARA_OK);
  CHECK_EQ_INT(token, 2);
  x.cancels = true;
  CHECK_EQ_INT(samara_text_model_step(x.m, &token, &text, &bytes, &end), SAMARA_CANCELLED);
  (void)samara_text_model_tokens(x.m, &count);
  CHECK_EQ_INT(count, 3);
  CHECK_EQ_INT(samara_text_model_step(x.m, &token, &text, &bytes, &end), SAMARA_OK);
  CHECK_EQ_INT(token, 3);
  CHECK(text_is(&x, (const int32_t[]){3, 1, 2, 3}, 4));
  finish(&x);
}

// ---- making text ----

struct made {
  char text[256];
  size_t bytes, tokens, calls;
  samara_text_end end;
  char parts[256];  // as text, with a bar behind each call
  size_t part_bytes;
};

static bool make(struct fixture *x, const samara_text_options *options, struct made *out) {
  *out = (struct made){.end = SAMARA_TEXT_GOING};
  samara_text_options own = options != NULL ? *options : (samara_text_options){0};
  own.struct_size = sizeof own;
  if (!CHECK_EQ_INT(samara_text_model_begin(x->m, &own), SAMARA_OK)) {
    fprintf(stderr, "%s\n", samara_text_model_error(x->m));
    return false;
  }
  while (out->end == SAMARA_TEXT_GOING && out->calls < 40) {
    int32_t token = -7;
    const char *text = NULL;
    size_t bytes = 99;
    if (!CHECK_EQ_INT(samara_text_model_step(x->m, &token, &text, &bytes, &out->end), SAMARA_OK))
      return false;
    memcpy(out->text + out->bytes, text, bytes);
    memcpy(out->parts + out->part_bytes, text, bytes);
    out->bytes += bytes;
    out->part_bytes += bytes;
    out->parts[out->part_bytes++] = '|';
    out->tokens += token >= 0;
    out->calls++;
  }
  int32_t token = -7;
  const char *text;
  size_t bytes;
  samara_text_end end;
  CHECK_EQ_INT(samara_text_model_step(x->m, &token, &text, &bytes, &end), SAMARA_BAD_STATE);
  return true;
}

// What follows token `from` when each makes the next.
static bool makes(const uint8_t *next, int32_t from, const samara_text_options *options,
                  const char *parts, samara_text_end end) {
  struct text_sample sample = {.next = next, .context = "14", .chunk = "4", .ends = "6"};
  struct fixture x;
  struct made made;
  begin(&x, &sample, true);
  CHECK_EQ_INT(samara_text_model_put(x.m, &from, 1, NULL), SAMARA_OK);
  const bool right =
      make(&x, options, &made) && CHECK_STR(made.parts, parts) && CHECK_EQ_INT(made.end, end);
  finish(&x);
  return right;
}

// a b c d <x>
static const uint8_t line[] = {B, C, SPECIAL, D, E_SECOND, A, A, SPECIAL};
// d ab c, and again
static const uint8_t circle[] = {B, C, C, D, E_SECOND, D, D, AB};

SMR_TEST(end_tokens) {
  CHECK(makes(line, A, NULL, "b|c|d||", SAMARA_TEXT_END_TOKEN));
  samara_text_options o = {.end_tokens = (const int32_t[]){AB, D}, .end_token_count = 2};
  CHECK(makes(line, A, &o, "b|c||", SAMARA_TEXT_END_TOKEN));
  o = (samara_text_options){.ignore_end_tokens = true, .max_tokens = 6};
  CHECK(makes(line, A, &o, "b|c|d||a|b||", SAMARA_TEXT_MOST_TOKENS));
}

SMR_TEST(the_end_token_is_of_the_text) {
  struct text_sample sample = {.next = line, .context = "14", .chunk = "4", .ends = "5,6"};
  struct fixture x;
  struct made made;
  begin(&x, &sample, true);
  size_t reused = 0;
  CHECK_EQ_INT(samara_text_model_prompt(x.m, "ab a", 4, 0, &reused), SAMARA_OK);
  CHECK(make(&x, NULL, &made));
  CHECK(text_is(&x, (const int32_t[]){AB, A, B, C, D, SPECIAL}, 6));
  CHECK_EQ_INT(made.tokens, 4);
  CHECK_EQ_INT(samara_text_model_prompt(x.m, "ab a b d", 8, 0, &reused), SAMARA_OK);
  CHECK_EQ_INT(reused, 3);
  CHECK_EQ_INT(samara_text_model_prompt(x.m, "\xff", 1, 0, &reused), SAMARA_BAD_ARGUMENT);
  CHECK(text_is(&x, (const int32_t[]){AB, A, B, D}, 4));
  finish(&x);
}

SMR_TEST(most_tokens_and_full) {
  samara_text_options o = {.max_tokens = 4};
  CHECK(makes(circle, D, &o, "ab|c|d|ab||", SAMARA_TEXT_MOST_TOKENS));
  struct text_sample sample = {.next = circle, .context = "5", .chunk = "4"};
  struct fixture x;
  struct made made;
  begin(&x, &sample, true);
  CHECK_EQ_INT(samara_text_model_put(x.m, (const int32_t[]){D, AB, C}, 3, NULL), SAMARA_OK);
  CHECK(make(&x, NULL, &made));
  // The logits of the fifth token still give one.
  CHECK_STR(made.parts, "d|ab|c||");
  CHECK_EQ_INT(made.end, SAMARA_TEXT_FULL);
  CHECK_EQ_INT(made.tokens, 3);
  const float *logits;
  CHECK_EQ_INT(samara_text_model_logits(x.m, &logits, NULL), SAMARA_LIMIT);
  CHECK_EQ_INT(samara_text_model_put(x.m, (const int32_t[]){D, AB, C, D}, 4, NULL), SAMARA_OK);
  CHECK(text_is(&x, (const int32_t[]){D, AB, C, D}, 4));
  finish(&x);
}

static samara_text_options stops(const char *const *list, size_t count, size_t most) {
  return (samara_text_options){.stops = list, .stop_count = count, .max_tokens = most};
}

SMR_TEST(stops_end_a_text) {
  samara_text_options o = stops((const char *const[]){"c"}, 1, 0);
  CHECK(makes(circle, D, &o, "ab||", SAMARA_TEXT_STOP));
  o = stops((const char *const[]){"bcd"}, 1, 0);  // begins in one token and ends in the third
  CHECK(makes(circle, D, &o, "a|||", SAMARA_TEXT_STOP));
  o = stops((const char *const[]){"bca"}, 1, 5);  // nearly: what was held back comes later
  CHECK(makes(circle, D, &o, "a||bcd|a||bc|", SAMARA_TEXT_MOST_TOKENS));
  o = stops((const char *const[]){"zz", "da"}, 2, 0);
  CHECK(makes(circle, D, &o, "ab|c|||", SAMARA_TEXT_STOP));
  o = stops((const char *const[]){"bcd", "bc"}, 2, 0);  // one begins the other
  CHECK(makes(circle, D, &o, "a||", SAMARA_TEXT_STOP));
  o = stops((const char *const[]){"b", "bcd"}, 2, 0);
  CHECK(makes(circle, D, &o, "a|", SAMARA_TEXT_STOP));
}

// A stop that was only begun hides one inside of it until it is certain.
SMR_TEST(a_stop_inside_a_begun_one) {
  samara_text_options o = stops((const char *const[]){"bcda!", "cd"}, 2, 3);
  CHECK(makes(circle, D, &o, "a|||b|", SAMARA_TEXT_STOP));
  o.max_tokens = 0;
  CHECK(makes(circle, D, &o, "a|||b|", SAMARA_TEXT_STOP));
  o = stops((const char *const[]){"bcdab", "cd"}, 2, 0);
  CHECK(makes(circle, D, &o, "a||||", SAMARA_TEXT_STOP));
}

SMR_TEST(characters_come_whole) {
  // a, the two bytes of a character, c, and the end in the middle of a character. Bytes wait for
  // what follows them.
  static const uint8_t accent[] = {E_FIRST, C, C, E_FIRST, E_SECOND, C, D, A};
  samara_text_options o = {.max_tokens = 3};
  CHECK(makes(accent, D, &o, "a|||\xc3\xa9|", SAMARA_TEXT_MOST_TOKENS));
  o.max_tokens = 5;
  CHECK(makes(accent, D, &o,
              "a|||\xc3\xa9"
              "c||\xef\xbf\xbd|",
              SAMARA_TEXT_MOST_TOKENS));
  o = stops((const char *const[]){"\xc3\xa9"}, 1, 0);
  CHECK(makes(accent, D, &o, "a||||", SAMARA_TEXT_STOP));
}

SMR_TEST(stops_are_checked) {
  struct fixture x;
  begin(&x, &plain, true);
  CHECK_EQ_INT(samara_text_model_put(x.m, (const int32_t[]){1}, 1, NULL), SAMARA_OK);
  static const char *const lists[][2] = {{"a", ""}, {"a", NULL}};
  for (size_t i = 0; i < 2; i++) {
    samara_text_options o = stops(lists[i], 2, 0);
    o.struct_size = sizeof o;
    CHECK_EQ_INT(samara_text_model_begin(x.m, &o), SAMARA_BAD_ARGUMENT);
    CHECK_CONTAINS(samara_text_model_error(x.m), "stop 1 is empty");
  }
  samara_text_options o = stops(NULL, 1, 0);
  o.struct_size = sizeof o;
  CHECK_EQ_INT(samara_text_model_begin(x.m, &o), SAMARA_BAD_ARGUMENT);
  finish(&x);
}

// The same seed gives the same text, and the sampler knows the tokens before.
SMR_TEST(samplers_are_used) {
  struct made first, second, greedy;
  struct fixture x;
  const int32_t ids[] = {D, AB, C};
  begin(&x, &(struct text_sample){.next = circle, .context = "14", .chunk = "4"}, true);
  samara_sampler_options sampler = {
      .struct_size = sizeof sampler, .temperature = 30, .seed = 5, .repetition_penalty = 1};
  const samara_text_options o = {.sampler = &sampler, .max_tokens = 8};
  CHECK_EQ_INT(samara_text_model_put(x.m, ids, 3, NULL), SAMARA_OK);
  CHECK(make(&x, &o, &first));
  CHECK_EQ_INT(samara_text_model_put(x.m, ids, 3, NULL), SAMARA_OK);
  CHECK(make(&x, &o, &second));
  CHECK_STR(first.parts, second.parts);
  CHECK_EQ_INT(samara_text_model_put(x.m, ids, 3, NULL), SAMARA_OK);
  CHECK(make(&x, &(samara_text_options){.max_tokens = 8}, &greedy));
  CHECK(strcmp(first.parts, greedy.parts) != 0);
  CHECK_STR(greedy.text, "dabcdabcdab");
  // 4.9 becomes 0.05 for tokens that were there: the first new one is another.
  sampler = (samara_sampler_options){.struct_size = sizeof sampler, .repetition_penalty = 100};
  CHECK_EQ_INT(samara_text_model_put(x.m, ids, 3, NULL), SAMARA_OK);
  CHECK(make(&x, &o, &second));
  CHECK(strchr("dc", second.text[0]) == NULL);
  finish(&x);
}

// ---- memory ----

static samara_status use_all(const samara_model *model) {
  static const int32_t ids[] = {D, AB, C, D, AB};
  samara_text_model *m = NULL;
  samara_error error = {SAMARA_OK, ""};
  int32_t token;
  const char *text;
  size_t bytes;
  samara_text_end end;
  samara_sampler_options sampler = {.struct_size = sizeof sampler, .temperature = 1, .top_k = 3};
  const samara_text_options o = {.struct_size = sizeof o,
                                 .sampler = &sampler,
                                 .stops = (const char *const[]){"zz", "y"},
                                 .stop_count = 2,
                                 .end_tokens = (const int32_t[]){SPECIAL},
                                 .end_token_count = 1};
  samara_status status = samara_text_model_create(model, NULL, &m, &error);
  CHECK((status == SAMARA_OK) == (m != NULL));
  if (m != NULL) {
    status = samara_text_model_put(m, ids, 5, NULL);
    if (status == SAMARA_OK) status = samara_text_model_prompt(m, "d ab", 4, 0, NULL);
    if (status == SAMARA_OK) status = samara_text_model_begin(m, &o);
    for (size_t i = 0; i < 4 && status == SAMARA_OK; i++) {
      size_t before, after;
      (void)samara_text_model_tokens(m, &before);
      status = samara_text_model_step(m, &token, &text, &bytes, &end);
      (void)samara_text_model_tokens(m, &after);
      CHECK_EQ_INT(after, before + (status == SAMARA_OK));
    }
    if (status != SAMARA_OK) CHECK(samara_text_model_error(m)[0] != '\0');
  }
  samara_text_model_destroy(m);
  return status;
}

SMR_TEST(every_allocation_may_fail) {
  struct text_sample sample = {.next = circle, .context = "14", .chunk = "4", .ends = "5,6"};
  struct mb_model *described = text_sample_model(&sample);
  add_tokenizer(described);
  size_t size;
  uint8_t *bytes = mb_write(described, &size);
  mb_free(described);
  struct mb_memory memory = {0};
  const samara_allocator allocator = mb_allocator(&memory);
  const samara_model_options options = {.struct_size = sizeof options, .allocator = &allocator};
  samara_model *model = NULL;
  REQUIRE(samara_model_open_memory(bytes, size, &options, &model, NULL) == SAMARA_OK);
  size_t failures = 0;
  CHECK_EQ_INT(use_all(model), SAMARA_OK);  // layouts of constants stay with the model
  const size_t live = memory.live;
  for (size_t k = 1; k < 1000; k++) {
    memory.calls = 0;
    memory.fail_at = k;
    const samara_status status = use_all(model);
    CHECK_EQ_INT(memory.live, live);
    CHECK_EQ_INT(status, memory.calls < k ? SAMARA_OK : SAMARA_OUT_OF_MEMORY);
    if (memory.calls < k) break;
    failures++;
  }
  CHECK(failures > 20);
  samara_model_close(model);
  free(bytes);
}

SMR_TEST_MAIN(RUN(other_models_are_refused); RUN(what_callers_get_wrong);
              RUN(a_common_beginning_is_kept); RUN(a_text_beyond_the_context_changes_nothing);
              RUN(one_token_at_a_time); RUN(rings_begin_anew); RUN(a_cancelled_run_is_repeated);
              RUN(end_tokens); RUN(the_end_token_is_of_the_text); RUN(most_tokens_and_full);
              RUN(stops_end_a_text); RUN(a_stop_inside_a_begun_one); RUN(characters_come_whole);
              RUN(stops_are_checked); RUN(samplers_are_used); RUN(every_allocation_may_fail))
