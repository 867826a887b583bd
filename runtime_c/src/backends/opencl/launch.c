// SPDX-License-Identifier: Apache-2.0
// Lists of launches, and access to nodes for rows.
#include "base/fp.h"

#include "backends/opencl/launch.h"

#include <string.h>

static void *cl_allocate(const samara_allocator *allocator, size_t bytes) {
  return allocator->allocate(allocator->user, bytes);
}

static void cl_release(const samara_allocator *allocator, void *memory) {
  if (memory != NULL) allocator->release(allocator->user, memory);
}

struct smr_cl_launch *smr_cl_add(struct smr_cl_launches *list, uint32_t node,
                                 enum smr_cl_kernel kernel) {
  struct smr_cl_launch *launch = &list->spare;
  if (list->count == list->capacity) {
    const size_t capacity = list->capacity == 0 ? 16 : 2 * list->capacity;
    struct smr_cl_launch *grown =
        (struct smr_cl_launch *)cl_allocate(list->allocator, capacity * sizeof *grown);
    if (grown == NULL) {
      list->failed = true;
    } else {
      if (list->count != 0) memcpy(grown, list->launches, list->count * sizeof *grown);
      cl_release(list->allocator, list->launches);
      list->launches = grown;
      list->capacity = capacity;
    }
  }
  if (list->count < list->capacity) launch = &list->launches[list->count++];
  memset(launch, 0, sizeof *launch);
  launch->node = node;
  launch->kernel = (uint16_t)kernel;
  return launch;
}

// Header of a table.
struct cl_table {
  struct cl_table *next;
  max_align_t data[];
};

void *smr_cl_table(struct smr_cl_launches *list, struct smr_cl_launch *launch, uint32_t buffer,
                   size_t bytes) {
  struct cl_table *table =
      bytes > UINT32_MAX ? NULL
                         : (struct cl_table *)cl_allocate(list->allocator, sizeof *table + bytes);
  if (table == NULL) {
    list->failed = true;
    return NULL;
  }
  memset(table, 0, sizeof *table + bytes);
  table->next = (struct cl_table *)list->tables;
  list->tables = table;
  launch->table = table->data;
  launch->table_bytes = (uint32_t)bytes;
  launch->table_buffer = buffer;
  return table->data;
}

// Placeholders for scratch memory and the flag until these are bound.
static char cl_scratch_mark, cl_flag_mark;

void smr_cl_begin_node(struct smr_cl_launches *list) { list->scratch_used = 0; }

struct smr_cl_place smr_cl_scratch(struct smr_cl_launches *list, uint64_t bytes) {
  enum { ALIGNMENT = 64 };
  const struct smr_cl_place place = {&cl_scratch_mark, list->scratch_used};
  if (bytes > UINT64_MAX / 4 || list->scratch_used > UINT64_MAX / 4) {
    list->failed = true;
    return place;
  }
  list->scratch_used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (list->scratch_used > list->scratch_bytes) list->scratch_bytes = list->scratch_used;
  return place;
}

static void cl_bind_mark(struct smr_cl_launches *list, const void *mark, void *memory) {
  for (size_t i = 0; i < list->count; i++)
    for (int k = 0; k < SMR_CL_BUFFERS; k++)
      if (list->launches[i].buffers[k].memory == mark) list->launches[i].buffers[k].memory = memory;
}

void smr_cl_bind_scratch(struct smr_cl_launches *list, void *memory) {
  cl_bind_mark(list, &cl_scratch_mark, memory);
}

void smr_cl_flag(struct smr_cl_launches *list, struct smr_cl_launch *launch, uint32_t buffer) {
  launch->buffers[buffer] = (struct smr_cl_place){&cl_flag_mark, 0};
  launch->flags = list->flags = true;
}

void smr_cl_bind_flag(struct smr_cl_launches *list, void *memory) {
  cl_bind_mark(list, &cl_flag_mark, memory);
}

void smr_cl_launches_clear(struct smr_cl_launches *list) {
  while (list->tables != NULL) {
    struct cl_table *table = (struct cl_table *)list->tables;
    list->tables = table->next;
    cl_release(list->allocator, table);
  }
  list->count = 0;
  list->failed = list->flags = false;
  list->refusal = NULL;
  list->scratch_bytes = list->scratch_used = 0;
}

void smr_cl_launches_free(struct smr_cl_launches *list) {
  const samara_allocator *allocator = list->allocator;
  smr_cl_launches_clear(list);
  cl_release(allocator, list->launches);
  memset(list, 0, sizeof *list);
  list->allocator = allocator;
}

const samara_region_tensor *smr_cl_input(const struct smr_cl_node *node, uint32_t index) {
  if (index >= node->node->input_count || node->node->inputs[index] < 0) return NULL;
  return &node->region->tensors[node->node->inputs[index]];
}

const samara_region_tensor *smr_cl_output(const struct smr_cl_node *node, uint32_t index) {
  if (index >= node->node->output_count || node->node->outputs[index] < 0) return NULL;
  return &node->region->tensors[node->node->outputs[index]];
}

const samara_region_attribute *smr_cl_attribute(const struct smr_cl_node *node, const char *name) {
  const samara_region_node *n = node->node;
  for (uint32_t i = 0; i < n->attribute_count; i++)
    if (strcmp(n->attributes[i].name, name) == 0) return &n->attributes[i];
  return NULL;
}

int64_t smr_cl_numel(const samara_region_tensor *tensor) {
  int64_t n = 1;
  for (int32_t i = 0; i < tensor->rank; i++) n *= tensor->shape[i];
  return n;
}

void smr_cl_bind(struct smr_cl_launch *launch, uint32_t buffer,
                 const samara_region_tensor *tensor) {
  if (tensor == NULL) return;
  launch->buffers[buffer].memory = tensor->memory;
  launch->buffers[buffer].offset_bytes = tensor->offset_bytes;
  if (buffer == 1 && tensor->layout != SAMARA_LAYOUT_PLAIN && tensor->panel_stride_bytes % 16 == 0)
    launch->panel_bytes = tensor->size_bytes;
}
