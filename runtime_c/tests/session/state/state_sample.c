// SPDX-License-Identifier: Apache-2.0
// Helpers of tests of saved state: a model with variables of several kinds, and files in memory.
#include "base/fp.h"

#include "session/state/state_sample.h"

#include <stdlib.h>
#include <string.h>

#include "ops/table/opattrs.h"

static const float sample_w[] = {1, 2, 3, 4, 5, 6};
static const int64_t sample_steps[] = {7};
static const uint8_t sample_mask[] = {1, 0, 1};

struct literal *state_sample(void) {
  struct literal *l = literal_new();
  static const int64_t w_dims[] = {2, 3}, mask_dims[] = {3};
  literal_variable(l, "mask", SAMARA_BOOL, sample_mask, 1, mask_dims);
  literal_variable(l, "w", SAMARA_FLOAT32, sample_w, 2, w_dims);
  literal_variable(l, "steps", SAMARA_INT64, sample_steps, 0, NULL);
  struct literal_function *f = literal_add(l, "train", true);
  const uint32_t two = literal_int(f, 2), three = literal_int(f, 3);
  const uint32_t w = literal_input(f, literal_value(f, "w", SAMARA_FLOAT32, 2, two, three));
  const uint32_t steps = literal_input(f, literal_value(f, "steps", SAMARA_INT64, 0));
  const uint32_t mask = literal_input(f, literal_value(f, "mask", SAMARA_BOOL, 1, three));
  const uint32_t twice = literal_value(f, "twice", SAMARA_FLOAT32, 2, two, three);
  literal_node(f, smr_op_find(SMR_CODE_ADD), "double", LITERAL_LIST(w, w), LITERAL_LIST(twice));
  literal_output(f, twice, "w_next");
  literal_output(f, steps, "steps_next");
  literal_output(f, mask, "seen");
  for (uint32_t i = 0; i < 3; i++) literal_bind(f, false, i, i == 0 ? 1 : i == 1 ? 2 : 0);
  literal_bind(f, true, 0, 1);
  literal_bind(f, true, 1, 2);
  struct literal_function *g = literal_add(l, "infer", true);
  const uint32_t g_two = literal_int(g, 2), g_three = literal_int(g, 3);
  const uint32_t v = literal_input(g, literal_value(g, "w", SAMARA_FLOAT32, 2, g_two, g_three));
  literal_output(g, v, "y");
  literal_bind(g, false, 0, 1);
  return l;
}

struct literal *state_growing(struct state_growing options) {
  struct literal *l = literal_new();
  static const int64_t cache_dims[] = {1, 4, 2}, none = 0;
  const uint32_t cache_variable = literal_variable(l, "cache", SAMARA_FLOAT32, NULL, 3, cache_dims);
  const uint32_t length_variable = literal_variable(l, "length", SAMARA_INT64, &none, 0, NULL);
  literal_grow(l, cache_variable, length_variable);
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t one = literal_int(f, 1), two = literal_int(f, 2), four = literal_int(f, 4);
  const uint32_t s = literal_symbol(f, "rows", 0, 1, 4);
  const uint32_t rows = literal_input(f, literal_value(f, "rows", SAMARA_FLOAT32, 3, one, s, two));
  const uint32_t cache =
      literal_input(f, literal_value(f, "cache", SAMARA_FLOAT32, 3, one, four, two));
  const uint32_t step = literal_input(f, literal_value(f, "step", SAMARA_INT64, 0));
  const uint32_t length = literal_input(f, literal_value(f, "length", SAMARA_INT64, 0));
  const uint32_t next = literal_value(f, "next", SAMARA_FLOAT32, 3, one, four, two);
  const uint32_t y = literal_value(f, "y", SAMARA_FLOAT32, 3, one, four, two);
  const uint32_t longer = literal_value(f, "longer", SAMARA_INT64, 0);
  const uint32_t write = literal_node(f, smr_op_find(SMR_CODE_WRITE_ROWS), "write",
                                      LITERAL_LIST(cache, rows, length), LITERAL_LIST(next));
  literal_attr(f, write, "ring", (struct smr_attr){.i = options.ring});
  literal_node(f, smr_op_find(SMR_CODE_ADD), "sum",
               LITERAL_LIST(options.twice ? cache : next, next), LITERAL_LIST(y));
  literal_node(f, smr_op_find(SMR_CODE_ADD), "count", LITERAL_LIST(length, step),
               LITERAL_LIST(longer));
  literal_output(f, longer, "longer");
  literal_output(f, y, "y");
  literal_output(f, next, "next");
  literal_bind(f, false, 1, cache_variable);
  literal_bind(f, false, 3, length_variable);
  literal_bind(f, true, 0, length_variable);
  literal_bind(f, true, 2, cache_variable);
  return l;
}

samara_status state_growing_run(samara_session *session, int64_t count, float first) {
  const int64_t shape[] = {1, count, 2}, *const shapes[] = {shape, NULL};
  float rows[8];
  for (size_t i = 0; i < 8; i++) rows[i] = first + (float)i;
  samara_status status = samara_session_resize(session, shapes, 2);
  if (status == SAMARA_OK)
    status = samara_session_set_input(session, 0, rows, (size_t)count * 2 * sizeof *rows);
  if (status == SAMARA_OK) status = samara_session_set_input(session, 1, &count, sizeof count);
  return status == SAMARA_OK ? samara_session_run(session) : status;
}

bool state_growing_has(samara_session *session, int64_t length, const float *rows) {
  float got[8];
  int64_t has = -1;
  samara_tensor info;
  const size_t bytes = (size_t)(length < 4 ? length : 4) * 2 * sizeof *got;
  if (samara_session_state_read(session, "length", &has, sizeof has) != SAMARA_OK ||
      has != length || samara_session_state_info(session, "cache", &info) != SAMARA_OK ||
      info.size_bytes != bytes || info.rank != 3 || info.shape[1] != (length < 4 ? length : 4) ||
      samara_session_state_read(session, "cache", got, bytes) != SAMARA_OK)
    return false;
  return bytes == 0 || memcmp(got, rows, bytes) == 0;
}

void state_file_free(struct state_file *file) {
  free(file->bytes);
  *file = (struct state_file){0};
}

static int sample_write(void *user, const void *data, size_t size_bytes) {
  struct state_file *file = user;
  if (++file->calls == file->fail_at) return 1;
  uint8_t *bytes = realloc(file->bytes, file->size_bytes + size_bytes);
  if (bytes == NULL) return 1;
  memcpy(bytes + file->size_bytes, data, size_bytes);
  file->bytes = bytes;
  file->size_bytes += size_bytes;
  return 0;
}

static int sample_read(void *user, uint64_t offset, void *buffer, size_t size_bytes) {
  struct state_file *file = user;
  if (++file->calls == file->fail_at) return 1;
  if (offset > file->size_bytes || size_bytes > file->size_bytes - offset) return 1;
  memcpy(buffer, file->bytes + offset, size_bytes);
  return 0;
}

samara_writer state_file_writer(struct state_file *file) {
  return (samara_writer){sizeof(samara_writer), sample_write, file};
}

samara_reader state_file_reader(struct state_file *file) {
  return (samara_reader){sample_read, file->size_bytes, file};
}

void state_file_make(struct state_file *file, const char *header, size_t pad, size_t data_bytes) {
  const size_t text = strlen(header), length = text + pad;
  state_file_free(file);
  file->size_bytes = 8 + length + data_bytes;
  file->bytes = malloc(file->size_bytes);
  if (file->bytes == NULL) abort();
  for (size_t i = 0; i < 8; i++) file->bytes[i] = (uint8_t)((uint64_t)length >> 8 * i & 0xff);
  memcpy(file->bytes + 8, header, text);
  memset(file->bytes + 8 + text, ' ', pad);
  for (size_t i = 0; i < data_bytes; i++) file->bytes[8 + length + i] = (uint8_t)i;
}

samara_status state_file_load(samara_session *session, const struct state_file *file) {
  uint8_t *exact = malloc(file->size_bytes != 0 ? file->size_bytes : 1);
  if (exact == NULL) abort();
  if (file->size_bytes != 0) memcpy(exact, file->bytes, file->size_bytes);
  const samara_status status = samara_session_state_load_memory(session, exact, file->size_bytes);
  free(exact);
  return status;
}

bool state_is_initial(const samara_session *session) {
  float w[6];
  int64_t steps;
  uint8_t mask[3];
  return samara_session_state_read(session, "w", w, sizeof w) == SAMARA_OK &&
         samara_session_state_read(session, "steps", &steps, sizeof steps) == SAMARA_OK &&
         samara_session_state_read(session, "mask", mask, sizeof mask) == SAMARA_OK &&
         memcmp(w, sample_w, sizeof w) == 0 && steps == sample_steps[0] &&
         memcmp(mask, sample_mask, sizeof mask) == 0;
}
