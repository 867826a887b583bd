// SPDX-License-Identifier: Apache-2.0
// Fuses chains and small trees of pointwise nodes into one launch each. The kernel's text is
// generated at run time from the expressions in kernels/functions.inc.
//
// cl_join.c decides which nodes are joined to a step, cl_fuse.c generates its kernel and launches
// it. The decision depends only on what is fixed when a region is compiled: constant dims,
// operators, types. Sizes, strides and numbers (attributes, constants of one float) are arguments
// of the kernel, so that steps of the same structure share a text.
//
// A step gives the same bits as its nodes one by one: it uses the same expressions, kernels are
// compiled without contraction, and a float16 between two nodes is rounded.
#ifndef SMR_BACKENDS_OPENCL_CL_FUSE_H
#define SMR_BACKENDS_OPENCL_CL_FUSE_H

#include "backends/opencl/launch.h"

enum {
  SMR_CL_STEP_NODES = 32,   // most nodes of a step
  SMR_CL_STEP_OUTPUTS = 3,  // values that others read
  SMR_CL_STEP_STRIDED = 4,  // most operands that broadcast: 6 ints each
  SMR_CL_STEP_TEXT = 8192,  // most bytes of a text
  SMR_CL_STEP_REACH = 64,  // most nodes from the first to the last: values stay in memory that long
  SMR_CL_STEP_KERNEL = SMR_CL_KERNELS + 1,  // launches of step k have kernel number this + k
};

/// A pointwise node: a function of one element of each operand.
struct smr_cl_function {
  uint8_t operands;   // 0: not a pointwise node
  bool where;         // operand 0 is a condition, the other two have the output's type
  uint16_t kernel;    // enum smr_cl_kernel, whose defines have the expression
  const char *a, *b;  // for one operand: attributes in the expression; or ""
};
/// The function of a node, if it has a pointwise row and types that steps support.
struct smr_cl_function smr_cl_function_of(const struct smr_cl_node *node);
/// The dialect's name of an element type; NULL if steps do not support it.
const char *smr_cl_type_name(samara_dtype dtype);

/// Nodes computed in one launch.
struct smr_cl_step {
  uint32_t nodes[SMR_CL_STEP_NODES];  // of the region, in order
  uint32_t count;
  int32_t inputs[SMR_CL_INPUTS];  // tensors of the region
  int8_t strided[SMR_CL_INPUTS];  // index among the strided operands; -1: it has the step's dims
  uint32_t input_count, strided_count;
  int32_t outputs[SMR_CL_STEP_OUTPUTS];  // the first is the output of the last node
  uint32_t output_count;
  int32_t numbers[SMR_CL_FLOATS];  // constants of one float that are arguments
  uint32_t float_count, number_count;
  float floats[SMR_CL_FLOATS];  // these constants, then attributes
  uint64_t kind;                // hash of the text
  char *text;                   // "{…}": the kernel's body
};

/// The steps of a region.
struct smr_cl_steps {
  struct smr_cl_step *steps;  // by their last nodes
  uint32_t count;
  bool *joined;  // by node of the region: part of a step; NULL: there are no steps
};

/// Join nodes of the region, whose `joins` must be set, and store the steps there and in `out`.
/// Free `out` with smr_cl_steps_free, also after a failure.
samara_status smr_cl_join(const samara_region *region, const struct smr_cl_features *features,
                          const samara_allocator *allocator, struct smr_cl_steps *out,
                          samara_error *error);
void smr_cl_steps_free(struct smr_cl_steps *steps, const samara_allocator *allocator);

/// Write the body of the step's kernel. False if it does not fit in `size` bytes or needs too many
/// arguments.
bool smr_cl_step_write(const samara_region *region, struct smr_cl_step *step, char *text,
                       size_t size);
/// Append the launch that computes step `k`. Shapes and offsets must be known.
void smr_cl_step_lower(const samara_region *region, const struct smr_cl_features *features,
                       const struct smr_cl_steps *steps, uint32_t k, struct smr_cl_launches *out);
/// The name of the kernel with a text.
enum { SMR_CL_STEP_NAME = 24 };
void smr_cl_step_name(const char *text, char name[SMR_CL_STEP_NAME]);

#endif
