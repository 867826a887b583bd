// SPDX-License-Identifier: Apache-2.0
// Rates of the host and a device: measured once and stored in a small file.
//
// Model: a node costs a fixed time plus its work divided by a rate. A rate is measured as the
// difference in work between two sizes of a node divided by the difference in time, so fixed costs
// are only in launch_ns, wait_ns and product_ns.
#ifndef SMR_SESSION_DEVICE_RATES_H
#define SMR_SESSION_DEVICE_RATES_H

#include "session/device/device.h"

/// The host's wait_ns, copy_ns, to_device and from_device are 0.
struct smr_rates {
  samara_rates host, device;
};

/* ---- rates_file.c ---- */

/// Read a file of rates. BAD_DATA if a line is malformed or missing.
samara_status smr_rates_read(const char *path, const samara_allocator *allocator,
                             struct smr_rates *out, samara_error *error);
/// Write a file of rates atomically.
samara_status smr_rates_write(const char *path, const samara_allocator *allocator,
                              const struct smr_rates *rates, samara_error *error);

/* ---- rates_node.c: representative nodes ---- */

/// A convolution with `channels` inputs and outputs, or a sum of two tensors.
struct smr_rates_probe {
  size_t rate;  // offset in samara_rates
  const char *op;
  uint8_t dtype, weights;  // samara_dtype; weights 0: none
  uint8_t channels, kernel, groups;
};

/// One for each rate of work; the last is `memory`, the sum.
enum { SMR_RATES_PROBES = 5, SMR_RATES_SUM = SMR_RATES_PROBES - 1 };
extern const struct smr_rates_probe smr_rates_probes[SMR_RATES_PROBES];

/// Work of one run with `size` x `size` pixels: multiply-adds, or bytes.
double smr_rates_work(const struct smr_rates_probe *probe, uint32_t size);

/// Most nodes of a region: enough to measure the cost of an additional node.
enum { SMR_RATES_NODES = 17, SMR_RATES_TENSORS = 3, SMR_RATES_ATTRIBUTES = 16 };

/// A region of identical nodes: x, weights or a second operand, y.
struct smr_rates_region {
  samara_region region;
  samara_region_node nodes[SMR_RATES_NODES];
  samara_region_tensor tensors[SMR_RATES_TENSORS];
  samara_region_attribute attributes[SMR_RATES_ATTRIBUTES];
  void *weights;  // from the allocator; the caller releases it
};

/// Describe `nodes` nodes (at most SMR_RATES_NODES). UNSUPPORTED if the operator is not in this
/// build. The caller releases `out->weights`, also after a failure.
samara_status smr_rates_describe(const struct smr_rates_probe *probe, uint32_t size, uint32_t nodes,
                                 const samara_allocator *allocator, struct smr_rates_region *out,
                                 bool *known, samara_error *error);

/* ---- rates.c: what is measured, and how ---- */

/// Where nodes are timed.
struct smr_rates_place {
  void *user;
  /// The least time of `nodes` nodes of `size` x `size` pixels, waiting included; 0: they cannot
  /// run there.
  samara_status (*time)(void *user, const struct smr_rates_probe *probe, uint32_t size,
                        uint32_t nodes, uint64_t *ns, samara_error *error);
  bool waits;  // work is submitted and waited for, so that there is a wait_ns
};

/// Measure those rates that are 0 in `rates`, but those of copies. Kinds that cannot run there stay
/// 0. The largest node is predicted to take 2 ms, or 16 times the smallest, but 16 ms at most.
samara_status smr_rates_measure(const struct smr_rates_place *place, samara_rates *rates,
                                samara_error *error);
/// Merge two measurements: keep the lower fixed times and the higher rates, because other programs
/// may have disturbed either.
void smr_rates_better(samara_rates *rates, const samara_rates *other);
/// The least time of one run after a warm-up: of 50 runs or as many as fit in 4 ms, but of 5 if
/// they fit in 40 ms.
samara_status smr_rates_least(samara_status (*once)(void *user, samara_error *error), void *user,
                              uint64_t *ns, samara_error *error);
/// Work per millisecond from two measurements: difference in work by difference in time. Limited to
/// between 1 and about 8 times `work` / `ns`, because of noise.
uint64_t smr_rates_fit(double small_work, uint64_t small_ns, double work, uint64_t ns);

/* ---- rates_device.c, rates_host.c ---- */

/// Measure the rates of a device that are 0 in `rates`, with regions of one kind of node. Kinds of
/// work that it does not support stay 0. Takes about 100 ms plus the time to compile.
samara_status smr_rates_measure_device(const samara_backend *backend, samara_rates *rates,
                                       samara_error *error);
/// Measure the rates of the CPU with the threads of `pool` (NULL: one).
samara_status smr_rates_measure_host(samara_pool *pool, uint32_t isa,
                                     const samara_allocator *allocator, samara_rates *rates,
                                     samara_error *error);

/* ---- cost.c ---- */

/// Partition the nodes of a frame that is planned for the CPU between their current space and
/// device `device`, by cost. Reads and writes a choice per node.
samara_status smr_devices_decide(struct smr_frame *frame, uint32_t device,
                                 const struct smr_rates *rates, struct smr_device_choice *choices);

#endif
