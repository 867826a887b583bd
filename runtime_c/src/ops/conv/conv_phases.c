// SPDX-License-Identifier: Apache-2.0
// Output phases of transposed convolutions: the order of their weights, and their tiles.
#include "base/fp.h"

#include "ops/conv/conv_phases.h"

#include "base/checked.h"
#include "ops/check/check.h"
#include "ops/matmul/linear.h"

enum {
  PHASES_TILE_WORK = 1 << 19,  // multiply-adds that pay for a hand-over to another thread
  PHASES_FIND_WORK = 64,       // steps to find the taps of a phase
};

// Along an axis, the taps t, t + period, t + 2 period ... and no others leave the same remainder:
// they are class t mod period. Classes beyond the kernel have no taps and are never used.
int64_t smr_conv_phases_period(const struct smr_window *w, uint32_t axis) {
  int64_t a = w->stride[axis], b = w->dilation[axis];
  while (b != 0) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return w->stride[axis] / a;
}

samara_status smr_conv_phases_read(struct smr_job *job, const struct smr_attrs_window *attrs,
                                   int64_t groups, int64_t channels, int64_t n) {
  struct smr_conv_phases *s = job->state;
  *s = (struct smr_conv_phases){
      .groups = (size_t)groups, .channels = (size_t)channels, .n = (size_t)n};
  s->depthwise = groups > 1 && channels == 1 && n == 1;
  SMR_TRY(smr_window_read(job, attrs, job->inputs[1]->dims + 1, &s->window));
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++)
    s->period[i] = smr_conv_phases_period(&s->window, i);
  return SAMARA_OK;
}

bool smr_conv_phases_has_empty(const struct smr_conv_phases *s, uint32_t axis) {
  return s->period[axis] != s->window.stride[axis] ||
         s->window.kernel[axis] < s->window.stride[axis];
}

uint32_t smr_conv_phases_key(const struct smr_conv_phases *s, bool by_channel) {
  const struct smr_window *w = &s->window;
  uint32_t key = 0;
  if (s->groups >= 1 << 12 && !by_channel) return 0;
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++) {
    if (w->stride[i] > 7 || w->dilation[i] > 3) return 0;
    key = key << 5 | (uint32_t)w->stride[i] << 2 | (uint32_t)w->dilation[i];
  }
  // The keys of conv's own depthwise weights have no bit set here.
  if (by_channel) return SMR_LINEAR_KEY_DEPTHWISE | key;
  return (uint32_t)SMR_LINEAR_KEY_TRANSPOSED | key << 12 | (uint32_t)s->groups;
}

// The class whose taps leave the remainder `phase`: class * dilation = phase modulo the stride,
// solved by Euclid's extended algorithm. -1: no class.
static int64_t phases_class_of(const struct smr_window *w, uint32_t axis, int64_t phase) {
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
  return phase / a % period * inverse % period;  // all factors are below 2^31
}

// Number of taps of a class.
size_t smr_conv_phases_count(const struct smr_conv_phases *s, uint32_t axis, int64_t class) {
  const int64_t k = s->window.kernel[axis];
  return class < k ? (size_t)((k - 1 - class) / s->period[axis] + 1) : 0;
}

// Number of taps of all earlier classes.
static size_t phases_start(const struct smr_conv_phases *s, uint32_t axis, int64_t class) {
  const int64_t k = s->window.kernel[axis], period = s->period[axis];
  const int64_t each = k / period, more = k % period;
  return (size_t)(class * each + (class < more ? class : more));
}

// The class of the tap at position `at` along an axis sorted by class.
static int64_t phases_class_at(const struct smr_conv_phases *s, uint32_t axis, size_t at) {
  const int64_t k = s->window.kernel[axis], period = s->period[axis];
  const size_t each = (size_t)(k / period), more = (size_t)(k % period);
  const size_t longer = more * (each + 1);
  return (int64_t)(at < longer ? at / (each + 1) : more + (at - longer) / each);
}

// Tap `at` of the `count` taps of a class. A convolution reads its input from the last tap to the
// first.
static size_t phases_tap(const struct smr_conv_phases *s, uint32_t axis, int64_t class,
                         size_t count, size_t at) {
  const size_t index = s->flipped ? count - 1 - at : at;
  return (size_t)class + index * (size_t)s->period[axis];
}

// Packed order: classes (z, y, x) lexicographically; within a class, taps (z, y, x)
// lexicographically. A class is a box of taps, so each depth before it holds kernel_y * kernel_x
// taps, and so on.
size_t smr_conv_phases_source_tap(const struct smr_job *job, size_t packed) {
  const struct smr_conv_phases *s = job->state;
  const struct smr_window *w = &s->window;
  const size_t ny = (size_t)w->kernel[1], nx = (size_t)w->kernel[2];
  const int64_t z = phases_class_at(s, 0, packed / (ny * nx));
  const size_t cz = smr_conv_phases_count(s, 0, z);
  const size_t in_z = packed - phases_start(s, 0, z) * ny * nx;
  const int64_t y = phases_class_at(s, 1, in_z / (cz * nx));
  const size_t cy = smr_conv_phases_count(s, 1, y);
  const size_t in_y = in_z - phases_start(s, 1, y) * cz * nx;
  const int64_t x = phases_class_at(s, 2, in_y / (cz * cy));
  const size_t cx = smr_conv_phases_count(s, 2, x);
  const size_t in_x = in_y - phases_start(s, 2, x) * cz * cy;
  const size_t tz = phases_tap(s, 0, z, cz, in_x / (cy * cx));
  const size_t ty = phases_tap(s, 1, y, cy, in_x / cx % cy);
  return (tz * ny + ty) * nx + phases_tap(s, 2, x, cx, in_x % cx);
}

struct smr_conv_phases_box smr_conv_phases_box_of(const struct smr_conv_phases *s,
                                                  const int64_t *out) {
  const struct smr_window *w = &s->window;
  struct smr_conv_phases_box box = {.taps = 1};
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++) {
    const int64_t class = phases_class_of(w, i, (out[i] + w->pad_begin[i]) % w->stride[i]);
    box.class[i] = class;
    box.count[i] = class >= 0 ? smr_conv_phases_count(s, i, class) : 0;
    box.taps *= box.count[i];
  }
  if (box.taps == 0) return box;
  const size_t ny = (size_t)w->kernel[1], nx = (size_t)w->kernel[2];
  box.first = phases_start(s, 0, box.class[0]) * ny * nx +
              phases_start(s, 1, box.class[1]) * box.count[0] * nx +
              phases_start(s, 2, box.class[2]) * box.count[0] * box.count[1];
  return box;
}

int64_t smr_conv_phases_meets(const struct smr_conv_phases *s,
                              const struct smr_conv_phases_box *box, uint32_t axis, int64_t at,
                              size_t index) {
  const struct smr_window *w = &s->window;
  const int64_t t = box->class[axis] + (int64_t)index * s->period[axis];
  return (at + w->pad_begin[axis] - t * w->dilation[axis]) / w->stride[axis];  // exact
}

// ---- tiles ----

samara_status smr_conv_phases_cut(struct smr_job *job, double work) {
  struct smr_conv_phases *s = job->state;
  const struct smr_window *w = &s->window;
  // Pointers for one row of output pixels of a phase. Class 0 has most taps.
  const size_t stride = (size_t)w->stride[2], height = (size_t)w->out[1];
  size_t offset, most = (size_t)w->out[2] / stride + 1;
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++)
    if (!smr_mul_size(most, smr_conv_phases_count(s, i, 0), &most)) most = SIZE_MAX;
  SMR_TRY(smr_thread_scratch_take(job, most, sizeof(void *), &offset));
  work *= (double)most * (double)stride;
  const double enough = PHASES_TILE_WORK;
  s->rows = work < enough ? (size_t)(enough / (work + 1)) + 1 : 1;
  if (s->rows > height) s->rows = height;
  job->tiles = (size_t)(w->batch * w->out[0]) * ((height + s->rows - 1) / s->rows);
  return SAMARA_OK;
}

size_t smr_conv_phases_pixels(const struct smr_conv_phases *s, const int64_t *out) {
  const size_t step = (size_t)s->window.stride[2];
  return ((size_t)(s->window.out[2] - out[2]) + step - 1) / step;
}

static samara_status phases_tile(const struct smr_conv_phases *s,
                                 const struct smr_conv_phases_product *product,
                                 const struct smr_conv_phases_tile *tile, int64_t z) {
  const struct smr_window *w = &s->window;
  const int64_t y0 = tile->first_row, y1 = tile->end_row;
  if (product->clear != NULL) product->clear(tile);
  for (int64_t y = y0; y < y1 && y < y0 + w->stride[1]; y++) {
    for (int64_t x = 0; x < w->out[2] && x < w->stride[2]; x++) {
      int64_t out[SMR_MAX_SPATIAL] = {z, y, x};
      const struct smr_conv_phases_box box = smr_conv_phases_box_of(s, out);
      SMR_TRY(smr_deadline_step(tile->watch, PHASES_FIND_WORK));
      SMR_TRY(product->phase(tile, &box, out));
    }
  }
  return SAMARA_OK;
}

samara_status smr_conv_phases_run(const struct smr_job *job,
                                  const struct smr_conv_phases_product *product, size_t begin,
                                  size_t end, void *thread_scratch) {
  const struct smr_conv_phases *s = job->state;
  const struct smr_window *w = &s->window;
  const size_t blocks = ((size_t)w->out[1] + s->rows - 1) / s->rows;
  struct smr_deadline_watch watch = {.job = job};
  for (size_t at = begin; at < end; at++) {
    const size_t depth = at / blocks;
    const int64_t row = (int64_t)(at % blocks * s->rows), last = row + (int64_t)s->rows;
    const struct smr_conv_phases_tile tile = {
        .watch = &watch,
        .image = depth / (size_t)w->out[0],
        .first_pixel = depth * (size_t)(w->out[1] * w->out[2]),
        .first_row = row,
        .end_row = last < w->out[1] ? last : w->out[1],
        .pointers = thread_scratch,
    };
    SMR_TRY(phases_tile(s, product, &tile, (int64_t)(depth % (size_t)w->out[0])));
  }
  return SAMARA_OK;
}
