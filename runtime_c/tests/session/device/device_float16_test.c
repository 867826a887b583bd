// SPDX-License-Identifier: Apache-2.0
// Sessions that store float32 values as float16 on devices: answers, overflow, and conversions.
// float16_forms_test.c tests which values keep float32.
#include "base/fp.h"

#include "harness.h"

#include <math.h>
#include <stdlib.h>

#include "base/isa.h"
#include "kernels/f16_convert/f16_convert.h"
#include "ops/table/opattrs.h"
#include "session/device/device_rig.h"
#include "simd/half.h"

enum { RUNS = 5 };

static const samara_session_options narrow = {.backend_float16 = true};

// ---- answers ----

// Whether floats equal those of the CPU within float16 rounding, and all others to the bit.
static bool is_near(const samara_session *cpu, const samara_session *other) {
  for (uint32_t i = 0; i < cpu->function->user_output_count; i++) {
    samara_tensor a, b;
    if (samara_session_output(cpu, i, &a) != SAMARA_OK ||
        samara_session_output(other, i, &b) != SAMARA_OK || a.size_bytes != b.size_bytes)
      return false;
    if (a.dtype != SAMARA_FLOAT32 || a.size_bytes == 0) {
      if (a.size_bytes != 0 && memcmp(a.data, b.data, a.size_bytes) != 0) return false;
      continue;
    }
    const float *want = a.data, *got = b.data;
    for (size_t e = 0; e < a.size_bytes / sizeof *want; e++)
      if (!(fabsf(got[e] - want[e]) <= 1e-2f + 2e-3f * fabsf(want[e]))) return false;
  }
  return true;
}

static bool run_near(samara_session *cpu, samara_session *other, uint32_t seed) {
  return rig_feed(cpu, seed) && rig_feed(other, seed) && literal_run(cpu) == SAMARA_OK &&
         literal_run(other) == SAMARA_OK && is_near(cpu, other);
}

SMR_TEST(answers_are_near_those_of_the_cpu) {
  for (int m = 0; m < RIG_MODELS; m++)
    for (int form = 0; form < 4; form++) {
      rig_reset();
      rig_settings.any_range = form & 1;
      rig_settings.lazy = form & 2;
      struct rig rig = rig_start((enum rig_model)m, 1, narrow);
      samara_session *cpu = rig.cpu, *s = rig.s;
      for (uint32_t run = 0; run < RUNS; run++)
        if (!CHECK(run_near(cpu, s, run)))
          fprintf(stderr, "model %d, form %d, run %u\n", m, form, (unsigned)run);
      CHECK_STR(rig_report(s).failure, "");
      CHECK_EQ_INT(rig_report(s).device_runs, RUNS);
      CHECK_EQ_INT(rig_report(s).repeated, 0);
      CHECK(rig_end(&rig));
    }
}

// Sessions on two devices.
SMR_TEST(models_at_random_are_near_too) {
  for (uint32_t seed = 0; seed < 60; seed++) {
    rig_reset();
    struct rig rig = rig_start_random(seed, 2, narrow);
    samara_session *cpu = rig.cpu, *s = rig.s;
    samara_session *wide = rig_session(rig.model, rig.devices, 2, (samara_session_options){0});
    for (uint32_t run = 0; run < 3; run++) {
      CHECK(rig_feed(s, run) && literal_run(s) == SAMARA_OK);
      CHECK(rig_same(cpu, wide, run));
      // Products of many numbers may overflow. The devices then continue in float32.
      if (rig_report(s).repeated == 0) CHECK_STR(rig_report(s).failure, "");
    }
    samara_session_destroy(wide);
    CHECK(rig_end(&rig));
  }
}

SMR_TEST(both_forms_of_a_constant_may_be_in_use_at_once) {
  rig_reset();
  struct rig rig = rig_bare(rig_model(RIG_CHAIN), 1);
  const samara_backend *device = rig.devices[0];
  samara_session *cpu = rig.cpu, *s[4];
  for (int i = 0; i < 4; i++)
    s[i] =
        rig_session(rig.model, rig.devices, 1, i % 2 == 0 ? narrow : (samara_session_options){0});
  CHECK_EQ_INT(mirror_calls("load"), 2);
  for (const struct smr_loaded *a = device->loaded; a != NULL; a = a->next) CHECK(a->users >= 2);
  for (uint32_t run = 0; run < RUNS; run++)
    for (int i = 0; i < 4; i++)
      CHECK(i % 2 == 0 ? run_near(cpu, s[i], run) : rig_same(cpu, s[i], run));
  samara_session_destroy(s[0]);
  samara_session_destroy(s[2]);
  CHECK(device->loaded != NULL && device->loaded->next == NULL && !device->loaded->float16);
  CHECK(rig_same(cpu, s[1], 7));
  samara_session_destroy(s[1]);
  samara_session_destroy(s[3]);
  CHECK(device->loaded == NULL);
  CHECK(rig_end(&rig));
}

SMR_TEST(strict_sessions_do_without) {
  rig_reset();
  struct rig rig = rig_bare(rig_model(RIG_CHAIN), 1);
  rig.s = literal_session(rig.model, (samara_session_options){.strict_accuracy = true,
                                                              .backend_float16 = true,
                                                              .backends = rig.devices,
                                                              .backend_count = 1});
  CHECK(rig_same(rig.cpu, rig.s, 3));
  CHECK(rig_end(&rig));
}

// ---- wrong answers ----

SMR_TEST(a_kind_that_was_wrong_in_float16_keeps_float32) {
  rig_reset();
  rig_settings.wrong_op = "sigmoid";
  struct rig rig = rig_start(RIG_SYMBOLIC, 1, narrow);
  samara_session *cpu = rig.cpu, *s = rig.s;
  CHECK(rig_same(cpu, s, 1) || run_near(cpu, s, 1));
  CHECK_CONTAINS(rig_report(s).failure, "(sigmoid float16 float16)");
  CHECK(!rig_report(s).active && rig_report(s).repeated == 1);
  CHECK_EQ_INT(smr_trust_of(rig.devices[0], "sigmoid float16 float16"), SMR_TRUST_BAD);
  CHECK_EQ_INT(smr_trust_of(rig.devices[0], "sigmoid float32 float32"), SMR_TRUST_UNKNOWN);
  rig_settings.wrong_op = NULL;
  s = rig_again(&rig, narrow);
  CHECK(rig_node(s, "sigmoid")->space == 1 && !rig_node(s, "sigmoid")->float16);
  CHECK(rig_same(cpu, s, 2));
  CHECK(rig_end(&rig));
}

// ---- numbers that float16 does not hold ----

// Feed x [6] of RIG_SYMBOLIC; sigmoid(relu(x)) + x is negated on the host and multiplied with
// relu(x).
static bool run_scaled(samara_session *s, float scale) {
  float x[8];
  for (int i = 0; i < 8; i++) x[i] = scale * (float)(i - 3);
  return literal_feed(s, 0, x, 8) && literal_run(s) == SAMARA_OK;
}

SMR_TEST(a_number_that_is_too_large_ends_float16_not_the_device) {
  static const int earlier[] = {0, 1, 3, 15};
  for (size_t i = 0; i < sizeof earlier / sizeof *earlier; i++) {
    const int before = earlier[i];
    rig_reset();
    rig_settings.any_range = i % 2 == 0;
    struct rig rig = rig_start(RIG_SYMBOLIC, 1, narrow);
    samara_session *cpu = rig.cpu, *s = rig.s;
    for (int run = 0; run < before; run++)
      CHECK(run_scaled(cpu, 1) && run_scaled(s, 1) && is_near(cpu, s));
    CHECK(rig_node(s, "mul")->float16);
    // 1600 * -1600 overflows float16. Runs 1, 2, 4, 8 … check for that.
    CHECK(run_scaled(cpu, 400) && run_scaled(s, 400) && rig_compare(cpu, s));
    CHECK_EQ_INT(rig_report(s).repeated, 1);
    CHECK_STR(rig_report(s).failure, "");
    CHECK(rig_report(s).active && !rig_node(s, "mul")->float16 && rig_node(s, "mul")->space == 1);
    samara_placement_row rows[8];
    size_t count = 0;
    CHECK_EQ_INT(samara_session_placement(s, rows, 8, &count), SAMARA_OK);
    CHECK_STR(rows[0].reason, "supported, in float32: float16 could not hold the values of a run");
    for (int run = 0; run < RUNS; run++)
      CHECK(run_scaled(cpu, 900) && run_scaled(s, 900) && rig_compare(cpu, s));
    CHECK_EQ_INT(rig_report(s).repeated, 1);
    CHECK(rig_end(&rig));
  }
}

SMR_TEST(a_device_that_fails_after_that_leaves_the_run_to_the_cpu) {
  static const char *const functions[] = {"compile", "load", "allocate", "submit", "wait", "copy"};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    for (int call = 1; call < 40; call++) {
      rig_reset();
      struct rig rig = rig_start(RIG_SYMBOLIC, 1, narrow);
      samara_session *cpu = rig.cpu, *s = rig.s;
      mirror_fail(functions[i], call);
      CHECK(run_scaled(cpu, 400) && run_scaled(s, 400) && rig_compare(cpu, s));
      CHECK(rig_report(s).repeated >= 1);
      mirror_fail(functions[i], 0);
      CHECK(run_scaled(cpu, 500) && run_scaled(s, 500) && rig_compare(cpu, s));
      CHECK(rig_end(&rig));
    }
}

// x + w is small compared with the rounding error of w in float16. The CPU must add the rounded
// weights, as the device does.
SMR_TEST(checks_read_weights_as_the_device_has_them) {
  static const float weights[] = {-1000.3f, -1000.7f, -1001.2f, -1001.8f};
  static const float x[] = {1000, 1000.5f, 1001, 1001.5f};
  rig_reset();
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t four = literal_int(f, 4);
  const uint32_t in = literal_input(f, literal_vector(f, "x", four));
  const uint32_t w = literal_constant(l, f, "w", SAMARA_FLOAT32, weights, 1, 4);
  const uint32_t y =
      literal_map(f, smr_op_find(SMR_CODE_ADD), "add", LITERAL_LIST(in, w), "y", four);
  literal_output(f, y, "y");
  (void)literal_finish(l);
  struct rig rig =
      rig_with(l, 1, (samara_session_options){.backend_float16 = true, .backend_check_every = 1});
  samara_session *s = rig.s;
  CHECK(literal_feed(s, 0, x, 4));
  const float want[] = {-0.5f, 0, 0, -0.5f};
  for (int run = 0; run < 3; run++)
    CHECK(literal_run(s) == SAMARA_OK && literal_expect(s, 0, want, 4));
  CHECK_STR(rig_report(s).failure, "");
  CHECK_EQ_INT(rig_report(s).checks, 3);
  CHECK_EQ_INT(smr_trust_of(rig.devices[0], "add float16 float16 float16"), SMR_TRUST_GOOD);
  CHECK(rig_end(&rig));
}

SMR_TEST(infinities_of_the_model_are_no_overflow) {
  rig_reset();
  struct rig rig = rig_start(RIG_SYMBOLIC, 1, narrow);
  samara_session *s = rig.s;
  CHECK(run_scaled(s, INFINITY));
  CHECK_EQ_INT(rig_report(s).repeated, 0);
  CHECK(rig_node(s, "mul")->float16);
  CHECK(rig_end(&rig));
}

// ---- conversions ----

SMR_TEST(floats_round_to_nearest_and_widen_in_place) {
  static float floats[1 << 16], back[1 << 16];
  static uint16_t halves[1 << 16];
  const uint32_t isa = smr_cpu_isa();
  for (uint32_t i = 0; i < 1 << 16; i++) floats[i] = smr_f16_to_f32((uint16_t)i);
  smr_float16_narrow(isa, floats, 1 << 16, halves);
  for (uint32_t i = 0; i < 1 << 16; i++) CHECK_EQ_INT(halves[i], isnan(floats[i]) ? i | 0x200 : i);
  for (size_t count = 0; count < 1 << 16; count = count * 3 + 1) {
    memcpy((uint8_t *)back + 2 * count, halves, 2 * count);
    smr_float16_widen(isa, back, count);
    for (size_t i = 0; i < count; i++)
      CHECK(back[i] == floats[i] || (isnan(back[i]) && isnan(floats[i])));
  }
  const float edges[] = {65519.9f, 65520, -65520, 2049, 2051, 1e30f, -1e30f, 1e-9f};
  const uint16_t want[] = {0x7bff, 0x7c00, 0xfc00, 0x6800, 0x6802, 0x7c00, 0xfc00, 0};
  smr_float16_narrow(isa, edges, 8, halves);
  for (int i = 0; i < 8; i++) CHECK_EQ_INT(halves[i], want[i]);
}

SMR_TEST(finite_weights_stay_finite_and_nonzero) {
  const uint32_t isa = smr_cpu_isa();
  const float weights[] = {1e30f, -1e30f, INFINITY, -INFINITY, 1e-12f, -1e-12f, 0, 0.5f};
  const uint16_t want[] = {0x7bff, 0xfbff, 0x7c00, 0xfc00, 1, 0x8001, 0, 0x3800};
  const struct smr_constant constant = {.data = (void *)(uintptr_t)weights};
  samara_region_tensor tensor = {
      .dtype = SAMARA_FLOAT32, .size_bytes = sizeof weights, .data = weights};
  smr_float16_describe(&tensor);
  CHECK(tensor.dtype == SAMARA_FLOAT16 && tensor.narrowed && tensor.data == NULL);
  CHECK_EQ_INT(tensor.size_bytes, sizeof want);
  uint16_t got[8];
  float rounded[8];
  smr_float16_constant(isa, &constant, &tensor, got);
  CHECK_MEM(got, want, sizeof want);
  smr_float16_round_weights(isa, weights, 8, rounded);
  for (int i = 0; i < 8; i++) CHECK(rounded[i] == smr_f16_to_f32(want[i]));
}

// Panels of an odd number of rows are padded in float16 alone (docs/reference/format.md).
SMR_TEST(panels_take_the_strides_of_float16) {
  enum { ROWS = 3, PANELS = 2, LANES = 16 };
  static float panels[PANELS * ROWS * LANES];
  uint16_t got[PANELS * 4 * LANES];
  for (size_t i = 0; i < PANELS * ROWS * LANES; i++) panels[i] = (float)i;
  const struct smr_constant constant = {.data = panels,
                                        .panel_stride_bytes = ROWS * LANES * sizeof(float)};
  samara_region_tensor tensor = {.dtype = SAMARA_FLOAT32,
                                 .layout = SAMARA_LAYOUT_PANEL,
                                 .size_bytes = sizeof panels,
                                 .panel_stride_bytes = constant.panel_stride_bytes};
  smr_float16_describe(&tensor);
  CHECK_EQ_INT(tensor.panel_stride_bytes, 128);  // 96, in whole 64
  REQUIRE(tensor.size_bytes == sizeof got);
  smr_float16_constant(smr_cpu_isa(), &constant, &tensor, got);
  for (size_t panel = 0; panel < PANELS; panel++)
    for (size_t i = 0; i < 4 * LANES; i++)
      CHECK_EQ_INT(got[panel * 4 * LANES + i],
                   i < ROWS * LANES ? smr_f32_to_f16(panels[panel * ROWS * LANES + i]) : 0);
}

SMR_TEST_MAIN(RUN(answers_are_near_those_of_the_cpu); RUN(models_at_random_are_near_too);
              RUN(both_forms_of_a_constant_may_be_in_use_at_once); RUN(strict_sessions_do_without);

              RUN(a_kind_that_was_wrong_in_float16_keeps_float32);
              RUN(a_number_that_is_too_large_ends_float16_not_the_device);
              RUN(a_device_that_fails_after_that_leaves_the_run_to_the_cpu);
              RUN(checks_read_weights_as_the_device_has_them);
              RUN(infinities_of_the_model_are_no_overflow);
              RUN(floats_round_to_nearest_and_widen_in_place);
              RUN(finite_weights_stay_finite_and_nonzero); RUN(panels_take_the_strides_of_float16))
