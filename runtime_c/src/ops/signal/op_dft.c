// SPDX-License-Identifier: Apache-2.0
// dft: the discrete Fourier transform along an axis.
//
// A tile computes several transforms side by side, so that every pass works on whole vectors. If
// the length has a prime factor that is no radix, the transform is computed as a convolution with a
// chirp (L. Bluestein, "A linear filtering approach to the computation of discrete Fourier
// transform", 1970). The inverse is the forward transform with real and imaginary parts swapped
// before and after. Roots are recomputed in double by each run: that costs little beside the
// transforms, and needs no memory between runs.
#include "base/fp.h"

#include "base/checked.h"
#include "kernels/f32_fft/f32_fft.h"
#include "ops/check/check.h"
#include "ops/table/funcs.h"
#include "ops/widen.h"

#include <math.h>
#include <string.h>

enum {
  DFT_LANES = 16,               // transforms per tile
  DFT_TILE_FLOATS = 32 * 1024,  // of the real parts, unless one transform is longer
};

struct dft_state {
  const struct smr_f32_fft_kernels *kernels;
  struct smr_f32_fft_plan plan;
  size_t length;  // of a transform
  size_t given;   // elements of it in the input
  size_t kept;    // results written
  size_t inner, transforms, lanes;
  bool chirped, complex_in, inverse, onesided;
};

static samara_status dft_check(const struct smr_job *job) {
  return smr_expect_one_dtype(job, SMR_DTYPES_FLOAT);
}

static struct smr_f32_fft_parts dft_parts(float *at, size_t n) {
  return (struct smr_f32_fft_parts){at, at + n};
}

static struct smr_f32_fft_parts dft_swapped(struct smr_f32_fft_parts x) {
  return (struct smr_f32_fft_parts){x.im, x.re};
}

// Shared scratch: the roots; with a chirp also the chirp, its filter and a work vector.
static size_t dft_shared_floats(const struct dft_state *s) {
  return 2 * s->plan.n + (s->chirped ? 2 * s->length + 4 * s->plan.n : 0);
}

static samara_status dft_prepare(struct smr_job *job) {
  struct dft_state *s = job->state;
  const struct smr_tensor *x = job->inputs[0], *y = job->outputs[0];
  uint32_t axis;
  SMR_TRY(smr_expect_axis(job, SMR_ATTR(job, dft, axis)->i, x->rank, &axis));
  *s = (struct dft_state){.kernels = smr_f32_fft_kernels(job->isa),
                          .length = (size_t)SMR_ATTR(job, dft, length)->i,
                          .given = (size_t)x->dims[axis],
                          .kept = (size_t)y->dims[axis],
                          .inner = (size_t)smr_product(x->dims + axis + 1, x->rank - axis - 2u),
                          .complex_in = x->dims[x->rank - 1] == 2,
                          .inverse = SMR_ATTR(job, dft, inverse)->i != 0,
                          .onesided = SMR_ATTR(job, dft, onesided)->i != 0};
  s->transforms = (size_t)smr_product(x->dims, axis) * s->inner;
  s->chirped = !smr_f32_fft_plan_make(s->length, &s->plan);
  if (s->chirped) {
    size_t n = 1;
    while (n < 2 * s->length - 1) n *= 2;
    (void)smr_f32_fft_plan_make(n, &s->plan);
  }
  s->lanes = DFT_LANES;
  while (s->lanes > 1 && (s->lanes * s->plan.n > DFT_TILE_FLOATS || s->lanes / 2 >= s->transforms))
    s->lanes /= 2;
  job->scratch_bytes = dft_shared_floats(s) * sizeof(float);
  job->thread_scratch_bytes = 4 * s->plan.n * s->lanes * sizeof(float);
  job->tiles = (s->transforms + s->lanes - 1) / s->lanes;
  job->kernel = s->kernels->name;
  return SAMARA_OK;
}

// The chirp c[j] = e^(-i pi j^2 / length), and the transform of its conjugate, which is even.
static void dft_chirp(const struct dft_state *s, float *scratch) {
  const size_t n = s->plan.n, length = s->length;
  const struct smr_f32_fft_parts roots = dft_parts(scratch, n);
  const struct smr_f32_fft_parts chirp = dft_parts(scratch + 2 * n, length);
  float *filter = scratch + 2 * n + 2 * length, *work = filter + 2 * n;
  const struct smr_f32_fft_parts x = dft_parts(filter, n), y = dft_parts(work, n);
  memset(filter, 0, 2 * n * sizeof *filter);
  size_t square = 0;  // j^2 modulo 2 length, which keeps the angle exact until it is rounded
  for (size_t j = 0; j < length; j++) {
    const double angle = 3.141592653589793238463 / (double)length * (double)square;
    chirp.re[j] = (float)cos(angle);
    chirp.im[j] = -(float)sin(angle);
    x.re[j] = x.re[(n - j) % n] = chirp.re[j] / (float)n;
    x.im[j] = x.im[(n - j) % n] = -chirp.im[j] / (float)n;
    square = (square + 2 * j + 1) % (2 * length);
  }
  const struct smr_f32_fft_parts done = smr_f32_fft_run(s->kernels, &s->plan, 1, roots, x, y);
  if (done.re != x.re) memcpy(filter, work, 2 * n * sizeof *filter);
}

// Clear the imaginary parts of transform `l` of `count` in the elements that are their own mirror
// images.
static void dft_make_real(const struct dft_state *s, struct smr_f32_fft_parts x, size_t count,
                          size_t l) {
  x.im[l] = 0.0f;
  if (s->length % 2 == 0) x.im[s->length / 2 * count + l] = 0.0f;
}

// Load elements of `count` transforms from `first` on as [length][count], padded with zeros.
static void dft_load(const struct dft_state *s, const float *x, size_t first, size_t count,
                     struct smr_f32_fft_parts to) {
  const size_t channels = s->complex_in ? 2 : 1;
  // Half of a symmetric spectrum determines the other half.
  const bool mirrored = s->inverse && s->onesided;
  const size_t side = mirrored ? s->length / 2 + 1 : s->length;
  const size_t n = s->given < side ? s->given : side;
  for (size_t l = 0; l < count; l++) {
    const size_t t = first + l;
    const float *from = x + (t / s->inner * s->given * s->inner + t % s->inner) * channels;
    for (size_t j = 0; j < n; j++) {
      to.re[j * count + l] = from[j * s->inner * channels];
      to.im[j * count + l] = s->complex_in ? from[j * s->inner * channels + 1] : 0.0f;
    }
    for (size_t j = n; j < s->length; j++) to.re[j * count + l] = to.im[j * count + l] = 0.0f;
    if (!mirrored) continue;
    // Imaginary parts of self-mirrored elements are ignored.
    dft_make_real(s, to, count, l);
    for (size_t j = s->length / 2 + 1; j < s->length; j++) {
      to.re[j * count + l] = to.re[(s->length - j) * count + l];
      to.im[j * count + l] = -to.im[(s->length - j) * count + l];
    }
  }
}

static void dft_store(const struct dft_state *s, struct smr_f32_fft_parts from, size_t first,
                      size_t count, float *y) {
  const bool real = s->inverse && s->onesided;
  const size_t channels = real ? 1 : 2;
  const float scale = s->inverse ? 1.0f / (float)s->length : 1.0f;
  for (size_t l = 0; l < count; l++) {
    const size_t t = first + l;
    // A real signal gives zeros here; remove rounding errors.
    if (!s->complex_in) dft_make_real(s, from, count, l);
    float *to = y + (t / s->inner * s->kept * s->inner + t % s->inner) * channels;
    for (size_t k = 0; k < s->kept; k++) {
      to[k * s->inner * channels] = from.re[k * count + l] * scale;
      if (!real) to[k * s->inner * channels + 1] = from.im[k * count + l] * scale;
    }
  }
}

static struct smr_f32_fft_parts dft_transform(const struct dft_state *s, float *scratch,
                                              size_t count, struct smr_f32_fft_parts x,
                                              struct smr_f32_fft_parts work) {
  const size_t n = s->plan.n;
  const struct smr_f32_fft_parts roots = dft_parts(scratch, n);
  if (!s->chirped) return smr_f32_fft_run(s->kernels, &s->plan, count, roots, x, work);
  const struct smr_f32_fft_parts chirp = dft_parts(scratch + 2 * n, s->length);
  const struct smr_f32_fft_parts filter = dft_parts(scratch + 2 * n + 2 * s->length, n);
  memset(x.re + s->length * count, 0, (n - s->length) * count * sizeof *x.re);
  memset(x.im + s->length * count, 0, (n - s->length) * count * sizeof *x.im);
  s->kernels->scale(s->length, count, chirp, x);
  const struct smr_f32_fft_parts spectrum =
      smr_f32_fft_run(s->kernels, &s->plan, count, roots, x, work);
  s->kernels->scale(n, count, filter, spectrum);
  const struct smr_f32_fft_parts other = spectrum.re == x.re ? work : x;
  const struct smr_f32_fft_parts y = dft_swapped(smr_f32_fft_run(
      s->kernels, &s->plan, count, roots, dft_swapped(spectrum), dft_swapped(other)));
  s->kernels->scale(s->length, count, chirp, y);
  return y;
}

static samara_status dft_run(const struct smr_job *job, size_t begin, size_t end,
                             void *thread_scratch) {
  const struct dft_state *s = job->state;
  float *scratch = job->scratch;
  if (begin == end) {
    if (job->tiles == 0) return SAMARA_OK;
    smr_f32_fft_roots(s->plan.n, dft_parts(scratch, s->plan.n));
    if (s->chirped) dft_chirp(s, scratch);
    return SAMARA_OK;
  }
  const size_t room = s->plan.n * s->lanes;
  for (; begin < end; begin++) {
    const size_t first = begin * s->lanes, left = s->transforms - first;
    const size_t count = left < s->lanes ? left : s->lanes;
    struct smr_f32_fft_parts x = dft_parts(thread_scratch, room);
    struct smr_f32_fft_parts work = dft_parts((float *)thread_scratch + 2 * room, room);
    dft_load(s, job->inputs[0]->data, first, count, x);
    if (s->inverse) x = dft_swapped(x), work = dft_swapped(work);
    struct smr_f32_fft_parts y = dft_transform(s, scratch, count, x, work);
    if (s->inverse) y = dft_swapped(y);
    dft_store(s, y, first, count, job->outputs[0]->data);
  }
  return SAMARA_OK;
}

SMR_WIDENED_OP(dft, dft_check, dft_prepare, dft_run, sizeof(struct dft_state))
