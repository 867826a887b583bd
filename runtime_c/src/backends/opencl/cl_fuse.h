// SPDX-License-Identifier: Apache-2.0
// Chains and small trees of pointwise nodes in one launch each, by kernels whose text is written at
// run time from the expressions in kernels/functions.inc.
//
// cl_join.c says which nodes are joined to a step, cl_fuse.c writes its kernel and launches it. All
// that decides is known when a region is compiled and stays: dims that are not symbolic, operators,
// types. Sizes, strides and numbers (attributes, constants of one float) are arguments of the
// kernel, so that steps of one structure share a text.
//
// Steps give the bits of their nodes one by one: expressions are the same, kernels are compiled
// without contraction, and a float16 between two nodes is rounded as where it is stored.
#ifndef SMR_BACKENDS_OPENCL_CL_FUSE_H
#define SMR_BACKENDS_OPENCL_CL_FUSE_H

#include "backends/opencl/launch.h"

enum {
  SMR_CL_STEP_NODES = 32,   // most of a step
  SMR_CL_STEP_OUTPUTS = 3,  // values that others read
  SMR_CL_STEP_STRIDED = 4,  // operands that broadcast: 6 ints of each
  SMR_CL_STEP_TEXT = 8192,  // bytes of a text
  SMR_CL_STEP_REACH =
      64,  // most nodes from the first to the last: memory of values lives that long
  SMR_CL_STEP_KERNEL = SMR_CL_KERNELS + 1,  // launches of step k have kernel number this + k
};

/// A pointwise node: a function of one element of each operand.
struct smr_cl_function {
  uint8_t operands;   // 0: it is none
  bool where;         // of operand 0, a condition, and two of the output's type
  uint16_t kernel;    // enum smr_cl_kernel, whose defines have the expression
  const char *a, *b;  // of one operand: attributes that the expression reads; or ""
};
/// What the node computes, if it has a pointwise row and types that steps have.
struct smr_cl_function smr_cl_function_of(const struct smr_cl_node *node);
/// How the dialect names elements of the type; NULL where steps do not have it.
const char *smr_cl_type_name(samara_dtype dtype);

/// Nodes that are computed in one launch.
struct smr_cl_step {
  uint32_t nodes[SMR_CL_STEP_NODES];  // of the region, in order
  uint32_t count;
  int32_t inputs[SMR_CL_INPUTS];  // tensors of the region
  int8_t strided[SMR_CL_INPUTS];  // which of the strided operands it is; -1: it has the step's dims
  uint32_t input_count, strided_count;
  int32_t outputs[SMR_CL_STEP_OUTPUTS];  // the first is of the last node
  uint32_t output_count;
  int32_t numbers[SMR_CL_FLOATS];  // constants of one float that are arguments
  uint32_t float_count, number_count;
  float floats[SMR_CL_FLOATS];  // those, then attributes
  uint64_t kind;                // hash of the text
  char *text;                   // "{…}": the kernel's body
};

/// The steps of a region.
struct smr_cl_steps {
  struct smr_cl_step *steps;  // by their last nodes
  uint32_t count;
  bool *joined;  // by node of the region: it is of one; NULL: none is
};

/// Join nodes of the region, whose `joins` are set, and note the steps in them and in `out`, which
/// smr_cl_steps_free frees, after failures too.
samara_status smr_cl_join(const samara_region *region, const struct smr_cl_features *features,
                          const samara_allocator *allocator, struct smr_cl_steps *out,
                          samara_error *error);
void smr_cl_steps_free(struct smr_cl_steps *steps, const samara_allocator *allocator);

/// Write the body of the step's kernel. False where it does not fit `size` bytes, or takes more
/// arguments than there are.
bool smr_cl_step_write(const samara_region *region, struct smr_cl_step *step, char *text,
                       size_t size);
/// Append the launch that computes step `k`. Shapes and places are known.
void smr_cl_step_lower(const samara_region *region, const struct smr_cl_features *features,
                       const struct smr_cl_steps *steps, uint32_t k, struct smr_cl_launches *out);
/// The name of the kernel of a text.
enum { SMR_CL_STEP_NAME = 24 };
void smr_cl_step_name(const char *text, char name[SMR_CL_STEP_NAME]);

#endif
