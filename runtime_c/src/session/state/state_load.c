// SPDX-License-Identifier: Apache-2.0
// Restores all variables of a session from a file of named tensors. The whole file is checked and
// read before any value changes.
#include "base/fp.h"

#include "session/session.h"
#include "session/state/tensor_header.h"

#include <string.h>

#include "base/checked.h"
#include "ops/check/check.h"

// Position of a variable of the model in the file.
struct load_place {
  uint64_t begin, end;
  struct smr_session_variable *bound;  // NULL: only other functions of the model use it
  uint8_t *target;                     // where its bytes are read to, until all have been read
  int64_t rows;                        // in the file, of one that grows
  uint32_t variable;
  bool seen;
};

struct load_work {
  samara_session *session;
  const samara_reader *reader;
  char *text;  // text of the header
  size_t text_bytes;
  struct load_place *places;
  uint8_t *staging;  // bytes of variables without a second buffer
  uint32_t hint;     // the variable after the last one found: files usually have the model's order
};

static samara_status load_read(const struct load_work *w, uint64_t offset, void *buffer,
                               size_t size_bytes) {
  if (size_bytes == 0 || w->reader->read(w->reader->user, offset, buffer, size_bytes) == 0)
    return SAMARA_OK;
  SMR_FAIL(&w->session->error, IO, "state: the reader failed at bytes %llu to %llu of %llu",
           (unsigned long long)offset, (unsigned long long)(offset + size_bytes),
           (unsigned long long)w->reader->size_bytes);
}

// Read the length of the header and check it against the size of the file.
static samara_status load_prefix(struct load_work *w) {
  samara_error *error = &w->session->error;
  uint8_t prefix[SMR_HEADER_PREFIX_BYTES];
  if (w->reader->size_bytes < sizeof prefix)
    SMR_FAIL(error, BAD_MODEL, "state: a file of %llu bytes is truncated",
             (unsigned long long)w->reader->size_bytes);
  SMR_TRY(load_read(w, 0, prefix, sizeof prefix));
  uint64_t bytes = 0;
  for (size_t i = 0; i < sizeof prefix; i++) bytes |= (uint64_t)prefix[i] << 8 * i;
  if (memcmp(prefix + 4, "SMRA", 4) == 0)
    SMR_FAIL(error, BAD_MODEL, "state: this file is a model, not saved variables");
  if (bytes > SMR_HEADER_MAX_BYTES)
    SMR_FAIL(error, BAD_MODEL, "state: not a file of saved variables (a header of %llu bytes)",
             (unsigned long long)bytes);
  if (bytes > w->reader->size_bytes - sizeof prefix)
    SMR_FAIL(error, BAD_MODEL, "state: truncated after %llu bytes; the header alone has %llu",
             (unsigned long long)w->reader->size_bytes, (unsigned long long)bytes);
  w->text_bytes = (size_t)bytes;
  return SAMARA_OK;
}

// A block for the time of the call. Sizes come from the file, so max_arena_bytes limits it.
static samara_status load_block(const struct load_work *w, size_t size_bytes, uint8_t **block) {
  samara_session *session = w->session;
  const uint64_t most = session->common.memory.max_arena_bytes;
  if (most != 0 && size_bytes > most)
    SMR_FAIL(&session->error, LIMIT, "state: loading takes %zu bytes; max_arena_bytes is %llu",
             size_bytes, (unsigned long long)most);
  *block = smr_allocate(&session->common.memory.allocator, size_bytes);
  if (*block == NULL)
    SMR_FAIL(&session->error, OUT_OF_MEMORY, "state: loading needs %zu bytes", size_bytes);
  return SAMARA_OK;
}

// Room for positions and the header.
static samara_status load_begin(struct load_work *w) {
  samara_session *session = w->session;
  const samara_model *model = session->common.model;
  size_t places, total;
  uint8_t *block;
  if (!smr_mul_size(model->variable_count, sizeof *w->places, &places) ||
      !smr_add_size(places, w->text_bytes, &total))
    SMR_FAIL(&session->error, OUT_OF_MEMORY, "state: too large for this machine");
  SMR_TRY(load_block(w, total, &block));
  w->places = (struct load_place *)(void *)block;
  w->text = (char *)block + places;
  for (uint32_t i = 0; i < model->variable_count; i++)
    w->places[i] = (struct load_place){.variable = i};
  for (uint32_t i = 0; i < session->state.count; i++) {
    struct smr_session_variable *v = &session->state.variables[i];
    w->places[v->variable - model->variables].bound = v;
  }
  return SAMARA_OK;
}

// Room for the bytes of variables without a second buffer, once the header says how many they are.
static samara_status load_stage(struct load_work *w) {
  const samara_model *model = w->session->common.model;
  size_t total = 0;
  for (uint32_t i = 0; i < model->variable_count; i++) {
    const struct load_place *p = &w->places[i];
    if (p->bound != NULL && p->bound->spare == NULL &&
        !smr_add_size(total, smr_align64((size_t)(p->end - p->begin)), &total))
      SMR_FAIL(&w->session->error, OUT_OF_MEMORY, "state: too large for this machine");
  }
  if (total != 0) SMR_TRY(load_block(w, total, &w->staging));
  uint8_t *staging = w->staging;
  for (uint32_t i = 0; i < model->variable_count; i++) {
    struct load_place *p = &w->places[i];
    if (p->bound == NULL) continue;
    p->target = p->bound->spare != NULL ? p->bound->spare : staging;
    // Without any bytes, there is no block.
    if (p->bound->spare == NULL && staging != NULL)
      staging += smr_align64((size_t)(p->end - p->begin));
  }
  return SAMARA_OK;
}

// ---- the header against the model ----

static struct load_place *load_find(struct load_work *w, const char *name) {
  const samara_model *model = w->session->common.model;
  for (uint32_t i = 0; i < model->variable_count; i++) {
    const uint32_t at = (w->hint + i) % model->variable_count;
    if (strcmp(model->variables[at].name, name) != 0) continue;
    w->hint = at + 1;
    return &w->places[at];
  }
  return NULL;
}

static samara_status load_row(struct load_work *w, const struct smr_header_row *row) {
  samara_error *error = &w->session->error;
  struct load_place *p = load_find(w, row->name);
  if (p == NULL)
    SMR_FAIL(error, NOT_FOUND, "state: the model has no variable '%s', which the file holds",
             row->name);
  if (p->seen) SMR_FAIL(error, BAD_MODEL, "state header: tensor '%s' occurs twice", row->name);
  const struct smr_variable *v = &w->session->common.model->variables[p->variable];
  const uint8_t stored = v->dtype == SAMARA_QINT8 ? SAMARA_INT8 : v->dtype;
  bool fits = row->dtype == stored && row->rank == v->rank;
  for (uint32_t i = 0; fits && i < v->rank; i++)
    fits = row->dims[i] == v->dims[i] || (smr_grows(v) && i == 1 && row->dims[i] < v->dims[i]);
  if (!fits) {
    const struct smr_dims_text want = smr_dims_text(v->dims, v->rank);
    const struct smr_dims_text got = smr_dims_text(row->dims, row->rank);
    SMR_FAIL(error, BAD_SHAPE, "state: variable '%s' is %s %s, the file holds %s %s", v->name,
             smr_dtype_name(stored), want.text, smr_dtype_name(row->dtype), got.text);
  }
  p->begin = row->begin;
  p->end = row->end;
  p->rows = row->dims[1];
  p->seen = true;
  return SAMARA_OK;
}

static samara_status load_header(struct load_work *w) {
  samara_session *session = w->session;
  SMR_TRY(load_read(w, SMR_HEADER_PREFIX_BYTES, w->text, w->text_bytes));
  struct smr_header header;
  struct smr_header_row row;
  bool found;
  SMR_TRY(smr_header_open(&header, w->text, w->text_bytes,
                          w->reader->size_bytes - SMR_HEADER_PREFIX_BYTES - w->text_bytes,
                          &session->error));
  for (;;) {
    SMR_TRY(smr_header_next(&header, &row, &found));
    if (!found) break;
    SMR_TRY(load_row(w, &row));
  }
  for (uint32_t i = 0; i < session->common.model->variable_count; i++)
    if (w->places[i].bound != NULL && !w->places[i].seen)
      SMR_FAIL(&session->error, NOT_FOUND, "state: the file lacks variable '%s' of function '%s'",
               session->common.model->variables[i].name, session->entry->function->name);
  return SAMARA_OK;
}

// ---- the data ----

static bool load_before(const struct load_place *a, const struct load_place *b) {
  return a->begin != b->begin ? a->begin < b->begin : a->end < b->end;
}

static void load_sift(struct load_place *places, size_t at, size_t count) {
  for (;;) {
    size_t top = at;
    for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
      if (load_before(&places[top], &places[child])) top = child;
    if (top == at) return;
    const struct load_place swap = places[at];
    places[at] = places[top];
    places[top] = swap;
    at = top;
  }
}

// Sort by offset, so that the file is read from front to back. In place, because qsort may
// allocate.
static void load_sort(struct load_place *places, size_t count) {
  for (size_t i = count / 2; i-- > 0;) load_sift(places, i, count);
  for (size_t end = count; end-- > 1;) {
    const struct load_place swap = places[0];
    places[0] = places[end];
    places[end] = swap;
    load_sift(places, 0, end);
  }
}

// Check that tensors cover the data without overlaps or gaps. Variables that the file lacks are
// empty and come first.
static samara_status load_tiles(const struct load_work *w, uint64_t data_bytes) {
  uint64_t reached = 0;
  for (uint32_t i = 0; i < w->session->common.model->variable_count; i++) {
    const struct load_place *p = &w->places[i];
    if (p->begin != reached)
      SMR_FAIL(&w->session->error, BAD_MODEL,
               "state: tensor '%s' begins at byte %llu of the data, the one before ends at %llu",
               w->session->common.model->variables[p->variable].name, (unsigned long long)p->begin,
               (unsigned long long)reached);
    reached = p->end;
  }
  if (reached == data_bytes) return SAMARA_OK;
  SMR_FAIL(&w->session->error, BAD_MODEL, "state: the tensors have %llu bytes, the file %llu",
           (unsigned long long)reached, (unsigned long long)data_bytes);
}

static samara_status load_data(const struct load_work *w) {
  const samara_model *model = w->session->common.model;
  const uint64_t start = SMR_HEADER_PREFIX_BYTES + w->text_bytes;
  load_sort(w->places, model->variable_count);
  SMR_TRY(load_tiles(w, w->reader->size_bytes - start));
  for (uint32_t i = 0; i < model->variable_count; i++) {
    const struct load_place *p = &w->places[i];
    if (p->bound == NULL) continue;
    const struct smr_variable *v = &model->variables[p->variable];
    const size_t bytes = (size_t)(p->end - p->begin);
    SMR_TRY(load_read(w, start + p->begin, p->target, bytes));
    for (size_t k = 0; v->dtype == SAMARA_BOOL && k < bytes; k++)
      if (p->target[k] > 1)
        SMR_FAIL(&w->session->error, BAD_MODEL, "state: element %zu of bool variable '%s' is %u", k,
                 v->name, (unsigned)p->target[k]);
  }
  return SAMARA_OK;
}

// Every variable that grows has as many rows in the file as its length there says.
static samara_status load_check_rows(const struct load_work *w) {
  const samara_model *model = w->session->common.model;
  for (uint32_t i = 0; i < model->variable_count; i++) {
    const struct load_place *p = &w->places[i];
    int64_t length = 0;
    if (p->bound == NULL || p->bound->length == NULL) continue;
    for (uint32_t k = 0; k < model->variable_count; k++)
      if (w->places[k].bound == p->bound->length)
        memcpy(&length, w->places[k].target, sizeof length);
    if (length < 0 || smr_state_rows(p->bound->variable, length) != p->rows)
      SMR_FAIL(&w->session->error, BAD_MODEL,
               "state: variable '%s' has %lld rows, its length is %lld", p->bound->variable->name,
               (long long)p->rows, (long long)length);
  }
  return SAMARA_OK;
}

static samara_status load_commit(const struct load_work *w) {
  if (SMR_HAS(backends)) smr_away_overwrite(w->session, NULL);
  // Lengths first: they say how many rows the others take.
  for (uint32_t i = 0; i < w->session->common.model->variable_count; i++) {
    struct smr_session_variable *v = w->places[i].bound;
    if (v != NULL && v->spare != NULL) smr_state_swap(v);
  }
  for (uint32_t i = 0; i < w->session->common.model->variable_count; i++) {
    struct smr_session_variable *v = w->places[i].bound;
    if (v == NULL || v->spare != NULL || v->length != NULL) continue;
    const struct smr_tensor t = smr_state_tensor(v);
    SMR_TRY(smr_value_write(&w->session->common, &t, w->places[i].target));
  }
  for (uint32_t i = 0; i < w->session->common.model->variable_count; i++) {
    struct smr_session_variable *v = w->places[i].bound;
    if (v == NULL || v->spare != NULL || v->length == NULL) continue;
    const struct smr_tensor t = smr_state_tensor(v);
    SMR_TRY(smr_value_write(&w->session->common, &t, w->places[i].target));
  }
  return SAMARA_OK;
}

samara_status samara_session_state_load(samara_session *session, const samara_reader *reader) {
  if (session == NULL) return SAMARA_BAD_ARGUMENT;
  if (reader == NULL || reader->read == NULL)
    SMR_FAIL(&session->error, BAD_ARGUMENT, "state: no reader");
  struct load_work w = {.session = session, .reader = reader};
  SMR_TRY(load_prefix(&w));
  SMR_TRY(load_begin(&w));
  samara_status status = load_header(&w);
  if (status == SAMARA_OK) status = load_stage(&w);
  if (status == SAMARA_OK) status = load_data(&w);
  if (status == SAMARA_OK) status = load_check_rows(&w);
  if (status == SAMARA_OK) status = load_commit(&w);
  smr_release(&session->common.memory.allocator, w.staging);
  smr_release(&session->common.memory.allocator, w.places);
  return status;
}

// ---- from memory ----

static int load_from_memory(void *user, uint64_t offset, void *buffer, size_t size_bytes) {
  memcpy(buffer, (const uint8_t *)user + offset, size_bytes);
  return 0;
}

samara_status samara_session_state_load_memory(samara_session *session, const void *data,
                                               size_t size_bytes) {
  if (session == NULL) return SAMARA_BAD_ARGUMENT;
  if (data == NULL) SMR_FAIL(&session->error, BAD_ARGUMENT, "state: no data");
  const samara_reader reader = {load_from_memory, size_bytes, (void *)(uintptr_t)data};
  return samara_session_state_load(session, &reader);
}
