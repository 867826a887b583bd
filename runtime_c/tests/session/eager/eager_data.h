// SPDX-License-Identifier: Apache-2.0
// Helpers of tests of prepared operators: short descriptions, contexts, an allocator that fails.
#ifndef SMR_TESTS_EAGER_DATA_H
#define SMR_TESTS_EAGER_DATA_H

#include "harness.h"

#include <samara/samara_experimental.h>

/// Descriptions of operands in an expression; the dims live as long as the block they stand in.
#define EAGER_DIMS(...)                    \
  .shape = (const int64_t[]){__VA_ARGS__}, \
  .rank = (int32_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
#define EAGER_F32(...) {EAGER_DIMS(__VA_ARGS__), .dtype = SAMARA_FLOAT32}
#define EAGER_STRIDES(...) \
  .strides = (const int64_t[]) { __VA_ARGS__ }
#define EAGER_INTS(NAME, ...)              \
  {.name = (NAME),                         \
   .ints = (const int64_t[]){__VA_ARGS__}, \
   .count = sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)}
#define EAGER_COUNT(list) (sizeof(list) / sizeof(list)[0])

/// The description of `op` with arrays of attributes, inputs and outputs.
#define EAGER_DESC(op, attributes_, inputs_, outputs_) \
  {.struct_size = sizeof(samara_op_desc),              \
   .name = (op),                                       \
   .attributes = (attributes_),                        \
   .attribute_count = EAGER_COUNT(attributes_),        \
   .inputs = (inputs_),                                \
   .input_count = EAGER_COUNT(inputs_),                \
   .outputs = (outputs_),                              \
   .output_count = EAGER_COUNT(outputs_)}
/// The same without attributes.
#define EAGER_PLAIN(op, inputs_, outputs_) \
  {.struct_size = sizeof(samara_op_desc),  \
   .name = (op),                           \
   .inputs = (inputs_),                    \
   .input_count = EAGER_COUNT(inputs_),    \
   .outputs = (outputs_),                  \
   .output_count = EAGER_COUNT(outputs_)}

/// Counts what is allocated and fails allocation `fail_at` (from 1; 0: none).
struct eager_memory {
  size_t calls, fail_at, live, bytes;
};

static inline void *eager_memory_allocate(void *user, size_t size_bytes) {
  struct eager_memory *memory = user;
  if (++memory->calls == memory->fail_at) return NULL;
  void *p = NULL;
  if (posix_memalign(&p, 64, size_bytes) != 0) return NULL;
  memset(p, 0xa5, size_bytes);
  memory->live++;
  memory->bytes += size_bytes;
  return p;
}

static inline void eager_memory_release(void *user, void *pointer) {
  struct eager_memory *memory = user;
  memory->live -= pointer != NULL;
  free(pointer);
}

static inline samara_allocator eager_allocator(struct eager_memory *memory) {
  return (samara_allocator){
      .allocate = eager_memory_allocate, .release = eager_memory_release, .user = memory};
}

/// A prepared operator; NULL, reported, when it cannot be.
static inline samara_op *eager_op(const samara_op_desc *desc) {
  samara_op *op = NULL;
  samara_error error = {.text = ""};
  if (!CHECK_EQ_INT(samara_op_create(desc, &op, &error), SAMARA_OK))
    fprintf(stderr, "  %s\n", error.text);
  return op;
}

/// A context on a pool of `threads` threads, which goes to *pool.
static inline samara_op_context *eager_context(size_t threads, samara_pool **pool) {
  const samara_pool_options options = {.struct_size = sizeof options, .threads = threads};
  *pool = NULL;
  if (threads > 1) CHECK_EQ_INT(samara_pool_create(&options, pool, NULL), SAMARA_OK);
  const samara_op_context_options own = {.struct_size = sizeof own, .pool = *pool};
  samara_op_context *context = NULL;
  CHECK_EQ_INT(samara_op_context_create(&own, &context, NULL), SAMARA_OK);
  return context;
}

/// Run alone, in a context of its own, and report a failure.
static inline samara_status eager_run(const samara_op_desc *desc, const void *const *inputs,
                                      void *const *outputs) {
  samara_op_context *context = NULL;
  if (samara_op_context_create(NULL, &context, NULL) != SAMARA_OK) return SAMARA_OUT_OF_MEMORY;
  const samara_status status = samara_op_run_once(context, desc, inputs, outputs);
  if (status != SAMARA_OK) fprintf(stderr, "  %s\n", samara_op_context_error(context));
  samara_op_context_destroy(context);
  return status;
}

/// A repeatable value in [-1, 1), of few bits, so that sums of products are exact.
static inline float eager_value(size_t i) { return (float)((i * 37 + 11) % 32) / 16 - 1; }

/// `count` such values in a block that ends where they end.
static inline float *eager_floats(size_t count, size_t seed) {
  float *p = malloc(count != 0 ? count * sizeof *p : 1);
  if (p == NULL) abort();
  for (size_t i = 0; i < count; i++) p[i] = eager_value(i + seed);
  return p;
}

#endif
