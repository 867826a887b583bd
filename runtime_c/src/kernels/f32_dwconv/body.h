// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution over the vocabulary.
//
// Wide areas are processed one vector of channels at a time, four pixels together: weights stay in
// registers, neighbouring pixels share loads, and rows of input stay in L1 for the next row of
// output. Narrow areas (borders) are processed pixel by pixel, four vectors of channels together,
// which hides the latency of the sums.

// Vector registers. WebAssembly's engines have no more than x86 has.
#if defined(SMR_SIMD_WASM)
#define DW_REGISTERS 15
#else
#define DW_REGISTERS (VF == 16 || VF == 4 ? 32 : 16)
#endif
#define DW_PIXELS 4        // pixels together
#define DW_MAX_TAPS_W 5    // widest row of taps that is unrolled
#define DW_STAGED_TAPS 49  // largest kernel whose float16 weights are widened once per area

// Byte offset of the first weight of the vector of channels from c on, in a tap of a panel.
SMR_INLINE size_t N(dwconv_w_at)(size_t c, size_t panel_stride, size_t element_bytes) {
  return c / SMR_PANEL * panel_stride + c % SMR_PANEL * element_bytes;
}

SMR_INLINE N(vf) N(dwconv_end)(N(vf) v, const float *residual, size_t n, N(vf) lo, N(vf) hi) {
  if (residual) v = N(add)(v, N(load_n)(residual, n));
  return N(clamp)(v, lo, hi);
}

// State of an area for one vector of channels. Functions make a local copy: stores cannot change
// it, so it stays in registers.
struct N(dwconv_walk) {
  size_t rows, pixels, taps_h, taps_w;
  const float *in, *w, *residual;
  size_t in_row, in_step, in_tap_row, in_tap;
  size_t w_row, w_step;  // elements between rows of taps, between taps
  float *out;
  size_t out_row, out_step, residual_row, residual_step;
  N(vf) bias, lo, hi;
  size_t n;  // existing channels of the vector
};

// The inputs of one row of taps: `count` neighbours.
SMR_INLINE void N(dwconv_inputs)(const float *at, size_t tap, const size_t count, const int full,
                                 size_t n, N(vf) * x) {
  SMR_OPAQUE(at);
  SMR_UNROLL for (size_t i = 0; i < count; i++) {
    x[i] = full ? N(load)(at + i * tap) : N(load_n)(at + i * tap, n);
  }
}

// Some output pixels from `in` to `out`. If taps_w > 0, rows of taps are unrolled, and pixels,
// `step` taps apart, share loads. If taps_h > 0, all weights are in `held`.
SMR_INLINE void N(dwconv_pixels)(const struct N(dwconv_walk) * walk, const float *in, float *out,
                                 const float *residual, const size_t pixels, const size_t taps_h,
                                 const size_t taps_w, const size_t step, const int full,
                                 const N(vf) * held) {
  const size_t n = walk->n;
  N(vf) acc[DW_PIXELS], x[2 * DW_PIXELS + DW_MAX_TAPS_W];
  SMR_UNROLL for (size_t p = 0; p < pixels; p++) acc[p] = walk->bias;
  if (taps_w == 0) {
    for (size_t ky = 0; ky < walk->taps_h; ky++) {
      for (size_t kx = 0; kx < walk->taps_w; kx++) {
        const N(vf) w = N(load)(walk->w + ky * walk->w_row + kx * walk->w_step);
        N(dwconv_inputs)(in + ky * walk->in_tap_row + kx * walk->in_tap, walk->in_step, pixels,
                         full, n, x);
        SMR_UNROLL for (size_t p = 0; p < pixels; p++) acc[p] = N(fma)(x[p], w, acc[p]);
      }
    }
  } else if (taps_h) {
    SMR_UNROLL for (size_t ky = 0; ky < taps_h; ky++) {
      N(dwconv_inputs)(in + ky * walk->in_tap_row, walk->in_tap, (pixels - 1) * step + taps_w, full,
                       n, x);
      SMR_UNROLL for (size_t kx = 0; kx < taps_w; kx++) {
        SMR_UNROLL for (size_t p = 0; p < pixels; p++) {
          acc[p] = N(fma)(x[p * step + kx], held[ky * taps_w + kx], acc[p]);
        }
      }
    }
  } else {
    const float *w = walk->w;
    for (size_t ky = 0; ky < walk->taps_h; ky++, w += walk->w_row) {
      N(dwconv_inputs)(in + ky * walk->in_tap_row, walk->in_tap, (pixels - 1) * step + taps_w, full,
                       n, x);
      SMR_UNROLL for (size_t kx = 0; kx < taps_w; kx++) {
        const N(vf) v = N(load)(w + kx * walk->w_step);
        SMR_UNROLL for (size_t p = 0; p < pixels; p++) {
          acc[p] = N(fma)(x[p * step + kx], v, acc[p]);
        }
      }
    }
  }
  SMR_UNROLL for (size_t p = 0; p < pixels; p++) {
    const float *r = residual ? residual + p * walk->residual_step : NULL;
    const N(vf) y = N(dwconv_end)(acc[p], r, n, walk->lo, walk->hi);
    if (full) {
      N(store)(out + p * walk->out_step, y);
    } else {
      N(store_n)(out + p * walk->out_step, y, n);
    }
  }
}

// All pixels of an area for one vector of channels.
SMR_INLINE void N(dwconv_run)(const struct N(dwconv_walk) * given, const size_t taps_h,
                              const size_t taps_w, const size_t step, const int full,
                              const int may_add) {
  struct N(dwconv_walk) walk = *given;
  if (!may_add) walk.residual = NULL;
  N(vf) held[9];
  SMR_UNROLL for (size_t ky = 0; ky < taps_h; ky++) {
    SMR_UNROLL for (size_t kx = 0; kx < taps_w; kx++) {
      held[ky * taps_w + kx] = N(load)(walk.w + ky * walk.w_row + kx * walk.w_step);
    }
  }
  for (size_t row = 0; row < walk.rows; row++) {
    const float *in = walk.in + row * walk.in_row;
    const float *residual = walk.residual ? walk.residual + row * walk.residual_row : NULL;
    float *out = walk.out + row * walk.out_row;
    size_t left = walk.pixels;
    for (; left >= DW_PIXELS; left -= DW_PIXELS) {
      N(dwconv_pixels)(&walk, in, out, residual, DW_PIXELS, taps_h, taps_w, step, full, held);
      in += DW_PIXELS * walk.in_step;
      out += DW_PIXELS * walk.out_step;
      if (residual) residual += DW_PIXELS * walk.residual_step;
    }
    if (left >= 2) {
      N(dwconv_pixels)(&walk, in, out, residual, 2, taps_h, taps_w, step, full, held);
      in += 2 * walk.in_step;
      out += 2 * walk.out_step;
      if (residual) residual += 2 * walk.residual_step;
      left -= 2;
    }
    if (left) N(dwconv_pixels)(&walk, in, out, residual, 1, taps_h, taps_w, step, full, held);
  }
}

#define DW_RUN(name, taps_h, taps_w, step)                               \
  static void N(dwconv_run_##name)(const struct N(dwconv_walk) * walk) { \
    N(dwconv_run)(walk, taps_h, taps_w, step, 1, 0);                     \
  }
#if DW_REGISTERS >= 32
DW_RUN(3x3s1, 3, 3, 1)
DW_RUN(3x3s2, 3, 3, 2)
#endif
DW_RUN(x3s1, 0, 3, 1)
DW_RUN(x3s2, 0, 3, 2)
DW_RUN(x5s1, 0, 5, 1)
DW_RUN(x5s2, 0, 5, 2)
DW_RUN(any, 0, 0, 0)
// Partial vectors of channels, and the rare case of a residual.
static void N(dwconv_run_part)(const struct N(dwconv_walk) * walk) {
  N(dwconv_run)(walk, 0, 0, 0, 0, 1);
}
static void N(dwconv_run_part_x3s1)(const struct N(dwconv_walk) * walk) {
  N(dwconv_run)(walk, 0, 3, 1, 0, 0);
}
static void N(dwconv_run_part_x3s2)(const struct N(dwconv_walk) * walk) {
  N(dwconv_run)(walk, 0, 3, 2, 0, 0);
}

typedef void (*N(dwconv_run_function))(const struct N(dwconv_walk) * walk);

static N(dwconv_run_function) N(dwconv_choose)(const struct smr_f32_dwconv_area *area, int full) {
  const size_t step = area->in_step == area->in_tap ? 1 : area->in_step == 2 * area->in_tap ? 2 : 0;
  const int by3 = area->taps_w == 3, by5 = area->taps_w == 5;
  if (SMR_HAS(f32_dwconv_part) && (!full || area->residual)) {
    if (SMR_HAS(f32_dwconv_3s1) && !area->residual && by3 && step == 1)
      return N(dwconv_run_part_x3s1);
    if (SMR_HAS(f32_dwconv_3s2) && !area->residual && by3 && step == 2)
      return N(dwconv_run_part_x3s2);
    return N(dwconv_run_part);
  }
#if DW_REGISTERS >= 32
  if (SMR_HAS(f32_dwconv_3s1) && area->taps_h == 3 && by3 && step == 1) return N(dwconv_run_3x3s1);
  if (SMR_HAS(f32_dwconv_3s2) && area->taps_h == 3 && by3 && step == 2) return N(dwconv_run_3x3s2);
#endif
  if (SMR_HAS(f32_dwconv_3s1) && by3 && step == 1) return N(dwconv_run_x3s1);
  if (SMR_HAS(f32_dwconv_3s2) && by3 && step == 2) return N(dwconv_run_x3s2);
  if (SMR_HAS(f32_dwconv_5s1) && by5 && step == 1) return N(dwconv_run_x5s1);
  if (SMR_HAS(f32_dwconv_5s2) && by5 && step == 2) return N(dwconv_run_x5s2);
  return N(dwconv_run_any);
}

// An area, one vector of channels at a time.
static void N(dwconv_long)(const struct smr_f32_dwconv_area *area) {
  const int f16 = SMR_HAS(f32_dwconv_f16w) && area->w_type == SMR_GEMM_F16;
  const size_t bytes = f16 ? sizeof(uint16_t) : sizeof(float);
  const N(dwconv_run_function) run = N(dwconv_choose)(area, 1), part = N(dwconv_choose)(area, 0);
  struct N(dwconv_walk) walk = {.rows = area->rows,
                                .pixels = area->pixels,
                                .taps_h = area->taps_h,
                                .taps_w = area->taps_w,
                                .in_row = area->in_row,
                                .in_step = area->in_step,
                                .in_tap_row = area->in_tap_row,
                                .in_tap = area->in_tap,
                                .w_row = area->w_taps * SMR_PANEL,
                                .w_step = SMR_PANEL,
                                .out_row = area->out_row,
                                .out_step = area->out_step,
                                .residual_row = area->residual_row,
                                .residual_step = area->residual_step,
                                .lo = N(set1)(area->lo),
                                .hi = N(set1)(area->hi)};
  float staged[DW_STAGED_TAPS * VF];
  for (size_t c = 0; c < area->channels; c += VF) {
    const char *w = (const char *)area->w + N(dwconv_w_at)(c, area->panel_stride_bytes, bytes);
    walk.n = area->channels - c < VF ? area->channels - c : VF;
    walk.in = area->in + c;
    walk.out = area->out + c;
    walk.residual = area->residual ? area->residual + c : NULL;
    walk.bias = area->bias ? N(load)(area->bias + c) : N(zero)();
    walk.w = (const float *)(const void *)w;
    if (f16) {
      walk.w = staged;
      walk.w_step = VF;
      walk.w_row = area->taps_w * VF;
      for (size_t t = 0; t < area->taps_h * area->taps_w; t++) {
        const size_t tap = t / area->taps_w * area->w_taps + t % area->taps_w;
        N(store)(staged + t * VF, N(load_f16)((const uint16_t *)(const void *)w + tap * SMR_PANEL));
      }
    }
    (walk.n == VF ? run : part)(&walk);
  }
}

// nv vectors of channels of one pixel, from c on; the last vector has `n` channels. Taps are read
// through `pointers` (per tap) or from the rectangle at `in`.
SMR_INLINE void N(dwconv_pixel)(const size_t nv, const int full,
                                const struct smr_f32_dwconv_area *area, const float *in, size_t c,
                                size_t n, const float *const *pointers, const float *zero,
                                size_t offset_bytes, float *out, const float *residual) {
  const int f16 = SMR_HAS(f32_dwconv_f16w) && area->w_type == SMR_GEMM_F16;
  const size_t bytes = f16 ? sizeof(uint16_t) : sizeof(float);
  N(vf) acc[4];
  SMR_UNROLL for (size_t v = 0; v < nv; v++) {
    acc[v] = area->bias ? N(load)(area->bias + c + v * VF) : N(zero)();
  }
  for (size_t ky = 0; ky < area->taps_h; ky++) {
    for (size_t kx = 0; kx < area->taps_w; kx++) {
      const float *x = in + ky * area->in_tap_row + kx * area->in_tap;
      if (SMR_HAS(f32_dwconv_indirect) && pointers) {
        const float *p = pointers[kx];
        x = p == zero ? p : (const float *)(const void *)((const char *)p + offset_bytes);
      }
      const size_t tap = ky * area->w_taps + kx;
      SMR_UNROLL for (size_t v = 0; v < nv; v++) {
        const size_t channel = c + v * VF;
        const char *at = (const char *)area->w + tap * SMR_PANEL * bytes +
                         N(dwconv_w_at)(channel, area->panel_stride_bytes, bytes);
        const N(vf) w = f16 ? N(load_f16)((const uint16_t *)(const void *)at)
                            : N(load)((const float *)(const void *)at);
        acc[v] = N(fma)(full ? N(load)(x + channel) : N(load_n)(x + channel, n), w, acc[v]);
      }
    }
  }
  const N(vf) lo = N(set1)(area->lo), hi = N(set1)(area->hi);
  SMR_UNROLL for (size_t v = 0; v < nv; v++) {
    const size_t channel = c + v * VF, lanes = full ? VF : n;
    const N(vf) y = N(dwconv_end)(acc[v], residual ? residual + channel : NULL, lanes, lo, hi);
    N(store_n)(out + channel, y, lanes);
  }
}

static void N(dwconv_channels)(const struct smr_f32_dwconv_area *area, const float *in,
                               const float *const *pointers, const float *zero, size_t offset_bytes,
                               float *out, const float *residual) {
  size_t c = 0;
  for (; c + 4 * VF <= area->channels; c += 4 * VF) {
    N(dwconv_pixel)(4, 1, area, in, c, VF, pointers, zero, offset_bytes, out, residual);
  }
  for (; c + VF <= area->channels; c += VF) {
    N(dwconv_pixel)(1, 1, area, in, c, VF, pointers, zero, offset_bytes, out, residual);
  }
  if (SMR_HAS(f32_dwconv_part) && c < area->channels) {
    N(dwconv_pixel)(1, 0, area, in, c, area->channels - c, pointers, zero, offset_bytes, out,
                    residual);
  }
}

static void N(dwconv_kernel_area)(const struct smr_f32_dwconv_area *area) {
  const int stageable =
      area->w_type == SMR_GEMM_F32 || area->taps_h * area->taps_w <= DW_STAGED_TAPS;
  // Two pixels that share taps are faster than four that do not.
  const int shares = area->pixels >= 2 && N(dwconv_choose)(area, 1) != N(dwconv_run_any);
  if ((area->pixels >= DW_PIXELS || shares) && stageable) {
    N(dwconv_long)(area);
    return;
  }
  if (area->rows >= DW_PIXELS && stageable) {
    // A border column: treat it as a row. Its pixels then share no taps.
    struct smr_f32_dwconv_area turned = *area;
    turned.rows = area->pixels, turned.pixels = area->rows;
    turned.in_row = area->in_step, turned.in_step = area->in_row;
    turned.out_row = area->out_step, turned.out_step = area->out_row;
    turned.residual_row = area->residual_step, turned.residual_step = area->residual_row;
    N(dwconv_long)(&turned);
    return;
  }
  for (size_t y = 0; y < area->rows; y++) {
    for (size_t x = 0; x < area->pixels; x++) {
      const size_t at = y * area->residual_row + x * area->residual_step;
      N(dwconv_channels)(area, area->in + y * area->in_row + x * area->in_step, NULL, NULL, 0,
                         area->out + y * area->out_row + x * area->out_step,
                         area->residual ? area->residual + at : NULL);
    }
  }
}

// Quads for one vector of channels, of which `n` exist. A row of quads reads two rows of input once
// and writes two rows of output sequentially.
SMR_INLINE void N(dwconv_quad_rows)(const struct smr_f32_dwconv_quads *given, size_t c,
                                    const int full, size_t n) {
  const struct smr_f32_dwconv_quads quads = *given;
  const float *weights =
      (const float *)(const void *)((const char *)quads.w +
                                    N(dwconv_w_at)(c, quads.panel_stride_bytes, sizeof(float)));
  N(vf) w[9];
  SMR_UNROLL for (size_t i = 0; i < 9; i++) w[i] = N(load)(weights + i * SMR_PANEL);
  for (size_t row = 0; row < quads.rows; row++) {
    const float *above = quads.in + row * quads.in_row + c, *below = above + quads.in_row;
    float *even = quads.out + 2 * row * quads.out_row + c, *odd = even + quads.out_row;
    N(vf) p = full ? N(load)(above) : N(load_n)(above, n);
    N(vf) r = full ? N(load)(below) : N(load_n)(below, n);
    for (size_t left = quads.pixels; left > 0; left--) {
      above += quads.in_step;
      below += quads.in_step;
      const N(vf) q = full ? N(load)(above) : N(load_n)(above, n);
      const N(vf) s = full ? N(load)(below) : N(load_n)(below, n);
      N(vf) y[4];
      y[0] = N(fma)(p, w[0], N(zero)());
      y[1] = N(fma)(q, w[4], N(zero)());
      y[2] = N(fma)(r, w[6], N(zero)());
      y[3] = N(fma)(s, w[8], N(zero)());
      y[0] = N(fma)(q, w[1], y[0]);
      y[1] = N(fma)(s, w[5], y[1]);
      y[2] = N(fma)(s, w[7], y[2]);
      y[0] = N(fma)(r, w[2], y[0]);
      y[0] = N(fma)(s, w[3], y[0]);
      if (full) {
        N(store)(even, y[0]);
        N(store)(even + quads.out_step, y[1]);
        N(store)(odd, y[2]);
        N(store)(odd + quads.out_step, y[3]);
      } else {
        N(store_n)(even, y[0], n);
        N(store_n)(even + quads.out_step, y[1], n);
        N(store_n)(odd, y[2], n);
        N(store_n)(odd + quads.out_step, y[3], n);
      }
      even += 2 * quads.out_step;
      odd += 2 * quads.out_step;
      p = q;
      r = s;
    }
  }
}

static void N(dwconv_kernel_quads)(const struct smr_f32_dwconv_quads *quads) {
  size_t c = 0;
  for (; c + VF <= quads->channels; c += VF) N(dwconv_quad_rows)(quads, c, 1, VF);
  if (SMR_HAS(f32_dwconv_part) && c < quads->channels)
    N(dwconv_quad_rows)(quads, c, 0, quads->channels - c);
}

static void N(dwconv_kernel_indirect)(const struct smr_f32_dwconv_indirect_args *args, size_t begin,
                                      size_t end) {
  const struct smr_f32_dwconv_area area = {.channels = args->channels,
                                           .taps_h = 1,
                                           .taps_w = args->taps,
                                           .w = args->w,
                                           .w_type = args->w_type,
                                           .w_taps = args->taps,
                                           .panel_stride_bytes = args->panel_stride_bytes,
                                           .bias = args->bias,
                                           .lo = args->lo,
                                           .hi = args->hi};
  for (size_t p = begin; p < end; p++) {
    // With pointers the rectangle is not read, so any address will do (its strides are 0).
    N(dwconv_channels)(&area, args->out, args->indirect + p * args->taps, args->zero,
                       args->in_offset_bytes, args->out + p * args->out_stride,
                       args->residual ? args->residual + p * args->residual_stride : NULL);
  }
}

#undef DW_PIXELS
#undef DW_MAX_TAPS_W
#undef DW_STAGED_TAPS
#undef DW_RUN
#undef DW_REGISTERS
