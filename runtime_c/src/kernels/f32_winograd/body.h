// SPDX-License-Identifier: Apache-2.0
// The transforms over the vocabulary. `form` is a constant at every call, so its branches vanish.

// The finite points of F(4, 3) other than 0 are +-A and +-B.
#define WINOGRAD_A 0.625
#define WINOGRAD_B 1.5
#define WINOGRAD_AA (WINOGRAD_A * WINOGRAD_A)
#define WINOGRAD_BB (WINOGRAD_B * WINOGRAD_B)

// Transform a line of input to points. The coefficients are those of the polynomials that are 0 at
// all other points.
SMR_INLINE void N(f32_winograd_to)(int form, const N(vf) * d, N(vf) * v) {
  if (form == SMR_WINOGRAD_F23) {
    v[0] = N(sub)(d[2], d[0]);
    v[1] = N(add)(d[2], d[1]);
    v[2] = N(sub)(d[2], d[1]);
    v[3] = N(sub)(d[3], d[1]);
    return;
  }
  const N(vf) a = N(set1)((float)WINOGRAD_A), minus_a = N(set1)(-(float)WINOGRAD_A);
  const N(vf) b = N(set1)((float)WINOGRAD_B), minus_b = N(set1)(-(float)WINOGRAD_B);
  const N(vf) minus_aa = N(set1)(-(float)WINOGRAD_AA), minus_bb = N(set1)(-(float)WINOGRAD_BB);
  const N(vf) sum = N(set1)(-(float)(WINOGRAD_AA + WINOGRAD_BB));
  const N(vf) product = N(set1)((float)(WINOGRAD_AA * WINOGRAD_BB));
  const N(vf) even_a = N(fma)(minus_bb, d[2], d[4]), odd_a = N(fma)(minus_bb, d[1], d[3]);
  const N(vf) even_b = N(fma)(minus_aa, d[2], d[4]), odd_b = N(fma)(minus_aa, d[1], d[3]);
  v[0] = N(fma)(product, d[0], N(fma)(sum, d[2], d[4]));
  v[1] = N(fma)(a, odd_a, even_a);
  v[2] = N(fma)(minus_a, odd_a, even_a);
  v[3] = N(fma)(b, odd_b, even_b);
  v[4] = N(fma)(minus_b, odd_b, even_b);
  v[5] = N(fma)(product, d[1], N(fma)(sum, d[3], d[5]));
}

// Transform a line of points to outputs: values at the points times their powers.
SMR_INLINE void N(f32_winograd_from)(int form, const N(vf) * m, N(vf) * y) {
  if (form == SMR_WINOGRAD_F23) {
    y[0] = N(add)(m[0], N(add)(m[1], m[2]));
    y[1] = N(add)(m[3], N(sub)(m[1], m[2]));
    return;
  }
  const N(vf) a = N(set1)((float)WINOGRAD_A), b = N(set1)((float)WINOGRAD_B);
  const N(vf) aa = N(set1)((float)WINOGRAD_AA), bb = N(set1)((float)WINOGRAD_BB);
  const N(vf) aaa = N(set1)((float)(WINOGRAD_AA * WINOGRAD_A));
  const N(vf) bbb = N(set1)((float)(WINOGRAD_BB * WINOGRAD_B));
  const N(vf) sum_a = N(add)(m[1], m[2]), difference_a = N(sub)(m[1], m[2]);
  const N(vf) sum_b = N(add)(m[3], m[4]), difference_b = N(sub)(m[3], m[4]);
  y[0] = N(add)(m[0], N(add)(sum_a, sum_b));
  y[1] = N(fma)(a, difference_a, N(mul)(b, difference_b));
  y[2] = N(fma)(aa, sum_a, N(mul)(bb, sum_b));
  y[3] = N(fma)(aaa, difference_a, N(fma)(bbb, difference_b, m[5]));
}

// WebAssembly has the code of one line for all: the values of six do not fit in the registers of an
// engine, so unrolled it is no faster, but four times as long.
#if defined(SMR_SIMD_WASM)
#define WINOGRAD_EACH SMR_ROLLED
#else
#define WINOGRAD_EACH SMR_UNROLL
#endif

// Load `lanes` channels, VF of them if `whole`. Both `whole` and `form` are constants: a run-time
// test at every load would duplicate the following code for each outcome, and a count from a
// function that GCC does not inline here (-Os into -O2) one copy of each loop per number of
// iterations: 470 kB.
SMR_INLINE N(vf) N(f32_winograd_load)(int whole, const float *p, size_t lanes) {
  return whole ? N(load)(p) : N(load_n)(p, lanes);
}
SMR_INLINE void N(f32_winograd_store)(int whole, float *p, N(vf) v, size_t lanes) {
  if (whole)
    N(store)(p, v);
  else
    N(store_n)(p, v, lanes);
}

// Channels [c, c + lanes).
SMR_INLINE void N(f32_winograd_input_part)(int form, int whole, size_t c, size_t lanes,
                                           const float *const *pixels, float *out,
                                           size_t point_stride) {
  const size_t n = form == SMR_WINOGRAD_F43 ? 6 : 4;
  N(vf) lines[SMR_WINOGRAD_MOST_LINE][SMR_WINOGRAD_MOST_LINE];
  WINOGRAD_EACH for (size_t j = 0; j < n; j++) {
    N(vf) d[SMR_WINOGRAD_MOST_LINE], v[SMR_WINOGRAD_MOST_LINE];
    SMR_UNROLL for (size_t i = 0; i < n; i++) d[i] =
        N(f32_winograd_load)(whole, pixels[i * n + j] + c, lanes);
    N(f32_winograd_to)(form, d, v);
    SMR_UNROLL for (size_t i = 0; i < n; i++) lines[i][j] = v[i];
  }
  float *line = out + c;
  WINOGRAD_EACH for (size_t i = 0; i < n; i++, line += n * point_stride) {
    N(vf) d[SMR_WINOGRAD_MOST_LINE], v[SMR_WINOGRAD_MOST_LINE];
    SMR_UNROLL for (size_t j = 0; j < n; j++) d[j] = lines[i][j];
    N(f32_winograd_to)(form, d, v);
    SMR_UNROLL for (size_t j = 0; j < n; j++)
        N(f32_winograd_store)(whole, line + j * point_stride, v[j], lanes);
  }
}

SMR_INLINE void N(f32_winograd_input)(int form, size_t channels, const float *const *pixels,
                                      float *out, size_t point_stride) {
  size_t c = 0;
  for (; c + VF <= channels; c += VF)
    N(f32_winograd_input_part)(form, 1, c, VF, pixels, out, point_stride);
  if (c < channels) N(f32_winograd_input_part)(form, 0, c, channels - c, pixels, out, point_stride);
}

// Channels [c, c + lanes).
SMR_INLINE void N(f32_winograd_output_part)(int form, int whole, size_t c, size_t lanes,
                                            const struct smr_f32_winograd_output *t) {
  const size_t side = form == SMR_WINOGRAD_F43 ? 4 : 2, n = side + 2;
  N(vf) lines[SMR_WINOGRAD_MOST_LINE][SMR_WINOGRAD_MOST_LINE];
  WINOGRAD_EACH for (size_t j = 0; j < n; j++) {
    N(vf) m[SMR_WINOGRAD_MOST_LINE], y[SMR_WINOGRAD_MOST_LINE];
    SMR_UNROLL for (size_t i = 0; i < n; i++) m[i] =
        N(f32_winograd_load)(whole, t->products + (i * n + j) * t->point_stride + c, lanes);
    N(f32_winograd_from)(form, m, y);
    SMR_UNROLL for (size_t i = 0; i < side; i++) lines[i][j] = y[i];
  }
  const N(vf) bias = t->bias == NULL ? N(zero)() : N(f32_winograd_load)(whole, t->bias + c, lanes);
  const N(vf) lo = N(set1)(t->lo), hi = N(set1)(t->hi);
  for (size_t i = 0; i < t->rows; i++) {
    N(vf) m[SMR_WINOGRAD_MOST_LINE], y[SMR_WINOGRAD_MOST_LINE];
    SMR_UNROLL for (size_t j = 0; j < n; j++) m[j] = lines[i][j];
    N(f32_winograd_from)(form, m, y);
    float *out = t->out + i * t->out_row_stride + c;
    const float *r = t->residual != NULL ? t->residual + i * t->residual_row_stride + c : NULL;
    for (size_t j = 0; j < t->columns; j++, out += t->out_pixel_stride) {
      N(vf) v = N(add)(y[j], bias);
      if (r != NULL)
        v = N(add)(v, N(f32_winograd_load)(whole, r + j * t->residual_pixel_stride, lanes));
      N(f32_winograd_store)(whole, out, N(clamp)(v, lo, hi), lanes);
    }
  }
}

SMR_INLINE void N(f32_winograd_output)(int form, const struct smr_f32_winograd_output *t) {
  size_t c = 0;
  for (; c + VF <= t->channels; c += VF) N(f32_winograd_output_part)(form, 1, c, VF, t);
  if (c < t->channels) N(f32_winograd_output_part)(form, 0, c, t->channels - c, t);
}

// Lanes of a panel at a time, limited by the registers for float64.
#define WINOGRAD_LANES (VF > 8 ? 8 : VF > 4 ? 4 : 2)
typedef double N(winograd_d) __attribute__((vector_size(WINOGRAD_LANES * sizeof(double))));
typedef float N(winograd_f) __attribute__((vector_size(WINOGRAD_LANES * sizeof(float))));

// Transform three weights to points: powers of the point divided by the product of its distances to
// the others, which is the same for a point and its opposite.
SMR_INLINE void N(f32_winograd_points)(int form, N(winograd_d) w0, N(winograd_d) w1,
                                       N(winograd_d) w2, N(winograd_d) * v) {
  const double aa = WINOGRAD_AA, bb = WINOGRAD_BB;
  if (form == SMR_WINOGRAD_F23) {
    const N(winograd_d) even = 0.5 * (w0 + w2), odd = 0.5 * w1;
    v[0] = -w0;
    v[1] = even + odd;
    v[2] = even - odd;
    v[3] = w2;
    return;
  }
  const double a = 1 / (2 * aa * (aa - bb)), b = 1 / (2 * bb * (bb - aa));
  const N(winograd_d) even_a = a * w0 + a * aa * w2, odd_a = a * WINOGRAD_A * w1;
  const N(winograd_d) even_b = b * w0 + b * bb * w2, odd_b = b * WINOGRAD_B * w1;
  v[0] = 1 / (aa * bb) * w0;
  v[1] = even_a + odd_a;
  v[2] = even_a - odd_a;
  v[3] = even_b + odd_b;
  v[4] = even_b - odd_b;
  v[5] = w2;
}

// The weights of one channel and some lanes of a panel, at all points.
SMR_INLINE void N(f32_winograd_weight)(int form, const float *taps, size_t tap_stride, float *out,
                                       size_t point_stride) {
  const size_t n = form == SMR_WINOGRAD_F43 ? 6 : 4;
  N(winograd_d) lines[3][SMR_WINOGRAD_MOST_LINE];
  WINOGRAD_EACH for (size_t x = 0; x < 3; x++) {
    N(winograd_d) w[3];
    WINOGRAD_EACH for (size_t y = 0; y < 3; y++) {
      N(winograd_f) tap;
      memcpy(&tap, taps + (y * 3 + x) * tap_stride, sizeof tap);
      w[y] = __builtin_convertvector(tap, N(winograd_d));
    }
    N(f32_winograd_points)(form, w[0], w[1], w[2], lines[x]);
  }
  WINOGRAD_EACH for (size_t i = 0; i < n; i++) {
    N(winograd_d) v[SMR_WINOGRAD_MOST_LINE];
    N(f32_winograd_points)(form, lines[0][i], lines[1][i], lines[2][i], v);
    WINOGRAD_EACH for (size_t j = 0; j < n; j++, out += point_stride) {
      const N(winograd_f) point = __builtin_convertvector(v[j], N(winograd_f));
      memcpy(out, &point, sizeof point);
    }
  }
}

// Collect the points of several consecutive channels before writing them: points are usually a
// power of two apart, so single writes would evict each other's cache lines.
SMR_INLINE void N(f32_winograd_weights)(int form, const struct smr_f32_winograd_weights *a,
                                        size_t begin, size_t end) {
  enum { CHANNELS = 8, POINT = CHANNELS * SMR_PANEL };
  const size_t points = form == SMR_WINOGRAD_F43 ? 36 : 16;
  const size_t panel_floats = a->channels * SMR_PANEL, panels = smr_panels(a->n);
  for (size_t p = begin; p < end; p++) {
    const size_t real = a->n - p * SMR_PANEL < SMR_PANEL ? a->n - p * SMR_PANEL : SMR_PANEL;
    const bool gathers = real < SMR_PANEL || a->n_stride != 1;
    float gathered[SMR_WINOGRAD_TAPS * SMR_PANEL] = {0};
    for (size_t first = 0; first < a->channels; first += CHANNELS) {
      const size_t left = a->channels - first, channels = left < CHANNELS ? left : CHANNELS;
      float room[SMR_WINOGRAD_MOST_POINTS * POINT];
      for (size_t c = 0; c < channels; c++) {
        const float *src = a->src + p * a->panel_stride + (first + c) * a->c_stride;
        for (size_t t = 0; gathers && t < SMR_WINOGRAD_TAPS; t++)
          for (size_t l = 0; l < real; l++)
            gathered[t * SMR_PANEL + l] = src[t * a->tap_stride + l * a->n_stride];
        for (size_t l = 0; l < SMR_PANEL; l += WINOGRAD_LANES)
          N(f32_winograd_weight)(form, gathers ? gathered + l : src + l,
                                 gathers ? SMR_PANEL : a->tap_stride, room + c * SMR_PANEL + l,
                                 POINT);
      }
      float *dst = a->dst + p * panel_floats + first * SMR_PANEL;
      for (size_t i = 0; i < points; i++, dst += panels * panel_floats)
        smr_copy(dst, room + i * POINT, channels * SMR_PANEL * sizeof *dst);
    }
  }
}
#undef WINOGRAD_LANES

#define WINOGRAD_KERNELS(form, name)                                                      \
  static void N(f32_winograd_input_##name)(size_t channels, const float *const *pixels,   \
                                           float *out, size_t point_stride) {             \
    N(f32_winograd_input)(form, channels, pixels, out, point_stride);                     \
  }                                                                                       \
  static void N(f32_winograd_output_##name)(const struct smr_f32_winograd_output *tile) { \
    N(f32_winograd_output)(form, tile);                                                   \
  }                                                                                       \
  static void N(f32_winograd_weights_##name)(const struct smr_f32_winograd_weights *args, \
                                             size_t begin, size_t end) {                  \
    N(f32_winograd_weights)(form, args, begin, end);                                      \
  }
WINOGRAD_KERNELS(SMR_WINOGRAD_F23, f23)
WINOGRAD_KERNELS(SMR_WINOGRAD_F43, f43)

#define WINOGRAD_ROW(name)                                              \
  {SMR_HAS(f32_winograd_##name) ? N(f32_winograd_input_##name) : NULL,  \
   SMR_HAS(f32_winograd_##name) ? N(f32_winograd_output_##name) : NULL, \
   SMR_HAS(f32_winograd_##name) ? N(f32_winograd_weights_##name) : NULL}
static const struct smr_f32_winograd_ukernels N(f32_winograd_kernels)[SMR_WINOGRAD_FORMS] = {
    [SMR_WINOGRAD_F23] = WINOGRAD_ROW(f23), [SMR_WINOGRAD_F43] = WINOGRAD_ROW(f43)};
#undef WINOGRAD_ROW
#undef WINOGRAD_EACH
#undef WINOGRAD_KERNELS
#undef WINOGRAD_A
#undef WINOGRAD_B
#undef WINOGRAD_AA
#undef WINOGRAD_BB
