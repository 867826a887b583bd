// SPDX-License-Identifier: Apache-2.0
// Launches: what computing a region consists of, kernel by kernel, and the rows that make them.
//
// A row says of one operator which nodes the device computes, which kernels they need, and which
// launches compute a node whose shapes and places are known. Rows know nothing of OpenCL: a driver
// (driver.h) runs the launches, that of OpenCL on a device, that of the tests as C11.
//
// All kernels have one signature (kernels/dialect.h): eight buffers, of which the first five are
// read and the last three written, 32 integers and 8 floats.
#ifndef SMR_BACKENDS_OPENCL_LAUNCH_H
#define SMR_BACKENDS_OPENCL_LAUNCH_H

#include <samara/samara_backend.h>

#include "base/atomic.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  SMR_CL_INPUTS = 5,   // buffers that a kernel reads: IN(0, T) to IN(4, T)
  SMR_CL_BUFFERS = 8,  // and those that it writes: OUT(5, T) to OUT(7, T)
  SMR_CL_INTS = 32,    // P(0) to P(f), then Q(0) to Q(f)
  SMR_CL_FLOATS = 8,   // F(0) to F(7)
  SMR_CL_GROUP = 64,   // items of work-groups that have subgroups: few of these have more lanes
};

#define SMR_CL_ABSENT(name)
/// The kernels, in the order of kernels/rows.inc. All that a selective build leaves out
/// (SMR_CL_ABSENT) have the number behind those that are here.
enum smr_cl_kernel {
#define SMR_CL_KERNEL(name, file, defines) SMR_CL_##name,
#include "backends/opencl/kernels/rows.inc"
#undef SMR_CL_KERNEL
  SMR_CL_KERNELS,
  SMR_CL_NONE = SMR_CL_KERNELS,
#undef SMR_CL_ABSENT
#define SMR_CL_ABSENT(name) SMR_CL_##name = SMR_CL_NONE,
#define SMR_CL_KERNEL(name, file, defines)
#include "backends/opencl/kernels/rows.inc"
#undef SMR_CL_KERNEL
};
#undef SMR_CL_ABSENT
#define SMR_CL_ABSENT(name)

/// One buffer of a launch: a place in memory of the device. No memory: the buffer is not used.
struct smr_cl_place {
  void *memory;
  uint64_t offset_bytes;  // a multiple of 4
};

struct smr_cl_launch {
  uint32_t node;    // of the region
  uint16_t kernel;  // enum smr_cl_kernel
  uint8_t dims;     // 1 to 3: work-items [items[0]] x [items[1]] x [items[2]], none 0
  bool grouped;     // subgroups share what an item does; `group` is SMR_CL_GROUP
  uint8_t group;    // items of a work-group, all along dimension 0; 0: the driver's choice
  size_t items[3];
  struct smr_cl_place buffers[SMR_CL_BUFFERS];
  int32_t ints[SMR_CL_INTS];
  float floats[SMR_CL_FLOATS];
  // Numbers that the row computed, which the kernel reads as buffer `table_buffer`: whoever
  // prepares the launch copies them to the device and binds that. NULL: none.
  const void *table;
  uint32_t table_bytes;
  uint32_t table_buffer;
  bool flags;  // it may set the flag of smr_cl_flag
  // Bytes of buffer 1 where that is a constant in panels whose columns lie in whole fours, so that
  // it can be read as an image; else 0.
  uint64_t panel_bytes;
};

/// Launches that grow. Zero with an allocator is an empty list; smr_cl_launches_free frees it.
struct smr_cl_launches {
  const samara_allocator *allocator;
  struct smr_cl_launch *launches;
  size_t count, capacity;
  bool failed;                 // memory was out: some are missing
  const char *refusal;         // why no launches compute a node, as its dims are now; or NULL
  bool flags;                  // a launch may set the flag
  void *tables;                // a chain of them
  uint64_t scratch_bytes;      // that any node needs
  uint64_t scratch_used;       // of the node that is being lowered
  struct smr_cl_launch spare;  // what smr_cl_add returns where memory is out
};

/// Forget all launches and free their tables; memory of the launches stays, for others.
void smr_cl_launches_clear(struct smr_cl_launches *list);
/// Free launches and tables; the list is empty then, with the same allocator.
void smr_cl_launches_free(struct smr_cl_launches *list);

/// Begin the next node: it may use all scratch memory anew, as launches run in order.
void smr_cl_begin_node(struct smr_cl_launches *list);

/// A zeroed launch of `kernel` for node `node`, at the end of the list; a spare one where memory
/// is out.
struct smr_cl_launch *smr_cl_add(struct smr_cl_launches *list, uint32_t node,
                                 enum smr_cl_kernel kernel);

/// Memory of `bytes` bytes, zeroed, that becomes the launch's table, as buffer `buffer`. It lives
/// as long as the list. NULL where memory is out: the list has failed then.
void *smr_cl_table(struct smr_cl_launches *list, struct smr_cl_launch *launch, uint32_t buffer,
                   size_t bytes);

/// Memory of `bytes` bytes for values that pass from one launch of a node to a later one, aligned
/// to
/// 64. It has no contents at first. Whoever prepares the launches allocates list->scratch_bytes and
/// calls smr_cl_bind_scratch.
struct smr_cl_place smr_cl_scratch(struct smr_cl_launches *list, uint64_t bytes);

/// Put the memory in the place of scratch in all launches.
void smr_cl_bind_scratch(struct smr_cl_launches *list, void *memory);

/// Make buffer `buffer` of the launch an int that is 0, and that its kernel sets to 1 where data is
/// outside of what the operator allows, such as an index; the kernel then accesses nothing by it.
/// All launches of a list share it. Whoever runs them has to look at it afterwards: results mean
/// nothing where it is set. It allocates the int where list->flags says so, and calls
/// smr_cl_bind_flag.
void smr_cl_flag(struct smr_cl_launches *list, struct smr_cl_launch *launch, uint32_t buffer);

/// Put the memory of the flag in its place in all launches.
void smr_cl_bind_flag(struct smr_cl_launches *list, void *memory);

/// What a device can do, beyond what every one of OpenCL 1.2 can.
struct smr_cl_features {
  bool dot_int8;   // dot products of four int8
  bool cpu;        // the device is a CPU: few items that do much each
  uint32_t units;  // compute units; 0: not known
  // Items that run together can add up what they have. A driver takes that back where its compiler
  // refuses a kernel that does so.
  SMR_ATOMIC(bool) subgroups;
};

/// A node to be computed, and where to put what does it.
struct smr_cl_node {
  const samara_region *region;
  const samara_region_node *node;
  uint32_t index;  // of the node in the region
  const struct smr_cl_features *features;
};

/// One operator.
struct smr_cl_row {
  const char *op;
  /// Whether the node can be computed, for all values of its symbolic dims. Else *why is a static
  /// text: part of a sentence, such as "a window over three dims is not supported".
  bool (*fits)(const struct smr_cl_node *node, const char **why);
  /// Set kernels[k] for each kernel that the node may need, whatever its symbolic dims will be:
  /// also kernels[SMR_CL_NONE], where this build leaves one of them out.
  void (*kernels)(const struct smr_cl_node *node, bool *kernels);
  /// Append the launches that compute the node. Its shapes and places are known.
  void (*lower)(const struct smr_cl_node *node, struct smr_cl_launches *out);
  uint16_t part;  // enum smr_part: without it this build has no such row
};

/// The row of an operator; NULL where there is none.
const struct smr_cl_row *smr_cl_row(const char *op);

/* ---- reading nodes ---- */

/// Input or output; NULL where it is absent.
const samara_region_tensor *smr_cl_input(const struct smr_cl_node *node, uint32_t index);
const samara_region_tensor *smr_cl_output(const struct smr_cl_node *node, uint32_t index);
/// The attribute of that name, which the operator's row in docs/reference/ops.md lists.
const samara_region_attribute *smr_cl_attribute(const struct smr_cl_node *node, const char *name);
/// Number of elements of a tensor whose shape is known.
int64_t smr_cl_numel(const samara_region_tensor *tensor);
/// Make the tensor buffer `buffer` of the launch. NULL: not used.
void smr_cl_bind(struct smr_cl_launch *launch, uint32_t buffer, const samara_region_tensor *tensor);

#endif
