// SPDX-License-Identifier: Apache-2.0
// The cheapest partition of a graph between the host and a device, as a minimum cut (Stone 1977,
// Multiprocessor scheduling with the aid of network flow algorithms).
//
// The source stands for the host, the sink for the device. The edge from the source to a node has
// the node's cost on the device, the edge from the node to the sink its cost on the host: the cut
// contains the edge with the cost of the side chosen. A value has two vertices, so that its copy is
// paid once, however many nodes read it.
#include "base/fp.h"

#include "session/device/device_cut.h"

#include <string.h>

enum { CUT_SOURCE = 0, CUT_SINK = 1, CUT_FIRST = 2 };

struct cut_edge {
  uint32_t to;
  uint32_t next;  // edge of the same vertex; 0 ends the list. Edge e ^ 1 is its reverse.
  uint64_t room;
};

struct cut_flow {
  struct cut_edge *edges;
  uint32_t *head, *level, *at, *queue;  // by vertex
  uint32_t edge_count, vertices;
};

static void cut_add(struct cut_flow *flow, uint32_t from, uint32_t to, uint64_t room) {
  const uint32_t e = flow->edge_count;
  flow->edges[e] = (struct cut_edge){to, flow->head[from], room};
  flow->edges[e + 1] = (struct cut_edge){from, flow->head[to], 0};
  flow->head[from] = e;
  flow->head[to] = e + 1;
  flow->edge_count += 2;
}

// Distances from the source over edges with residual capacity (Dinic's algorithm). False if the
// sink cannot be reached.
static bool cut_levels(struct cut_flow *flow) {
  memset(flow->level, 0xff, flow->vertices * sizeof *flow->level);
  uint32_t begin = 0, end = 1;
  flow->queue[0] = CUT_SOURCE;
  flow->level[CUT_SOURCE] = 0;
  while (begin < end) {
    const uint32_t v = flow->queue[begin++];
    for (uint32_t e = flow->head[v]; e != 0; e = flow->edges[e].next) {
      const uint32_t to = flow->edges[e].to;
      if (flow->edges[e].room == 0 || flow->level[to] != UINT32_MAX) continue;
      flow->level[to] = flow->level[v] + 1;
      flow->queue[end++] = to;
    }
  }
  return flow->level[CUT_SINK] != UINT32_MAX;
}

// Push flow along one path of increasing levels; `path` holds its edges. Returns 0 if there is
// none.
static uint64_t cut_push(struct cut_flow *flow, uint32_t *path) {
  uint32_t length = 0, v = CUT_SOURCE;
  while (v != CUT_SINK) {
    uint32_t e = flow->at[v];
    while (e != 0 &&
           (flow->edges[e].room == 0 || flow->level[flow->edges[e].to] != flow->level[v] + 1))
      e = flow->edges[e].next;
    flow->at[v] = e;
    if (e != 0) {
      path[length++] = e;
      v = flow->edges[e].to;
      continue;
    }
    if (length == 0) return 0;
    // A dead end: go back and skip the edge that led here.
    const uint32_t back = path[--length];
    v = flow->edges[back ^ 1].to;
    flow->at[v] = flow->edges[back].next;
  }
  uint64_t most = UINT64_MAX;
  for (uint32_t i = 0; i < length; i++)
    if (flow->edges[path[i]].room < most) most = flow->edges[path[i]].room;
  for (uint32_t i = 0; i < length; i++) {
    flow->edges[path[i]].room -= most;
    flow->edges[path[i] ^ 1].room += most;
  }
  return most;
}

// Vertices of a value: one for the copy to the device, one for the copy to the host.
static uint32_t cut_value(const struct smr_cut *cut, uint32_t value, bool to_host) {
  return CUT_FIRST + cut->node_count + 2 * value + to_host;
}

static void cut_fill(const struct smr_cut *cut, struct cut_flow *flow) {
  for (uint32_t n = 0; n < cut->node_count; n++) {
    cut_add(flow, CUT_SOURCE, CUT_FIRST + n, cut->device_ns[n]);
    cut_add(flow, CUT_FIRST + n, CUT_SINK, cut->host_ns[n]);
  }
  for (uint32_t v = 0; v < cut->value_count; v++) {
    const uint32_t maker =
        cut->producer[v] < 0 ? CUT_SOURCE : CUT_FIRST + (uint32_t)cut->producer[v];
    cut_add(flow, maker, cut_value(cut, v, false), cut->to_device_ns[v]);
    cut_add(flow, cut_value(cut, v, true), maker, cut->to_host_ns[v]);
    if (cut->host_reads[v]) cut_add(flow, CUT_SOURCE, cut_value(cut, v, true), SMR_CUT_NEVER);
  }
  for (uint32_t i = 0; i < cut->use_count; i++) {
    const struct smr_cut_use *use = &cut->uses[i];
    cut_add(flow, cut_value(cut, use->value, false), CUT_FIRST + use->node, SMR_CUT_NEVER);
    cut_add(flow, CUT_FIRST + use->node, cut_value(cut, use->value, true), SMR_CUT_NEVER);
  }
}

bool smr_cut_solve(const struct smr_cut *cut, const samara_allocator *allocator, bool *on_device) {
  struct cut_flow flow = {.vertices = CUT_FIRST + cut->node_count + 2 * cut->value_count};
  // Edge 0 is not used, so that 0 ends a list; edge 1 is its reverse.
  const size_t edges =
      2 + 2 * (2 * (size_t)cut->node_count + 3 * (size_t)cut->value_count + 2 * cut->use_count);
  flow.edges = smr_allocate(allocator, edges * sizeof *flow.edges);
  uint32_t *arrays = smr_allocate_zeroed(allocator, 5 * (size_t)flow.vertices, sizeof *arrays);
  const bool room = flow.edges != NULL && arrays != NULL;
  if (room) {
    uint32_t *path = arrays + 4 * (size_t)flow.vertices;
    flow.head = arrays;
    flow.level = arrays + flow.vertices;
    flow.at = arrays + 2 * (size_t)flow.vertices;
    flow.queue = arrays + 3 * (size_t)flow.vertices;
    flow.edge_count = 2;
    cut_fill(cut, &flow);
    while (cut_levels(&flow)) {
      memcpy(flow.at, flow.head, flow.vertices * sizeof *flow.at);
      while (cut_push(&flow, path) != 0) continue;
    }
    // Nodes that the source reaches stay on the host.
    for (uint32_t n = 0; n < cut->node_count; n++)
      on_device[n] = flow.level[CUT_FIRST + n] == UINT32_MAX;
  }
  smr_release(allocator, arrays);
  smr_release(allocator, flow.edges);
  return room;
}
