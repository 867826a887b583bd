// SPDX-License-Identifier: Apache-2.0
// Transforms in 64-bit fixed point: plain loops, which the compiler vectorizes if the instruction
// set has 64-bit products.
//
// A product of 43 and 41 bits does not fit 64, so x is split into x >> 22 and the rest, whose
// products fit. Rounding down twice equals rounding down once, so the result is that of the whole
// product.

#define I64_SIGNAL_CUT 22
#define I64_SIGNAL_LOW ((INT64_C(1) << I64_SIGNAL_CUT) - 1)
#define I64_SIGNAL_REST (40 - I64_SIGNAL_CUT)

SMR_HOT_VECTORIZED static void N(i64_signal_window)(size_t n, const int64_t *x, const int64_t *w,
                                                    unsigned bits, int64_t *y) {
  const unsigned rest = bits - I64_SIGNAL_CUT;
  const int64_t half = INT64_C(1) << (rest - 1);
  for (size_t i = 0; i < n; i++) {
    const int64_t low = (x[i] & I64_SIGNAL_LOW) * w[i] >> I64_SIGNAL_CUT;
    y[i] = ((x[i] >> I64_SIGNAL_CUT) * w[i] + low + half) >> rest;
  }
}

// (xr + i xi) (wr + i wi), each part rounded once.
SMR_INLINE void N(i64_signal_product)(int64_t xr, int64_t xi, int64_t wr, int64_t wi, int64_t *re,
                                      int64_t *im) {
  const int64_t half = INT64_C(1) << (I64_SIGNAL_REST - 1);
  const int64_t hr = xr >> I64_SIGNAL_CUT, hi = xi >> I64_SIGNAL_CUT;
  const int64_t lr = xr & I64_SIGNAL_LOW, li = xi & I64_SIGNAL_LOW;
  const int64_t re_low = (lr * wr - li * wi) >> I64_SIGNAL_CUT;
  const int64_t im_low = (lr * wi + li * wr) >> I64_SIGNAL_CUT;
  *re = (hr * wr - hi * wi + re_low + half) >> I64_SIGNAL_REST;
  *im = (hr * wi + hi * wr + im_low + half) >> I64_SIGNAL_REST;
}

// Transforms of 4: their twiddles are 1 and -i.
SMR_HOT_VECTORIZED static void N(i64_signal_fours)(size_t n, int64_t *restrict re,
                                                   int64_t *restrict im) {
  for (size_t i = 0; i < n; i += 4) {
    const int64_t ar = re[i] + re[i + 1], ai = im[i] + im[i + 1];
    const int64_t br = re[i] - re[i + 1], bi = im[i] - im[i + 1];
    const int64_t cr = re[i + 2] + re[i + 3], ci = im[i + 2] + im[i + 3];
    const int64_t dr = re[i + 2] - re[i + 3], di = im[i + 2] - im[i + 3];
    re[i] = ar + cr, im[i] = ai + ci;
    re[i + 1] = br + di, im[i + 1] = bi - dr;
    re[i + 2] = ar - cr, im[i + 2] = ai - ci;
    re[i + 3] = br - di, im[i + 3] = bi + dr;
  }
}

// Two transforms of `half` become one of twice that.
SMR_HOT_VECTORIZED static void N(i64_signal_join)(size_t half, const int64_t *restrict wr,
                                                  const int64_t *restrict wi, int64_t *restrict ar,
                                                  int64_t *restrict ai, int64_t *restrict br,
                                                  int64_t *restrict bi) {
  for (size_t k = 0; k < half; k++) {
    int64_t tr, ti;
    N(i64_signal_product)(br[k], bi[k], wr[k], wi[k], &tr, &ti);
    br[k] = ar[k] - tr, bi[k] = ai[k] - ti;
    ar[k] += tr, ai[k] += ti;
  }
}

static void N(i64_signal_transform)(size_t n, const int64_t *wr, const int64_t *wi, int64_t *re,
                                    int64_t *im) {
  N(i64_signal_fours)(n, re, im);
  for (size_t half = 4; half < n; wr += half, wi += half, half *= 2)
    for (size_t i = 0; i < n; i += 2 * half)
      N(i64_signal_join)(half, wr, wi, re + i, im + i, re + i + half, im + i + half);
}

SMR_HOT_VECTORIZED static void N(i64_signal_unfold)(size_t n, const int64_t *restrict wr,
                                                    const int64_t *restrict wi,
                                                    const int64_t *restrict zr,
                                                    const int64_t *restrict zi,
                                                    int64_t *restrict yr, int64_t *restrict yi) {
  for (size_t k = 0; k <= n; k++) {
    int64_t tr, ti;
    N(i64_signal_product)(zr[k] - zr[n - k], zi[k] + zi[n - k], wr[k], wi[k], &tr, &ti);
    yr[k] = zr[k] + zr[n - k] + ti;
    yi[k] = zi[k] - zi[n - k] - tr;
  }
}

SMR_HOT_VECTORIZED static int64_t N(i64_signal_dot)(size_t n, const int64_t *restrict x,
                                                    const int32_t *restrict w) {
  int64_t high = 0, low = 0;
  for (size_t i = 0; i < n; i++) {
    high += (x[i] >> 16) * w[i];
    low += (x[i] & 0xffff) * w[i];
  }
  return (high + (low >> 16) + (1 << 14)) >> 15;
}

static const struct smr_i64_signal N(i64_signal_kernels) = {
    .name = "i64_signal__" SMR_SIMD_NAME,
    .window = N(i64_signal_window),
    .transform = N(i64_signal_transform),
    .unfold = N(i64_signal_unfold),
    .dot = N(i64_signal_dot),
};
#undef I64_SIGNAL_CUT
#undef I64_SIGNAL_LOW
#undef I64_SIGNAL_REST
