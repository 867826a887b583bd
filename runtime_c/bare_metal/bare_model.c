// SPDX-License-Identifier: Apache-2.0
// The bare-metal entry points (bare_model.h): runs a model in flash (smr_model_image) inside one
// buffer of the caller's. For a model that was laid out at build time, bare_steps.c replaces this
// file.
#include "base/fp.h"

#include "bare_model.h"

#include <string.h>

#include "base/alloc.h"

#if !SMR_LAID_OUT

// A stack of allocations in the buffer. The last two can be freed, in reverse order, which is how
// opening a model frees its temporary memory.
struct bare_arena {
  uint8_t *base;
  size_t capacity, used, most;
  size_t last, before;  // offsets of the last allocation and of the one before it
};

struct samara_net {
  struct bare_arena arena;
  samara_model *model;
  samara_session *session;
};

static size_t bare_round_up(size_t n) {
  return (n + SMR_ALIGNMENT - 1) / SMR_ALIGNMENT * SMR_ALIGNMENT;
}

static void *bare_allocate(void *user, size_t size_bytes) {
  struct bare_arena *arena = user;
  if (size_bytes > arena->capacity - arena->used) return NULL;
  // The end of the buffer need not be a multiple of the alignment.
  const size_t room = arena->capacity - arena->used, bytes = bare_round_up(size_bytes);
  arena->before = arena->last;
  arena->last = arena->used;
  arena->used += bytes < room ? bytes : room;
  if (arena->last + size_bytes > arena->most) arena->most = arena->last + size_bytes;
  return arena->base + arena->last;
}

static void bare_release(void *user, void *pointer) {
  struct bare_arena *arena = user;
  if (pointer != arena->base + arena->last) return;
  arena->used = arena->last;
  arena->last = arena->before;
}

static samara_status bare_open(struct samara_net *net, samara_error *error) {
  const samara_allocator allocator = {bare_allocate, bare_release, &net->arena};
  const samara_model_options options = {
      .struct_size = sizeof options, .allocator = &allocator, .constant = true};
  SMR_TRY(samara_model_open_memory(smr_model_image, smr_model_image_bytes, &options, &net->model,
                                   error));
  // Strict, because fast convolutions transform weights into several times their memory.
  const samara_session_options lean = {.struct_size = sizeof lean, .strict_accuracy = true};
  return samara_session_create(net->model, &lean, &net->session, error);
}

samara_status samara_open(void *arena, size_t arena_bytes, samara_net **out, samara_error *error) {
  if (out == NULL) SMR_FAIL(error, BAD_ARGUMENT, "no place for the result");
  *out = NULL;
  if (arena == NULL || (uintptr_t)arena % SAMARA_ARENA_ALIGNMENT != 0)
    SMR_FAIL(error, BAD_ARGUMENT, "the arena is not aligned to %d bytes", SAMARA_ARENA_ALIGNMENT);
  if (arena_bytes < SAMARA_ARENA_BYTES || arena_bytes < sizeof(struct samara_net))
    SMR_FAIL(error, OUT_OF_MEMORY, "the arena has %zu bytes, the model needs %zu", arena_bytes,
             (size_t)SAMARA_ARENA_BYTES);
  struct samara_net *net = arena;
  memset(net, 0, sizeof *net);
  net->arena = (struct bare_arena){.base = arena, .capacity = arena_bytes};
  bare_allocate(&net->arena, sizeof *net);
  const samara_status status = bare_open(net, error);
  if (status == SAMARA_OK) *out = net;
  return status;
}

samara_status samara_run_with(samara_net *net, const void *const *inputs, void *const *outputs) {
  return samara_session_run_with(net->session, inputs, outputs);
}

void *samara_input(samara_net *net, size_t index) {
  samara_tensor tensor;
  return samara_session_input(net->session, index, &tensor) == SAMARA_OK ? tensor.data : NULL;
}

samara_status samara_reset(samara_net *net) { return samara_session_reset(net->session); }

const char *samara_message(const samara_net *net) { return samara_session_error(net->session); }

size_t samara_arena_used(const samara_net *net) { return net->arena.most; }

#endif
