// SPDX-License-Identifier: Apache-2.0
// int8 depthwise convolution for AVX-512 with VNNI: four taps of a channel by one instruction.
//
// Inputs become unsigned by an offset of 128, which the bias compensates together with their zero
// point. 64 channels of four neighbouring taps are interleaved to four vectors. Within a 128-bit
// lane, vector i holds channels 4i to 4i + 3, and packing the sums restores the order:
//   taps  a0 a1 … a15   b0 b1 …   c0 …   d0 …     (of a lane)
//   pairs a0 b0 a1 b1 … a7 b7,  a8 b8 …           c0 d0 …
//   quads a0 b0 c0 d0 … a3 b3 c3 d3,  a4 …,  a8 …,  a12 …
//
// With strides of one, even and odd pixels share the quads, the odd ones with weights shifted by a
// tap; with strides of two, neighbours share the pairs.
#if defined(SMR_SIMD_AVX512VNNI)
#define I8DV_PIXELS 4    // pixels together
#define I8DV_STAGED 192  // vectors of weights that an area may need
#define I8DV_CHANNELS 64
#define I8DV_NONE SIZE_MAX

// Use of a vector: 64 channels; only the existing ones; or two rows of at most 32 channels, the
// second of which is read from (and written to) 32 bytes before its start.
enum i8dv_mode { I8DV_FULL, I8DV_PART, I8DV_ROWS };

// State of an area for one block of channels. Functions make a local copy.
struct i8dv_walk {
  struct smr_i8_dwconv_piece piece;  // of these channels
  size_t taps_h, taps_w;
  void *out;
  enum i8dv_mode mode;
  size_t n;                  // existing channels of the block
  __mmask64 mask;            // for them; in both halves with two rows
  size_t next_in, next_out;  // from row to row of the two
  const __m512i *w;          // [taps_h][shifts][quads][4]
  size_t w_row, w_shift;     // vectors between rows of taps, between shifts
  __m512i start[4], multiplier[4];
  __m512i zero, lo;  // int16, int8
  float hi;
  smr_i8_output to;
};

// GCC 12 copies accumulators around the intrinsic.
SMR_INLINE void i8dv_mac(__m512i *acc, const __m512i *x, const __m512i *w) {
  SMR_UNROLL for (size_t i = 0; i < 4; i++) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(acc[i]) : "v"(x[i]), "m"(w[i]));
  }
}

SMR_INLINE __m512i i8dv_load(const int8_t *x, const struct i8dv_walk *walk,
                             const enum i8dv_mode mode) {
  __m512i v;
  if (mode == I8DV_FULL) {
    v = _mm512_loadu_si512(x);
  } else if (mode == I8DV_PART) {
    v = _mm512_maskz_loadu_epi8(walk->mask, x);
  } else {
    v = _mm512_maskz_loadu_epi8(walk->mask & 0xffffffff, x);
    v = _mm512_mask_loadu_epi8(v, walk->mask & ~(__mmask64)0xffffffff, x + walk->next_in - 32);
  }
  return _mm512_xor_si512(v, _mm512_set1_epi8(-128));
}

SMR_INLINE void i8dv_pair(__m512i a, __m512i b, __m512i *pair) {
  pair[0] = _mm512_unpacklo_epi8(a, b);
  pair[1] = _mm512_unpackhi_epi8(a, b);
}

SMR_INLINE void i8dv_quad(const __m512i *ab, const __m512i *cd, __m512i *quad) {
  quad[0] = _mm512_unpacklo_epi16(ab[0], cd[0]);
  quad[1] = _mm512_unpackhi_epi16(ab[0], cd[0]);
  quad[2] = _mm512_unpacklo_epi16(ab[1], cd[1]);
  quad[3] = _mm512_unpackhi_epi16(ab[1], cd[1]);
}

// Four vectors of four lanes, [vector][lane], to [lane][vector]; its own inverse.
SMR_INLINE void i8dv_transpose(const __m512i *x, __m512i *y) {
  const __m512i a = _mm512_shuffle_i32x4(x[0], x[1], 0x88);
  const __m512i b = _mm512_shuffle_i32x4(x[0], x[1], 0xdd);
  const __m512i c = _mm512_shuffle_i32x4(x[2], x[3], 0x88);
  const __m512i d = _mm512_shuffle_i32x4(x[2], x[3], 0xdd);
  y[0] = _mm512_shuffle_i32x4(a, c, 0x88);
  y[1] = _mm512_shuffle_i32x4(b, d, 0x88);
  y[2] = _mm512_shuffle_i32x4(a, c, 0xdd);
  y[3] = _mm512_shuffle_i32x4(b, d, 0xdd);
}

// Clamp from above before rounding. Clamping from below may follow, because conversion and
// saturation keep small values small.
SMR_INLINE __m512i i8dv_round(__m512i acc, __m512i multiplier, __m512 hi) {
  const __m512 p = _mm512_mul_ps(_mm512_cvtepi32_ps(acc), _mm512_castsi512_ps(multiplier));
  return _mm512_cvtps_epi32(_mm512_min_ps(p, hi));
}

SMR_INLINE void i8dv_store_ints(const struct i8dv_walk *walk, const __m512i *acc, size_t at,
                                const enum i8dv_mode mode) {
  __m512i sums[4];
  i8dv_transpose(acc, sums);
  for (size_t i = 0; i < 4; i++) {
    const __mmask16 mask = (__mmask16)(walk->mask >> 16 * i);
    size_t to = at + 16 * i;
    if (mode == I8DV_ROWS && i >= 2) to += walk->next_out - 32;
    if (mask) _mm512_mask_storeu_epi32((int32_t *)walk->out + to, mask, sums[i]);
  }
}

SMR_INLINE void i8dv_finish(const struct i8dv_walk *walk, const __m512i *acc, size_t at,
                            const enum i8dv_mode mode) {
  if (walk->to == SMR_I8_TO_I32) {
    i8dv_store_ints(walk, acc, at, mode);
    return;
  }
  const __m512 hi = _mm512_set1_ps(walk->hi);
  __m512i y[4];
  SMR_UNROLL for (size_t i = 0; i < 4; i++) y[i] = i8dv_round(acc[i], walk->multiplier[i], hi);
  const __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(y[0], y[1]), walk->zero);
  const __m512i high = _mm512_adds_epi16(_mm512_packs_epi32(y[2], y[3]), walk->zero);
  const __m512i bytes = _mm512_max_epi8(_mm512_packs_epi16(low, high), walk->lo);
  int8_t *out = (int8_t *)walk->out + at;
  if (mode == I8DV_FULL) {
    _mm512_storeu_si512(out, bytes);
  } else if (mode == I8DV_PART) {
    _mm512_mask_storeu_epi8(out, walk->mask, bytes);
  } else {
    _mm512_mask_storeu_epi8(out, walk->mask & 0xffffffff, bytes);
    _mm512_mask_storeu_epi8(out + walk->next_out - 32, walk->mask & ~(__mmask64)0xffffffff, bytes);
  }
}

// One row of an odd, constant number of taps, for pixels `step` taps apart.
SMR_INLINE void i8dv_row(const struct i8dv_walk *walk, const int8_t *in, const __m512i *w,
                         const size_t pixels, const size_t taps_w, const size_t step,
                         const enum i8dv_mode mode, __m512i *acc) {
  const size_t inputs = (pixels - 1) * step + taps_w, of_pixel = (taps_w + 3) / 4;
  const size_t last = step == 1 ? (pixels - 1) / 2 : pixels - 1;  // pair the last pixel starts in
  __m512i ab[2], cd[2], x[4];
  SMR_OPAQUE(in);
  i8dv_pair(i8dv_load(in, walk, mode), i8dv_load(in + walk->piece.in_tap, walk, mode), ab);
  SMR_UNROLL for (size_t t = 0; t <= last + 2 * (of_pixel - 1); t++) {
    const size_t next = 2 * t + 2;  // a missing input is multiplied by weights of 0
    if (next < inputs) {
      const __m512i a = i8dv_load(in + next * walk->piece.in_tap, walk, mode);
      i8dv_pair(a,
                next + 1 < inputs ? i8dv_load(in + (next + 1) * walk->piece.in_tap, walk, mode) : a,
                cd);
    }
    i8dv_quad(ab, cd, x);
    SMR_UNROLL for (size_t p = 0; p < pixels; p++) {
      const size_t from = step == 1 ? p / 2 : p;
      if (t < from || (t - from) % 2 || (t - from) / 2 >= of_pixel) continue;
      i8dv_mac(acc + 4 * p, x, w + (step == 1 ? p % 2 : 0) * walk->w_shift + 4 * ((t - from) / 2));
    }
    ab[0] = cd[0];
    ab[1] = cd[1];
  }
}

// Some output pixels. taps_w == 0: any geometry.
SMR_INLINE void i8dv_pixels(const struct i8dv_walk *walk, const int8_t *in, size_t out_at,
                            const size_t pixels, const size_t taps_w, const size_t step,
                            const enum i8dv_mode mode) {
  __m512i acc[4 * I8DV_PIXELS];
  SMR_UNROLL for (size_t i = 0; i < 4 * pixels; i++) acc[i] = walk->start[i % 4];
  const __m512i *w = walk->w;
  for (size_t ky = 0; ky < walk->taps_h; ky++, w += walk->w_row, in += walk->piece.in_tap_row) {
    if (taps_w > 0) {
      i8dv_row(walk, in, w, pixels, taps_w, step, mode, acc);
      continue;
    }
    for (size_t kx = 0; kx < walk->taps_w; kx += 4) {
      const size_t left = walk->taps_w - kx, tap = walk->piece.in_tap;
      const size_t b = left > 1 ? tap : 0, c = left > 2 ? 2 * tap : 0, d = left > 3 ? 3 * tap : c;
      const int8_t *at = in + kx * tap;
      SMR_UNROLL for (size_t p = 0; p < pixels; p++, at += walk->piece.in_step) {
        __m512i ab[2], cd[2], x[4];
        i8dv_pair(i8dv_load(at, walk, mode), i8dv_load(at + b, walk, mode), ab);
        i8dv_pair(i8dv_load(at + c, walk, mode), i8dv_load(at + d, walk, mode), cd);
        i8dv_quad(ab, cd, x);
        i8dv_mac(acc + 4 * p, x, w + kx);
      }
    }
  }
  SMR_UNROLL for (size_t p = 0; p < pixels; p++) {
    i8dv_finish(walk, acc + 4 * p, out_at + p * walk->piece.out_step, mode);
  }
}

// All pixels of an area for one block of channels.
SMR_INLINE void i8dv_run(const struct i8dv_walk *given, const size_t taps_w, const size_t step,
                         const enum i8dv_mode mode) {
  struct i8dv_walk walk = *given;
  walk.next_in = walk.piece.in_row;
  walk.next_out = walk.piece.out_row;
  for (size_t row = 0; row < walk.piece.rows; row += mode == I8DV_ROWS ? 2 : 1) {
    if (mode == I8DV_ROWS && row + 1 == walk.piece.rows)
      walk.next_in = walk.next_out = 0;  // the same row twice
    const int8_t *in = walk.piece.in + row * walk.piece.in_row;
    size_t out = walk.piece.out + row * walk.piece.out_row, left = walk.piece.pixels;
    for (; left >= I8DV_PIXELS; left -= I8DV_PIXELS) {
      i8dv_pixels(&walk, in, out, I8DV_PIXELS, taps_w, step, mode);
      in += I8DV_PIXELS * walk.piece.in_step;
      out += I8DV_PIXELS * walk.piece.out_step;
    }
    if (left >= 2) {
      i8dv_pixels(&walk, in, out, 2, taps_w, step, mode);
      in += 2 * walk.piece.in_step;
      out += 2 * walk.piece.out_step;
      left -= 2;
    }
    if (left) i8dv_pixels(&walk, in, out, 1, taps_w, step, mode);
  }
}

#define I8DV_RUN(name, taps_w, step, mode) \
  static void i8dv_run_##name(const struct i8dv_walk *walk) { i8dv_run(walk, taps_w, step, mode); }
I8DV_RUN(3s1, 3, 1, I8DV_FULL)
I8DV_RUN(3s2, 3, 2, I8DV_FULL)
I8DV_RUN(5s1, 5, 1, I8DV_FULL)
I8DV_RUN(5s2, 5, 2, I8DV_FULL)
I8DV_RUN(7s1, 7, 1, I8DV_FULL)
I8DV_RUN(any, 0, 0, I8DV_FULL)
I8DV_RUN(part_3s1, 3, 1, I8DV_PART)
I8DV_RUN(part_3s2, 3, 2, I8DV_PART)
I8DV_RUN(part_5s1, 5, 1, I8DV_PART)
I8DV_RUN(part_any, 0, 0, I8DV_PART)
I8DV_RUN(rows_3s1, 3, 1, I8DV_ROWS)
I8DV_RUN(rows_3s2, 3, 2, I8DV_ROWS)
I8DV_RUN(rows_5s1, 5, 1, I8DV_ROWS)
I8DV_RUN(rows_5s2, 5, 2, I8DV_ROWS)
I8DV_RUN(rows_7s1, 7, 1, I8DV_ROWS)
I8DV_RUN(rows_any, 0, 0, I8DV_ROWS)

typedef void (*i8dv_run_function)(const struct i8dv_walk *walk);

// Whether a function for a rectangle of `taps` needs weights for odd pixels.
static int i8dv_shares(const struct smr_i8_dwconv_area *area) {
  const size_t taps = area->taps_w;
  if (taps != 3 && taps != 5 && taps != 7) return 0;
  for (size_t i = 0; i < area->count; i++)
    if (area->pieces[i].in_step == area->pieces[i].in_tap) return 1;
  return 0;
}

// If this build lacks the special function, the general one computes the same sums.
static i8dv_run_function i8dv_choose(const struct smr_i8_dwconv_piece *piece, size_t taps,
                                     enum i8dv_mode mode) {
#define I8DV_MODE(all, part, rows)                                 \
  (mode == I8DV_FULL   ? (SMR_HAS(i8_dwconv_full) ? (all) : NULL)  \
   : mode == I8DV_PART ? (SMR_HAS(i8_dwconv_more) ? (part) : NULL) \
                       : (SMR_HAS(i8_dwconv_half) ? (rows) : NULL))
  if (piece->in_step == piece->in_tap) {
    if (SMR_HAS(i8_dwconv_3s1) && taps == 3)
      return I8DV_MODE(i8dv_run_3s1, i8dv_run_part_3s1, i8dv_run_rows_3s1);
    if (SMR_HAS(i8_dwconv_5s1) && taps == 5)
      return I8DV_MODE(i8dv_run_5s1, i8dv_run_part_5s1, i8dv_run_rows_5s1);
    if (SMR_HAS(i8_dwconv_7s1) && taps == 7)
      return I8DV_MODE(i8dv_run_7s1, i8dv_run_part_any, i8dv_run_rows_7s1);
  } else if (piece->in_step == 2 * piece->in_tap) {
    if (SMR_HAS(i8_dwconv_3s2) && taps == 3)
      return I8DV_MODE(i8dv_run_3s2, i8dv_run_part_3s2, i8dv_run_rows_3s2);
    if (SMR_HAS(i8_dwconv_5s2) && taps == 5)
      return I8DV_MODE(i8dv_run_5s2, i8dv_run_part_any, i8dv_run_rows_5s2);
  }
  return I8DV_MODE(i8dv_run_any, i8dv_run_part_any, i8dv_run_rows_any);
#undef I8DV_MODE
}

// Weights of tap (ky, kx) of the channels from `c` on; 0 for taps after the end of the row.
SMR_INLINE __m512i i8dv_weight(const struct smr_i8_dwconv_area *area, size_t c,
                               const size_t *panels, bool half, size_t ky, size_t kx) {
  if (kx >= area->taps_w) return _mm512_setzero_si512();
  const int8_t *at = area->w + c / SMR_I8_PANEL * area->panel_stride_bytes +
                     (ky * area->w_taps + kx) * SMR_I8_PANEL;
  __m128i p[4];
  for (size_t i = 0; i < 4; i++) {
    p[i] = panels[i] == I8DV_NONE
               ? _mm_setzero_si128()
               : _mm_loadu_si128(
                     (const __m128i *)(const void *)(at + panels[i] * area->panel_stride_bytes));
    if (half) p[i] = _mm_unpacklo_epi64(p[i], p[i]);
  }
  const __m512i low = _mm512_inserti32x4(_mm512_castsi128_si512(p[0]), p[1], 1);
  return _mm512_inserti32x4(_mm512_inserti32x4(low, p[2], 2), p[3], 3);
}

// Panels of 32-bit words, in the order of the quads. `half`: only their first eight, twice.
SMR_INLINE void i8dv_spread(const void *x, const size_t *panels, bool half, __m512i *to) {
  __m512i natural[4];
  for (size_t i = 0; i < 4; i++) {
    natural[i] = panels[i] == I8DV_NONE ? _mm512_setzero_si512()
                                        : _mm512_loadu_si512((const char *)x + 64 * panels[i]);
    if (half) natural[i] = _mm512_shuffle_i64x2(natural[i], natural[i], 0x44);
  }
  i8dv_transpose(natural, to);
}

// Prepare everything that depends on the channels from `c` on. Writes their weights to `staged`.
static void i8dv_prepare(const struct smr_i8_dwconv_area *area, size_t c, __m512i *staged,
                         struct i8dv_walk *walk) {
  const size_t n = walk->n, there = (n + SMR_I8_PANEL - 1) / SMR_I8_PANEL;
  const bool half = walk->mode == I8DV_FULL && n <= SMR_I8_PANEL / 2;
  size_t panels[4];  // panels of the four quarters of the vector
  walk->mask = UINT64_MAX >> (I8DV_CHANNELS - n);
  if (walk->mode == I8DV_ROWS) walk->mask |= walk->mask << 32;
  for (size_t i = 0; i < 4; i++) {
    panels[i] = walk->mode == I8DV_ROWS ? i % 2 : i;
    if (walk->mode == I8DV_FULL) panels[i] %= there;
    if (panels[i] >= there) panels[i] = I8DV_NONE;
  }
  // Added to every input, as an unsigned byte.
  const __m512i offset = _mm512_set1_epi8((char)(uint8_t)(area->x_zero + 128));
  __m512i sums[4], bias[4], ab[2], cd[2];
  for (size_t i = 0; i < 4; i++) sums[i] = bias[i] = _mm512_setzero_si512();
  if (area->end.bias) i8dv_spread(area->end.bias + c, panels, half, bias);
  for (size_t ky = 0; ky < area->taps_h; ky++) {
    __m512i *row = staged + ky * walk->w_row, last = _mm512_setzero_si512();
    for (size_t kx = 0; kx < area->taps_w; kx += 4, row += 4) {
      __m512i w[4];
      for (size_t i = 0; i < 4; i++) w[i] = i8dv_weight(area, c, panels, half, ky, kx + i);
      i8dv_pair(w[0], w[1], ab);
      i8dv_pair(w[2], w[3], cd);
      i8dv_quad(ab, cd, row);
      const __m512i offsets[4] = {offset, offset, offset, offset};
      i8dv_mac(sums, offsets, row);
      if (walk->w_row > walk->w_shift) {
        i8dv_pair(last, w[0], ab);
        i8dv_pair(w[1], w[2], cd);
        i8dv_quad(ab, cd, row + walk->w_shift);
        last = w[3];
      }
    }
  }
  walk->w = staged;
  for (size_t i = 0; i < 4; i++) walk->start[i] = _mm512_sub_epi32(bias[i], sums[i]);
  if (area->end.to == SMR_I8_TO_I8)
    i8dv_spread(area->end.multiplier + c, panels, half, walk->multiplier);
}

// Whether a rectangle is so narrow and dense that a vector can hold several pixels: with steps of
// one, the channels of neighbouring pixels are adjacent.
static bool i8dv_dense(const struct smr_i8_dwconv_area *area,
                       const struct smr_i8_dwconv_piece *piece) {
  const size_t n = area->channels;
  return SMR_HAS(i8_dwconv_full) && (n == 8 || n == 16) && area->first == 0 &&
         area->end.to == SMR_I8_TO_I8 && piece->in_step == n && piece->in_tap == n &&
         piece->out_step == n && piece->pixels * n >= I8DV_CHANNELS;
}

// Such a rectangle. The last vector may overlap the one before.
static void i8dv_run_dense(struct i8dv_walk *walk) {
  const size_t bytes = walk->piece.pixels * walk->piece.in_step;
  walk->piece.in_step = walk->piece.out_step = I8DV_CHANNELS;
  walk->piece.pixels = bytes / I8DV_CHANNELS;
  i8dv_run_any(walk);
  if (bytes % I8DV_CHANNELS == 0) return;
  walk->piece.in += bytes - I8DV_CHANNELS;
  walk->piece.out += bytes - I8DV_CHANNELS;
  walk->piece.pixels = 1;
  i8dv_run_any(walk);
}

static void i8dv_area(const struct smr_i8_dwconv_area *area) {
  __m512i staged[I8DV_STAGED];
  const struct smr_i8_dwconv_end *end = &area->end;
  const size_t shift = (area->taps_w + 3) / 4 * 4;
  struct i8dv_walk walk = {.taps_h = area->taps_h,
                           .taps_w = area->taps_w,
                           .out = area->out,
                           .w_row = i8dv_shares(area) ? 2 * shift : shift,
                           .w_shift = shift,
                           .zero = _mm512_set1_epi16((short)end->zero),
                           .lo = _mm512_set1_epi8((char)end->lo),
                           .hi = (float)(end->hi - end->zero),
                           .to = end->to};
  for (size_t i = 0; i < 4; i++) walk.multiplier[i] = _mm512_setzero_si512();
  for (size_t c = area->first; c < area->channels; c += I8DV_CHANNELS) {
    const size_t left = area->channels - c;
    walk.n = left < I8DV_CHANNELS ? left : I8DV_CHANNELS;
    size_t dense = 0;
    for (size_t i = 0; i < area->count; i++) {
      if (!i8dv_dense(area, &area->pieces[i])) continue;
      walk.mode = I8DV_FULL;
      if (dense++ == 0) i8dv_prepare(area, c, staged, &walk);
      walk.piece = area->pieces[i];
      i8dv_run_dense(&walk);
    }
    if (dense == area->count) continue;
    walk.mode = left >= I8DV_CHANNELS ? I8DV_FULL : left > 32 ? I8DV_PART : I8DV_ROWS;
    i8dv_prepare(area, c, staged, &walk);
    for (size_t i = 0; i < area->count; i++) {
      if (dense > 0 && i8dv_dense(area, &area->pieces[i])) continue;
      walk.piece = area->pieces[i];
      walk.piece.in += c;
      walk.piece.out += c;
      i8dv_choose(&walk.piece, area->taps_w, walk.mode)(&walk);
    }
  }
}

static void N(i8_dwconv_area)(const struct smr_i8_dwconv_area *area) {
  // Weights minus their zero points do not fit a byte.
  const size_t most = I8DV_STAGED / 8;
  if (area->w_zero || area->taps_h > most || area->taps_w > I8DV_STAGED ||
      area->taps_h * ((area->taps_w + 3) / 4) > (area->taps_w <= 7 ? most : 2 * most))
    smr_i8_dwconv_area_avx512(area);
  else
    i8dv_area(area);
}

static void N(i8_dwconv_indirect)(const struct smr_i8_dwconv_indirect_args *args, size_t begin,
                                  size_t end) {
  smr_i8_dwconv_indirect_avx512(args, begin, end);  // pixels share nothing
}
#undef I8DV_PIXELS
#undef I8DV_STAGED
#undef I8DV_CHANNELS
#undef I8DV_NONE
#undef I8DV_RUN
#endif
