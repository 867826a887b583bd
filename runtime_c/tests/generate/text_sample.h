// SPDX-License-Identifier: Apache-2.0
// A text model of eight tokens, small enough to know its logits by heart.
//
// The logits after a text are follow[last token] plus the mean of trace[token] over the tokens that
// attention sees, so they depend on all of these, and the likeliest token is next[last token].
#ifndef SMR_TESTS_GENERATE_TEXT_SAMPLE_H
#define SMR_TESTS_GENERATE_TEXT_SAMPLE_H

#include "model/fb_builder.h"

enum { TEXT_SAMPLE_TOKENS = 8, TEXT_SAMPLE_ROOM = 16, TEXT_SAMPLE_CHUNK = 4 };

struct text_sample {
  const uint8_t *next;                 // TEXT_SAMPLE_TOKENS; NULL: the number above
  const char *context, *chunk, *ends;  // of the metadata; NULL: none
  int64_t room;                        // rows of the cache; 0: TEXT_SAMPLE_ROOM
  int64_t window;                      // not 0: the cache is a ring
  int64_t rows;                        // not 0: the only number of tokens of a run
  float shift;                         // is added to all logits
};

static inline float text_sample_follow(const struct text_sample *o, size_t last, size_t token) {
  const size_t next = o->next != NULL ? o->next[last] : (last + 1) % TEXT_SAMPLE_TOKENS;
  return (token == next ? 4.0f : 0.0f) + o->shift;
}

static inline float text_sample_trace(size_t seen, size_t token) {
  return (float)((seen * 5 + token * 3 + seen * token) % 7) / 8;
}

/// The logit of `token` after `count` tokens.
static inline float text_sample_logit(const struct text_sample *o, const int32_t *ids, size_t count,
                                      size_t token) {
  const size_t seen = o->window != 0 && count > (size_t)o->window ? (size_t)o->window : count;
  float sum = 0;
  for (size_t i = count - seen; i < count; i++) sum += text_sample_trace((size_t)ids[i], token);
  return text_sample_follow(o, (size_t)ids[count - 1], token) + sum / (float)seen;
}

static inline uint32_t text_sample_node(struct mb_function *f, const char *name, uint16_t op,
                                        uint32_t count, const int32_t *inputs, uint8_t dtype,
                                        uint32_t rank, const uint32_t *dims,
                                        struct mb_node **node) {
  const uint32_t out = mb_value(f, name, dtype, rank, dims);
  struct mb_node *made = mb_node(f, name, op, count, inputs, 1, &out);
  if (node != NULL) *node = made;
  return out;
}

/// A reshape.
static inline uint32_t text_sample_shaped(struct mb_function *f, const char *name, uint32_t x,
                                          uint8_t dtype, uint32_t rank, const uint32_t *dims) {
  struct mb_node *node;
  const int32_t in[] = {(int32_t)x};
  const uint32_t out = text_sample_node(f, name, MB_OP_RESHAPE, 1, in, dtype, rank, dims, &node);
  mb_set_dims(node, "shape", rank, dims);
  return out;
}

/// The last of the rows of x [1, S, V].
static inline uint32_t text_sample_last(struct mb_function *f, const char *name, uint32_t x,
                                        uint32_t s, const uint32_t *dims) {
  const uint32_t zero = mb_const(f, 0), one = mb_const(f, 1);
  const uint32_t begin[] = {zero, mb_binary(f, SMR_EXPR_SUB, s, one), zero};
  const uint32_t end[] = {one, s, dims[2]}, step[] = {one, one, one};
  struct mb_node *node;
  const int32_t in[] = {(int32_t)x};
  const uint32_t out =
      text_sample_node(f, name, MB_OP_SLICE, 1, in, SAMARA_FLOAT32, 3, dims, &node);
  mb_set_dims(node, "begin", 3, begin);
  mb_set_dims(node, "end", 3, end);
  mb_set_dims(node, "step", 3, step);
  return out;
}

static inline uint32_t text_sample_rows(struct mb_model *m, struct mb_function *f, const char *name,
                                        const float *table, uint32_t ids, const uint32_t *dims) {
  static const int64_t table_dims[] = {TEXT_SAMPLE_TOKENS, TEXT_SAMPLE_TOKENS};
  const int32_t data = mb_data(m, name, SAMARA_FLOAT32, 2, table_dims, table, 0);
  const int32_t in[] = {(int32_t)mb_constant_value(m, f, data), (int32_t)ids};
  struct mb_node *node;
  const uint32_t out =
      text_sample_node(f, name, MB_OP_GATHER, 2, in, SAMARA_FLOAT32, 3, dims, &node);
  mb_set(node, "axis", 0);
  return out;
}

static inline void text_sample_metadata(struct mb_model *m, const char *key, const char *value) {
  if (value != NULL) m->metadata[m->metadata_count++] = (struct smr_metadata){key, value};
}

/// Variables: 0 is "length", 1 is "cache". Outputs: logits, the next length, the next cache.
static inline struct mb_model *text_sample_model(const struct text_sample *o) {
  enum { V = TEXT_SAMPLE_TOKENS };
  float follow[V][V], trace[V][V];
  for (size_t i = 0; i < V; i++) {
    for (size_t k = 0; k < V; k++) {
      follow[i][k] = text_sample_follow(o, i, k);
      trace[i][k] = text_sample_trace(i, k);
    }
  }
  struct mb_model *m = mb_new();
  const int64_t zero = 0, room = o->room != 0 ? o->room : TEXT_SAMPLE_ROOM;
  const int32_t initial = mb_data(m, "length.initial", SAMARA_INT64, 0, NULL, &zero, 8);
  m->variables[m->variable_count++] =
      (struct mb_variable){.name = "length", .dtype = SAMARA_INT64, .initial = initial};
  m->variables[m->variable_count++] = (struct mb_variable){.name = "cache",
                                                           .dtype = SAMARA_FLOAT32,
                                                           .dims = {1, room, 1, V},
                                                           .rank = 4,
                                                           .grows = true,
                                                           .length = 0};
  text_sample_metadata(m, "text.context", o->context);
  text_sample_metadata(m, "text.chunk", o->chunk);
  text_sample_metadata(m, "text.end_tokens", o->ends);

  struct mb_function *f = mb_function(m, "forward");
  const uint32_t one = mb_const(f, 1), v = mb_const(f, V), places = mb_const(f, room);
  const uint32_t s = o->rows != 0 ? mb_const(f, o->rows) : mb_input_dim(f, 0, 1);
  const uint32_t ids_dims[] = {one, s}, rows_dims[] = {one, s, v}, last_dims[] = {one, one, v};
  const uint32_t kv_dims[] = {one, s, one, v}, cache_dims[] = {one, places, one, v};
  const uint32_t out_dims[] = {one, v};
  const uint32_t ids = mb_value(f, "input_ids", SAMARA_INT64, 2, ids_dims);
  const uint32_t length = mb_value(f, "length", SAMARA_INT64, 0, NULL);
  const uint32_t cache = mb_value(f, "cache", SAMARA_FLOAT32, 4, cache_dims);
  mb_input(f, ids);
  mb_input(f, length);
  mb_input(f, cache);
  struct mb_node *node;
  const uint32_t seen = text_sample_rows(m, f, "trace", &trace[0][0], ids, rows_dims);
  const uint32_t kv = text_sample_shaped(f, "kv", seen, SAMARA_FLOAT32, 4, kv_dims);
  const int32_t write_in[] = {(int32_t)cache, (int32_t)kv, (int32_t)length};
  const uint32_t next_cache = text_sample_node(f, "next_cache", MB_OP_WRITE_ROWS, 3, write_in,
                                               SAMARA_FLOAT32, 4, cache_dims, &node);
  mb_set(node, "ring", o->window != 0);
  const uint32_t count =
      text_sample_node(f, "count", MB_OP_IOTA, 0, NULL, SAMARA_INT64, 1, &one, &node);
  mb_set(node, "length", one);
  mb_set(node, "start", s);
  mb_set(node, "step", one);
  mb_set(node, "dtype", SAMARA_INT64);
  const int32_t add_in[] = {(int32_t)length,
                            (int32_t)text_sample_shaped(f, "new", count, SAMARA_INT64, 0, NULL)};
  const uint32_t next_length =
      text_sample_node(f, "next_length", MB_OP_ADD, 2, add_in, SAMARA_INT64, 0, NULL, NULL);
  const int32_t attention_in[] = {(int32_t)kv, (int32_t)next_cache, (int32_t)next_cache,
                                  (int32_t)next_length};
  const uint32_t mean = text_sample_node(f, "mean", MB_OP_ATTENTION_CACHED, 4, attention_in,
                                         SAMARA_FLOAT32, 4, kv_dims, &node);
  mb_set_f32(node, "scale", 0.0f);  // so that all weights are the same
  mb_set(node, "window", o->window);
  mb_set(node, "ring", o->window != 0);
  const uint32_t means = text_sample_shaped(f, "means", mean, SAMARA_FLOAT32, 3, rows_dims);
  const uint32_t follows = text_sample_rows(m, f, "follow", &follow[0][0], ids, rows_dims);
  const int32_t sum_in[] = {(int32_t)text_sample_last(f, "last_mean", means, s, last_dims),
                            (int32_t)text_sample_last(f, "last_follow", follows, s, last_dims)};
  const uint32_t sum =
      text_sample_node(f, "sum", MB_OP_ADD, 2, sum_in, SAMARA_FLOAT32, 3, last_dims, NULL);
  mb_output(f, text_sample_shaped(f, "logits", sum, SAMARA_FLOAT32, 2, out_dims));
  mb_output(f, next_length);
  mb_output(f, next_cache);
  if (o->rows == 0)
    f->symbols[f->symbol_count++] =
        (struct mb_symbol){.name = "tokens", .expr = s, .lower = 1, .upper = TEXT_SAMPLE_CHUNK};
  for (uint32_t i = 0; i < 2; i++) {
    f->reads[f->read_count++] = (struct smr_binding){.position = i + 1, .variable = i};
    f->writes[f->write_count++] = (struct smr_binding){.position = i + 1, .variable = i};
  }
  return m;
}

#endif
