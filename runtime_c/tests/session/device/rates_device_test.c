// SPDX-License-Identifier: Apache-2.0
// Rates of a device: one whose times are a formula, and the mirror.
#include "base/fp.h"

#include "harness.h"

#include "session/device/device_rig.h"
#include "session/device/rates.h"

static samara_error error;

// ---- a device that computes nothing and takes known times ----

static const double timed_wait = 60000, timed_launch = 20000, timed_product = 30000;
static const double timed_copy_ns = 25000;
static const double timed_per_ms = 2e8, timed_bytes_per_ms = 2e7, timed_copies = 1e7;

static void timed_spin(double ns) {
  const uint64_t start = smr_os_now_ns();
  while ((double)(smr_os_now_ns() - start) < ns) continue;
}

static samara_status timed_submit(void *device, void *program, const samara_region *region,
                                  uint32_t first, uint32_t count, uint64_t *ticket,
                                  samara_error *why) {
  double ns = timed_wait;
  (void)device, (void)program, (void)why;
  for (uint32_t n = first; n < first + count; n++) {
    const samara_region_tensor *x = &region->tensors[region->nodes[n].inputs[0]];
    const samara_region_tensor *w = &region->tensors[region->nodes[n].inputs[1]];
    double work = (double)(x->shape[1] * x->shape[2] * x->shape[3]);
    if (w->data == NULL) {
      ns += timed_launch + 12 * work * 1e6 / timed_bytes_per_ms;
    } else {
      work *= (double)(w->shape[1] * w->shape[2] * w->shape[3]);
      ns += timed_launch + timed_product + work * 1e6 / timed_per_ms;
    }
  }
  timed_spin(ns);
  *ticket = 0;
  return SAMARA_OK;
}

static samara_status timed_copy(void *device, const samara_copy *copy, uint64_t *ticket,
                                samara_error *why) {
  (void)device, (void)why;
  timed_spin(timed_copy_ns + (double)copy->size_bytes * 1e6 / timed_copies);
  *ticket = 0;
  return SAMARA_OK;
}

static bool is_close(uint64_t got, double want) {
  return (double)got > want / 1.1 && (double)got < want * 1.1;
}

static bool is_found(const samara_rates *rates) {
  return is_close(rates->launch_ns, timed_launch) && is_close(rates->wait_ns, timed_wait) &&
         is_close(rates->product_ns, timed_product) && is_close(rates->copy_ns, timed_copy_ns) &&
         is_close(rates->product_float32, timed_per_ms) &&
         is_close(rates->product_float16, timed_per_ms) &&
         is_close(rates->product_int8, timed_per_ms) &&
         is_close(rates->memory, timed_bytes_per_ms) && is_close(rates->to_device, timed_copies) &&
         is_close(rates->from_device, timed_copies);
}

SMR_TEST(a_formula_is_found) {
  static const samara_rates nothing = {.launch_ns = 0};
  rig_reset();
  rig_settings.rates = &nothing;
  samara_backend *device = rig_open(0, NULL, NULL);
  REQUIRE(device != NULL);
  samara_backend_table own = *device->table;
  const samara_backend_table *mirror = device->table;
  samara_rates rates = {.launch_ns = 0};
  own.submit = timed_submit;
  own.copy = timed_copy;
  device->table = &own;
  bool found = false;
  // The machine may be busy: try several times.
  for (int i = 0; i < 20 && !found; i++) {
    rates = (samara_rates){.launch_ns = 0};
    CHECK_EQ_INT(smr_rates_measure_device(device, &rates, &error), SAMARA_OK);
    found = is_found(&rates);
  }
  const uint64_t *numbers = (const uint64_t *)&rates;
  for (size_t i = 0; !found && i < sizeof rates / sizeof *numbers; i++)
    fprintf(stderr, "number %zu: %llu\n", i, (unsigned long long)numbers[i]);
  CHECK(found);
  device->table = mirror;
  samara_backend_close(device);
  CHECK_EQ_INT(mirror_live(), 0);
}

// ---- the mirror ----

SMR_TEST(only_what_is_not_stated_is_measured) {
  rig_reset();
  samara_backend *device = rig_open(0, NULL, NULL);
  REQUIRE(device != NULL);
  uint64_t *numbers;
  samara_rates all = {.launch_ns = 0}, rates;
  CHECK_EQ_INT(smr_rates_measure_device(device, &all, &error), SAMARA_OK);
  numbers = (uint64_t *)&all;
  for (size_t i = 0; i < sizeof all / sizeof *numbers; i++) CHECK(numbers[i] != 0);
  // Each missing number is measured, and each number that is given stays.
  for (size_t missing = 0; missing < sizeof all / sizeof *numbers; missing++) {
    numbers = (uint64_t *)&rates;
    for (size_t i = 0; i < sizeof rates / sizeof *numbers; i++)
      numbers[i] = i == missing ? 0 : 12345;
    CHECK_EQ_INT(smr_rates_measure_device(device, &rates, &error), SAMARA_OK);
    for (size_t i = 0; i < sizeof rates / sizeof *numbers; i++)
      CHECK(i == missing ? numbers[i] != 0 : numbers[i] == 12345);
  }
  mirror_reset();
  numbers = (uint64_t *)&rates;
  for (size_t i = 0; i < sizeof rates / sizeof *numbers; i++) numbers[i] = 12345;
  CHECK_EQ_INT(smr_rates_measure_device(device, &rates, &error), SAMARA_OK);
  CHECK_EQ_INT(mirror_calls("supports") + mirror_calls("copy") + mirror_calls("allocate"), 0);
  samara_backend_close(device);
  CHECK_EQ_INT(mirror_live(), 0);
}

SMR_TEST(kinds_that_a_device_does_not_take_stay_unknown) {
  rig_reset();
  samara_backend *device = rig_open(0, NULL, NULL);
  REQUIRE(device != NULL);
  samara_rates rates = {.launch_ns = 0};
  mirror_fail("supports", -1);
  CHECK_EQ_INT(smr_rates_measure_device(device, &rates, &error), SAMARA_OK);
  CHECK(rates.product_float32 == 0 && rates.memory == 0 && rates.launch_ns == 0);
  CHECK(rates.to_device != 0 && rates.from_device != 0 && rates.copy_ns != 0);
  mirror_reset();
  device->requirements.constant_layouts = 1u << SAMARA_LAYOUT_PLAIN;
  rates = (samara_rates){.launch_ns = 0};
  CHECK_EQ_INT(smr_rates_measure_device(device, &rates, &error), SAMARA_OK);
  CHECK(rates.product_float32 == 0 && rates.depthwise == 0 && rates.memory != 0);
  samara_backend_close(device);
  CHECK_EQ_INT(mirror_live(), 0);
}

SMR_TEST(nothing_larger_is_allocated_than_there_may_be) {
  rig_reset();
  rig_settings.most_bytes = 1 << 20;
  samara_backend *device = rig_open(0, NULL, NULL);
  REQUIRE(device != NULL);
  // The device accepts nodes of up to 32 x 32 pixels.
  samara_rates rates = {.to_device = 1, .from_device = 1, .copy_ns = 1};
  CHECK_EQ_INT(smr_rates_measure_device(device, &rates, &error), SAMARA_OK);
  CHECK(rates.product_float32 > 1 && rates.memory > 1);
  device->requirements.max_memory_bytes = 256;
  rates = (samara_rates){.to_device = 1, .from_device = 1, .copy_ns = 1};
  CHECK_EQ_INT(smr_rates_measure_device(device, &rates, &error), SAMARA_OK);
  CHECK_EQ_INT(rates.product_float32, 0);
  samara_backend_close(device);
  CHECK_EQ_INT(mirror_live(), 0);
}

SMR_TEST_MAIN(RUN(a_formula_is_found); RUN(only_what_is_not_stated_is_measured);
              RUN(kinds_that_a_device_does_not_take_stay_unknown);
              RUN(nothing_larger_is_allocated_than_there_may_be))
