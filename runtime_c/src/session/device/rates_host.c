// SPDX-License-Identifier: Apache-2.0
// Rates of the CPU: the same nodes as single operators.
#include "base/fp.h"

#include <string.h>

#include <samara/samara_experimental.h>

#include "base/isa.h"
#include "session/device/rates.h"

struct rates_host {
  samara_op_context *context;
  const samara_allocator *allocator;
  char isa[128];
};

// One node, and how often it runs.
struct rates_host_run {
  const struct rates_host *host;
  samara_op *op;
  const void *inputs[2];
  void *outputs[1];
  uint32_t nodes;
};

static void rates_operand(const samara_region_tensor *tensor, samara_op_tensor *out) {
  *out = (samara_op_tensor){.shape = tensor->shape,
                            .rank = tensor->rank,
                            .dtype = tensor->dtype,
                            .scale = tensor->scales != NULL ? tensor->scales[0] : 0};
}

// The attributes that the region sets; others have their defaults.
static size_t rates_given(const struct smr_rates_region *r, samara_attribute *out) {
  size_t count = 0;
  for (uint32_t i = 0; i < r->nodes[0].attribute_count; i++) {
    const samara_region_attribute *given = &r->attributes[i];
    samara_attribute *to = &out[count];
    *to = (samara_attribute){.name = given->name};
    if (given->ints != NULL)
      to->ints = given->ints, to->count = given->count, count++;
    else if (strcmp(given->name, "groups") == 0)
      to->ints = &given->i, to->count = 1, count++;
    else if (strcmp(given->name, "scale") == 0)
      to->floats = &given->f, to->count = 1, count++;
  }
  return count;
}

static samara_status rates_create(const struct rates_host *host, const struct smr_rates_region *r,
                                  samara_op **out, samara_error *error) {
  samara_op_tensor tensors[SMR_RATES_TENSORS];
  samara_attribute attributes[SMR_RATES_ATTRIBUTES];
  for (int i = 0; i < SMR_RATES_TENSORS; i++) rates_operand(&r->tensors[i], &tensors[i]);
  const samara_op_desc desc = {.struct_size = sizeof desc,
                               .name = r->nodes[0].op,
                               .attributes = attributes,
                               .attribute_count = rates_given(r, attributes),
                               .inputs = tensors,
                               .input_count = 2,
                               .outputs = &tensors[2],
                               .output_count = 1,
                               .isa = host->isa,
                               .allocator = host->allocator,
                               // A faster algorithm has less work at the same rate.
                               .strict_accuracy = true};
  return samara_op_create(&desc, out, error);
}

static samara_status rates_host_once(void *user, samara_error *error) {
  const struct rates_host_run *run = user;
  samara_op_context *context = run->host->context;
  for (uint32_t i = 0; i < run->nodes; i++) {
    const samara_status status = samara_op_run(context, run->op, run->inputs, run->outputs);
    if (status != SAMARA_OK) return smr_fail(error, status, "%s", samara_op_context_error(context));
  }
  return SAMARA_OK;
}

static samara_status rates_host_node(const struct rates_host *host,
                                     const struct smr_rates_region *r, uint32_t nodes, uint64_t *ns,
                                     samara_error *error) {
  const size_t bytes = r->tensors[0].size_bytes;
  struct rates_host_run run = {.host = host, .nodes = nodes};
  uint8_t *data = smr_allocate_zeroed(host->allocator, SMR_RATES_TENSORS, bytes);
  if (data == NULL) return smr_no_memory(error, SMR_RATES_TENSORS * bytes);
  run.inputs[0] = data;
  run.inputs[1] = r->weights != NULL ? r->weights : (void *)(data + bytes);
  run.outputs[0] = data + 2 * bytes;
  samara_status status = rates_create(host, r, &run.op, error);
  if (status == SAMARA_OK) {
    status = smr_rates_least(rates_host_once, &run, ns, error);
    samara_op_destroy(run.op);
  }
  smr_release(host->allocator, data);
  return status == SAMARA_UNSUPPORTED ? SAMARA_OK : status;  // the build lacks this operator
}

static samara_status rates_host_time(void *user, const struct smr_rates_probe *probe, uint32_t size,
                                     uint32_t nodes, uint64_t *ns, samara_error *error) {
  const struct rates_host *host = user;
  struct smr_rates_region r;
  bool known;
  *ns = 0;
  samara_status status = smr_rates_describe(probe, size, nodes, host->allocator, &r, &known, error);
  if (status == SAMARA_OK && known) status = rates_host_node(host, &r, nodes, ns, error);
  smr_release(host->allocator, r.weights);
  return status;
}

samara_status smr_rates_measure_host(samara_pool *pool, uint32_t isa,
                                     const samara_allocator *allocator, samara_rates *rates,
                                     samara_error *error) {
  struct rates_host host = {.allocator = allocator};
  const samara_op_context_options options = {
      .struct_size = sizeof options, .pool = pool, .allocator = allocator};
  const struct smr_rates_place place = {.user = &host, .time = rates_host_time};
  (void)smr_isa_format(isa, host.isa, sizeof host.isa);
  SMR_TRY(samara_op_context_create(&options, &host.context, error));
  const samara_status status = smr_rates_measure(&place, rates, error);
  samara_op_context_destroy(host.context);
  return status;
}
