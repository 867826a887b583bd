// SPDX-License-Identifier: Apache-2.0
// Quantization of float rows to int8, over the vocabulary.

#define DYNAMIC_CHAINS 4   // independent maxima
#define DYNAMIC_BLOCK 128  // int32 values buffered before conversion to int8

static uint32_t N(dynamic_peak)(size_t n, const float *x) {
  const N(vi) magnitude = N(iset1)(INT32_MAX);
  N(vi) most[DYNAMIC_CHAINS];
  SMR_UNROLL for (size_t c = 0; c < DYNAMIC_CHAINS; c++) most[c] = N(izero)();
  size_t i = 0;
  for (; i + DYNAMIC_CHAINS * VF <= n; i += DYNAMIC_CHAINS * VF) {
    SMR_UNROLL for (size_t c = 0; c < DYNAMIC_CHAINS; c++) {
      const N(vi) bits = N(iand)(N(bits)(N(load)(x + i + c * VF)), magnitude);
      most[c] = N(imax)(most[c], bits);
    }
  }
  for (; i < n; i += VF) {
    const size_t left = n - i < VF ? n - i : VF;
    most[0] = N(imax)(most[0], N(iand)(N(bits)(N(load_n)(x + i, left)), magnitude));
  }
  int32_t lanes[DYNAMIC_CHAINS * VF], found = 0;
  SMR_UNROLL for (size_t c = 0; c < DYNAMIC_CHAINS; c++) N(istore)(lanes + c * VF, most[c]);
  for (size_t c = 0; c < DYNAMIC_CHAINS * VF; c++) found = lanes[c] > found ? lanes[c] : found;
  return (uint32_t)found;
}

SMR_VECTORIZED static void N(dynamic_narrow)(size_t n, const int32_t *restrict block,
                                             int8_t *restrict q) {
  for (size_t i = 0; i < n; i++) q[i] = (int8_t)block[i];
}

static void N(dynamic_quantize)(size_t n, const float *x, float inv, int8_t *q) {
  const N(vf) by = N(set1)(inv), lo = N(set1)(-127.0f), hi = N(set1)(127.0f);
  int32_t block[DYNAMIC_BLOCK];
  for (size_t i = 0; i < n; i += DYNAMIC_BLOCK) {
    const size_t count = n - i < DYNAMIC_BLOCK ? n - i : DYNAMIC_BLOCK;
    for (size_t j = 0; j < count; j += VF) {
      const size_t left = count - j < VF ? count - j : VF;
      const N(vf) v = N(clamp)(N(mul)(N(load_n)(x + i + j, left), by), lo, hi);
      N(istore)(block + j, N(to_int)(v));
    }
    N(dynamic_narrow)(count, block, q + i);
  }
}

static struct smr_i8_dynamic_range N(dynamic_find)(size_t n, const float *x) {
  N(vf) lo = N(zero)(), hi = N(zero)();
  for (size_t i = 0; i < n; i += VF) {
    const size_t left = n - i < VF ? n - i : VF;
    const N(vf) v = N(load_n)(x + i, left);
    lo = N(min)(v, lo);
    hi = N(max)(v, hi);
  }
  float low[VF], high[VF];
  N(store)(low, lo);
  N(store)(high, hi);
  struct smr_i8_dynamic_range found = {0.0f, 0.0f, N(dynamic_peak)(n, x)};
  for (size_t c = 0; c < VF; c++) {
    found.lo = low[c] < found.lo ? low[c] : found.lo;
    found.hi = high[c] > found.hi ? high[c] : found.hi;
  }
  return found;
}

SMR_VECTORIZED static void N(dynamic_shift)(size_t n, const int32_t *restrict block, int32_t zero,
                                            int8_t *restrict q) {
  for (size_t i = 0; i < n; i++) {
    const int32_t at = block[i] + zero;
    q[i] = (int8_t)(at < -128 ? -128 : at > 127 ? 127 : at);
  }
}

static void N(dynamic_place)(size_t n, const float *x, float scale, int32_t zero, int8_t *q) {
  const N(vf) by = N(set1)(scale);
  int32_t block[DYNAMIC_BLOCK];
  for (size_t i = 0; i < n; i += DYNAMIC_BLOCK) {
    const size_t count = n - i < DYNAMIC_BLOCK ? n - i : DYNAMIC_BLOCK;
    for (size_t j = 0; j < count; j += VF) {
      const size_t left = count - j < VF ? count - j : VF;
      N(istore)(block + j, N(to_int)(N(div)(N(load_n)(x + i + j, left), by)));
    }
    N(dynamic_shift)(count, block, zero, q + i);
  }
}

static const struct smr_i8_dynamic_kernels N(i8_dynamic_kernels) = {
    N(dynamic_peak), N(dynamic_quantize), N(dynamic_find), N(dynamic_place)};

#undef DYNAMIC_CHAINS
#undef DYNAMIC_BLOCK
