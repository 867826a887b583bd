// SPDX-License-Identifier: Apache-2.0
// Passes of Fourier transforms over the vocabulary.

// Complex lanes.
struct N(fft_c) {
  N(vf) re, im;
};

SMR_INLINE struct N(fft_c) N(fft_load)(const struct smr_f32_fft_parts *x, size_t at, size_t n) {
  if (n == VF) return (struct N(fft_c)){N(load)(x->re + at), N(load)(x->im + at)};
  return (struct N(fft_c)){N(load_n)(x->re + at, n), N(load_n)(x->im + at, n)};
}
SMR_INLINE void N(fft_store)(const struct smr_f32_fft_parts *y, size_t at, size_t n,
                             struct N(fft_c) v) {
  if (n == VF) {
    N(store)(y->re + at, v.re);
    N(store)(y->im + at, v.im);
  } else {
    N(store_n)(y->re + at, v.re, n);
    N(store_n)(y->im + at, v.im, n);
  }
}
SMR_INLINE struct N(fft_c) N(fft_root)(const struct smr_f32_fft_parts *w, size_t k) {
  return (struct N(fft_c)){N(set1)(w->re[k]), N(set1)(w->im[k])};
}
SMR_INLINE struct N(fft_c) N(fft_add)(struct N(fft_c) a, struct N(fft_c) b) {
  return (struct N(fft_c)){N(add)(a.re, b.re), N(add)(a.im, b.im)};
}
SMR_INLINE struct N(fft_c) N(fft_sub)(struct N(fft_c) a, struct N(fft_c) b) {
  return (struct N(fft_c)){N(sub)(a.re, b.re), N(sub)(a.im, b.im)};
}
SMR_INLINE struct N(fft_c) N(fft_mul)(struct N(fft_c) a, struct N(fft_c) b) {
  return (struct N(fft_c)){N(sub)(N(mul)(a.re, b.re), N(mul)(a.im, b.im)),
                           N(fma)(a.re, b.im, N(mul)(a.im, b.re))};
}
// a + x b for a real x.
SMR_INLINE struct N(fft_c) N(fft_more)(struct N(fft_c) a, float x, struct N(fft_c) b) {
  return (struct N(fft_c)){N(fma)(N(set1)(x), b.re, a.re), N(fma)(N(set1)(x), b.im, a.im)};
}
SMR_INLINE struct N(fft_c) N(fft_times)(float x, struct N(fft_c) b) {
  return (struct N(fft_c)){N(mul)(N(set1)(x), b.re), N(mul)(N(set1)(x), b.im)};
}
// a - i b and a + i b.
SMR_INLINE struct N(fft_c) N(fft_down)(struct N(fft_c) a, struct N(fft_c) b) {
  return (struct N(fft_c)){N(add)(a.re, b.im), N(sub)(a.im, b.re)};
}
SMR_INLINE struct N(fft_c) N(fft_up)(struct N(fft_c) a, struct N(fft_c) b) {
  return (struct N(fft_c)){N(sub)(a.re, b.im), N(add)(a.im, b.re)};
}

SMR_INLINE void N(fft_2)(struct N(fft_c) * a) {
  const struct N(fft_c) a0 = a[0];
  a[0] = N(fft_add)(a0, a[1]);
  a[1] = N(fft_sub)(a0, a[1]);
}

SMR_INLINE void N(fft_3)(struct N(fft_c) * a) {
  const struct N(fft_c) t = N(fft_add)(a[1], a[2]);
  const struct N(fft_c) u = N(fft_more)(a[0], -0.5f, t);
  const struct N(fft_c) v = N(fft_times)(0.86602540378f, N(fft_sub)(a[1], a[2]));
  a[0] = N(fft_add)(a[0], t);
  a[1] = N(fft_down)(u, v);
  a[2] = N(fft_up)(u, v);
}

SMR_INLINE void N(fft_4)(struct N(fft_c) * a) {
  const struct N(fft_c) t0 = N(fft_add)(a[0], a[2]), t1 = N(fft_sub)(a[0], a[2]);
  const struct N(fft_c) t2 = N(fft_add)(a[1], a[3]), t3 = N(fft_sub)(a[1], a[3]);
  a[0] = N(fft_add)(t0, t2);
  a[1] = N(fft_down)(t1, t3);
  a[2] = N(fft_sub)(t0, t2);
  a[3] = N(fft_up)(t1, t3);
}

// cos and sin of a fifth of a turn and of two.
SMR_INLINE void N(fft_5)(struct N(fft_c) * a) {
  const float c1 = 0.30901699437f, c2 = -0.80901699437f, s1 = 0.95105651630f, s2 = 0.58778525229f;
  const struct N(fft_c) t1 = N(fft_add)(a[1], a[4]), t2 = N(fft_add)(a[2], a[3]);
  const struct N(fft_c) u1 = N(fft_sub)(a[1], a[4]), u2 = N(fft_sub)(a[2], a[3]);
  const struct N(fft_c) m1 = N(fft_more)(N(fft_more)(a[0], c1, t1), c2, t2);
  const struct N(fft_c) m2 = N(fft_more)(N(fft_more)(a[0], c2, t1), c1, t2);
  const struct N(fft_c) n1 = N(fft_more)(N(fft_times)(s1, u1), s2, u2);
  const struct N(fft_c) n2 = N(fft_more)(N(fft_times)(s2, u1), -s1, u2);
  a[0] = N(fft_add)(a[0], N(fft_add)(t1, t2));
  a[1] = N(fft_down)(m1, n1);
  a[2] = N(fft_down)(m2, n2);
  a[3] = N(fft_up)(m2, n2);
  a[4] = N(fft_up)(m1, n1);
}

// One butterfly on n <= VF lanes from `from` to `to`; the roots of this p are in w[1 ..].
#define FFT_RADIX(r)                                                                            \
  SMR_INLINE void N(fft_lanes_##r)(const struct smr_f32_fft_pass *f, const struct N(fft_c) * w, \
                                   size_t from, size_t apart, size_t to, size_t n) {            \
    struct N(fft_c) a[r];                                                                       \
    SMR_UNROLL for (size_t j = 0; j < r; j++) a[j] = N(fft_load)(&f->x, from + j * apart, n);   \
    N(fft_##r)(a);                                                                              \
    N(fft_store)(&f->y, to, n, a[0]);                                                           \
    SMR_UNROLL for (size_t k = 1; k < r; k++)                                                   \
        N(fft_store)(&f->y, to + k * f->s, n, N(fft_mul)(a[k], w[k]));                          \
  }                                                                                             \
  static void N(fft_pass_##r)(const struct smr_f32_fft_pass *f) {                               \
    const size_t m = f->n / r, s = f->s, apart = m * s;                                         \
    for (size_t p = 0; p < m; p++) {                                                            \
      struct N(fft_c) w[r];                                                                     \
      SMR_UNROLL for (size_t k = 0; k < r; k++) w[k] = N(fft_root)(&f->roots, p * k * f->step); \
      size_t q = 0;                                                                             \
      for (; s - q >= VF; q += VF) N(fft_lanes_##r)(f, w, p * s + q, apart, r * p * s + q, VF); \
      if (q < s) N(fft_lanes_##r)(f, w, p * s + q, apart, r * p * s + q, s - q);                \
    }                                                                                           \
  }
FFT_RADIX(2)
FFT_RADIX(3)
FFT_RADIX(4)
FFT_RADIX(5)
#undef FFT_RADIX

// Any radix, by the definition of the transform.
static void N(fft_pass_any)(const struct smr_f32_fft_pass *f) {
  const size_t r = f->radix, m = f->n / r, s = f->s, apart = m * s, turn = m * f->step;
  for (size_t p = 0; p < m; p++) {
    for (size_t q = 0; q < s; q += VF) {
      const size_t n = s - q < VF ? s - q : VF;
      for (size_t k = 0; k < r; k++) {
        struct N(fft_c) sum = N(fft_load)(&f->x, p * s + q, n);
        for (size_t j = 1; j < r; j++) {
          const struct N(fft_c) a = N(fft_load)(&f->x, p * s + q + j * apart, n);
          const struct N(fft_c) w = N(fft_root)(&f->roots, j * k % r * turn);
          sum.re = N(sub)(N(fma)(a.re, w.re, sum.re), N(mul)(a.im, w.im));
          sum.im = N(fma)(a.re, w.im, N(fma)(a.im, w.re, sum.im));
        }
        const struct N(fft_c) w = N(fft_root)(&f->roots, p * k * f->step);
        N(fft_store)(&f->y, (r * p + k) * s + q, n, k == 0 ? sum : N(fft_mul)(sum, w));
      }
    }
  }
}

static void N(fft_pass)(const struct smr_f32_fft_pass *pass) {
  if (pass->radix == 4)
    N(fft_pass_4)(pass);
  else if (pass->radix == 2)
    N(fft_pass_2)(pass);
  else if (pass->radix == 3)
    N(fft_pass_3)(pass);
  else if (pass->radix == 5)
    N(fft_pass_5)(pass);
  else
    N(fft_pass_any)(pass);
}

static void N(fft_scale)(size_t n, size_t s, struct smr_f32_fft_parts w,
                         struct smr_f32_fft_parts x) {
  for (size_t j = 0; j < n; j++) {
    const struct N(fft_c) by = N(fft_root)(&w, j);
    for (size_t q = 0; q < s; q += VF) {
      const size_t lanes = s - q < VF ? s - q : VF;
      N(fft_store)(&x, j * s + q, lanes, N(fft_mul)(N(fft_load)(&x, j * s + q, lanes), by));
    }
  }
}
