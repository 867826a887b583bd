// SPDX-License-Identifier: Apache-2.0
// What all convolutions have in common, whatever their element types: the geometry of a node, what
// kinds of algorithms it fits, and where its weights lie.
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

/// For rows: whether a node is depthwise with up to two spatial dims, or with three; whether it has
/// one tap, and output pixel i meets input pixel i.
bool smr_conv_fits_depthwise(const struct smr_job *job);
bool smr_conv_fits_depthwise_3d(const struct smr_job *job);
bool smr_conv_fits_point(const struct smr_job *job);

/// For rows: multiplications by one channel, output elements times taps; and by all of a group.
smr_work smr_conv_tap_work(const struct smr_job *job);
smr_work smr_conv_work(const struct smr_job *job);

/// Whether there is no output: then nothing runs, but the weights are prepared all the same.
bool smr_conv_is_empty(struct smr_job *job);

/// Weights of a depthwise convolution or a product, as both kinds of packing take them.
void smr_conv_linear(const struct smr_conv_shape *shape, struct smr_linear *linear);
void smr_conv_qlinear(const struct smr_conv_shape *shape, struct smr_qlinear *linear);

#endif /* SMR_OPS_CONV_SHAPE_H */
