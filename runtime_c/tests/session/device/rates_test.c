// SPDX-License-Identifier: Apache-2.0
// How rates are measured, on simulated places whose times follow a formula.
#include "base/fp.h"

#include "harness.h"

#include <math.h>

#include "session/device/rates.h"

static samara_error error;

// A place: a run takes `wait`, and each node `launch`, `product` if it is one, and its work.
struct formula {
  double wait, launch, product, per_ms, bytes_per_ms;
  double noise;      // times are up to this fraction longer
  uint32_t refused;  // bits of unsupported kinds
  uint32_t largest;  // largest side in pixels
  uint32_t state;
  double spent, longest;  // ns of all runs, and of the longest node in a region
  uint32_t calls;
};

static samara_status formula_time(void *user, const struct smr_rates_probe *probe, uint32_t size,
                                  uint32_t nodes, uint64_t *ns, samara_error *why) {
  struct formula *f = user;
  const int kind = (int)(probe - smr_rates_probes);
  (void)why;
  *ns = 0;
  if ((f->refused >> kind & 1) != 0 || (f->largest != 0 && size > f->largest)) return SAMARA_OK;
  const double rate = kind == SMR_RATES_SUM ? f->bytes_per_ms : f->per_ms;
  const double each = f->launch + (kind == SMR_RATES_SUM ? 0 : f->product) +
                      smr_rates_work(probe, size) * 1e6 / rate;
  f->state = f->state * 1664525u + 1013904223u;
  const double all = (f->wait + nodes * each) * (1 + f->noise * (f->state >> 8) / (1 << 24));
  *ns = (uint64_t)(all + 0.5);
  f->spent += all;
  if (all > f->longest) f->longest = all;
  f->calls++;
  return SAMARA_OK;
}

static struct smr_rates_place place_of(struct formula *f) {
  return (struct smr_rates_place){.user = f, .time = formula_time, .waits = true};
}

static void check_close(const char *what, double got, double want) {
  if (!CHECK(got > want / 1.1 && got < want * 1.1))
    fprintf(stderr, "%s: got %g, want %g\n", what, got, want);
}

// The GPU of a server, the GPU of a phone, a CPU as device, and a slow device.
static const struct formula places[] = {
    {.wait = 20000, .launch = 7000, .product = 9000, .per_ms = 5e9, .bytes_per_ms = 1.5e9},
    {.wait = 80000, .launch = 15000, .product = 30000, .per_ms = 1.5e8, .bytes_per_ms = 2e7},
    {.wait = 30000, .launch = 9000, .product = 2000, .per_ms = 1e8, .bytes_per_ms = 1e7},
    {.wait = 300000, .launch = 100000, .product = 100000, .per_ms = 5e6, .bytes_per_ms = 2e6},
};
enum { PLACES = sizeof places / sizeof *places };

SMR_TEST(a_formula_is_found) {
  for (int i = 0; i < PLACES; i++) {
    struct formula f = places[i];
    struct smr_rates_place place = place_of(&f);
    samara_rates rates = {0};
    CHECK_EQ_INT(smr_rates_measure(&place, &rates, &error), SAMARA_OK);
    check_close("launch", (double)rates.launch_ns, f.launch);
    check_close("wait", (double)rates.wait_ns, f.wait);
    check_close("product", (double)rates.product_ns, f.product);
    check_close("float32", (double)rates.product_float32, f.per_ms);
    check_close("float16", (double)rates.product_float16, f.per_ms);
    check_close("int8", (double)rates.product_int8, f.per_ms);
    check_close("memory", (double)rates.memory, f.bytes_per_ms);
    CHECK((double)rates.depthwise <=
          f.per_ms * 1.1);  // a 64th of the work, so the measurement is rough
    CHECK_EQ_INT(rates.copy_ns + rates.to_device + rates.from_device, 0);
  }
}

// If waiting dominates, the rate is at most about 8 times the naive one.
SMR_TEST(noise_moves_rates_a_little) {
  for (int i = 0; i < PLACES; i++)
    for (uint32_t seed = 0; seed < 100; seed++) {
      struct formula f = places[i];
      struct smr_rates_place place = place_of(&f);
      samara_rates rates = {0};
      f.noise = 0.03;
      f.state = seed;
      CHECK_EQ_INT(smr_rates_measure(&place, &rates, &error), SAMARA_OK);
      CHECK((double)rates.product_float32 > f.per_ms * 0.85 &&
            (double)rates.product_float32 < f.per_ms * 1.15);
      CHECK((double)rates.memory > f.bytes_per_ms * 0.5 &&
            (double)rates.memory < f.bytes_per_ms * 2);
      CHECK((double)rates.launch_ns > f.launch * 0.5 && (double)rates.launch_ns < f.launch * 2);
    }
}

SMR_TEST(the_better_of_two_measurements_is_taken) {
  samara_rates a = {.launch_ns = 5, .product_ns = 9, .product_float32 = 7, .memory = 3};
  const samara_rates b = {
      .launch_ns = 6, .product_ns = 8, .product_float32 = 6, .memory = 4, .depthwise = 1};
  const samara_rates none = {.launch_ns = 0};
  smr_rates_better(&a, &b);
  smr_rates_better(&a, &none);
  CHECK(a.launch_ns == 5 && a.product_ns == 8 && a.product_float32 == 7);
  CHECK(a.memory == 4 && a.depthwise == 1 && a.product_int8 == 0 && a.wait_ns == 0);
}

SMR_TEST(slow_places_are_not_asked_for_much) {
  for (double per_ms = 1e2; per_ms < 1e12; per_ms *= 10) {
    struct formula f = {
        .wait = 1e10 / per_ms, .launch = 1e9 / per_ms, .per_ms = per_ms, .bytes_per_ms = per_ms};
    struct smr_rates_place place = place_of(&f);
    samara_rates rates = {0};
    CHECK_EQ_INT(smr_rates_measure(&place, &rates, &error), SAMARA_OK);
    const double first = f.wait + f.launch + smr_rates_work(&smr_rates_probes[0], 2) * 1e6 / per_ms;
    CHECK(f.longest <= (first > 16e6 ? first : 16e6) * 1.001);
    CHECK(f.calls <= 5 * 4 + 4);
    check_close("float32", (double)rates.product_float32, per_ms);
  }
}

SMR_TEST(what_is_known_is_not_measured) {
  enum { NUMBERS = sizeof(samara_rates) / sizeof(uint64_t) };
  for (size_t missing = 0; missing <= NUMBERS; missing++) {
    struct formula f = places[0];
    struct smr_rates_place place = place_of(&f);
    samara_rates rates;
    uint64_t *numbers = (uint64_t *)&rates;
    for (size_t i = 0; i < NUMBERS; i++) numbers[i] = i == missing ? 0 : 12345;
    const bool copies = missing < NUMBERS && (&numbers[missing] == &rates.copy_ns ||
                                              &numbers[missing] == &rates.to_device ||
                                              &numbers[missing] == &rates.from_device);
    CHECK_EQ_INT(smr_rates_measure(&place, &rates, &error), SAMARA_OK);
    for (size_t i = 0; i < NUMBERS; i++)
      CHECK(i == missing ? (numbers[i] != 0) != copies : numbers[i] == 12345);
    CHECK_EQ_INT(f.calls == 0, copies || missing == NUMBERS);
  }
}

SMR_TEST(places_may_take_some_kinds_only) {
  for (uint32_t refused = 0; refused < 1 << SMR_RATES_PROBES; refused++) {
    struct formula f = places[1];
    struct smr_rates_place place = place_of(&f);
    samara_rates rates = {0};
    f.refused = refused;
    CHECK_EQ_INT(smr_rates_measure(&place, &rates, &error), SAMARA_OK);
    for (int i = 0; i < SMR_RATES_PROBES; i++) {
      const uint64_t rate = *(uint64_t *)(void *)((uint8_t *)&rates + smr_rates_probes[i].rate);
      CHECK_EQ_INT(rate == 0, (refused >> i & 1) != 0);
    }
    const uint32_t products = (1u << SMR_RATES_SUM) - 1;
    const bool sums = (refused >> SMR_RATES_SUM & 1) == 0;
    const bool any = (refused & products) != products;
    if (sums) check_close("launch", (double)rates.launch_ns, f.launch);
    // With products alone, their fixed time counts as the launch.
    if (!sums && any) check_close("launch", (double)rates.launch_ns, f.launch + f.product);
    if (sums || any) check_close("wait", (double)rates.wait_ns, f.wait);
    if (sums && any) check_close("product", (double)rates.product_ns, f.product);
    if (!sums && !any) CHECK_EQ_INT(rates.launch_ns + rates.wait_ns + rates.product_ns, 0);
  }
}

SMR_TEST(places_may_take_small_nodes_only) {
  for (uint32_t largest = 1; largest <= 128; largest *= 2) {
    struct formula f = places[2];
    struct smr_rates_place place = place_of(&f);
    samara_rates rates = {0};
    f.largest = largest;
    CHECK_EQ_INT(smr_rates_measure(&place, &rates, &error), SAMARA_OK);
    CHECK_EQ_INT(rates.product_float32 == 0, largest == 1);
    CHECK((double)rates.product_float32 < f.per_ms * 1.1);
    if (largest >= 64) check_close("float32", (double)rates.product_float32, f.per_ms);
    check_close("launch", (double)rates.launch_ns, f.launch);
  }
}

SMR_TEST(two_times_give_a_rate_whatever_they_are) {
  CHECK_EQ_INT(smr_rates_fit(0, 0, 1000, 1000000), 1000);
  CHECK_EQ_INT(smr_rates_fit(1000, 1000000, 3000, 2000000), 2000);
  // Between the observed rate and 8 times that.
  CHECK_EQ_INT(smr_rates_fit(0, 999999, 1000, 1000000), 8000);
  CHECK_EQ_INT(smr_rates_fit(0, 2000000, 1000, 1000000), 8000);
  CHECK_EQ_INT(smr_rates_fit(900, 1000, 1000, 1000000), 1000);
  CHECK_EQ_INT(smr_rates_fit(0, 0, 1, UINT64_MAX), 1);
  CHECK(smr_rates_fit(1, UINT64_MAX, 2, 0) > 0);
}

struct counted {
  int calls;
  uint64_t ns;
};

static samara_status counted_once(void *user, samara_error *why) {
  struct counted *c = user;
  (void)why;
  c->calls++;
  const uint64_t start = smr_os_now_ns();
  // The first run is slow, as if a driver compiled.
  while (smr_os_now_ns() - start < (c->calls == 1 ? 3 : 1) * c->ns) continue;
  return SAMARA_OK;
}

SMR_TEST(the_least_time_is_taken) {
  static const uint64_t all[] = {10000, 300000, 6000000, 50000000};
  // The last two are too slow for many runs, and for a second run.
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    struct counted c = {.ns = all[i]};
    uint64_t ns;
    CHECK_EQ_INT(smr_rates_least(counted_once, &c, &ns, &error), SAMARA_OK);
    CHECK(ns >= c.ns);
    CHECK(c.calls >= 2 && c.calls <= (i == 3 ? 2 : i == 2 ? 6 : 51));
    // On a busy machine single runs take longer, but hardly all of them.
    if (i == 0) CHECK(ns < 3 * c.ns && c.calls > 6);
  }
}

SMR_TEST_MAIN(RUN(a_formula_is_found); RUN(noise_moves_rates_a_little);
              RUN(the_better_of_two_measurements_is_taken); RUN(slow_places_are_not_asked_for_much);
              RUN(what_is_known_is_not_measured); RUN(places_may_take_some_kinds_only);
              RUN(places_may_take_small_nodes_only); RUN(two_times_give_a_rate_whatever_they_are);
              RUN(the_least_time_is_taken))
