// SPDX-License-Identifier: Apache-2.0
// A device and a program of the backend (backend.c), and the flags of its programs
// (backend_flag.c).
//
// A launch that finds invalid data sets a flag (launch.h). Submitting such launches also begins to
// read the flag, and every later wait fails if it was set, before anyone has seen a result. Tickets
// do not identify sessions, so another session's wait may fail too, until the program is released;
// it then also repeats its run on the CPU.
#ifndef SMR_BACKENDS_OPENCL_BACKEND_H
#define SMR_BACKENDS_OPENCL_BACKEND_H

#include "backends/opencl/driver.h"
#include "base/os.h"

enum { SMR_CL_NODE_NAME = 64 };  // bytes of a node's name in messages

struct smr_cl_program;

struct smr_cl_backend {
  const struct smr_cl_driver *driver;
  void *handle;  // the driver's
  struct smr_cl_features features;
  // Functions of a backend run in many threads, but the caller's allocator is called by one at a
  // time.
  samara_allocator given;
  samara_allocator allocator;  // `given`, serialised by the mutex; also used by the driver
  struct smr_os_mutex mutex;
  // Programs whose flag is being read or was set. The mutex guards the list and the programs'
  // fields.
  struct smr_cl_program *checking;
};

struct smr_cl_program {
  void *handle;         // the driver's; NULL if no node needs a kernel
  uint64_t generation;  // generation of the region for which the launches were made; 0: none
  struct smr_cl_launches launches;
  struct smr_cl_steps steps;
  size_t *starts;  // first launch of each node, and the end of the last. Launches of a step belong
                   // to its last node
  uint32_t node_count;
  void *tables;   // tables of launches, contiguous in device memory; or NULL
  void *scratch;  // scratch of launches in device memory; or NULL
  uint64_t scratch_bytes;
  // The flag that launches set (launch.h), in device memory; NULL: no launch uses it.
  void *flag;
  char flag_node[SMR_CL_NODE_NAME];  // the first node that may set it
  bool checking;                     // the program is in the device's list
  bool bad;                          // the flag was found set
  int32_t flag_value;                // value read from the device; valid once flag_ticket is done
  uint64_t flag_ticket;
  struct smr_cl_program *next_checking;
  void **prepared;  // prepared launches; may include those of earlier, longer lists
  size_t prepared_count;
};

/// Wait for the flag of the program's earlier work and clear it. Fails if it was set.
samara_status smr_cl_settle_flag(struct smr_cl_backend *device, struct smr_cl_program *program,
                                 samara_error *error);

/// Begin to read the flag after the launches that may set it. *ticket covers both.
samara_status smr_cl_read_flag(struct smr_cl_backend *device, struct smr_cl_program *program,
                               uint64_t *ticket, samara_error *error);

/// Check the flags that were read with tickets up to `ticket`, which must be done. Fails if one was
/// set.
samara_status smr_cl_look_at_flags(struct smr_cl_backend *device, uint64_t ticket,
                                   samara_error *error);

/// Allocate and bind the flag, if any launch of the program uses it.
samara_status smr_cl_prepare_flag(struct smr_cl_backend *device, const samara_region *region,
                                  struct smr_cl_program *program, samara_error *error);

/// Release the flag's memory once nothing reads it.
void smr_cl_release_flag(struct smr_cl_backend *device, struct smr_cl_program *program);

/// Whether any of launches [begin, end) may set the flag.
bool smr_cl_may_flag(const struct smr_cl_program *program, size_t begin, size_t end);

#endif
