// SPDX-License-Identifier: Apache-2.0
// Fuzz target: load any bytes as the variables of a session. If they are accepted, saving and
// loading again must give the same variables.
//
// The session is what loading and saving see of one: its variables, some of them read only, some of
// other functions, and two that grow, with and without a second buffer. Where the bytes are refused
// as they are, the length of the header is made right.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "session/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FUZZ_VARIABLES = 8, FUZZ_BOUND = 7, FUZZ_BYTES = 64 };

enum { FUZZ_LENGTH = 4, FUZZ_CACHE, FUZZ_RING };

static const struct smr_variable fuzz_variables[FUZZ_VARIABLES] = {
    {.name = "mask", .dims = {3}, .size_bytes = 3, .length = -1, .dtype = SAMARA_BOOL, .rank = 1},
    {.name = "w",
     .dims = {2, 3},
     .size_bytes = 24,
     .length = -1,
     .dtype = SAMARA_FLOAT32,
     .rank = 2},
    {.name = "steps", .size_bytes = 8, .length = -1, .dtype = SAMARA_INT64},
    {.name = "q\"\n", .dims = {1, 0, 7}, .length = -1, .dtype = SAMARA_QINT8, .rank = 3},
    {.name = "length", .size_bytes = 8, .length = -1, .dtype = SAMARA_INT64, .counts = true},
    {.name = "cache",
     .dims = {1, 6, 2},
     .size_bytes = 48,
     .length = FUZZ_LENGTH,
     .dtype = SAMARA_FLOAT32,
     .rank = 3},
    {.name = "ring",
     .dims = {1, 4, 3},
     .size_bytes = 12,
     .length = FUZZ_LENGTH,
     .dtype = SAMARA_INT8,
     .rank = 3},
    {.name = "else",
     .dims = {2},
     .size_bytes = 4,
     .length = -1,
     .dtype = SAMARA_FLOAT16,
     .rank = 1},
};

struct fuzz_session {
  samara_model model;
  struct smr_function function;
  struct smr_frame frame;
  struct smr_session_variable variables[FUZZ_BOUND];
  uint8_t data[FUZZ_BOUND][FUZZ_BYTES], spare[FUZZ_BOUND][FUZZ_BYTES];
  samara_session session;
};

static void fuzz_begin(struct fuzz_session *f) {
  memset(f, 0, sizeof *f);
  f->model.variables = fuzz_variables;
  f->model.variable_count = FUZZ_VARIABLES;
  f->function.name = "main";
  f->frame.function = &f->function;
  for (size_t i = 0; i < FUZZ_BOUND; i++)
    f->variables[i] = (struct smr_session_variable){
        .variable = &fuzz_variables[i],
        .data = f->data[i],
        .spare = i == 0 || i == FUZZ_CACHE ? NULL : f->spare[i],
        .length = smr_grows(&fuzz_variables[i]) ? &f->variables[FUZZ_LENGTH] : NULL};
  f->session.common.error = &f->session.error;
  f->session.common.model = &f->model;
  f->session.common.memory.allocator = smr_allocator(NULL);
  f->session.entry = &f->frame;
  f->session.state.variables = f->variables;
  f->session.state.count = FUZZ_BOUND;
  f->session.common.memory.max_arena_bytes = 1 << 20;
}

static void fuzz_need(bool condition) {
  if (!condition) abort();
}

// Either nothing changed, or everything survives another file.
static void fuzz_check(struct fuzz_session *f, samara_status status) {
  static struct fuzz_session again;
  static uint8_t bytes[4096];
  size_t needed;
  fuzz_begin(&again);
  if (status == SAMARA_OK) {
    fuzz_need(samara_session_state_save_memory(&f->session, bytes, sizeof bytes, &needed) ==
              SAMARA_OK);
    // Variables of other functions may be missing.
    fuzz_need(samara_session_state_load_memory(&again.session, bytes, needed) == SAMARA_OK);
  }
  for (size_t i = 0; i < FUZZ_BOUND; i++) {
    const struct smr_tensor a = smr_state_tensor(&f->variables[i]);
    const struct smr_tensor b = smr_state_tensor(&again.variables[i]);
    fuzz_need(a.size_bytes == b.size_bytes && a.size_bytes <= fuzz_variables[i].size_bytes);
    fuzz_need(memcmp(a.data, b.data, a.size_bytes) == 0);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct fuzz_session f;
  fuzz_begin(&f);
  uint8_t *bytes = (uint8_t *)malloc(size != 0 ? size : 1);
  if (bytes == NULL) return 0;
  if (size != 0) memcpy(bytes, data, size);
  samara_status status = samara_session_state_load_memory(&f.session, bytes, size);
  fuzz_check(&f, status);
  if (status != SAMARA_OK && size >= 8) {
    // The header ends with the last brace.
    uint64_t length = 0;
    for (size_t i = 8; i < size; i++)
      if (bytes[i] == '}') length = i - 7;
    memcpy(bytes, &length, 8);
    status = samara_session_state_load_memory(&f.session, bytes, size);
    fuzz_check(&f, status);
  }
  free(bytes);
  return 0;
}
