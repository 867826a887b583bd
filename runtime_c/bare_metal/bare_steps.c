// SPDX-License-Identifier: Apache-2.0
// Implements bare_model.h for a model that was laid out at build time: runs its nodes in order from
// constant tables. bare_model.c replaces it on machines whose structs have another layout.
#include "base/fp.h"

#include "bare_model.h"

#include <string.h>

#include "bare_steps.h"
#include "base/alloc.h"
#include "base/error.h"

#if SMR_LAID_OUT

// The tables hold operator states, whose layout depends on the size of pointers and this alignment.
struct bare_abi {
  char first;
  int64_t widest;
};
_Static_assert(sizeof(void *) == 4 && sizeof(size_t) == 4 && offsetof(struct bare_abi, widest) == 8,
               "the tables of this file are for another machine: run samara build for this one");
_Static_assert(sizeof(enum bare_home) == 1, "compile with -fshort-enums");

// Lies in the caller's buffer, followed by arrays of the plan's lengths: tensors, operands, inputs,
// variables, and the memory of tensors.
struct samara_net {
  struct smr_job job;          // of the step that runs
  struct smr_tensor *tensors;  // those of its operands that are not constants
  struct smr_tensor **operands;
  const void **given;       // the inputs of this run
  void **current, **spare;  // of each variable
  uint8_t *memory;
  samara_error error;
};

static size_t steps_align(size_t n) {
  return (n + SMR_ALIGNMENT - 1) & ~(size_t)(SMR_ALIGNMENT - 1);
}

// Returns the bytes of the arena. Sets the net's pointers unless net is NULL.
static size_t steps_arrange(struct samara_net *net, uint8_t *base) {
  const struct bare_plan *plan = smr_bare_plan();
  const size_t tensors = steps_align(sizeof(struct samara_net));
  const size_t operands = tensors + plan->most_operands * sizeof(struct smr_tensor);
  const size_t given = operands + plan->most_operands * sizeof(struct smr_tensor *);
  const size_t current = given + plan->input_count * sizeof(void *);
  const size_t spare = current + plan->variable_count * sizeof(void *);
  const size_t memory = steps_align(spare + plan->variable_count * sizeof(void *));
  if (net != NULL) {
    net->tensors = (struct smr_tensor *)(void *)(base + tensors);
    net->operands = (struct smr_tensor **)(void *)(base + operands);
    net->given = (const void **)(void *)(base + given);
    net->current = (void **)(void *)(base + current);
    net->spare = (void **)(void *)(base + spare);
    net->memory = base + memory;
  }
  return memory + plan->memory_bytes;
}

static void steps_set_initial(struct samara_net *net) {
  const struct bare_plan *plan = smr_bare_plan();
  for (uint32_t i = 0; i < plan->variable_count; i++) {
    const struct bare_variable *v = &plan->variables[i];
    if (v->initial != NULL)
      memcpy(net->current[i], v->initial, v->size_bytes);
    else
      memset(net->current[i], 0, v->size_bytes);
  }
}

samara_status samara_open(void *arena, size_t arena_bytes, samara_net **out, samara_error *error) {
  const struct bare_plan *plan = smr_bare_plan();
  if (out == NULL) SMR_FAIL(error, BAD_ARGUMENT, "no place for the result");
  *out = NULL;
  if (arena == NULL || (uintptr_t)arena % SAMARA_ARENA_ALIGNMENT != 0)
    SMR_FAIL(error, BAD_ARGUMENT, "the arena is not aligned to %d bytes", SAMARA_ARENA_ALIGNMENT);
  const size_t needs = steps_arrange(NULL, NULL);
  if (arena_bytes < needs)
    SMR_FAIL(error, OUT_OF_MEMORY, "the arena has %zu bytes, the model needs %zu", arena_bytes,
             needs);
  struct samara_net *net = arena;
  memset(net, 0, sizeof *net);
  steps_arrange(net, arena);
  for (uint32_t i = 0; i < plan->input_count; i++)
    if (plan->inputs[i].variable == BARE_ABSENT)
      memset(net->memory + plan->inputs[i].offset, 0, plan->inputs[i].size_bytes);
  for (uint32_t i = 0; i < plan->variable_count; i++) {
    const struct bare_variable *v = &plan->variables[i];
    net->current[i] = net->memory + v->data;
    net->spare[i] = v->spare != BARE_NO_SCRATCH ? net->memory + v->spare : NULL;
  }
  steps_set_initial(net);
  *out = net;
  return SAMARA_OK;
}

// The address of a value's bytes in this run.
static void *steps_data(const struct samara_net *net, const struct bare_value *value) {
  const uint8_t *base = net->memory;
  if (value->home == BARE_CONSTANT) return value->tensor.data;
  if (value->home == BARE_INPUT) base = net->given[value->index];
  if (value->home == BARE_SPARE) base = net->spare[value->index];
  return (void *)(uintptr_t)(base + value->offset);
}

static samara_status steps_run_one(struct samara_net *net, const struct bare_step *step) {
  const struct bare_plan *plan = smr_bare_plan();
  struct smr_job *job = &net->job;
  const uint32_t count = step->job.input_count + step->job.output_count;
  if (step->job.tiles == 0) return SAMARA_OK;
  for (uint32_t i = 0, copies = 0; i < count; i++) {
    net->operands[i] = NULL;
    if (step->operands[i] == BARE_ABSENT) continue;
    const struct bare_value *value = &plan->values[step->operands[i]];
    struct smr_tensor *tensor = (struct smr_tensor *)(uintptr_t)&value->tensor;
    if (value->home != BARE_CONSTANT) {
      tensor = &net->tensors[copies++];
      *tensor = value->tensor;
      tensor->data = steps_data(net, value);
    }
    net->operands[i] = tensor;
  }
  *job = step->job;
  job->inputs = net->operands;
  job->outputs = net->operands + job->input_count;
  job->error = &net->error;
  if (step->scratch != BARE_NO_SCRATCH) job->scratch = net->memory + step->scratch;
  uint8_t *scratch = (uint8_t *)job->scratch;
  if (scratch != NULL) scratch += steps_align(job->scratch_bytes);
  if (job->op->flags & SMR_OP_SERIAL_PROLOGUE) SMR_TRY(step->run(job, 0, 0, scratch));
  return step->run(job, 0, job->tiles, scratch);
}

// Collect the inputs of this run. Kernels need aligned elements, so a misaligned input is copied.
static void steps_take_inputs(struct samara_net *net, const void *const *inputs) {
  const struct bare_plan *plan = smr_bare_plan();
  for (uint32_t i = 0, user = 0; i < plan->input_count; i++) {
    const struct bare_input *input = &plan->inputs[i];
    if (input->variable != BARE_ABSENT) {
      net->given[i] = net->current[input->variable];
      continue;
    }
    uint8_t *own = net->memory + input->offset;
    const void *data = inputs != NULL ? inputs[user] : NULL;
    user++;
    if (data == NULL) data = own;
    if ((uintptr_t)data % input->alignment != 0) data = memcpy(own, data, input->size_bytes);
    net->given[i] = data;
  }
}

// Make the computed values of variables current and copy outputs to the caller.
static void steps_give_outputs(struct samara_net *net, void *const *outputs) {
  const struct bare_plan *plan = smr_bare_plan();
  for (uint32_t i = 0, user = 0; i < plan->output_count; i++) {
    const struct bare_output *output = &plan->outputs[i];
    const struct bare_value *value = &plan->values[output->value];
    const void *data = steps_data(net, value);
    void *to = output->variable != BARE_ABSENT ? net->spare[output->variable]
               : outputs != NULL               ? outputs[user]
                                               : NULL;
    if (output->variable == BARE_ABSENT) user++;
    if (to != NULL && to != data && value->tensor.size_bytes != 0)
      memcpy(to, data, value->tensor.size_bytes);
  }
  for (uint32_t i = 0; i < plan->output_count; i++) {
    const uint32_t variable = plan->outputs[i].variable;
    if (variable == BARE_ABSENT) continue;
    void *old = net->current[variable];
    net->current[variable] = net->spare[variable];
    net->spare[variable] = old;
  }
}

samara_status samara_run_with(samara_net *net, const void *const *inputs, void *const *outputs) {
  const struct bare_plan *plan = smr_bare_plan();
  net->error.text[0] = '\0';
  net->error.status = SAMARA_OK;
  steps_take_inputs(net, inputs);
  for (uint32_t i = 0; i < plan->step_count; i++) {
    const samara_status status = steps_run_one(net, &plan->steps[i]);
    if (status != SAMARA_OK)
      return smr_fail_prefix(&net->error, status, "%s", plan->steps[i].where);
  }
  steps_give_outputs(net, outputs);
  return SAMARA_OK;
}

void *samara_input(samara_net *net, size_t index) {
  const struct bare_plan *plan = smr_bare_plan();
  for (uint32_t i = 0; i < plan->input_count; i++) {
    if (plan->inputs[i].variable != BARE_ABSENT) continue;
    if (index-- == 0) return net->memory + plan->inputs[i].offset;
  }
  smr_fail(&net->error, SAMARA_BAD_ARGUMENT, "the model has no such input");
  return NULL;
}

samara_status samara_reset(samara_net *net) {
  steps_set_initial(net);
  return SAMARA_OK;
}

const char *samara_message(const samara_net *net) { return net->error.text; }

size_t samara_arena_used(const samara_net *net) {
  (void)net;
  return steps_arrange(NULL, NULL);
}

#endif
