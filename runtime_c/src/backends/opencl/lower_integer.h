// SPDX-License-Identifier: Apache-2.0
// Shared by rows of int8 operators: scales, zero points and limits of the output.
#ifndef SMR_BACKENDS_OPENCL_LOWER_INTEGER_H
#define SMR_BACKENDS_OPENCL_LOWER_INTEGER_H

#include "backends/opencl/lower.h"

/// Zero point and scale of index `i` along the quantized axis; 0 and 1 if there are none.
int32_t smr_cl_zero(const samara_region_tensor *tensor, int64_t i);
float smr_cl_scale(const samara_region_tensor *tensor, int64_t i);
/// Set floats 0 and 1 to the node's "lo" and "hi" minus the output's zero point.
void smr_cl_limits(const struct smr_cl_node *node, struct smr_cl_launch *launch);
bool smr_cl_is(const struct smr_cl_node *node, const char *op);
/// Whether all tensors except weights are quantized per tensor; else *why.
bool smr_cl_whole(const samara_region_tensor *tensor, const char **why);

#endif
