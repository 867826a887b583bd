// SPDX-License-Identifier: Apache-2.0
// A small model that has one of most things, for tests that open, break and fuzz files.
#ifndef SMR_TESTS_MODEL_SAMPLE_H
#define SMR_TESTS_MODEL_SAMPLE_H

#include "model/fb_builder.h"

/// Values, nodes, constants of mb_sample's function, by position.
enum { SAMPLE_X, SAMPLE_S, SAMPLE_W, SAMPLE_H, SAMPLE_G, SAMPLE_FLAT, SAMPLE_NZ, SAMPLE_S2 };
enum { SAMPLE_MATMUL, SAMPLE_ADD, SAMPLE_RESHAPE, SAMPLE_NONZERO, SAMPLE_IDENTITY };

/// main(x [n, 4], state s [4]): h = x @ w; g = h + s; flat = reshape(g, [n * 4]);
/// nz = nonzero(flat) [1, born <= n * 4]; s2 = s. Outputs flat and nz; s2 is written back to s.
static inline struct mb_model *mb_sample(void) {
  static const float w[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, x[4] = {1, 2, 0, 4};
  static const int64_t d44[] = {4, 4}, d4[] = {4}, d14[] = {1, 4};
  struct mb_model *m = mb_new();
  const int32_t w_data = mb_data(m, "w", SAMARA_FLOAT32, 2, d44, w, 0);
  const int32_t zeros = mb_data(m, "s.initial", SAMARA_FLOAT32, 1, d4, NULL, 0);
  const int32_t golden_x = mb_data(m, "golden x", SAMARA_FLOAT32, 2, d14, x, 0);
  const int32_t golden_flat = mb_data(m, "golden flat", SAMARA_FLOAT32, 1, d4, x, 0);
  m->variables[m->variable_count++] = (struct mb_variable){
      .name = "s", .dtype = SAMARA_FLOAT32, .dims = {4}, .rank = 1, .initial = zeros};

  struct mb_function *f = mb_function(m, "main");
  const uint32_t n = mb_input_dim(f, 0, 0), four = mb_const(f, 4), one = mb_const(f, 1);
  const uint32_t all = mb_binary(f, SMR_EXPR_MUL, n, four);
  const uint32_t rows[] = {n, four}, flat_dims[] = {all};
  mb_input(f, mb_value(f, "x", SAMARA_FLOAT32, 2, rows));
  mb_input(f, mb_value(f, "s", SAMARA_FLOAT32, 1, &four));
  mb_constant_value(m, f, w_data);
  mb_value(f, "h", SAMARA_FLOAT32, 2, rows);
  mb_value(f, "g", SAMARA_FLOAT32, 2, rows);
  mb_output(f, mb_value(f, "flat", SAMARA_FLOAT32, 1, flat_dims));
  const uint32_t born = mb_born(f, SAMPLE_NONZERO, 0, 1, all), nz_dims[] = {one, born};
  mb_output(f, mb_value(f, "nz", SAMARA_INT64, 2, nz_dims));
  mb_output(f, mb_value(f, "s2", SAMARA_FLOAT32, 1, &four));
  f->output_names[0] = "out";
  f->output_names[1] = "indices";
  f->output_names[2] = "s next";
  f->output_name_count = 3;

  static const int32_t xw[] = {SAMPLE_X, SAMPLE_W}, hs[] = {SAMPLE_H, SAMPLE_S}, g[] = {SAMPLE_G};
  static const int32_t flat[] = {SAMPLE_FLAT}, s[] = {SAMPLE_S};
  static const uint32_t out[] = {SAMPLE_H, SAMPLE_G, SAMPLE_FLAT, SAMPLE_NZ, SAMPLE_S2};
  mb_node(f, "matmul", MB_OP_MATMUL, 2, xw, 1, &out[0]);
  mb_node(f, "add", MB_OP_ADD, 2, hs, 1, &out[1])->source = 0;
  struct mb_node *reshape = mb_node(f, "reshape", MB_OP_RESHAPE, 1, g, 1, &out[2]);
  mb_set_dims(reshape, "shape", 1, flat_dims);
  reshape->absorbed[reshape->absorbed_count++] = "relu:0";
  mb_node(f, "nonzero", MB_OP_NONZERO, 1, flat, 1, &out[3]);
  mb_node(f, "identity", MB_OP_IDENTITY, 1, s, 1, &out[4]);

  f->guards[f->guard_count++] = (struct smr_guard){.relation = SMR_RELATION_LE,
                                                   .a = one,
                                                   .b = n,
                                                   .node = SAMPLE_RESHAPE,
                                                   .message = "n is at least 1"};
  f->symbols[f->symbol_count++] = (struct mb_symbol){.name = "n", .expr = n, .upper = 32};
  f->reads[f->read_count++] = (struct smr_binding){.position = 1, .variable = 0};
  f->writes[f->write_count++] = (struct smr_binding){.position = 2, .variable = 0};

  m->sources[m->source_count++] = (struct smr_source){"model.py", 12, "Add"};
  m->metadata[m->metadata_count++] = (struct smr_metadata){"license", "Apache-2.0"};
  m->metadata[m->metadata_count++] = (struct smr_metadata){"labels", "cat\ndog"};
  struct mb_golden *golden = &m->goldens[m->golden_count++];
  golden->input_count = 1;
  golden->inputs[0] = (struct mb_golden_tensor){.dims = {1, 4}, .rank = 2, .constant = golden_x};
  golden->output_count = 2;
  golden->outputs[0] =
      (struct mb_golden_tensor){.dims = {4}, .rank = 1, .constant = golden_flat, .abs_tol = 1e-6f};
  // [[0, 1, 3]] as int64, by digest.
  static const int64_t nz[] = {0, 1, 3};
  golden->outputs[1] = (struct mb_golden_tensor){.index = 1,
                                                 .dims = {1, 3},
                                                 .rank = 2,
                                                 .constant = -1,
                                                 .digest = smr_fnv(SMR_FNV_START, nz, sizeof nz)};
  return m;
}

/// Write and open a model from memory, free the description and, when opening failed, the bytes.
/// *bytes must live as long as the model.
static inline samara_status mb_open(struct mb_model *m, samara_model **model, uint8_t **bytes,
                                    samara_error *error) {
  size_t size;
  *bytes = mb_write(m, &size);
  mb_free(m);
  const samara_status status = samara_model_open_memory(*bytes, size, NULL, model, error);
  if (status != SAMARA_OK) {
    free(*bytes);
    *bytes = NULL;
  }
  return status;
}

/// A model that is open, and the file it lies in. mb_close releases both.
struct mb_file {
  samara_model *model;
  uint8_t *bytes;
};

/// mb_open for a model that must be accepted. Aborts, with the error printed, if it is refused.
static inline struct mb_file mb_accept(struct mb_model *m) {
  struct mb_file file = {NULL, NULL};
  samara_error error = {SAMARA_OK, ""};
  if (mb_open(m, &file.model, &file.bytes, &error) == SAMARA_OK && error.text[0] == '\0')
    return file;
  fprintf(stderr, "the model is refused: %s\n", error.text);
  abort();
}

static inline void mb_close(const struct mb_file *file) {
  samara_model_close(file->model);
  free(file->bytes);
}

/// An allocator that counts, and fails at call `fail_at`, counted from 1; 0: never.
struct mb_memory {
  size_t calls, fail_at;
  size_t live;   // blocks not released
  size_t bytes;  // asked for
};

static inline void *mb_allocate(void *user, size_t size) {
  struct mb_memory *memory = (struct mb_memory *)user;
  if (++memory->calls == memory->fail_at) return NULL;
  memory->live++;
  memory->bytes += size;
  return aligned_alloc(64, (size + 63) / 64 * 64);
}

static inline void mb_release(void *user, void *pointer) {
  ((struct mb_memory *)user)->live--;
  free(pointer);
}

static inline samara_allocator mb_allocator(struct mb_memory *memory) {
  return (samara_allocator){mb_allocate, mb_release, memory};
}

/// Open a model that must be refused: checks status, text and that nothing is left.
#define CHECK_REFUSED(m, expected_status, part)                                                 \
  do {                                                                                          \
    samara_model *refused_ = (samara_model *)1;                                                 \
    samara_error refused_error_ = {SAMARA_OK, ""};                                              \
    uint8_t *refused_bytes_;                                                                    \
    CHECK_EQ_INT(mb_open((m), &refused_, &refused_bytes_, &refused_error_), (expected_status)); \
    CHECK(refused_ == NULL);                                                                    \
    CHECK_EQ_INT(refused_error_.status, (expected_status));                                     \
    CHECK_CONTAINS(refused_error_.text, (part));                                                \
    samara_model_close(refused_);                                                               \
    free(refused_bytes_);                                                                       \
  } while (0)

#endif
