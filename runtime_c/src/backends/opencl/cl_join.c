// SPDX-License-Identifier: Apache-2.0
// Decides which pointwise nodes of a region are joined to steps.
//
// Each node merges the steps that produce its operands, one after the other, while the result fits
// in one kernel. A step is computed at the position of its last node, so no other node may read its
// outputs before that; the session keeps its inputs until then. All nodes of a step have the dims
// of the last one: a broadcast value is an operand, so it is computed once and not for every
// element.
#include "base/fp.h"

#include "backends/opencl/cl_fuse.h"
#include "backends/opencl/lower.h"

#include <string.h>

#include "base/alloc.h"

struct join {
  const samara_region *region;
  struct smr_cl_function *functions;  // by node
  uint32_t *last, *first;             // by node: last node of its step; by last node: first node of
                                      // the step
  int32_t *producer;                  // by tensor: node, or -1
  int32_t *like;                      // by tensor: an earlier tensor with the same dims, or itself
  uint32_t *uses;                     // by tensor: number of uses as an operand
};

// ---- dims ----

// Whether both have the same rank and equal constant dims; *constant: all dims are constant.
static bool join_is_alike(const struct join *join, int32_t t, int32_t u, bool *constant) {
  const samara_region_tensor *a = &join->region->tensors[t], *b = &join->region->tensors[u];
  *constant = a->symbolic == 0;
  if (a->rank != b->rank || a->symbolic != b->symbolic) return false;
  for (int32_t i = 0; i < a->rank; i++)
    if ((a->symbolic >> i & 1) == 0 && a->shape[i] != b->shape[i]) return false;
  return true;
}

// Whether both have the same dims for all values of symbolic ones.
static bool join_is_same(const struct join *join, int32_t t, int32_t u) {
  bool constant;
  return join->like[t] == join->like[u] || (join_is_alike(join, t, u, &constant) && constant);
}

static bool join_is_single(const samara_region_tensor *t) {
  for (int32_t i = 0; i < t->rank; i++)
    if ((t->symbolic >> i & 1) != 0 || t->shape[i] != 1) return false;
  return true;
}

// An operand that certainly has the dims of the node's output; -1: none.
static int32_t join_like(const struct join *join, const samara_region_node *node) {
  int32_t found = -1;
  for (uint32_t i = 0; i < node->input_count; i++) {
    const samara_region_tensor *x = &join->region->tensors[node->inputs[i]];
    if (join_is_single(x) && x->rank <= join->region->tensors[node->outputs[0]].rank &&
        node->input_count > 1)
      continue;
    if (found >= 0 && !join_is_same(join, found, node->inputs[i])) return -1;
    found = node->inputs[i];
  }
  return found >= 0 &&
                 join->region->tensors[found].rank == join->region->tensors[node->outputs[0]].rank
             ? found
             : -1;
}

// ---- one step ----

static bool join_has(const struct join *join, uint32_t last, int32_t tensor) {
  const int32_t maker = join->producer[tensor];
  return maker >= 0 && join->functions[maker].operands != 0 && join->last[maker] == last;
}

// Whether tensor `t` of the step is read outside of it.
static bool join_is_output(const struct join *join, const struct smr_cl_step *step, int32_t t) {
  uint32_t own = 0;
  for (uint32_t k = 0; k < step->count; k++) {
    const samara_region_node *node = &join->region->nodes[step->nodes[k]];
    for (uint32_t i = 0; i < node->input_count; i++) own += node->inputs[i] == t;
  }
  return join->region->tensors[t].used_outside || join->uses[t] > own;
}

static bool join_add(int32_t *list, uint32_t *count, uint32_t most, int32_t t, bool *added) {
  *added = false;
  for (uint32_t i = 0; i < *count; i++)
    if (list[i] == t) return true;
  if (*count == most) return false;
  list[(*count)++] = t;
  *added = true;
  return true;
}

static bool join_input(const struct join *join, struct smr_cl_step *step, int32_t t) {
  const samara_region_tensor *x = &join->region->tensors[t];
  bool added;
  if (x->data != NULL && x->dtype == SAMARA_FLOAT32 && join_is_single(x)) {
    if (!join_add(step->numbers, &step->number_count, SMR_CL_FLOATS, t, &added)) return false;
    memcpy(&step->floats[step->number_count - 1], x->data, added ? sizeof(float) : 0);
    return true;
  }
  if (!join_add(step->inputs, &step->input_count, SMR_CL_INPUTS, t, &added)) return false;
  if (!added) return true;
  int8_t *strided = &step->strided[step->input_count - 1];
  *strided = -1;
  if (join_is_same(join, t, step->outputs[0])) return true;
  if (step->strided_count == SMR_CL_STEP_STRIDED) return false;
  *strided = (int8_t)step->strided_count++;
  return true;
}

static bool join_output(const struct join *join, struct smr_cl_step *step, int32_t t) {
  bool constant, added;
  if (!join_is_alike(join, t, step->outputs[0], &constant)) return false;
  if (!join_is_output(join, step, t)) return true;
  return join_is_same(join, t, step->outputs[0]) &&
         join_add(step->outputs, &step->output_count, SMR_CL_STEP_OUTPUTS, t, &added);
}

static bool join_attribute(const struct smr_cl_node *node, const char *name,
                           struct smr_cl_step *step) {
  if (name[0] == '\0') return true;
  const samara_region_attribute *attribute = smr_cl_attribute(node, name);
  if (attribute == NULL || attribute->symbolic || step->float_count == SMR_CL_FLOATS) return false;
  step->floats[step->float_count++] = attribute->f;
  return true;
}

// Whether a node outside of the step, but before its last node, reads an output of the step.
static bool join_is_read_before(const struct join *join, const struct smr_cl_step *step) {
  const uint32_t last = step->nodes[step->count - 1];
  for (uint32_t n = step->nodes[0]; n < last; n++) {
    const samara_region_node *node = &join->region->nodes[n];
    if (join->functions[n].operands != 0 && join->last[n] == last) continue;
    for (uint32_t i = 0; i < node->input_count; i++)
      if (node->inputs[i] >= 0 && join_has(join, last, node->inputs[i])) return true;
  }
  return false;
}

// Describe the step that ends with node `last`. False if it does not fit in one kernel, or cannot
// be computed there.
static bool join_describe(const struct join *join, uint32_t last, struct smr_cl_step *step) {
  memset(step, 0, sizeof *step);
  for (uint32_t n = join->first[last]; n <= last; n++) {
    if (join->functions[n].operands == 0 || join->last[n] != last) continue;
    if (step->count == SMR_CL_STEP_NODES) return false;
    step->nodes[step->count++] = n;
  }
  step->outputs[step->output_count++] = join->region->nodes[last].outputs[0];
  if (join_is_read_before(join, step)) return false;
  for (uint32_t k = 0; k < step->count; k++) {
    const samara_region_node *node = &join->region->nodes[step->nodes[k]];
    if (k + 1 < step->count && !join_output(join, step, node->outputs[0])) return false;
    for (uint32_t i = 0; i < node->input_count; i++)
      if (!join_has(join, last, node->inputs[i]) && !join_input(join, step, node->inputs[i]))
        return false;
  }
  step->float_count = step->number_count;
  for (uint32_t k = 0; k < step->count; k++) {
    const struct smr_cl_function *function = &join->functions[step->nodes[k]];
    const struct smr_cl_node node = {.region = join->region,
                                     .node = &join->region->nodes[step->nodes[k]]};
    if (!join_attribute(&node, function->a, step) || !join_attribute(&node, function->b, step))
      return false;
  }
  return step->strided_count == 0 || join->region->tensors[step->outputs[0]].rank <= SMR_CL_AXES;
}

// ---- all steps ----

// Merge the step that ends with `with` into that of node n, if it fits.
static void join_try(struct join *join, uint32_t with, uint32_t n) {
  struct smr_cl_step step;
  uint32_t taken[SMR_CL_STEP_NODES], count = 0;
  const uint32_t first = join->first[n];
  if (with == n || n - join->first[with] > SMR_CL_STEP_REACH) return;
  for (uint32_t m = join->first[with]; m <= with; m++) {
    if (join->functions[m].operands == 0 || join->last[m] != with) continue;
    taken[count++] = m;  // fits, because it was described before
    join->last[m] = n;
  }
  if (join->first[with] < first) join->first[n] = join->first[with];
  if (join_describe(join, n, &step)) return;
  for (uint32_t i = 0; i < count; i++) join->last[taken[i]] = with;
  join->first[n] = first;
}

static void join_node(struct join *join, const struct smr_cl_features *features, uint32_t n) {
  const samara_region *region = join->region;
  const samara_region_node *node = &region->nodes[n];
  const struct smr_cl_node of = {.region = region, .node = node, .index = n, .features = features};
  join->last[n] = join->first[n] = n;
  if (!region->apart[n]) join->functions[n] = smr_cl_function_of(&of);
  for (uint32_t i = 0; i < node->input_count; i++)
    if (node->inputs[i] >= 0) join->uses[node->inputs[i]]++;
  for (uint32_t i = 0; i < node->output_count; i++)
    if (node->outputs[i] >= 0) join->producer[node->outputs[i]] = (int32_t)n;
}

// Count the uses of tensors and find their producers.
static void join_all(struct join *join) {
  for (uint32_t n = 0; n < join->region->node_count; n++) {
    const samara_region_node *node = &join->region->nodes[n];
    if (join->functions[n].operands == 0) continue;
    const int32_t like = join_like(join, node);
    if (like >= 0) join->like[node->outputs[0]] = join->like[like];
    for (uint32_t i = 0; i < node->input_count; i++) {
      const int32_t maker = join->producer[node->inputs[i]];
      if (maker >= 0 && (uint32_t)maker < n && join->functions[maker].operands != 0)
        join_try(join, join->last[maker], n);
    }
  }
}

// ---- the steps of a region ----

static samara_status join_keep(const struct join *join, uint32_t last, char *text,
                               const samara_allocator *allocator, struct smr_cl_steps *out,
                               samara_error *error) {
  struct smr_cl_step *step = &out->steps[out->count];
  if (!join_describe(join, last, step) ||
      !smr_cl_step_write(join->region, step, text, SMR_CL_STEP_TEXT))
    return SAMARA_OK;  // compute its nodes one by one
  const size_t size = strlen(text) + 1;
  step->text = (char *)smr_allocate(allocator, size);
  if (step->text == NULL) return smr_no_memory(error, size);
  memcpy(step->text, text, size);
  for (uint32_t k = 0; k < step->count; k++) {
    join->region->joins[step->nodes[k]] = (samara_region_join){.last = last, .kind = step->kind};
    out->joined[step->nodes[k]] = true;
  }
  out->count++;
  return SAMARA_OK;
}

static samara_status join_region(struct join *join, const struct smr_cl_features *features,
                                 char *text, const samara_allocator *allocator,
                                 struct smr_cl_steps *out, samara_error *error) {
  const samara_region *region = join->region;
  for (uint32_t t = 0; t < region->tensor_count; t++) {
    join->producer[t] = -1;
    join->like[t] = (int32_t)t;
  }
  for (uint32_t n = 0; n < region->node_count; n++) join_node(join, features, n);
  join_all(join);
  uint32_t count = 0;
  for (uint32_t n = 0; n < region->node_count; n++) count += join->first[join->last[n]] < n;
  if (count == 0) return SAMARA_OK;
  out->steps = (struct smr_cl_step *)smr_allocate_zeroed(allocator, count, sizeof *out->steps);
  if (out->steps == NULL) return smr_no_memory(error, count * sizeof *out->steps);
  out->joined = (bool *)smr_allocate_zeroed(allocator, region->node_count, sizeof *out->joined);
  if (out->joined == NULL) return smr_no_memory(error, region->node_count);
  for (uint32_t n = 0; n < region->node_count; n++)
    if (join->last[n] == n && join->first[n] < n && out->count < UINT16_MAX - SMR_CL_STEP_KERNEL)
      SMR_TRY(join_keep(join, n, text, allocator, out, error));
  return SAMARA_OK;
}

samara_status smr_cl_join(const samara_region *region, const struct smr_cl_features *features,
                          const samara_allocator *allocator, struct smr_cl_steps *out,
                          samara_error *error) {
  const size_t nodes = region->node_count, tensors = region->tensor_count;
  const size_t size = nodes * (sizeof(struct smr_cl_function) + 2 * sizeof(uint32_t)) +
                      tensors * 3 * sizeof(uint32_t) + SMR_CL_STEP_TEXT;
  char *block = (char *)smr_allocate_zeroed(allocator, 1, size);
  if (block == NULL) return smr_no_memory(error, size);
  struct join join = {.region = region, .functions = (struct smr_cl_function *)(void *)block};
  join.last = (uint32_t *)(void *)(join.functions + nodes);
  join.first = join.last + nodes;
  join.uses = join.first + nodes;
  join.producer = (int32_t *)(join.uses + tensors);
  join.like = join.producer + tensors;
  const samara_status status =
      join_region(&join, features, (char *)(join.like + tensors), allocator, out, error);
  smr_release(allocator, block);
  return status;
}

void smr_cl_steps_free(struct smr_cl_steps *steps, const samara_allocator *allocator) {
  for (uint32_t k = 0; k < steps->count; k++) smr_release(allocator, steps->steps[k].text);
  smr_release(allocator, steps->steps);
  smr_release(allocator, steps->joined);
  *steps = (struct smr_cl_steps){.steps = NULL};
}
