// SPDX-License-Identifier: Apache-2.0
// Launches, i.e. kernels with arguments that compute a region, and the operators' rows that make
// them.
//
// The row of an operator tells which nodes the device supports, which kernels they need, and which
// launches compute a node with known shapes and offsets. Rows do not depend on OpenCL: a driver
// (driver.h) runs the launches, on an OpenCL device or, in tests, as C11.
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
  SMR_CL_BUFFERS = 8,  // the last three are written: OUT(5, T) to OUT(7, T)
  SMR_CL_INTS = 32,    // P(0) to P(f), then Q(0) to Q(f)
  SMR_CL_FLOATS = 8,   // F(0) to F(7)
  SMR_CL_GROUP = 64,   // items of a work-group with subgroups, which rarely have more lanes
};

#define SMR_CL_ABSENT(name)
/// The kernels, in the order of kernels/rows.inc. Kernels that a selective build leaves out
/// (SMR_CL_ABSENT) share the number after the last one.
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

/// One buffer of a launch: a position in device memory. NULL memory: the buffer is not used.
struct smr_cl_place {
  void *memory;
  uint64_t offset_bytes;  // a multiple of 4
};

struct smr_cl_launch {
  uint32_t node;    // of the region
  uint16_t kernel;  // enum smr_cl_kernel
  uint8_t dims;     // 1 to 3: work-items [items[0]] x [items[1]] x [items[2]], none 0
  bool grouped;     // subgroups share the work of an item; `group` is SMR_CL_GROUP
  uint8_t group;    // items of a work-group, all along dimension 0; 0: the driver's choice
  size_t items[3];
  struct smr_cl_place buffers[SMR_CL_BUFFERS];
  int32_t ints[SMR_CL_INTS];
  float floats[SMR_CL_FLOATS];
  // Numbers computed by the row, which the kernel reads as buffer `table_buffer`. The backend
  // copies them to the device and binds them. NULL: none.
  const void *table;
  uint32_t table_bytes;
  uint32_t table_buffer;
  bool flags;  // it may set the flag of smr_cl_flag
  // Bytes of buffer 1 if it can be read as an image: a constant in panels with groups of four
  // columns; else 0.
  uint64_t panel_bytes;
};

/// A list of launches. Zero with an allocator is an empty list; free with smr_cl_launches_free.
struct smr_cl_launches {
  const samara_allocator *allocator;
  struct smr_cl_launch *launches;
  size_t count, capacity;
  bool failed;                 // memory was exhausted: launches are missing
  const char *refusal;         // why a node cannot be computed with its current dims; or NULL
  bool flags;                  // a launch may set the flag
  void *tables;                // linked list of tables
  uint64_t scratch_bytes;      // most scratch of a node
  uint64_t scratch_used;       // scratch of the current node
  struct smr_cl_launch spare;  // returned by smr_cl_add if memory is exhausted
};

/// Clear the list and free tables; keeps the memory of launches for reuse.
void smr_cl_launches_clear(struct smr_cl_launches *list);
/// Free launches and tables. Leaves an empty list with the same allocator.
void smr_cl_launches_free(struct smr_cl_launches *list);

/// Begin the next node. It reuses all scratch memory, because launches run in order.
void smr_cl_begin_node(struct smr_cl_launches *list);

/// Append a zeroed launch of `kernel` for node `node`. Returns a spare one if memory is exhausted.
struct smr_cl_launch *smr_cl_add(struct smr_cl_launches *list, uint32_t node,
                                 enum smr_cl_kernel kernel);

/// Allocate a zeroed table of `bytes` bytes for buffer `buffer` of the launch. It lives as long as
/// the list. If memory is exhausted, returns NULL and marks the list as failed.
void *smr_cl_table(struct smr_cl_launches *list, struct smr_cl_launch *launch, uint32_t buffer,
                   size_t bytes);

/// Memory of `bytes` bytes for values that pass from one launch of a node to a later one, aligned
/// to
/// 64. It has no contents at first. Whoever prepares the launches allocates list->scratch_bytes and
/// calls smr_cl_bind_scratch.
struct smr_cl_place smr_cl_scratch(struct smr_cl_launches *list, uint64_t bytes);

/// Bind scratch memory in all launches.
void smr_cl_bind_scratch(struct smr_cl_launches *list, void *memory);

/// Make buffer `buffer` of the launch the flag: an int that is 0 and that the kernel sets to 1 if
/// it finds invalid data, such as an index out of range; the kernel must not access memory by such
/// data. All launches of a list share it. The backend allocates the int if list->flags is set,
/// calls smr_cl_bind_flag, and must check the flag after the launches: if it is set, results are
/// undefined.
void smr_cl_flag(struct smr_cl_launches *list, struct smr_cl_launch *launch, uint32_t buffer);

/// Bind the memory of the flag in all launches.
void smr_cl_bind_flag(struct smr_cl_launches *list, void *memory);

/// Optional features of a device, beyond OpenCL 1.2.
struct smr_cl_features {
  bool dot_int8;   // dot products of four int8
  bool cpu;        // the device is a CPU: prefer few items with much work each
  uint32_t units;  // compute units; 0: not known
  // Subgroups can compute sums. The driver clears this if its compiler refuses such a kernel.
  SMR_ATOMIC(bool) subgroups;
};

/// A node to lower, and the list for its launches.
struct smr_cl_node {
  const samara_region *region;
  const samara_region_node *node;
  uint32_t index;  // of the node in the region
  const struct smr_cl_features *features;
};

/// One operator.
struct smr_cl_row {
  const char *op;
  /// Whether the node is supported for all values of its symbolic dims. Else *why is a static text
  /// such as "a window over three dims is not supported".
  bool (*fits)(const struct smr_cl_node *node, const char **why);
  /// Set kernels[k] for each kernel that the node may need for any value of its symbolic dims; sets
  /// kernels[SMR_CL_NONE] if this build lacks one of them.
  void (*kernels)(const struct smr_cl_node *node, bool *kernels);
  /// Append the launches that compute the node. Its shapes and offsets are known.
  void (*lower)(const struct smr_cl_node *node, struct smr_cl_launches *out);
  uint16_t part;  // enum smr_part: without it this build has no such row
};

/// The row of an operator; NULL if there is none.
const struct smr_cl_row *smr_cl_row(const char *op);

/* ---- reading nodes ---- */

/// Input or output; NULL if absent.
const samara_region_tensor *smr_cl_input(const struct smr_cl_node *node, uint32_t index);
const samara_region_tensor *smr_cl_output(const struct smr_cl_node *node, uint32_t index);
/// The attribute of that name, which must be one of the operator's (docs/reference/ops.md).
const samara_region_attribute *smr_cl_attribute(const struct smr_cl_node *node, const char *name);
/// Number of elements of a tensor whose shape is known.
int64_t smr_cl_numel(const samara_region_tensor *tensor);
/// Bind the tensor to buffer `buffer` of the launch. NULL: not used.
void smr_cl_bind(struct smr_cl_launch *launch, uint32_t buffer, const samara_region_tensor *tensor);

#endif
