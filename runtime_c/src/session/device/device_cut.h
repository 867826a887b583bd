// SPDX-License-Identifier: Apache-2.0
// The cheapest partition of a graph between the host and a device.
#ifndef SMR_SESSION_DEVICE_CUT_H
#define SMR_SESSION_DEVICE_CUT_H

#include "base/alloc.h"

#include <stdbool.h>
#include <stdint.h>

/// A cost that is never taken. Sums of costs stay below it.
#define SMR_CUT_NEVER (UINT64_C(1) << 62)

/// `node` reads `value`.
struct smr_cut_use {
  uint32_t value, node;
};

/// A graph with costs in nanoseconds.
struct smr_cut {
  uint32_t node_count, value_count;
  const uint64_t *host_ns, *device_ns;        // by node; SMR_CUT_NEVER: it cannot run there
  const uint64_t *to_device_ns, *to_host_ns;  // by value: one copy of it
  const int32_t *producer;                    // by value: node; -1: the host has it
  const bool *host_reads;                     // by value: the host reads it in any case
  const struct smr_cut_use *uses;
  size_t use_count;
};

/// Set on_device[n] for the nodes that run on the device in the cheapest partition. False if memory
/// is exhausted.
bool smr_cut_solve(const struct smr_cut *cut, const samara_allocator *allocator, bool *on_device);

#endif
