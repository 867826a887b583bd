// SPDX-License-Identifier: Apache-2.0
// int8 depthwise convolution by products of pairs of int16 (vpmaddwd), for the vectors of one ISA.
//
// The ISA's file defines I8DW_V (a vector of integers), I8DW_OP(op) (an intrinsic on it),
// I8DW_WORDS (int16 per vector: the channels processed together) and the loads and stores whose
// instructions differ. With I8DW_ENDS it also defines the conversion of sums: N(i8dw_limits),
// N(i8dw_limits_of) and N(i8dw_narrow).
//
// Inputs are widened and neighbouring taps interleaved, so that one product sums two taps of a
// channel in int32; no weights can cause saturation. With strides of one, even and odd pixels share
// the pairs, the odd ones with weights shifted by a tap. The bias compensates the zero point of the
// input when the weights of an area are prepared.

#define I8DW_PIXELS 4    // pixels at a time
#define I8DW_STAGED 192  // vectors of weights that are prepared at once

#if !defined(I8DW_ENDS)
struct N(i8dw_limits) {
  I8DW_V zero, lo;  // int16
  float hi;         // minus zero
};

SMR_INLINE struct N(i8dw_limits) N(i8dw_limits_of)(const struct smr_i8_dwconv_end *end) {
  return (struct N(i8dw_limits)){I8DW_OP(set1_epi16)((short)end->zero),
                                 I8DW_OP(set1_epi16)((short)end->lo), (float)(end->hi - end->zero)};
}

// Clamp from above before rounding. Clamping from below may follow, because conversion and
// saturation keep small values small.
SMR_INLINE I8DW_V N(i8dw_round)(I8DW_V acc, I8DW_V multiplier, I8DW_F hi) {
  const I8DW_F p = I8DW_OP(mul_ps)(I8DW_OP(cvtepi32_ps)(acc), I8DW_FLOATS(multiplier));
  return I8DW_OP(cvtps_epi32)(I8DW_OP(min_ps)(p, hi));
}

// Store n sums of channels as bytes.
SMR_INLINE void N(i8dw_narrow)(const struct N(i8dw_limits) * limits, const I8DW_V *acc,
                               const I8DW_V *multiplier, int8_t *y, size_t n) {
  const I8DW_F hi = I8DW_OP(set1_ps)(limits->hi);
  const I8DW_V words = I8DW_OP(packs_epi32)(N(i8dw_round)(acc[0], multiplier[0], hi),
                                            N(i8dw_round)(acc[1], multiplier[1], hi));
  const I8DW_V moved = I8DW_OP(adds_epi16)(words, limits->zero);
  N(i8dw_store_bytes)(y, I8DW_OP(max_epi16)(moved, limits->lo), n);
}
#endif

// State of an area for one vector of channels. Functions make a local copy: stores cannot change
// it, so it stays in registers. Vectors of int32 are pairs [low, high], in the order in which
// interleaving leaves channels.
struct N(i8dw_walk) {
  struct smr_i8_dwconv_piece piece;  // of these channels
  size_t taps_h, taps_w;
  void *out;
  size_t n;               // existing channels of the vector
  const I8DW_V *w;        // [taps_h][shifts][pairs][2]
  size_t w_row, w_shift;  // vectors between rows of taps, between shifts
  I8DW_V start[2], multiplier[2];
  struct N(i8dw_limits) limits;
  smr_i8_output to;
};

SMR_INLINE I8DW_V N(i8dw_load)(const int8_t *x, size_t n, const int full) {
  return full ? N(i8dw_words)(x) : N(i8dw_words_n)(x, n);
}

SMR_INLINE void N(i8dw_mac)(I8DW_V *acc, const I8DW_V *x, const I8DW_V *w) {
  acc[0] = I8DW_OP(add_epi32)(acc[0], I8DW_OP(madd_epi16)(x[0], w[0]));
  acc[1] = I8DW_OP(add_epi32)(acc[1], I8DW_OP(madd_epi16)(x[1], w[1]));
}

SMR_INLINE void N(i8dw_pair)(I8DW_V first, I8DW_V second, I8DW_V *pair) {
  pair[0] = I8DW_OP(unpacklo_epi16)(first, second);
  pair[1] = I8DW_OP(unpackhi_epi16)(first, second);
}

SMR_INLINE void N(i8dw_finish)(const struct N(i8dw_walk) * walk, const I8DW_V *acc, void *out,
                               size_t at, size_t n) {
  if (walk->to == SMR_I8_TO_I32)
    N(i8dw_store_ints)((int32_t *)out + at, acc, n);
  else
    N(i8dw_narrow)(&walk->limits, acc, walk->multiplier, (int8_t *)out + at, n);
}

// Some output pixels. If taps_w > 0, an odd constant, rows of taps are unrolled, and pixels, `step`
// taps apart, share pairs.
SMR_INLINE void N(i8dw_pixels)(const struct N(i8dw_walk) * walk, const int8_t *in, size_t out_at,
                               const size_t pixels, const size_t taps_w, const size_t step,
                               const int full) {
  const size_t n = full ? I8DW_WORDS : walk->n;
  I8DW_V acc[2 * I8DW_PIXELS], x[2];
  SMR_UNROLL for (size_t p = 0; p < 2 * pixels; p++) acc[p] = walk->start[p % 2];
  const I8DW_V *w = walk->w;
  for (size_t ky = 0; ky < walk->taps_h; ky++, w += walk->w_row, in += walk->piece.in_tap_row) {
    if (taps_w > 0) {
      const size_t inputs = (pixels - 1) * step + taps_w, of_pixel = (taps_w + 1) / 2;
      const int8_t *at = in;
      SMR_OPAQUE(at);
      SMR_UNROLL for (size_t t = 0; t < (inputs + 1) / 2; t++) {
        const I8DW_V first = N(i8dw_load)(at + 2 * t * walk->piece.in_tap, n, full);
        const I8DW_V second = 2 * t + 1 < inputs
                                  ? N(i8dw_load)(at + (2 * t + 1) * walk->piece.in_tap, n, full)
                                  : first;
        N(i8dw_pair)(first, second, x);
        SMR_UNROLL for (size_t p = 0; p < pixels; p++) {
          const size_t from = step == 1 ? p / 2 : p;  // first pair of the pixel
          if (t < from || t - from >= of_pixel) continue;
          N(i8dw_mac)(acc + 2 * p, x, w + (step == 1 ? p % 2 : 0) * walk->w_shift + 2 * (t - from));
        }
      }
      continue;
    }
    for (size_t kx = 0; kx < walk->taps_w; kx += 2) {
      const int8_t *at = in + kx * walk->piece.in_tap;
      SMR_UNROLL for (size_t p = 0; p < pixels; p++, at += walk->piece.in_step) {
        const I8DW_V first = N(i8dw_load)(at, n, full);
        N(i8dw_pair)(first,
                     kx + 1 < walk->taps_w ? N(i8dw_load)(at + walk->piece.in_tap, n, full) : first,
                     x);
        N(i8dw_mac)(acc + 2 * p, x, w + kx);
      }
    }
  }
  SMR_UNROLL for (size_t p = 0; p < pixels; p++) {
    N(i8dw_finish)(walk, acc + 2 * p, walk->out, out_at + p * walk->piece.out_step, n);
  }
}

// All pixels of an area for one vector of channels.
SMR_INLINE void N(i8dw_run)(const struct N(i8dw_walk) * given, const size_t taps_w,
                            const size_t step, const int full) {
  const struct N(i8dw_walk) walk = *given;
  for (size_t row = 0; row < walk.piece.rows; row++) {
    const int8_t *in = walk.piece.in + row * walk.piece.in_row;
    size_t out = walk.piece.out + row * walk.piece.out_row, left = walk.piece.pixels;
    for (; left >= I8DW_PIXELS; left -= I8DW_PIXELS) {
      N(i8dw_pixels)(&walk, in, out, I8DW_PIXELS, taps_w, step, full);
      in += I8DW_PIXELS * walk.piece.in_step;
      out += I8DW_PIXELS * walk.piece.out_step;
    }
    for (; left > 0; left--) {
      N(i8dw_pixels)(&walk, in, out, 1, taps_w, step, full);
      in += walk.piece.in_step;
      out += walk.piece.out_step;
    }
  }
}

#define I8DW_RUN(name, taps_w, step, full)                           \
  static void N(i8dw_run_##name)(const struct N(i8dw_walk) * walk) { \
    N(i8dw_run)(walk, taps_w, step, full);                           \
  }
I8DW_RUN(3s1, 3, 1, 1)
I8DW_RUN(3s2, 3, 2, 1)
I8DW_RUN(5s1, 5, 1, 1)
I8DW_RUN(5s2, 5, 2, 1)
I8DW_RUN(7s1, 7, 1, 1)
I8DW_RUN(any, 0, 0, 1)
I8DW_RUN(part_3s1, 3, 1, 0)
I8DW_RUN(part_3s2, 3, 2, 0)
I8DW_RUN(part_any, 0, 0, 0)

typedef void (*N(i8dw_run_function))(const struct N(i8dw_walk) * walk);

// Whether a function for a rectangle of `taps` needs weights for odd pixels.
static int N(i8dw_shares)(const struct smr_i8_dwconv_area *area) {
  const size_t taps = area->taps_w;
  if (taps != 3 && taps != 5 && taps != 7) return 0;
  for (size_t i = 0; i < area->count; i++)
    if (area->pieces[i].in_step == area->pieces[i].in_tap) return 1;
  return 0;
}

// If this build lacks the special function, the general one computes the same sums.
static N(i8dw_run_function)
    N(i8dw_choose)(const struct smr_i8_dwconv_piece *piece, size_t taps, int full) {
  const int rests = I8DW_WORDS <= 16 ? SMR_HAS(i8_dwconv_rest_16) : SMR_HAS(i8_dwconv_rest_32);
  const int part = rests && !full;
  // Vectors of few channels leave few over: the general function does for those.
  const int special = !part || I8DW_WORDS > 8;
  if (piece->in_step == piece->in_tap) {
    if (SMR_HAS(i8_dwconv_3s1) && taps == 3 && special)
      return part ? N(i8dw_run_part_3s1) : N(i8dw_run_3s1);
    if (SMR_HAS(i8_dwconv_5s1) && taps == 5 && full) return N(i8dw_run_5s1);
    if (SMR_HAS(i8_dwconv_7s1) && taps == 7 && full) return N(i8dw_run_7s1);
  } else if (piece->in_step == 2 * piece->in_tap) {
    if (SMR_HAS(i8_dwconv_3s2) && taps == 3 && special)
      return part ? N(i8dw_run_part_3s2) : N(i8dw_run_3s2);
    if (SMR_HAS(i8_dwconv_5s2) && taps == 5 && full) return N(i8dw_run_5s2);
  }
  return part ? N(i8dw_run_part_any) : N(i8dw_run_any);
}

// Channels [c, c + n) of an area's weights, and the output of their preparation.
struct N(i8dw_stage) {
  const struct smr_i8_dwconv_area *area;
  size_t c, panels;  // panels with these channels
  I8DW_V w_zero;     // int16
};

SMR_INLINE I8DW_V N(i8dw_weight)(const struct N(i8dw_stage) * stage, size_t ky, size_t kx) {
  const struct smr_i8_dwconv_area *area = stage->area;
  const int8_t *at = area->w + stage->c / SMR_I8_PANEL * area->panel_stride_bytes +
                     (ky * area->w_taps + kx) * SMR_I8_PANEL + stage->c % SMR_I8_PANEL;
  return I8DW_OP(sub_epi16)(N(i8dw_panels)(at, area->panel_stride_bytes, stage->panels),
                            stage->w_zero);
}

// Prepare everything that depends on the channels from `c` on. Writes their weights to `staged`.
SMR_INLINE void N(i8dw_prepare)(const struct smr_i8_dwconv_area *area, size_t c, I8DW_V *staged,
                                struct N(i8dw_walk) * walk) {
  const size_t left = area->channels - c, pairs = (area->taps_w + 1) / 2;
  walk->n = left < I8DW_WORDS ? left : I8DW_WORDS;
  struct N(i8dw_stage)
      stage = {area, c, (walk->n + SMR_I8_PANEL - 1) / SMR_I8_PANEL, I8DW_OP(set1_epi16)(0)};
  if (area->w_zero) {
    int16_t zeros[I8DW_WORDS] = {0};
    for (size_t i = 0; i < I8DW_WORDS && i < stage.panels * SMR_I8_PANEL; i++)
      zeros[i] = (int16_t)area->w_zero[c + i];
    memcpy(&stage.w_zero, zeros, sizeof zeros);
  }
  const I8DW_V none = I8DW_OP(set1_epi16)(0), x_zero = I8DW_OP(set1_epi16)((short)area->x_zero);
  I8DW_V start[2] = {none, none};
  if (area->end.bias) N(i8dw_spread)(area->end.bias + c, stage.panels, start);
  for (size_t ky = 0; ky < area->taps_h; ky++) {
    I8DW_V *row = staged + ky * walk->w_row, last = none;
    for (size_t j = 0; j < pairs; j++) {
      const I8DW_V first = N(i8dw_weight)(&stage, ky, 2 * j);
      const I8DW_V second = 2 * j + 1 < area->taps_w ? N(i8dw_weight)(&stage, ky, 2 * j + 1) : none;
      N(i8dw_pair)(first, second, row + 2 * j);
      for (size_t half = 0; half < 2; half++)
        start[half] =
            I8DW_OP(sub_epi32)(start[half], I8DW_OP(madd_epi16)(row[2 * j + half], x_zero));
      if (walk->w_row > walk->w_shift) N(i8dw_pair)(last, first, row + walk->w_shift + 2 * j);
      last = second;
    }
  }
  walk->w = staged;
  walk->start[0] = start[0];
  walk->start[1] = start[1];
  if (area->end.to == SMR_I8_TO_I8)
    N(i8dw_spread)(area->end.multiplier + c, stage.panels, walk->multiplier);
}

// The fields that do not depend on channels or rectangles.
SMR_INLINE struct N(i8dw_walk) N(i8dw_walk_of)(const struct smr_i8_dwconv_area *area) {
  const struct smr_i8_dwconv_end *end = &area->end;
  const I8DW_V none = I8DW_OP(set1_epi16)(0);
  const size_t shift = (area->taps_w + 1) / 2 * 2;
  return (struct N(i8dw_walk)){.taps_h = area->taps_h,
                               .taps_w = area->taps_w,
                               .out = area->out,
                               .w_row = N(i8dw_shares)(area) ? 2 * shift : shift,
                               .w_shift = shift,
                               .multiplier = {none, none},
                               .limits = N(i8dw_limits_of)(end),
                               .to = end->to};
}

static void N(i8_dwconv_area)(const struct smr_i8_dwconv_area *area) {
  // At most four vectors for two taps and a pixel's odd one.
  if (area->taps_h > I8DW_STAGED || area->taps_w > I8DW_STAGED ||
      area->taps_h * ((area->taps_w + 1) / 2) * (area->taps_w <= 7 ? 4 : 2) > I8DW_STAGED) {
    smr_i8_dwconv_area_scalar(area);
    return;
  }
  I8DW_V staged[I8DW_STAGED];
  struct N(i8dw_walk) walk = N(i8dw_walk_of)(area);
  for (size_t c = area->first; c < area->channels; c += I8DW_WORDS) {
    N(i8dw_prepare)(area, c, staged, &walk);
    for (size_t i = 0; i < area->count; i++) {
      walk.piece = area->pieces[i];
      walk.piece.in += c;
      walk.piece.out += c;
      N(i8dw_choose)(&walk.piece, area->taps_w, walk.n == I8DW_WORDS)(&walk);
    }
  }
}

// One pixel through its pointers.
SMR_INLINE void N(i8dw_indirect_pixel)(const struct N(i8dw_walk) * walk,
                                       const struct smr_i8_dwconv_indirect_args *args, size_t c,
                                       const int8_t *const *x, size_t out_at, const int full) {
  I8DW_V acc[2] = {walk->start[0], walk->start[1]}, pair[2];
  for (size_t t = 0; t < args->taps; t += 2) {
    const int8_t *a = x[t], *b = x[t + (t + 1 < args->taps)];
    if (a != args->pad) a += args->in_offset_bytes;
    if (b != args->pad) b += args->in_offset_bytes;
    N(i8dw_pair)(N(i8dw_load)(a + c, walk->n, full), N(i8dw_load)(b + c, walk->n, full), pair);
    N(i8dw_mac)(acc, pair, walk->w + t);
  }
  N(i8dw_finish)(walk, acc, walk->out, out_at, full ? I8DW_WORDS : walk->n);
}

static void N(i8_dwconv_indirect)(const struct smr_i8_dwconv_indirect_args *args, size_t begin,
                                  size_t end) {
  if (args->taps > I8DW_STAGED - 1) {
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
  I8DW_V staged[I8DW_STAGED];
  struct N(i8dw_walk) walk = N(i8dw_walk_of)(&area);
  for (size_t c = 0; c < args->channels; c += I8DW_WORDS) {
    N(i8dw_prepare)(&area, c, staged, &walk);
    for (size_t p = begin; p < end; p++) {
      const int8_t *const *x = args->indirect + p * args->taps;
      if (walk.n == I8DW_WORDS)
        N(i8dw_indirect_pixel)(&walk, args, c, x, p * args->out_stride + c, 1);
      else
        N(i8dw_indirect_pixel)(&walk, args, c, x, p * args->out_stride + c, 0);
    }
  }
}

#undef I8DW_PIXELS
#undef I8DW_STAGED
#undef I8DW_RUN
#undef I8DW_V
#undef I8DW_F
#undef I8DW_ENDS
#undef I8DW_OP
#undef I8DW_FLOATS
#undef I8DW_WORDS
