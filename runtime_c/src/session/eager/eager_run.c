// SPDX-License-Identifier: Apache-2.0
// Runs prepared operators: contexts, one operator on the pool, many in parallel.
//
// Threads share a prepared operator, so a run works on a *frame*: a copy of its job and tensors
// with the pointers of this run. Frames and scratch belong to the context and grow to the largest
// run.
#include "base/fp.h"

#include "session/eager/eager.h"

#include <string.h>

#include "base/checked.h"
#include "base/pool.h"

// ---- contexts ----

samara_status samara_op_context_create(const samara_op_context_options *options,
                                       samara_op_context **out, samara_error *error) {
  if (out == NULL) SMR_FAIL(error, BAD_ARGUMENT, "samara_op_context_create: out is NULL");
  *out = NULL;
  samara_op_context_options own;
  SMR_TRY(smr_options_read(options, &own, sizeof own, "operator context options", error));
  const samara_allocator allocator = smr_allocator(own.allocator);
  const size_t threads = samara_pool_threads(own.pool), rows = samara_op_count();
  struct smr_bump bump = {.base = NULL};
  for (int pass = 0; pass < 2; pass++) {
    samara_op_context *context = smr_bump_take(&bump, 1, sizeof *context);
    struct smr_eager_failure *failures = smr_bump_take(&bump, threads, sizeof *failures);
    SMR_ATOMIC(uint64_t) *runs = smr_bump_take(&bump, rows, sizeof *runs);
    if (pass == 0) {
      bump = (struct smr_bump){.base = smr_allocate_zeroed(&allocator, 1, bump.used),
                               .capacity = bump.used};
      if (bump.base == NULL) SMR_FAIL(error, OUT_OF_MEMORY, "no memory for an operator context");
      continue;
    }
    *context = (samara_op_context){.allocator = allocator,
                                   .pool = own.pool,
                                   .threads = threads,
                                   .failures = failures,
                                   .runs = runs};
    *out = context;
  }
  return SAMARA_OK;
}

void samara_op_context_destroy(samara_op_context *context) {
  if (context == NULL) return;
  const samara_allocator allocator = context->allocator;
  smr_release(&allocator, context->scratch.data);
  smr_release(&allocator, context->frames.data);
  smr_release(&allocator, context);
}

const char *samara_op_context_error(const samara_op_context *context) {
  return context->error.text;
}

uint64_t samara_op_context_runs(const samara_op_context *context, size_t index) {
  if (index >= samara_op_count()) return 0;
  return SMR_ATOMIC_LOAD(&context->runs[index]);
}

size_t samara_op_context_scratch_bytes(const samara_op_context *context) {
  return context->scratch.size_bytes;
}

static void eager_count(samara_op_context *context, const samara_op *op) {
  size_t rows;
  SMR_ATOMIC(uint64_t) *runs = &context->runs[op->job.op - smr_op_rows(&rows)];
  const uint64_t before = SMR_ATOMIC_LOAD(runs);
  SMR_ATOMIC_STORE(runs, before + 1);  // only this thread writes
}

// Growing loses the content of the block.
static samara_status eager_ensure(samara_op_context *context, struct smr_block *block, size_t bytes,
                                  const char *what) {
  if (bytes <= block->size_bytes) return SAMARA_OK;
  void *data = bytes <= PTRDIFF_MAX ? smr_allocate(&context->allocator, bytes) : NULL;
  if (data == NULL) SMR_FAIL(&context->error, OUT_OF_MEMORY, "%s needs %zu bytes", what, bytes);
  smr_release(&context->allocator, block->data);
  *block = (struct smr_block){.data = data, .size_bytes = bytes};
  return SAMARA_OK;
}

// Bytes of scratch for one run: the operator's, copies of inputs, and a share per thread. Never 0,
// so that a block exists.
static size_t eager_scratch(const samara_op_context *context, const samara_op *op) {
  const size_t own = smr_align64(op->job.scratch_bytes) + op->copy_bytes;
  size_t threads_bytes, bytes;
  if (!smr_mul_size(smr_align64(op->job.thread_scratch_bytes), context->threads, &threads_bytes) ||
      !smr_add_size(own, threads_bytes, &bytes))
    return SIZE_MAX;
  return bytes != 0 ? bytes : SMR_ALIGNMENT;
}

// ---- frames ----

static samara_status eager_operand(const samara_op *op, struct smr_tensor *tensor, const void *data,
                                   bool copied, const char *role, uint32_t index,
                                   samara_error *error) {
  tensor->data = (void *)(uintptr_t)data;
  if (data == NULL && tensor->size_bytes != 0)
    SMR_FAIL(error, BAD_ARGUMENT, "%s: %s %u is NULL", op->job.op->name, role, (unsigned)index);
  const size_t element = smr_dtype_bytes(tensor->dtype);
  if (!copied && (uintptr_t)data % element != 0)
    SMR_FAIL(error, BAD_ARGUMENT, "%s: %s %u is not aligned to its elements of %zu bytes",
             op->job.op->name, role, (unsigned)index, element);
  return SAMARA_OK;
}

// Whether input `input` is copied before the operator runs.
static bool eager_is_copied(const samara_op *op, uint32_t input) {
  for (uint32_t i = 0; i < op->copy_count; i++)
    if (op->copies[i].input == input) return true;
  return false;
}

// Build the frame of a run in `memory`: job, pointers, tensors. Inputs to be copied still point at
// the caller's data.
static samara_status eager_frame(const samara_op *op, void *memory, const void *const *inputs,
                                 void *const *outputs, samara_error *error) {
  const uint32_t input_count = op->job.input_count, slots = input_count + op->job.output_count;
  if ((inputs == NULL && input_count != 0) || outputs == NULL)
    SMR_FAIL(error, BAD_ARGUMENT, "%s: its inputs or outputs are NULL", op->job.op->name);
  struct smr_job *job = memory;
  struct smr_tensor **list = (struct smr_tensor **)(void *)(job + 1);
  struct smr_tensor *tensors = (struct smr_tensor *)(void *)(list + slots);
  *job = op->job;
  job->error = error;
  memcpy(tensors, op->tensors, slots * sizeof *tensors);
  for (uint32_t i = 0; i < input_count; i++) {
    list[i] = op->present[i] ? &tensors[i] : NULL;
    if (op->present[i])
      SMR_TRY(eager_operand(op, &tensors[i], inputs[i], eager_is_copied(op, i), "input", i, error));
  }
  for (uint32_t i = 0; i < op->job.output_count; i++) {
    list[input_count + i] = &tensors[input_count + i];
    SMR_TRY(eager_operand(op, &tensors[input_count + i], outputs[i], false, "output", i, error));
  }
  job->inputs = list;
  job->outputs = list + input_count;
  return SAMARA_OK;
}

// ---- one operator ----

struct eager_copying {
  const struct smr_view_plan *plan;
  const void *from;
  void *to;
};

static void eager_copy_range(void *context, size_t begin, size_t end, size_t thread) {
  (void)thread;
  const struct eager_copying *copying = context;
  smr_view_copy(copying->plan, copying->from, copying->to, begin, end);
}

// Keep the failure of the lowest range, so that the message does not depend on timing.
static void eager_failed(samara_op_context *context, size_t thread, size_t begin,
                         const samara_error *error, samara_status status) {
  struct smr_eager_failure *slot = &context->failures[thread];
  if (slot->error.status != SAMARA_OK && slot->begin < begin) return;
  slot->error = *error;
  slot->error.status = status;
  slot->begin = begin;
}

static samara_status eager_collect(samara_op_context *context) {
  struct smr_eager_failure *worst = NULL;
  for (size_t t = 0; t < context->threads; t++) {
    struct smr_eager_failure *slot = &context->failures[t];
    if (slot->error.status == SAMARA_OK) continue;
    if (worst == NULL || slot->begin < worst->begin) worst = slot;
  }
  if (worst == NULL) return SAMARA_OK;
  context->error = worst->error;
  for (size_t t = 0; t < context->threads; t++) context->failures[t].error.status = SAMARA_OK;
  return context->error.status;
}

struct eager_tiles {
  samara_op_context *context;
  const struct smr_job *job;
  uint8_t *scratch;
  size_t stride;
  size_t first;  // tile of the phase
};

static void eager_range(void *argument, size_t begin, size_t end, size_t thread) {
  const struct eager_tiles *tiles = argument;
  samara_error error = {.status = SAMARA_OK};
  struct smr_job job = *tiles->job;
  job.error = &error;
  begin += tiles->first;
  const samara_status status =
      job.run(&job, begin, end + tiles->first, tiles->scratch + thread * tiles->stride);
  if (status != SAMARA_OK) eager_failed(tiles->context, thread, begin, &error, status);
}

static samara_status eager_run_job(samara_op_context *context, const struct smr_job *job,
                                   uint8_t *thread_scratch) {
  struct eager_tiles tiles = {.context = context,
                              .job = job,
                              .scratch = thread_scratch,
                              .stride = smr_align64(job->thread_scratch_bytes)};
  if (job->tiles == 0) return SAMARA_OK;
  if (job->op->flags & SMR_OP_SERIAL_PROLOGUE) SMR_TRY(job->run(job, 0, 0, thread_scratch));
  if (context->threads == 1 || !smr_job_is_worth_sharing(job, false))
    return job->run(job, 0, job->tiles, thread_scratch);
  for (size_t end; tiles.first < job->tiles; tiles.first = end) {
    end = smr_phase_end(job, tiles.first);
    smr_pool_run(context->pool, end - tiles.first, eager_range, &tiles);
    SMR_TRY(eager_collect(context));
  }
  return SAMARA_OK;
}

// Run a frame alone, with the context's scratch.
static samara_status eager_run_frame(samara_op_context *context, const samara_op *op,
                                     struct smr_job *job) {
  job->scratch = context->scratch.data;
  uint8_t *at = (uint8_t *)context->scratch.data + smr_align64(job->scratch_bytes);
  for (uint32_t i = 0; i < op->copy_count; i++) {
    const struct smr_eager_copy *copy = &op->copies[i];
    struct smr_tensor *tensor = job->inputs[copy->input];
    struct eager_copying copying = {
        .plan = &copy->plan, .from = tensor->data, .to = at + copy->offset};
    tensor->data = copying.to;
    smr_pool_run(smr_job_bytes(job, true) < SMR_INLINE_BYTES ? NULL : context->pool,
                 copy->plan.tiles, eager_copy_range, &copying);
  }
  return eager_run_job(context, job, at + op->copy_bytes);
}

static void eager_begin(samara_op_context *context) {
  context->error.status = SAMARA_OK;
  context->error.text[0] = '\0';
}

samara_status samara_op_run(samara_op_context *context, const samara_op *op,
                            const void *const *inputs, void *const *outputs) {
  eager_begin(context);
  if (op == NULL) SMR_FAIL(&context->error, BAD_ARGUMENT, "the operator is NULL");
  const char *name = op->job.op->name;
  SMR_TRY(eager_ensure(context, &context->frames, op->frame_bytes, name));
  SMR_TRY(eager_ensure(context, &context->scratch, eager_scratch(context, op), name));
  struct smr_job *job = context->frames.data;
  SMR_TRY(eager_frame(op, job, inputs, outputs, &context->error));
  SMR_TRY(eager_run_frame(context, op, job));
  eager_count(context, op);
  return SAMARA_OK;
}

samara_status samara_op_run_once(samara_op_context *context, const samara_op_desc *desc,
                                 const void *const *inputs, void *const *outputs) {
  samara_op *op;
  eager_begin(context);
  SMR_TRY(samara_op_create(desc, &op, &context->error));
  const samara_status status = samara_op_run(context, op, inputs, outputs);
  samara_op_destroy(op);
  return status;
}

// ---- many operators ----

// One operator of a group: its job, and where its tiles begin in the group's range.
struct eager_item {
  const struct smr_job *job;
  size_t start;
  size_t index;  // in the caller's list
};

// The operators of a call that need only per-thread scratch: their tiles form one range.
// items[count].start is its end.
struct eager_group {
  samara_op_context *context;
  struct eager_item *items;
  size_t count;
  size_t bytes;   // of operands
  size_t stride;  // of the threads' scratch
};

struct eager_list {
  size_t count;
  const samara_op *const *ops;
  const void *const *inputs;
  void *const *outputs;
};

static bool eager_is_simple(const samara_op *op) {
  const struct smr_job *job = &op->job;
  return (job->op->flags & SMR_OP_SERIAL_PROLOGUE) == 0 && job->scratch_bytes == 0 &&
         op->copy_count == 0 && smr_phase_end(job, 0) == job->tiles;
}

// The item that tile `tile` belongs to.
static size_t eager_item_of(const struct eager_group *group, size_t tile) {
  size_t low = 0, high = group->count;  // items[low].start <= tile < items[high].start
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    if (group->items[middle].start <= tile)
      low = middle;
    else
      high = middle;
  }
  return low;
}

static void eager_group_range(void *argument, size_t begin, size_t end, size_t thread) {
  const struct eager_group *group = argument;
  uint8_t *scratch = (uint8_t *)group->context->scratch.data + thread * group->stride;
  size_t tile = begin;
  for (size_t i = eager_item_of(group, begin); tile < end; i++) {
    const struct eager_item *item = &group->items[i];
    const size_t stop = end < item[1].start ? end : item[1].start;
    if (tile == stop) continue;  // no tiles
    samara_error error = {.status = SAMARA_OK};
    struct smr_job job = *item->job;
    job.error = &error;
    samara_status status = job.run(&job, tile - item->start, stop - item->start, scratch);
    if (status != SAMARA_OK) {
      status = smr_fail_prefix(&error, status, "operator %zu: ", item->index);
      eager_failed(group->context, thread, begin, &error, status);
      return;
    }
    tile = stop;
  }
}

// Reserve memory for the frames, from *frames on, and for the scratch of all operators.
static samara_status eager_reserve(samara_op_context *context, const struct eager_list *list,
                                   struct eager_group *group, uint8_t **frames) {
  size_t head, scratch = 0;
  bool fits = list->count < SIZE_MAX && smr_mul_size(list->count + 1, sizeof *group->items, &head);
  head = fits ? smr_align64(head) : 0;
  size_t bytes = head;
  for (size_t i = 0; fits && i < list->count; i++) {
    const samara_op *op = list->ops[i];
    if (op == NULL) SMR_FAIL(&context->error, BAD_ARGUMENT, "operator %zu is NULL", i);
    fits = smr_add_size(bytes, op->frame_bytes, &bytes);
    const size_t own = eager_scratch(context, op);
    const size_t stride = smr_align64(op->job.thread_scratch_bytes);
    if (own > scratch) scratch = own;
    if (eager_is_simple(op) && stride > group->stride) group->stride = stride;
  }
  if (!fits)
    SMR_FAIL(&context->error, OUT_OF_MEMORY, "%zu operators do not fit memory", list->count);
  SMR_TRY(eager_ensure(context, &context->frames, bytes, "a list of operators"));
  SMR_TRY(eager_ensure(context, &context->scratch, scratch, "a list of operators"));
  group->items = context->frames.data;
  *frames = (uint8_t *)context->frames.data + head;
  return SAMARA_OK;
}

// Build all frames; operators without shared scratch form the group.
static samara_status eager_frames(samara_op_context *context, const struct eager_list *list,
                                  struct eager_group *group, uint8_t *at) {
  const void *const *inputs = list->inputs;
  void *const *outputs = list->outputs;
  size_t tiles = 0;
  for (size_t i = 0; i < list->count; i++) {
    const samara_op *op = list->ops[i];
    struct smr_job *job = (struct smr_job *)(void *)at;
    const samara_status status = eager_frame(op, job, inputs, outputs, &context->error);
    if (status != SAMARA_OK) return smr_fail_prefix(&context->error, status, "operator %zu: ", i);
    inputs += op->job.input_count;
    outputs += op->job.output_count;
    at += op->frame_bytes;
    if (!eager_is_simple(op)) continue;
    group->items[group->count++] = (struct eager_item){.job = job, .start = tiles, .index = i};
    group->bytes += smr_job_bytes(job, true);
    tiles += job->tiles;
  }
  group->items[group->count].start = tiles;
  return SAMARA_OK;
}

static samara_status eager_run_group(struct eager_group *group) {
  samara_pool *pool = group->bytes < SMR_INLINE_BYTES ? NULL : group->context->pool;
  smr_pool_run(pool, group->items[group->count].start, eager_group_range, group);
  return eager_collect(group->context);
}

samara_status samara_op_run_all(samara_op_context *context, size_t count,
                                const samara_op *const *ops, const void *const *inputs,
                                void *const *outputs) {
  const struct eager_list list = {.count = count, .ops = ops, .inputs = inputs, .outputs = outputs};
  struct eager_group group = {.context = context};
  uint8_t *frames = NULL;
  eager_begin(context);
  if (count == 0) return SAMARA_OK;
  if (ops == NULL) SMR_FAIL(&context->error, BAD_ARGUMENT, "the operators are NULL");
  SMR_TRY(eager_reserve(context, &list, &group, &frames));
  SMR_TRY(eager_frames(context, &list, &group, frames));
  SMR_TRY(eager_run_group(&group));
  for (size_t i = 0; i < count; frames += ops[i++]->frame_bytes) {
    if (eager_is_simple(ops[i])) continue;
    const samara_status status = eager_run_frame(context, ops[i], (struct smr_job *)(void *)frames);
    if (status != SAMARA_OK) return smr_fail_prefix(&context->error, status, "operator %zu: ", i);
  }
  for (size_t i = 0; i < count; i++) eager_count(context, ops[i]);
  return SAMARA_OK;
}
