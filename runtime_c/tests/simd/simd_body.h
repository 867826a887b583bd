// SPDX-License-Identifier: Apache-2.0
// The checks of the vector vocabulary, compiled once per ISA inside its region.

static void N(check_unary)(const char *name, N(vf) (*fn)(N(vf)), float (*want)(float)) {
  for (size_t i = 0; i < SIMD_VALUES; i += VF) {
    float in[VF], out[VF];
    for (size_t j = 0; j < VF; j++) in[j] = simd_values[(i + j) % SIMD_VALUES];
    N(store)(out, fn(N(load)(in)));
    for (size_t j = 0; j < VF; j++) {
      if (!CHECK(kernel_same_bits(out[j], want(in[j])))) {
        fprintf(stderr, "  %s %s(%g) = %g\n", SMR_SIMD_NAME, name, (double)in[j], (double)out[j]);
      }
    }
  }
}

static void N(check_binary)(const char *name, N(vf) (*fn)(N(vf), N(vf)),
                            float (*want)(float, float)) {
  for (size_t a = 0; a < SIMD_VALUES; a++) {
    for (size_t i = 0; i < SIMD_VALUES; i += VF) {
      float in[VF], out[VF];
      for (size_t j = 0; j < VF; j++) in[j] = simd_values[(i + j) % SIMD_VALUES];
      N(store)(out, fn(N(set1)(simd_values[a]), N(load)(in)));
      for (size_t j = 0; j < VF; j++) {
        const float w = want(simd_values[a], in[j]);
        // Which zero comes out of min and max of two zeros is not promised.
        const int same = kernel_same_bits(out[j], w) || (w == 0.0f && out[j] == 0.0f);
        if (!CHECK(same)) {
          fprintf(stderr, "  %s %s(%g, %g) = %g\n", SMR_SIMD_NAME, name, (double)simd_values[a],
                  (double)in[j], (double)out[j]);
        }
      }
    }
  }
}

static N(vf) N(w_neg)(N(vf) v) { return N(neg)(v); }
static N(vf) N(w_abs)(N(vf) v) { return N(abs)(v); }
static N(vf) N(w_sqrt)(N(vf) v) { return N(sqrt)(v); }
static N(vf) N(w_floor)(N(vf) v) { return N(floor)(v); }
static N(vf) N(w_ceil)(N(vf) v) { return N(ceil)(v); }
static N(vf) N(w_trunc)(N(vf) v) { return N(trunc)(v); }
static N(vf) N(w_rint)(N(vf) v) { return N(rint)(v); }
static N(vf) N(w_add)(N(vf) a, N(vf) b) { return N(add)(a, b); }
static N(vf) N(w_sub)(N(vf) a, N(vf) b) { return N(sub)(a, b); }
static N(vf) N(w_mul)(N(vf) a, N(vf) b) { return N(mul)(a, b); }
static N(vf) N(w_div)(N(vf) a, N(vf) b) { return N(div)(a, b); }
static N(vf) N(w_clamp)(N(vf) a, N(vf) b) {
  (void)a;
  return N(clamp)(b, N(set1)(-1.5f), N(set1)(2.0f));
}
static N(vf) N(w_select_lt)(N(vf) a, N(vf) b) {
  return N(select)(N(lt)(a, b), N(set1)(1.0f), N(set1)(2.0f));
}
static N(vf) N(w_select_le)(N(vf) a, N(vf) b) {
  return N(select)(N(le)(a, b), N(set1)(1.0f), N(set1)(2.0f));
}
static N(vf) N(w_select_gt)(N(vf) a, N(vf) b) {
  return N(select)(N(gt)(a, b), N(set1)(1.0f), N(set1)(2.0f));
}
static N(vf) N(w_select_ge)(N(vf) a, N(vf) b) {
  return N(select)(N(ge)(a, b), N(set1)(1.0f), N(set1)(2.0f));
}
static N(vf) N(w_select_eq)(N(vf) a, N(vf) b) {
  return N(select)(N(eq)(a, b), N(set1)(1.0f), N(set1)(2.0f));
}
static N(vf) N(w_select_ne)(N(vf) a, N(vf) b) {
  return N(select)(N(ne)(a, b), N(set1)(1.0f), N(set1)(2.0f));
}
static N(vf) N(w_masks)(N(vf) a, N(vf) b) {
  const N(vm) both = N(mand)(N(lt)(a, b), N(mnot)(N(eq)(b, N(set1)(2.0f))));
  return N(select)(N(mor)(both, N(gt)(a, N(set1)(100.0f))), a, b);
}

static void N(check_minmax)(void) {
  for (size_t a = 0; a < SIMD_VALUES; a++) {
    for (size_t b = 0; b < SIMD_VALUES; b++) {
      const float x = simd_values[a], y = simd_values[b];
      float lo[VF], hi[VF];
      N(store)(lo, N(min)(N(set1)(x), N(set1)(y)));
      N(store)(hi, N(max)(N(set1)(x), N(set1)(y)));
      if (isnan(y)) {
        CHECK(isnan(lo[VF - 1]) && isnan(hi[VF - 1]));
      } else if (!isnan(x)) {
        CHECK(lo[VF - 1] == (x < y ? x : y) && hi[VF - 1] == (x > y ? x : y));
      }
    }
  }
}

static void N(check_memory)(void) {
  uint32_t seed = 1;
  for (size_t n = 0; n <= VF; n++) {
    float *p = kernel_floats(n, &seed), *q = (float *)kernel_alloc(n * 4, 4), full[VF];
    uint16_t *h = (uint16_t *)kernel_alloc(n * 2, 2), *g = (uint16_t *)kernel_alloc(n * 2, 2);
    N(store)(full, N(load_n)(p, n));
    for (size_t j = 0; j < VF; j++) CHECK(full[j] == (j < n ? p[j] : 0.0f));
    N(store_n)(q, N(load_n)(p, n), n);
    CHECK_MEM(q, p, n * 4);
    N(store_f16_n)(h, N(load_n)(p, n), n);
    for (size_t j = 0; j < n; j++) CHECK_EQ_INT(h[j], smr_f32_to_f16(p[j]));
    N(store)(full, N(load_f16_n)(h, n));
    for (size_t j = 0; j < VF; j++) CHECK(full[j] == (j < n ? smr_f16_to_f32(h[j]) : 0.0f));
    if (n == VF) {
      N(store_f16)(g, N(load)(p));
      CHECK_MEM(g, h, n * 2);
      N(store)(full, N(load_f16)(g));
      for (size_t j = 0; j < n; j++) CHECK(full[j] == smr_f16_to_f32(h[j]));
    }
    int32_t ints[VF];
    N(istore)(ints, N(iload_n)((const int32_t *)(const void *)p, n));
    CHECK_MEM(ints, p, n * 4);
    for (size_t j = n; j < VF; j++) CHECK_EQ_INT(ints[j], 0);
    N(istore_n)((int32_t *)(void *)q, N(iset1)(7), n);
    for (size_t j = 0; j < n; j++) CHECK_EQ_INT(((const int32_t *)(const void *)q)[j], 7);
    kernel_free(p, 4);
    kernel_free(q, 4);
    kernel_free(h, 2);
    kernel_free(g, 2);
  }
}

// Every float16, and floats around all that are halfway between two of them.
static void N(check_f16)(void) {
  for (uint32_t first = 0; first <= UINT16_MAX; first += VF) {
    uint16_t halves[VF], back[VF];
    float wide[VF];
    for (uint32_t j = 0; j < VF; j++) halves[j] = (uint16_t)(first + j);
    N(store)(wide, N(load_f16)(halves));
    for (uint32_t j = 0; j < VF; j++) {
      const float want = smr_f16_to_f32(halves[j]);
      CHECK_MEM(&wide[j], &want, sizeof want);
    }
    for (int32_t step = -1; step <= 1; step++) {
      for (uint32_t j = 0; j < VF; j++) {
        // Halfway to the next one; beyond the largest, to infinity and NaN with payloads.
        const float one = smr_f16_to_f32(halves[j]);
        const float next = smr_f16_to_f32((uint16_t)(halves[j] + 1));
        const float middle = one + (next - one) / 2;
        uint32_t bits;
        memcpy(&bits, &middle, sizeof bits);
        bits += (uint32_t)step;
        memcpy(&wide[j], &bits, sizeof bits);
      }
      N(store_f16)(back, N(load)(wide));
      for (uint32_t j = 0; j < VF; j++) CHECK_EQ_INT(back[j], smr_f32_to_f16(wide[j]));
    }
  }
  uint32_t seed = 5;
  for (int i = 0; i < 20000; i++) {
    uint16_t back[VF];
    uint32_t bits[VF];
    float wide[VF];
    for (uint32_t j = 0; j < VF; j++) bits[j] = seed = seed * 1664525 + 1013904223;
    memcpy(wide, bits, sizeof wide);
    N(store_f16)(back, N(load)(wide));
    for (uint32_t j = 0; j < VF; j++) CHECK_EQ_INT(back[j], smr_f32_to_f16(wide[j]));
  }
}

#define CHECK_INTS(expression, wanted)            \
  do {                                            \
    int32_t out[VF];                              \
    N(istore)(out, expression);                   \
    CHECK_EQ_INT(out[VF - 1], (int32_t)(wanted)); \
  } while (0)

static void N(check_ints)(void) {
  static const int32_t values[] = {0, 1, -1, 2, 127, -128, 65535, 1 << 30, INT32_MAX, INT32_MIN};
  enum { COUNT = sizeof values / sizeof *values };
  for (size_t i = 0; i < COUNT; i++) {
    const int32_t x = values[i];
    const uint32_t ux = (uint32_t)x;
    const N(vi) a = N(iset1)(x);
    CHECK_INTS(N(ishl)(a, 3), ux << 3);
    CHECK_INTS(N(isra)(a, 5), x >> 5);
    CHECK_INTS(N(isrl)(a, 5), ux >> 5);
    float f[VF];
    N(store)(f, N(to_float)(a));
    CHECK(f[VF - 1] == (float)x);
    for (size_t j = 0; j < COUNT; j++) {
      const int32_t y = values[j];
      const uint32_t uy = (uint32_t)y;
      const N(vi) b = N(iset1)(y);
      CHECK_INTS(N(iadd)(a, b), ux + uy);
      CHECK_INTS(N(isub)(a, b), ux - uy);
      CHECK_INTS(N(imul)(a, b), ux * uy);
      CHECK_INTS(N(imin)(a, b), x < y ? x : y);
      CHECK_INTS(N(imax)(a, b), x > y ? x : y);
      CHECK_INTS(N(iand)(a, b), ux & uy);
      CHECK_INTS(N(ior)(a, b), ux | uy);
      CHECK_INTS(N(ixor)(a, b), ux ^ uy);
      CHECK_INTS(N(iselect)(N(igt)(a, b), a, N(iset1)(5)), x > y ? x : 5);
      CHECK_INTS(N(iselect)(N(ieq)(a, b), a, N(izero)()), x == y ? x : 0);
    }
  }
  CHECK_INTS(N(to_int)(N(set1)(2.5f)), 2);
  CHECK_INTS(N(to_int)(N(set1)(-3.5f)), -4);
  CHECK_INTS(N(to_int_trunc)(N(set1)(2.9f)), 2);
  CHECK_INTS(N(to_int_trunc)(N(set1)(-2.9f)), -2);
  CHECK_INTS(N(bits)(N(set1)(1.0f)), 0x3f800000);
  for (int32_t e = -126; e <= 127; e++) {
    float f[VF];
    N(store)(f, N(scale2)(N(set1)(1.5f), N(iset1)(e)));
    CHECK(f[VF - 1] == ldexpf(1.5f, e));
    N(store)(f, N(from_bits)(N(iset1)(e)));
    CHECK_MEM(&f[VF - 1], &e, 4);
  }
}

static void N(check_across)(void) {
  float in[VF], sum = 0;
  for (size_t j = 0; j < VF; j++) sum += in[j] = (float)(int)(j * 5 % VF) - 3.0f;
  CHECK(N(reduce_add)(N(load)(in)) == sum);
  for (size_t j = 0; j < VF; j++) {
    float one[VF];
    for (size_t i = 0; i < VF; i++) one[i] = i == j ? 9.0f : -1.0f;
    CHECK(N(reduce_max)(N(load)(one)) == 9.0f);
    CHECK(N(reduce_min)(N(neg)(N(load)(one))) == -9.0f);
    CHECK(N(any)(N(gt)(N(load)(one), N(set1)(5.0f))));
    CHECK_EQ_INT(N(all)(N(gt)(N(load)(one), N(set1)(5.0f))) != 0, VF == 1);
    CHECK(N(all)(N(ge)(N(load)(one), N(set1)(-1.0f))));
    CHECK(!N(any)(N(gt)(N(load)(one), N(set1)(10.0f))));
  }
}

// Rounded once: the product's lower half survives. Portable C rounds twice.
static void N(check_fma)(void) {
  const float a = 1.0f + 0x1p-12f, c = -(1.0f + 0x1p-11f);
  float out[VF];
  N(store)(out, N(fma)(N(set1)(a), N(set1)(a), N(set1)(c)));
  CHECK(out[VF - 1] == (kernel_fused(SMR_SIMD_ISA) ? 0x1p-24f : 0.0f));
}

static void N(check_vocabulary)(void) {
  N(check_unary)("neg", N(w_neg), simd_neg);
  N(check_unary)("abs", N(w_abs), fabsf);
  N(check_unary)("sqrt", N(w_sqrt), sqrtf);
  N(check_unary)("floor", N(w_floor), floorf);
  N(check_unary)("ceil", N(w_ceil), ceilf);
  N(check_unary)("trunc", N(w_trunc), truncf);
  N(check_unary)("rint", N(w_rint), nearbyintf);
  N(check_binary)("add", N(w_add), simd_add);
  N(check_binary)("sub", N(w_sub), simd_sub);
  N(check_binary)("mul", N(w_mul), simd_mul);
  N(check_binary)("div", N(w_div), simd_div);
  N(check_binary)("clamp", N(w_clamp), simd_clamp);
  N(check_binary)("lt", N(w_select_lt), simd_lt);
  N(check_binary)("le", N(w_select_le), simd_le);
  N(check_binary)("gt", N(w_select_gt), simd_gt);
  N(check_binary)("ge", N(w_select_ge), simd_ge);
  N(check_binary)("eq", N(w_select_eq), simd_eq);
  N(check_binary)("ne", N(w_select_ne), simd_ne);
  N(check_binary)("masks", N(w_masks), simd_masks);
  N(check_minmax)();
  N(check_memory)();
  N(check_f16)();
  N(check_ints)();
  N(check_across)();
  N(check_fma)();
}

#undef CHECK_INTS
