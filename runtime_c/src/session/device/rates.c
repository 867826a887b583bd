// SPDX-License-Identifier: Apache-2.0
// Measures rates with nodes of two sizes: one that costs little more than its launch, and one that
// takes some milliseconds.
#include "base/fp.h"

#include "session/device/rates.h"

// Pixels along a side.
enum { RATES_FIRST = 2, RATES_LARGEST = 128 };
// Runs per size: RATES_RUNS within RATES_SPENT_NS, but at least RATES_FEW within
// RATES_FEW_SPENT_NS, so that at least one run is not interrupted.
enum { RATES_RUNS = 50, RATES_SPENT_NS = 4000000, RATES_FEW = 5, RATES_FEW_SPENT_NS = 40000000 };
// Predicted time of the largest node: short, because short runs are seldom interrupted;
// RATES_CONTRAST times the smallest node if that is longer, up to RATES_LONG_NS.
enum { RATES_SHORT_NS = 2000000, RATES_LONG_NS = 16000000, RATES_CONTRAST = 16 };

static uint64_t *rates_at(samara_rates *rates, const struct smr_rates_probe *probe) {
  return (uint64_t *)(void *)((uint8_t *)rates + probe->rate);
}

uint64_t smr_rates_fit(double small_work, uint64_t small_ns, double work, uint64_t ns) {
  const double all = ns == 0 ? 1 : (double)ns;
  const double between = ns > small_ns ? (double)(ns - small_ns) : 0;
  const double least = all / 8;  // least share of the time that is counted as work
  const double slope = (work - small_work) * 1e6 / (between > least ? between : least);
  const double naive = work * 1e6 / all;
  const double rate = slope > naive ? slope : naive;
  return rate < 1 ? 1 : (uint64_t)rate;
}

samara_status smr_rates_least(samara_status (*once)(void *user, samara_error *error), void *user,
                              uint64_t *ns, samara_error *error) {
  uint64_t spent = 0;
  *ns = UINT64_MAX;
  SMR_TRY(once(user, error));
  for (int run = 0; run < (spent < RATES_SPENT_NS ? RATES_RUNS : RATES_FEW); run++) {
    if (spent >= RATES_FEW_SPENT_NS) break;
    const uint64_t start = smr_os_now_ns();
    SMR_TRY(once(user, error));
    const uint64_t took = smr_os_now_ns() - start;
    spent += took;
    if (took < *ns) *ns = took;
  }
  if (*ns == 0) *ns = 1;
  return SAMARA_OK;
}

// Measure one kind of work, from a small node to the largest within the time limit. Four times the
// pixels take at most four times as long, so steps may be large.
static samara_status rates_kind(const struct smr_rates_place *place,
                                const struct smr_rates_probe *probe, uint64_t *rate,
                                samara_error *error) {
  uint32_t size = RATES_FIRST;
  uint64_t first, last, most = RATES_SHORT_NS;
  SMR_TRY(place->time(place->user, probe, size, 1, &first, error));
  if (first == 0) return SAMARA_OK;
  last = first;
  if (first > most / RATES_CONTRAST)
    most = first < RATES_LONG_NS / RATES_CONTRAST ? first * RATES_CONTRAST : RATES_LONG_NS;
  while (true) {
    uint32_t next = size;
    for (uint64_t ns = last; next < RATES_LARGEST && ns <= most / 4; ns *= 4) next *= 2;
    if (next == size) break;
    uint64_t ns;
    SMR_TRY(place->time(place->user, probe, next, 1, &ns, error));
    if (ns == 0) break;  // too large for the device
    size = next;
    last = ns;
  }
  const bool grown = size != RATES_FIRST;
  *rate = smr_rates_fit(grown ? smr_rates_work(probe, RATES_FIRST) : 0, grown ? first : 0,
                        smr_rates_work(probe, size), last);
  return SAMARA_OK;
}

// Time of one node alone (*one) and as one of several (*each). Both 0 if it cannot run.
static samara_status rates_beside(const struct smr_rates_place *place,
                                  const struct smr_rates_probe *probe, uint32_t size, uint64_t *one,
                                  uint64_t *each, samara_error *error) {
  uint64_t many, nodes = SMR_RATES_NODES;
  SMR_TRY(place->time(place->user, probe, size, 1, one, error));
  if (*one > RATES_LONG_NS / nodes) nodes = RATES_LONG_NS / *one;
  *each = *one;  // for a slow node both are the same
  if (*one == 0 || nodes < 2) return SAMARA_OK;
  SMR_TRY(place->time(place->user, probe, size, (uint32_t)nodes, &many, error));
  const uint64_t beside = many > *one ? (many - *one) / (nodes - 1) : 0;
  if (beside < *one) *each = beside;
  return SAMARA_OK;
}

// The difference, at least 1, because 0 means unknown.
static uint64_t rates_less(uint64_t a, uint64_t b) { return a > b ? a - b : 1; }

// Fixed costs of launches, waits and products. A device without `add` is measured with products.
static samara_status rates_fixed(const struct smr_rates_place *place, const samara_rates *known,
                                 samara_rates *found, samara_error *error) {
  uint64_t one, each;
  SMR_TRY(rates_beside(place, &smr_rates_probes[SMR_RATES_SUM], 1, &one, &each, error));
  found->launch_ns = one == 0 ? 0 : rates_less(each, 0);
  found->wait_ns = one == 0 ? 0 : rates_less(one, each);
  for (int i = 0; i < SMR_RATES_SUM; i++) {
    const struct smr_rates_probe *probe = &smr_rates_probes[i];
    SMR_TRY(rates_beside(place, probe, RATES_FIRST, &one, &each, error));
    if (one == 0) continue;
    samara_rates all = *known;
    const uint64_t rate = *rates_at(&all, probe);
    const double work = rate == 0 ? 0 : smr_rates_work(probe, RATES_FIRST) * 1e6 / (double)rate;
    const uint64_t beside = rates_less(each, work < (double)each ? (uint64_t)work : each);
    if (found->launch_ns == 0) {
      found->launch_ns = beside;
      found->wait_ns = rates_less(one, each);
    }
    found->product_ns = rates_less(beside, found->launch_ns);
    break;
  }
  return SAMARA_OK;
}

void smr_rates_better(samara_rates *rates, const samara_rates *other) {
  uint64_t *const times[] = {&rates->launch_ns, &rates->product_ns};
  const uint64_t others[] = {other->launch_ns, other->product_ns};
  for (size_t i = 0; i < sizeof times / sizeof *times; i++)
    if (others[i] != 0 && others[i] < *times[i]) *times[i] = others[i];
  for (int i = 0; i < SMR_RATES_PROBES; i++) {
    samara_rates again = *other;
    const uint64_t rate = *rates_at(&again, &smr_rates_probes[i]);
    uint64_t *best = rates_at(rates, &smr_rates_probes[i]);
    if (rate > *best) *best = rate;
  }
}

samara_status smr_rates_measure(const struct smr_rates_place *place, samara_rates *rates,
                                samara_error *error) {
  samara_rates found = {0};
  for (int i = 0; i < SMR_RATES_PROBES; i++) {
    uint64_t *rate = rates_at(rates, &smr_rates_probes[i]);
    if (*rate == 0) SMR_TRY(rates_kind(place, &smr_rates_probes[i], rate, error));
  }
  if (rates->launch_ns != 0 && rates->product_ns != 0 && (rates->wait_ns != 0 || !place->waits))
    return SAMARA_OK;
  SMR_TRY(rates_fixed(place, rates, &found, error));
  if (rates->launch_ns == 0) rates->launch_ns = found.launch_ns;
  if (rates->product_ns == 0) rates->product_ns = found.product_ns;
  if (rates->wait_ns == 0 && place->waits) rates->wait_ns = found.wait_ns;
  return SAMARA_OK;
}
