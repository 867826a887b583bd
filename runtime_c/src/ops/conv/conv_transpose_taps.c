// SPDX-License-Identifier: Apache-2.0
// Which taps of a window leave which remainder: phases of an output and the order of their weights.
#include "base/fp.h"

#include "ops/conv/conv_transpose_taps.h"

// Along an axis the taps t, t + period, t + 2 period ... leave the same remainder, and no others
// do: they are class t mod period. Classes without taps (beyond the kernel) are never met.
int64_t smr_conv_transpose_period(const struct smr_window *w, uint32_t axis) {
  int64_t a = w->stride[axis], b = w->dilation[axis];
  while (b != 0) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return w->stride[axis] / a;
}

// The class whose taps leave the remainder `phase`: class * dilation = phase modulo the stride, by
// Euclid's extended algorithm. -1: none.
static int64_t conv_transpose_class_of(const struct smr_window *w, uint32_t axis, int64_t phase) {
  int64_t a = w->stride[axis], b = w->dilation[axis] % a, x = 0, y = 1;  // b = y * dilation
  while (b != 0) {
    const int64_t times = a / b, rest = a % b, next = x - times * y;
    a = b;
    b = rest;
    x = y;
    y = next;
  }
  if (phase % a != 0) return -1;
  const int64_t period = w->stride[axis] / a, inverse = (x % period + period) % period;
  return phase / a % period * inverse % period;  // below 2^31 each
}

// Taps of a class.
size_t smr_conv_transpose_count(const struct smr_conv_transpose *s, uint32_t axis, int64_t class) {
  const int64_t k = s->window.kernel[axis];
  return class < k ? (size_t)((k - 1 - class) / s->period[axis] + 1) : 0;
}

// Taps of all classes before this one.
static size_t conv_transpose_start(const struct smr_conv_transpose *s, uint32_t axis,
                                   int64_t class) {
  const int64_t k = s->window.kernel[axis], period = s->period[axis];
  const int64_t each = k / period, more = k % period;
  return (size_t)(class * each + (class < more ? class : more));
}

// The class of the tap at position `at` of an axis sorted by class.
static int64_t conv_transpose_class_at(const struct smr_conv_transpose *s, uint32_t axis,
                                       size_t at) {
  const int64_t k = s->window.kernel[axis], period = s->period[axis];
  const size_t each = (size_t)(k / period), more = (size_t)(k % period);
  const size_t longer = more * (each + 1);
  return (int64_t)(at < longer ? at / (each + 1) : more + (at - longer) / each);
}

// The tap of a class at position `at` among its `count`. A convolution reads its input from the
// last tap to the first.
static size_t conv_transpose_tap(const struct smr_conv_transpose *s, uint32_t axis, int64_t class,
                                 size_t count, size_t at) {
  const size_t index = s->path == SMR_CONV_TRANSPOSE_DEPTHWISE ? count - 1 - at : at;
  return (size_t)class + index * (size_t)s->period[axis];
}

// Packed order: classes (z, y, x) lexicographic, in a class taps (z, y, x) lexicographic. A class
// is a box of taps, so depths before it hold kernel_y * kernel_x taps each, and so on.
size_t smr_conv_transpose_source_tap(const struct smr_job *job, size_t packed) {
  const struct smr_conv_transpose *s = job->state;
  const struct smr_window *w = &s->window;
  const size_t ny = (size_t)w->kernel[1], nx = (size_t)w->kernel[2];
  const int64_t z = conv_transpose_class_at(s, 0, packed / (ny * nx));
  const size_t cz = smr_conv_transpose_count(s, 0, z);
  const size_t in_z = packed - conv_transpose_start(s, 0, z) * ny * nx;
  const int64_t y = conv_transpose_class_at(s, 1, in_z / (cz * nx));
  const size_t cy = smr_conv_transpose_count(s, 1, y);
  const size_t in_y = in_z - conv_transpose_start(s, 1, y) * cz * nx;
  const int64_t x = conv_transpose_class_at(s, 2, in_y / (cz * cy));
  const size_t cx = smr_conv_transpose_count(s, 2, x);
  const size_t in_x = in_y - conv_transpose_start(s, 2, x) * cz * cy;
  const size_t tz = conv_transpose_tap(s, 0, z, cz, in_x / (cy * cx));
  const size_t ty = conv_transpose_tap(s, 1, y, cy, in_x / cx % cy);
  return (tz * ny + ty) * nx + conv_transpose_tap(s, 2, x, cx, in_x % cx);
}

struct smr_conv_transpose_box smr_conv_transpose_box_of(const struct smr_conv_transpose *s,
                                                        const int64_t *out) {
  const struct smr_window *w = &s->window;
  struct smr_conv_transpose_box box = {.taps = 1};
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++) {
    const int64_t class = conv_transpose_class_of(w, i, (out[i] + w->pad_begin[i]) % w->stride[i]);
    box.class[i] = class;
    box.count[i] = class >= 0 ? smr_conv_transpose_count(s, i, class) : 0;
    box.taps *= box.count[i];
  }
  if (box.taps == 0) return box;
  const size_t ny = (size_t)w->kernel[1], nx = (size_t)w->kernel[2];
  box.first = conv_transpose_start(s, 0, box.class[0]) * ny * nx +
              conv_transpose_start(s, 1, box.class[1]) * box.count[0] * nx +
              conv_transpose_start(s, 2, box.class[2]) * box.count[0] * box.count[1];
  return box;
}
