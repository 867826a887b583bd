// SPDX-License-Identifier: Apache-2.0
// Fills indirection buffers of float32 and of bytes. Each type needs its own function, because
// pointers of different types must not alias.
#include "base/fp.h"

#include "ops/conv/conv_indirection.h"

#define CONV_POINTS_TYPE float
#define CONV_POINTS_NAME smr_conv_indirection
#define CONV_POINTS_TAP conv_indirection_tap
#define CONV_POINTS_PHASE smr_conv_phase_indirection
#define CONV_POINTS_PHASE_TAP conv_phase_tap
#include "ops/conv/conv_indirection_body.h"

#define CONV_POINTS_TYPE int8_t
#define CONV_POINTS_NAME smr_conv_indirection_i8
#define CONV_POINTS_TAP conv_indirection_tap_i8
#define CONV_POINTS_PHASE smr_conv_phase_indirection_i8
#define CONV_POINTS_PHASE_TAP conv_phase_tap_i8
#include "ops/conv/conv_indirection_body.h"
