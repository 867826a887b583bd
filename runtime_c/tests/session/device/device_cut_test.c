// SPDX-License-Identifier: Apache-2.0
// The cheapest division of a graph, against all 2^n of them.
#include "base/fp.h"

#include "harness.h"

#include "session/device/device_cut.h"
#include "session/model_literal.h"

enum { NODES = 9, VALUES = 12, USES = 40 };

struct graph {
  struct smr_cut cut;
  uint64_t host[NODES], device[NODES], to_device[VALUES], to_host[VALUES];
  int32_t producer[VALUES];
  bool reads[VALUES];
  struct smr_cut_use uses[USES];
};

static uint32_t state = 1;
static uint32_t any(uint32_t below) {
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % below;
}

// What a division costs, as device_cut.h says it: nodes, and a copy for each value that crosses.
static uint64_t cost(const struct graph *g, const bool *on_device) {
  uint64_t sum = 0;
  for (uint32_t n = 0; n < g->cut.node_count; n++) {
    if (on_device[n] && g->device[n] == SMR_CUT_NEVER) return SMR_CUT_NEVER;
    sum += on_device[n] ? g->device[n] : g->host[n];
  }
  for (uint32_t v = 0; v < g->cut.value_count; v++) {
    const bool there = g->producer[v] >= 0 && on_device[g->producer[v]];
    bool wanted[2] = {g->reads[v], false};
    for (size_t i = 0; i < g->cut.use_count; i++)
      if (g->uses[i].value == v) wanted[on_device[g->uses[i].node]] = true;
    if (there && wanted[0]) sum += g->to_host[v];
    if (!there && wanted[1]) sum += g->to_device[v];
  }
  return sum;
}

static void make(struct graph *g) {
  *g = (struct graph){.cut = {.node_count = 1 + any(NODES), .value_count = any(VALUES + 1)}};
  g->cut.host_ns = g->host, g->cut.device_ns = g->device;
  g->cut.to_device_ns = g->to_device, g->cut.to_host_ns = g->to_host;
  g->cut.producer = g->producer, g->cut.host_reads = g->reads, g->cut.uses = g->uses;
  for (uint32_t n = 0; n < g->cut.node_count; n++) {
    g->host[n] = any(100);
    g->device[n] = any(5) == 0 ? SMR_CUT_NEVER : any(100);
  }
  for (uint32_t v = 0; v < g->cut.value_count; v++) {
    g->producer[v] = any(4) == 0 ? -1 : (int32_t)any(g->cut.node_count);
    g->to_device[v] = any(3) == 0 ? 0 : any(60);
    g->to_host[v] = any(8) == 0 ? SMR_CUT_NEVER / 64 : any(60);
    g->reads[v] = any(4) == 0;
  }
  if (g->cut.value_count == 0) return;
  g->cut.use_count = any(USES + 1);
  for (size_t i = 0; i < g->cut.use_count; i++)
    g->uses[i] = (struct smr_cut_use){any(g->cut.value_count), any(g->cut.node_count)};
}

SMR_TEST(no_division_is_cheaper) {
  const samara_allocator allocator = smr_allocator(NULL);
  int divided = 0;
  for (int round = 0; round < 600; round++) {
    struct graph g;
    bool solved[NODES], each[NODES];
    uint64_t least = UINT64_MAX;
    uint32_t here = 0;
    make(&g);
    REQUIRE(smr_cut_solve(&g.cut, &allocator, solved));
    for (uint32_t bits = 0; bits < 1u << g.cut.node_count; bits++) {
      for (uint32_t n = 0; n < g.cut.node_count; n++) each[n] = bits >> n & 1;
      const uint64_t ns = cost(&g, each);
      if (ns < least) least = ns;
    }
    CHECK(cost(&g, solved) == least);
    for (uint32_t n = 0; n < g.cut.node_count; n++) here += solved[n];
    divided += here != 0 && here != g.cut.node_count;
  }
  CHECK(divided > 100);
}

SMR_TEST(a_copy_is_paid_once) {
  // Two nodes save 10 each; the value that both read costs 15 to bring.
  struct graph g = {.host = {10, 10}, .to_device = {15}, .producer = {-1}};
  g.uses[0] = (struct smr_cut_use){0, 0};
  g.uses[1] = (struct smr_cut_use){0, 1};
  g.cut = (struct smr_cut){.node_count = 2,
                           .value_count = 1,
                           .host_ns = g.host,
                           .device_ns = g.device,
                           .to_device_ns = g.to_device,
                           .to_host_ns = g.to_host,
                           .producer = g.producer,
                           .host_reads = g.reads,
                           .uses = g.uses,
                           .use_count = 2};
  const samara_allocator allocator = smr_allocator(NULL);
  bool on_device[2];
  REQUIRE(smr_cut_solve(&g.cut, &allocator, on_device));
  CHECK(on_device[0] && on_device[1]);
  g.to_device[0] = 21;
  REQUIRE(smr_cut_solve(&g.cut, &allocator, on_device));
  CHECK(!on_device[0] && !on_device[1]);
}

SMR_TEST(memory_may_be_out) {
  struct literal_memory memory;
  literal_memory_init(&memory);
  for (size_t k = 1; k <= 3; k++) {
    struct graph g;
    bool solved[NODES];
    make(&g);
    memory.calls = 0;
    memory.fail_at = k;
    CHECK(smr_cut_solve(&g.cut, &memory.allocator, solved) == (k == 3));
    CHECK_EQ_INT(memory.live, 0);
  }
}

SMR_TEST_MAIN(RUN(no_division_is_cheaper); RUN(a_copy_is_paid_once); RUN(memory_may_be_out))
