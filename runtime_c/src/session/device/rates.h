// SPDX-License-Identifier: Apache-2.0
// How fast the host and a device are: measured once, and kept in a small file.
#ifndef SMR_SESSION_DEVICE_RATES_H
#define SMR_SESSION_DEVICE_RATES_H

#include "session/device/device.h"

/// The host's rates leave wait_ns, copy_ns and the two of copies at 0.
struct smr_rates {
  samara_rates host, device;
};

/// Read a file of rates. BAD_DATA where a line is none, or one is missing.
samara_status smr_rates_read(const char *path, const samara_allocator *allocator,
                             struct smr_rates *out, samara_error *error);
/// Write one, as a whole.
samara_status smr_rates_write(const char *path, const samara_allocator *allocator,
                              const struct smr_rates *rates, samara_error *error);
/// Measure those rates of a device that are 0 in `rates`, with regions of one node. Kinds of work
/// that it does not support stay 0. Takes some 100 ms.
samara_status smr_rates_measure_device(const samara_backend *backend, samara_rates *rates,
                                       samara_error *error);
/// Measure the rates of the CPU with the threads of `pool` (NULL: one).
samara_status smr_rates_measure_host(samara_pool *pool, uint32_t isa,
                                     const samara_allocator *allocator, samara_rates *rates,
                                     samara_error *error);

/* ---- cost.c ---- */

/// Divide the nodes of a frame, which is planned for the CPU, between what has them and device
/// `device`, by cost. Reads and writes a choice per node.
samara_status smr_devices_decide(struct smr_frame *frame, uint32_t device,
                                 const struct smr_rates *rates, struct smr_device_choice *choices);

#endif
