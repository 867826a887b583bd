// SPDX-License-Identifier: Apache-2.0
// int8 depthwise convolution for NEON: inputs and weights are widened to int16 and their products
// summed in int32, one panel of 16 channels at a time. No weights can cause saturation.

#define I8DN_PIXELS 4  // pixels at a time
#define I8DN_TAPS 200  // taps whose weights are prepared at once
#define I8DN_CHANNELS 16

// State of an area for one panel of channels.
struct i8dn_walk {
  struct smr_i8_dwconv_piece piece;  // of these channels
  size_t taps_h, taps_w;
  void *out;
  size_t n;            // existing channels of the panel
  const int16x8_t *w;  // [taps_h][taps_w][2]
  int32x4_t start[4];
  float32x4_t multiplier[4];
  int16x8_t zero;
  int8x16_t lo;
  float32x4_t hi;
  smr_i8_output to;
};

SMR_INLINE void i8dn_load(const int8_t *x, size_t n, const int full, int16x8_t *words) {
  int8x16_t v;
  if (full) {
    v = vld1q_s8(x);
  } else {
    uint64_t bytes[2];
    smr_load_tail(x, n, bytes);
    v = vreinterpretq_s8_u64(vld1q_u64(bytes));
  }
  words[0] = vmovl_s8(vget_low_s8(v));
  words[1] = vmovl_high_s8(v);
}

SMR_INLINE void i8dn_mac(int32x4_t *acc, const int16x8_t *x, const int16x8_t *w) {
  acc[0] = vmlal_s16(acc[0], vget_low_s16(x[0]), vget_low_s16(w[0]));
  acc[1] = vmlal_high_s16(acc[1], x[0], w[0]);
  acc[2] = vmlal_s16(acc[2], vget_low_s16(x[1]), vget_low_s16(w[1]));
  acc[3] = vmlal_high_s16(acc[3], x[1], w[1]);
}

// Clamp from above before rounding. Clamping from below may follow, because conversion and
// narrowing saturate.
SMR_INLINE int32x4_t i8dn_round(int32x4_t acc, float32x4_t multiplier, float32x4_t hi) {
  return vcvtnq_s32_f32(vminq_f32(vmulq_f32(vcvtq_f32_s32(acc), multiplier), hi));
}

SMR_INLINE void i8dn_finish(const struct i8dn_walk *walk, const int32x4_t *acc, size_t at,
                            const int full) {
  if (walk->to == SMR_I8_TO_I32) {
    int32_t sums[I8DN_CHANNELS];
    for (size_t i = 0; i < 4; i++) vst1q_s32(sums + 4 * i, acc[i]);
    memcpy((int32_t *)walk->out + at, sums, walk->n * sizeof *sums);
    return;
  }
  int32x4_t y[4];
  SMR_UNROLL for (size_t i = 0; i < 4; i++) y[i] =
      i8dn_round(acc[i], walk->multiplier[i], walk->hi);
  const int16x8_t low = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(y[0]), y[1]), walk->zero);
  const int16x8_t high = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(y[2]), y[3]), walk->zero);
  const int8x16_t bytes = vmaxq_s8(vqmovn_high_s16(vqmovn_s16(low), high), walk->lo);
  int8_t *out = (int8_t *)walk->out + at;
  if (full) {
    vst1q_s8(out, bytes);
  } else {
    uint64_t both[2];
    vst1q_u64(both, vreinterpretq_u64_s8(bytes));
    smr_store_tail(out, walk->n, both);
  }
}

// Some output pixels. If taps_w > 0, rows of taps are unrolled, and pixels, `step` taps apart,
// share inputs.
SMR_INLINE void i8dn_pixels(const struct i8dn_walk *walk, const int8_t *in, size_t out_at,
                            const size_t pixels, const size_t taps_w, const size_t step,
                            const int full) {
  int32x4_t acc[4 * I8DN_PIXELS];
  int16x8_t x[2];
  SMR_UNROLL for (size_t i = 0; i < 4 * pixels; i++) acc[i] = walk->start[i % 4];
  const int16x8_t *w = walk->w;
  for (size_t ky = 0; ky < walk->taps_h;
       ky++, w += 2 * walk->taps_w, in += walk->piece.in_tap_row) {
    if (taps_w > 0) {
      const int8_t *at = in;
      SMR_OPAQUE(at);
      SMR_UNROLL for (size_t i = 0; i < (pixels - 1) * step + taps_w; i++) {
        i8dn_load(at + i * walk->piece.in_tap, walk->n, full, x);
        SMR_UNROLL for (size_t p = 0; p < pixels; p++) {
          if (i >= p * step && i - p * step < taps_w)
            i8dn_mac(acc + 4 * p, x, w + 2 * (i - p * step));
        }
      }
      continue;
    }
    for (size_t kx = 0; kx < walk->taps_w; kx++) {
      const int8_t *at = in + kx * walk->piece.in_tap;
      SMR_UNROLL for (size_t p = 0; p < pixels; p++, at += walk->piece.in_step) {
        i8dn_load(at, walk->n, full, x);
        i8dn_mac(acc + 4 * p, x, w + 2 * kx);
      }
    }
  }
  SMR_UNROLL for (size_t p = 0; p < pixels; p++)
      i8dn_finish(walk, acc + 4 * p, out_at + p * walk->piece.out_step, full);
}

// All pixels of a rectangle for one panel of channels.
SMR_INLINE void i8dn_run(const struct i8dn_walk *given, const size_t taps_w, const size_t step,
                         const int full) {
  const struct i8dn_walk walk = *given;
  for (size_t row = 0; row < walk.piece.rows; row++) {
    const int8_t *in = walk.piece.in + row * walk.piece.in_row;
    size_t out = walk.piece.out + row * walk.piece.out_row, left = walk.piece.pixels;
    for (; left >= I8DN_PIXELS; left -= I8DN_PIXELS) {
      i8dn_pixels(&walk, in, out, I8DN_PIXELS, taps_w, step, full);
      in += I8DN_PIXELS * walk.piece.in_step;
      out += I8DN_PIXELS * walk.piece.out_step;
    }
    for (; left > 0; left--) {
      i8dn_pixels(&walk, in, out, 1, taps_w, step, full);
      in += walk.piece.in_step;
      out += walk.piece.out_step;
    }
  }
}

#define I8DN_RUN(name, taps_w, step, full) \
  static void i8dn_run_##name(const struct i8dn_walk *walk) { i8dn_run(walk, taps_w, step, full); }
I8DN_RUN(3s1, 3, 1, 1)
I8DN_RUN(3s2, 3, 2, 1)
I8DN_RUN(5s1, 5, 1, 1)
I8DN_RUN(5s2, 5, 2, 1)
I8DN_RUN(any, 0, 0, 1)
I8DN_RUN(part_3s1, 3, 1, 0)
I8DN_RUN(part_3s2, 3, 2, 0)
I8DN_RUN(part_any, 0, 0, 0)

typedef void (*i8dn_run_function)(const struct i8dn_walk *walk);

// If this build lacks the special function, the general one computes the same sums.
static i8dn_run_function i8dn_choose(const struct smr_i8_dwconv_piece *piece, size_t taps,
                                     int full) {
  const int part = SMR_HAS(i8_dwconv_rest_16) && !full;
  if (piece->in_step == piece->in_tap) {
    if (SMR_HAS(i8_dwconv_3s1) && taps == 3) return part ? i8dn_run_part_3s1 : i8dn_run_3s1;
    if (SMR_HAS(i8_dwconv_5s1) && taps == 5 && full) return i8dn_run_5s1;
  } else if (piece->in_step == 2 * piece->in_tap) {
    if (SMR_HAS(i8_dwconv_3s2) && taps == 3) return part ? i8dn_run_part_3s2 : i8dn_run_3s2;
    if (SMR_HAS(i8_dwconv_5s2) && taps == 5 && full) return i8dn_run_5s2;
  }
  return part ? i8dn_run_part_any : i8dn_run_any;
}

// Prepare everything that depends on the panel of channels at `c`. Writes its weights to `staged`.
static void i8dn_prepare(const struct smr_i8_dwconv_area *area, size_t c, int16x8_t *staged,
                         struct i8dn_walk *walk) {
  const size_t left = area->channels - c;
  walk->n = left < I8DN_CHANNELS ? left : I8DN_CHANNELS;
  walk->w = staged;
  int16x8_t w_zero[2] = {vdupq_n_s16(0), vdupq_n_s16(0)};
  if (area->w_zero) {
    const int32_t *z = area->w_zero + c;
    w_zero[0] = vcombine_s16(vmovn_s32(vld1q_s32(z)), vmovn_s32(vld1q_s32(z + 4)));
    w_zero[1] = vcombine_s16(vmovn_s32(vld1q_s32(z + 8)), vmovn_s32(vld1q_s32(z + 12)));
  }
  const int16x8_t x_zero = vdupq_n_s16((int16_t)area->x_zero);
  int32x4_t sums[4];
  for (size_t i = 0; i < 4; i++) sums[i] = vdupq_n_s32(0);
  for (size_t ky = 0; ky < area->taps_h; ky++) {
    for (size_t kx = 0; kx < area->taps_w; kx++, staged += 2) {
      i8dn_load(area->w + c / SMR_I8_PANEL * area->panel_stride_bytes +
                    (ky * area->w_taps + kx) * SMR_I8_PANEL,
                I8DN_CHANNELS, 1, staged);
      staged[0] = vsubq_s16(staged[0], w_zero[0]);
      staged[1] = vsubq_s16(staged[1], w_zero[1]);
      const int16x8_t x[2] = {x_zero, x_zero};
      i8dn_mac(sums, x, staged);
    }
  }
  for (size_t i = 0; i < 4; i++) {
    const int32x4_t bias = area->end.bias ? vld1q_s32(area->end.bias + c + 4 * i) : vdupq_n_s32(0);
    // Unsigned, because it may wrap.
    walk->start[i] = vreinterpretq_s32_u32(
        vsubq_u32(vreinterpretq_u32_s32(bias), vreinterpretq_u32_s32(sums[i])));
    walk->multiplier[i] = area->end.to == SMR_I8_TO_I8 ? vld1q_f32(area->end.multiplier + c + 4 * i)
                                                       : vdupq_n_f32(0.0f);
  }
}

static struct i8dn_walk i8dn_walk_of(const struct smr_i8_dwconv_area *area) {
  const struct smr_i8_dwconv_end *end = &area->end;
  return (struct i8dn_walk){.taps_h = area->taps_h,
                            .taps_w = area->taps_w,
                            .out = area->out,
                            .zero = vdupq_n_s16((int16_t)end->zero),
                            .lo = vdupq_n_s8((int8_t)end->lo),
                            .hi = vdupq_n_f32((float)(end->hi - end->zero)),
                            .to = end->to};
}

static void N(i8_dwconv_area)(const struct smr_i8_dwconv_area *area) {
  if (area->taps_h > I8DN_TAPS || area->taps_w > I8DN_TAPS ||
      area->taps_h * area->taps_w > I8DN_TAPS) {
    smr_i8_dwconv_area_scalar(area);
    return;
  }
  int16x8_t staged[2 * I8DN_TAPS];
  struct i8dn_walk walk = i8dn_walk_of(area);
  for (size_t c = area->first; c < area->channels; c += I8DN_CHANNELS) {
    i8dn_prepare(area, c, staged, &walk);
    for (size_t i = 0; i < area->count; i++) {
      walk.piece = area->pieces[i];
      walk.piece.in += c;
      walk.piece.out += c;
      i8dn_choose(&walk.piece, area->taps_w, walk.n == I8DN_CHANNELS)(&walk);
    }
  }
}

// One pixel through its pointers.
SMR_INLINE void i8dn_indirect_pixel(const struct i8dn_walk *walk,
                                    const struct smr_i8_dwconv_indirect_args *args, size_t c,
                                    const int8_t *const *pointers, size_t out_at, const int full) {
  int32x4_t acc[4];
  int16x8_t x[2];
  for (size_t i = 0; i < 4; i++) acc[i] = walk->start[i];
  for (size_t t = 0; t < args->taps; t++) {
    const int8_t *at = pointers[t];
    if (at != args->pad) at += args->in_offset_bytes;
    i8dn_load(at + c, walk->n, full, x);
    i8dn_mac(acc, x, walk->w + 2 * t);
  }
  i8dn_finish(walk, acc, out_at, full);
}

static void N(i8_dwconv_indirect)(const struct smr_i8_dwconv_indirect_args *args, size_t begin,
                                  size_t end) {
  if (args->taps > I8DN_TAPS) {
    smr_i8_dwconv_indirect_scalar(args, begin, end);
    return;
  }
  const struct smr_i8_dwconv_area area = {.channels = args->channels,
                                          .taps_h = 1,
                                          .taps_w = args->taps,
                                          .x_zero = args->x_zero,
                                          .w = args->w,
                                          .w_taps = args->taps,
                                          .panel_stride_bytes = args->panel_stride_bytes,
                                          .w_zero = args->w_zero,
                                          .out = args->out,
                                          .end = args->end};
  int16x8_t staged[2 * I8DN_TAPS];
  struct i8dn_walk walk = i8dn_walk_of(&area);
  for (size_t c = 0; c < args->channels; c += I8DN_CHANNELS) {
    i8dn_prepare(&area, c, staged, &walk);
    for (size_t p = begin; p < end; p++) {
      const int8_t *const *x = args->indirect + p * args->taps;
      if (walk.n == I8DN_CHANNELS)
        i8dn_indirect_pixel(&walk, args, c, x, p * args->out_stride + c, 1);
      else
        i8dn_indirect_pixel(&walk, args, c, x, p * args->out_stride + c, 0);
    }
  }
}
#undef I8DN_PIXELS
#undef I8DN_TAPS
#undef I8DN_CHANNELS
#undef I8DN_RUN
