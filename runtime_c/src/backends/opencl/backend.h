// SPDX-License-Identifier: Apache-2.0
// A device and a program of the backend (backend.c), and the flags of its programs
// (backend_flag.c).
//
// A launch that meets data outside of what its operator allows sets a flag (launch.h). Whatever
// submits such launches reads the flag behind them, and waiting for anything from then on fails if
// it was set: nobody has seen a result before. Tickets do not tell whose work they are, so that
// another session may fail as well, until the program is released; it repeats its run on the CPU,
// too.
#ifndef SMR_BACKENDS_OPENCL_BACKEND_H
#define SMR_BACKENDS_OPENCL_BACKEND_H

#include "backends/opencl/driver.h"
#include "base/os.h"

enum { SMR_CL_NODE_NAME = 64 };  // bytes of a node's name that messages repeat

struct smr_cl_program;

struct smr_cl_backend {
  const struct smr_cl_driver *driver;
  void *handle;  // the driver's
  struct smr_cl_features features;
  // The caller's allocator is called by one thread at a time, functions of a backend by many.
  samara_allocator given;
  samara_allocator allocator;  // `given` behind the mutex; for the driver, too
  struct smr_os_mutex mutex;
  // Programs whose flag is being read, or was found set. Behind the mutex, as their fields are.
  struct smr_cl_program *checking;
};

struct smr_cl_program {
  void *handle;         // the driver's; NULL where no node needs a kernel
  uint64_t generation;  // of the region that the launches are for; 0: of none
  struct smr_cl_launches launches;
  struct smr_cl_steps steps;
  size_t *starts;  // of each node's launches, and the end of the last. Those of a step are its last
                   // node's
  uint32_t node_count;
  void *tables;   // of launches, one behind the other in memory of the device; or NULL
  void *scratch;  // of launches, likewise
  uint64_t scratch_bytes;
  // The flag that launches set (launch.h), in memory of the device; NULL: no launch has set any.
  void *flag;
  char flag_node[SMR_CL_NODE_NAME];  // the first node that may set it
  bool checking;                     // it is in the device's list
  bool bad;                          // the flag was found set
  int32_t flag_value;                // as read; known when flag_ticket is done
  uint64_t flag_ticket;
  struct smr_cl_program *next_checking;
  void **prepared;  // of launches, and more of former ones that had more
  size_t prepared_count;
};

/// Wait for the flag of the program's former work; it is 0 again then. Fails if it was set.
samara_status smr_cl_settle_flag(struct smr_cl_backend *device, struct smr_cl_program *program,
                                 samara_error *error);

/// Begin to read the flag, behind the launches that may set it: *ticket stands for both.
samara_status smr_cl_read_flag(struct smr_cl_backend *device, struct smr_cl_program *program,
                               uint64_t *ticket, samara_error *error);

/// Look at the flags that were read with tickets up to `ticket`, which is done. Fails if one was
/// set.
samara_status smr_cl_look_at_flags(struct smr_cl_backend *device, uint64_t ticket,
                                   samara_error *error);

/// Give the flag memory, if any of the program's launches sets it, and bind it.
samara_status smr_cl_prepare_flag(struct smr_cl_backend *device, const samara_region *region,
                                  struct smr_cl_program *program, samara_error *error);

/// Give its memory back, once nothing reads it any more.
void smr_cl_release_flag(struct smr_cl_backend *device, struct smr_cl_program *program);

/// Whether any of launches [begin, end) may set the flag.
bool smr_cl_may_flag(const struct smr_cl_program *program, size_t begin, size_t end);

#endif
