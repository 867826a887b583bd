// SPDX-License-Identifier: Apache-2.0
// Estimated costs of nodes and copies on the host and on a device, and which nodes to move to the
// device.
#include "base/fp.h"

#include "session/device/rates.h"

#include <string.h>

#include "session/device/device_cut.h"

enum { COST_GAIN_TENTHS = 12 };  // a region must be 1.2 times as fast as the host

// Upper limit of one cost, 18 minutes: rates may be arbitrary, and sums of costs must stay below
// SMR_CUT_NEVER.
static const uint64_t cost_most = UINT64_C(1) << 40;

// ---- one node ----

// A fixed cost, at most cost_most.
static uint64_t cost_fixed(uint64_t ns) { return ns < cost_most ? ns : cost_most; }

static uint64_t cost_time(double work, uint64_t per_ms) {
  if (per_ms == 0) return SMR_CUT_NEVER;
  const double ns = work * 1e6 / (double)per_ms;
  return ns < (double)cost_most ? (uint64_t)ns : cost_most;
}

// The sum of two costs, one of which may be SMR_CUT_NEVER.
static uint64_t cost_sum(uint64_t a, uint64_t b) {
  return a >= SMR_CUT_NEVER || b >= SMR_CUT_NEVER - a ? SMR_CUT_NEVER : a + b;
}

// The rate of the node's kind of work. *work is its amount, *fixed the fixed cost of the node.
static uint64_t cost_rate(const struct smr_job *job, bool plain, const samara_rates *rates,
                          double *work, uint64_t *fixed) {
  *fixed = cost_fixed(rates->launch_ns);
  *work = (double)job->work;
  // The device computes the plain algorithm; the host may choose one with less work.
  for (uint32_t i = 0; plain && i < job->choice.count; i++)
    if ((double)job->choice.candidates[i].work > *work)
      *work = (double)job->choice.candidates[i].work;
  if ((job->op->flags & SMR_OP_PACKED_IN) == 0 || job->input_count < 2 || *work <= 0) {
    *work = 0;
    return 1;
  }
  *fixed += cost_fixed(rates->product_ns);
  const struct smr_tensor *w = job->inputs[1];
  if (w->layout == SMR_LAYOUT_DWPANEL) return rates->depthwise;
  if (w->dtype == SAMARA_FLOAT16) return rates->product_float16;
  return w->dtype == SAMARA_FLOAT32 ? rates->product_float32 : rates->product_int8;
}

static double cost_bytes(const struct smr_job *job) {
  double bytes = 0;
  for (uint32_t i = 0; i < job->input_count; i++)
    if (job->inputs[i] != NULL) bytes += (double)job->inputs[i]->size_bytes;
  for (uint32_t i = 0; i < job->output_count; i++) bytes += (double)job->outputs[i]->size_bytes;
  return bytes;
}

static uint64_t cost_node(const struct smr_frame *frame, const struct smr_frame_node *node,
                          bool on_device, const samara_rates *rates) {
  double work;
  uint64_t fixed;
  if (on_device ? smr_region_is_view(frame, node->node) : smr_node_is_view(node)) return 0;
  const uint64_t rate = cost_rate(&node->job, on_device, rates, &work, &fixed);
  const uint64_t arithmetic = cost_time(work, rate);
  const uint64_t memory = cost_time(cost_bytes(&node->job), rates->memory);
  return cost_sum(arithmetic > memory ? arithmetic : memory, fixed);
}

static uint64_t cost_copy(size_t size_bytes, bool to_device, const samara_rates *rates) {
  if (size_bytes == SMR_UNBOUNDED_BYTES) return SMR_CUT_NEVER;
  const uint64_t per_ms = to_device ? rates->to_device : rates->from_device;
  return cost_sum(cost_time((double)size_bytes, per_ms), cost_fixed(rates->copy_ns));
}

// ---- a frame ----

struct cost_graph {
  struct smr_cut cut;
  uint64_t *host_ns, *device_ns, *to_device_ns, *to_host_ns;
  int32_t *producer;
  bool *host_reads, *on_device;
  struct smr_cut_use *uses;
};

static samara_status cost_arrays(struct smr_frame *frame, struct cost_graph *g) {
  const struct smr_function *f = frame->function;
  size_t uses = 0;
  for (uint32_t n = 0; n < f->node_count; n++) uses += f->nodes[n].input_count;
  SMR_TAKE(frame->common, g->host_ns, f->node_count);
  SMR_TAKE(frame->common, g->device_ns, f->node_count);
  SMR_TAKE(frame->common, g->on_device, f->node_count);
  SMR_TAKE(frame->common, g->to_device_ns, f->value_count);
  SMR_TAKE(frame->common, g->to_host_ns, f->value_count);
  SMR_TAKE(frame->common, g->producer, f->value_count);
  SMR_TAKE(frame->common, g->host_reads, f->value_count);
  SMR_TAKE(frame->common, g->uses, uses);
  g->cut = (struct smr_cut){.node_count = f->node_count,
                            .value_count = f->value_count,
                            .host_ns = g->host_ns,
                            .device_ns = g->device_ns,
                            .to_device_ns = g->to_device_ns,
                            .to_host_ns = g->to_host_ns,
                            .producer = g->producer,
                            .host_reads = g->host_reads,
                            .uses = g->uses};
  return SAMARA_OK;
}

// A variable stays on the device that writes and reads it, so it costs what a value costs between
// its producer and its readers. A variable that is only read is copied once, which is not counted.
static void cost_variables(const struct smr_frame *frame, struct cost_graph *g) {
  const struct smr_function *f = frame->function;
  for (uint32_t i = 0; frame->is_entry && i < f->read_count; i++) {
    const uint32_t read = f->inputs[f->reads[i].position];
    int32_t written = -1;
    for (uint32_t k = 0; k < f->write_count; k++)
      if (f->writes[k].variable == f->reads[i].variable)
        written = (int32_t)f->outputs[f->writes[k].position];
    if (g->host_reads[read] || g->to_device_ns[read] >= SMR_CUT_NEVER ||
        g->to_host_ns[read] >= SMR_CUT_NEVER)
      continue;
    if (written < 0) {
      g->to_device_ns[read] = 0;
    } else if (f->values[written].producer >= 0) {
      g->producer[read] = f->values[written].producer;
      g->host_reads[written] =
          frame->values[written].is_result || smr_value_kept(&frame->values[written]);
    }
  }
}

static void cost_values(struct smr_frame *frame, const struct smr_rates *rates,
                        struct cost_graph *g) {
  const struct smr_function *f = frame->function;
  for (uint32_t i = 0; i < f->value_count; i++) {
    const size_t bytes = smr_value_bytes_bound(frame, i);
    g->producer[i] = f->values[i].producer;
    g->to_device_ns[i] = cost_copy(bytes, true, &rates->device);
    g->to_host_ns[i] = cost_copy(bytes, false, &rates->device);
    g->host_reads[i] = frame->values[i].is_output || smr_value_kept(&frame->values[i]);
    // Constants are copied once, which is not counted.
    if (f->values[i].constant >= 0) g->to_device_ns[i] = 0;
  }
  cost_variables(frame, g);
  for (uint32_t i = 0; i < f->expr_count; i++)
    if (f->exprs[i].op == SMR_EXPR_READ) g->host_reads[f->exprs[i].a] = true;
  for (uint32_t n = 0; n < f->node_count; n++)
    for (uint32_t i = 0; i < f->nodes[n].input_count; i++)
      if (f->nodes[n].inputs[i] >= 0)
        g->uses[g->cut.use_count++] = (struct smr_cut_use){(uint32_t)f->nodes[n].inputs[i], n};
}

static samara_status cost_nodes(struct smr_frame *frame, uint32_t device,
                                const struct smr_rates *rates,
                                const struct smr_device_choice *choices, struct cost_graph *g) {
  for (uint32_t n = 0; n < frame->function->node_count; n++) {
    const struct smr_frame_node *node = &frame->nodes[n];
    bool supported = false;
    g->host_ns[n] = cost_node(frame, node, false, &rates->host);
    // The host can run the node even if its rate is unknown.
    if (g->host_ns[n] >= SMR_CUT_NEVER) g->host_ns[n] = cost_fixed(rates->host.launch_ns);
    // Nodes on an earlier device stay there; for this device they count as host nodes.
    if (choices[n].space == 0)
      SMR_TRY(smr_device_supports(frame, n, device, &supported, &frame->nodes[n].reason));
    g->device_ns[n] = supported ? cost_node(frame, node, true, &rates->device) : SMR_CUT_NEVER;
  }
  return SAMARA_OK;
}

// ---- regions ----

// Host and device time of the nodes [begin, end), copies at the borders of this region included.
static void cost_region(const struct smr_frame *frame, const struct cost_graph *g,
                        const struct smr_rates *rates, uint32_t begin, uint32_t end, bool *seen,
                        uint64_t *host, uint64_t *device) {
  const struct smr_function *f = frame->function;
  *host = 0;
  *device = cost_fixed(rates->device.wait_ns);
  memset(seen, 0, f->value_count * sizeof *seen);
  for (uint32_t n = begin; n < end; n++) {
    *host = cost_sum(*host, g->host_ns[n]);
    *device = cost_sum(*device, g->device_ns[n]);
    for (uint32_t i = 0; i < f->nodes[n].input_count; i++) {
      const int32_t x = f->nodes[n].inputs[i];
      if (x < 0 || seen[x]) continue;
      seen[x] = true;
      const int32_t maker = g->producer[x];
      if (maker < 0 || !g->on_device[maker]) *device = cost_sum(*device, g->to_device_ns[x]);
    }
  }
  // Values made here that the host reads.
  memset(seen, 0, f->value_count * sizeof *seen);
  for (size_t i = 0; i < g->cut.use_count; i++)
    if (!g->on_device[g->uses[i].node]) seen[g->uses[i].value] = true;
  for (uint32_t i = 0; i < f->value_count; i++)
    if ((seen[i] || g->host_reads[i]) && g->producer[i] >= (int32_t)begin &&
        g->producer[i] < (int32_t)end)
      *device = cost_sum(*device, g->to_host_ns[i]);
}

// Move regions that gain too little back to the host. Returns whether there was one.
static bool cost_drop(const struct smr_frame *frame, const struct smr_rates *rates,
                      struct cost_graph *g, bool *seen) {
  const uint32_t count = frame->function->node_count;
  bool dropped = false;
  for (uint32_t n = 0, end; n < count; n = end) {
    uint64_t host, device;
    for (end = n + 1; end < count && g->on_device[end] == g->on_device[n] &&
                      frame->nodes[end].node->stage == frame->nodes[n].node->stage;)
      end++;
    if (!g->on_device[n]) continue;
    cost_region(frame, g, rates, n, end, seen, &host, &device);
    if (host / COST_GAIN_TENTHS >= device / 10) continue;
    for (uint32_t i = n; i < end; i++) g->on_device[i] = false;
    dropped = true;
  }
  return dropped;
}

static void cost_choose(const struct smr_frame *frame, uint32_t device, const struct cost_graph *g,
                        struct smr_device_choice *choices) {
  for (uint32_t n = 0; n < frame->function->node_count; n++) {
    struct smr_device_choice *choice = &choices[n];
    const double host_us = (double)g->host_ns[n] * 1e-3;
    if (choice->space != 0) continue;
    choice->cost_us = host_us;
    choice->reason = frame->nodes[n].reason;
    if (g->device_ns[n] >= SMR_CUT_NEVER) continue;
    const double device_us = (double)g->device_ns[n] * 1e-3;
    choice->reason = g->on_device[n] ? "the device is faster" : "the CPU is faster";
    if (g->on_device[n]) {
      choice->space = (uint8_t)(device + 1);
      choice->cost_us = device_us;
      choice->other = 0;
      choice->other_us = host_us;
    } else if (!choice->has_other || device_us < choice->other_us) {
      choice->other = (uint8_t)(device + 1);
      choice->other_us = device_us;
    }
    choice->has_other = true;
  }
}

samara_status smr_devices_decide(struct smr_frame *frame, uint32_t device,
                                 const struct smr_rates *rates, struct smr_device_choice *choices) {
  struct cost_graph g = {.uses = NULL};
  bool *seen;
  SMR_TRY(cost_arrays(frame, &g));
  SMR_TAKE(frame->common, seen, frame->function->value_count);
  SMR_TRY(cost_nodes(frame, device, rates, choices, &g));
  cost_values(frame, rates, &g);
  if (!smr_cut_solve(&g.cut, &frame->common->memory.allocator, g.on_device))
    SMR_FAIL(frame->common->error, OUT_OF_MEMORY, "no memory to divide function '%s'",
             frame->function->name);
  while (cost_drop(frame, rates, &g, seen)) continue;
  cost_choose(frame, device, &g, choices);
  return SAMARA_OK;
}
