// SPDX-License-Identifier: Apache-2.0
// What convolutions of all element types share: the geometry of a node, which kinds of algorithms
// fit it, and where its weights lie.
#ifndef SMR_OPS_CONV_SHAPE_H
#define SMR_OPS_CONV_SHAPE_H

#include "ops/conv/window.h"
#include "ops/matmul/linear.h"
#include "ops/matmul/qlinear.h"

/// First member of the state of conv, qconv and conv_dynamic: input 0 is x, input 1 the weights
/// [channels out, kernel, channels of a group], output 0 y.
struct smr_conv_shape {
  struct smr_window window;
  size_t groups;
  size_t taps, channels, n;  // channels of one group, in and out
  size_t pixels;             // of the output
  bool depthwise;            // one channel in and out per group, of more than one group
};

/// The table's `begin`: read the geometry into the shape at job->state.
samara_status smr_conv_shape_read(struct smr_job *job, const struct smr_attrs_window *attrs,
                                  int64_t groups);

/// Whether the window has padding, strides, or gaps between its taps.
bool smr_conv_is_padded(const struct smr_conv_shape *shape);
bool smr_conv_is_strided(const struct smr_conv_shape *shape);
bool smr_conv_is_dilated(const struct smr_conv_shape *shape);

/// For `fits`: a depthwise node with up to two spatial dims; one with three; a node with one tap,
/// whose output pixel i reads input pixel i.
bool smr_conv_fits_depthwise(const struct smr_job *job);
bool smr_conv_fits_depthwise_3d(const struct smr_job *job);
bool smr_conv_fits_point(const struct smr_job *job);

/// For `work`: output elements times taps; and the multiply-adds over all channels of a group.
smr_work smr_conv_tap_work(const struct smr_job *job);
smr_work smr_conv_work(const struct smr_job *job);

/// Whether the output is empty. Nothing runs then, but weights are still prepared.
bool smr_conv_is_empty(struct smr_job *job);

/// Describe the weights of a depthwise convolution or a product, for either kind of packing.
void smr_conv_linear(const struct smr_conv_shape *shape, struct smr_linear *linear);
void smr_conv_qlinear(const struct smr_conv_shape *shape, struct smr_qlinear *linear);

#endif /* SMR_OPS_CONV_SHAPE_H */
