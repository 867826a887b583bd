// SPDX-License-Identifier: Apache-2.0
// Elementwise float arithmetic over the vocabulary.
#include "simd/trig.h"

// The loop for constant steps. `value` gives f in terms of a and b.
#define VBINARY_LOOP(name, a_step, b_step)                                                         \
  for (; n >= VF; n -= VF, pa += (a_step) * VF, pb += (b_step) * VF, y += VF)                      \
    N(store)(y,                                                                                    \
             N(f32_vbinary_value_##name)((a_step) ? N(load)(pa) : a, (b_step) ? N(load)(pb) : b)); \
  if (n)                                                                                           \
    N(store_n)(y,                                                                                  \
               N(f32_vbinary_value_##name)((a_step) ? N(load_n)(pa, n) : a,                        \
                                           (b_step) ? N(load_n)(pb, n) : b),                       \
               n);

#define VBINARY(name, value)                                                                   \
  SMR_INLINE N(vf) N(f32_vbinary_value_##name)(N(vf) a, N(vf) b) { return value; }             \
  static void N(f32_vbinary_##name)(size_t n, const float *pa, size_t a_step, const float *pb, \
                                    size_t b_step, float *y) {                                 \
    if (n == 0) return;                                                                        \
    const N(vf) a = N(set1)(*pa), b = N(set1)(*pb);                                            \
    if (a_step && b_step) {                                                                    \
      VBINARY_LOOP(name, 1, 1)                                                                 \
    } else if (SMR_HAS(f32_vbinary_broadcast) && a_step) {                                     \
      VBINARY_LOOP(name, 1, 0)                                                                 \
    } else if (SMR_HAS(f32_vbinary_broadcast) && b_step) {                                     \
      VBINARY_LOOP(name, 0, 1)                                                                 \
    } else if (SMR_HAS(f32_vbinary_broadcast)) {                                               \
      const N(vf) v = N(f32_vbinary_value_##name)(a, b);                                       \
      for (; n >= VF; n -= VF, y += VF) N(store)(y, v);                                        \
      if (n) N(store_n)(y, v, n);                                                              \
    }                                                                                          \
  }

#define SMR_F32_BINARY(NAME, name, DTYPES, value, value_f64) VBINARY(name, value)
#include "kernels/f32_vbinary/functions.inc"

#undef SMR_F32_BINARY

static const smr_f32_vbinary_ukernel N(f32_vbinary_kernels)[SMR_F32_VBINARY_COUNT] = {
#define SMR_F32_BINARY(NAME, name, DTYPES, value, value_f64) \
  SMR_HAS(f32_vbinary_##name) ? N(f32_vbinary_##name) : NULL,
#include "kernels/f32_vbinary/functions.inc"

#undef SMR_F32_BINARY
};
#undef VBINARY
#undef VBINARY_LOOP
