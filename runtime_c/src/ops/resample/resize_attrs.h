// SPDX-License-Identifier: Apache-2.0
// The attributes that say how resize samples, which its gradient repeats.
#ifndef SMR_OPS_RESIZE_ATTRS_H
#define SMR_OPS_RESIZE_ATTRS_H

#include "ops/op.h"
#include "ops/resample/resize_axis.h"

enum { SMR_RESIZE_AXES = 3 };  // depth, height, width; leading ones may not be there

/// Fail unless attributes name choices that exist, scales are positive and a region has finite
/// ends. The check class has found lists of `scales` as long as input 0 has spatial axes.
samara_status smr_resize_check_attrs(const struct smr_job *job);

/// How spatial axis `axis` of `in` elements is sampled `out` times.
void smr_resize_spec(const struct smr_job *job, uint32_t axis, int64_t in, int64_t out,
                     struct smr_resize_spec *spec);

/// An axis that is not there, in the mode of the node: 1 to 1.
void smr_resize_spec_absent(const struct smr_job *job, struct smr_resize_spec *spec);

#endif
