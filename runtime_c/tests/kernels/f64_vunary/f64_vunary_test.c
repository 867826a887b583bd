// SPDX-License-Identifier: Apache-2.0
// Functions of one double: against float32's scalar kernels, special values, in place.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f64_vunary/f64_vunary.h"

#include "harness.h"

#include <math.h>
#include <string.h>

// Each function means what it means for float32: the two agree to float32's accuracy.
SMR_TEST(agrees_with_float32) {
  enum { N = 37 };
  const float params[2] = {0.25f, 0.75f};
  float x[N], y[N];
  double wide[N], got[N];
  for (int i = 0; i < N; i++) {
    x[i] = (float)(i - 18) / 8;
    wide[i] = (double)x[i];
  }
  for (int f = 0; f < SMR_F32_VUNARY_COUNT; f++) {
    smr_f32_vunary_kernel(SMR_ISA_NONE, (enum smr_f32_vunary)f)(N, x, y, params);
    smr_f64_vunary_kernel((enum smr_f32_vunary)f)(N, wide, got, params);
    for (int i = 0; i < N; i++) {
      if (!isfinite(y[i]))
        CHECK(isnan(y[i]) ? isnan(got[i]) : got[i] == (double)y[i]);
      else
        CHECK(fabs(got[i] - (double)y[i]) <= 1e-5 * (1 + fabs(got[i])));
    }
  }
}

SMR_TEST(nan_stays) {
  const float params[2] = {-1, 1};
  const double x = NAN;
  for (int f = 0; f < SMR_F32_VUNARY_COUNT; f++) {
    double y = 0;
    smr_f64_vunary_kernel((enum smr_f32_vunary)f)(1, &x, &y, params);
    CHECK(isnan(y));
  }
}

SMR_TEST(in_place) {
  const float params[2] = {0, 0};
  double x[3] = {0.5, 1.5, 2.5};
  smr_f64_vunary_kernel(SMR_F32_NEG)(3, x, x, params);
  for (int i = 0; i < 3; i++) CHECK(x[i] == -(i + 0.5));
}

SMR_TEST_MAIN(RUN(agrees_with_float32); RUN(nan_stays); RUN(in_place))
