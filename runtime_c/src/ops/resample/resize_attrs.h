// SPDX-License-Identifier: Apache-2.0
// The attributes that define the sampling of resize, shared by its gradient.
#ifndef SMR_OPS_RESIZE_ATTRS_H
#define SMR_OPS_RESIZE_ATTRS_H

#include "ops/op.h"
#include "ops/resample/resize_axis.h"

enum { SMR_RESIZE_AXES = 3 };  // depth, height, width; leading ones may be missing

/// Fail unless enum attributes are valid, scales are positive and a region has finite ends. The
/// check class has checked that `scales` has an entry per spatial axis of input 0.
samara_status smr_resize_check_attrs(const struct smr_job *job);

/// How spatial axis `axis` of `in` elements is sampled at `out` points.
void smr_resize_spec(const struct smr_job *job, uint32_t axis, int64_t in, int64_t out,
                     struct smr_resize_spec *spec);

/// A missing axis, in the node's mode: 1 to 1.
void smr_resize_spec_absent(const struct smr_job *job, struct smr_resize_spec *spec);

#endif
