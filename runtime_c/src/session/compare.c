// SPDX-License-Identifier: Apache-2.0
// backend_auto: rates predict what is worth trying on devices, then the times of the caller's runs
// decide between CPU and devices.
#include "base/fp.h"

#include "session/session.h"

#include "base/fnv.h"

enum {
  COMPARE_FIRST = 2,  // warm-up runs after a change: checks, caches, page faults
  COMPARE_RUNS = 5,   // timed runs; the least time counts
  COMPARE_MOST = 64   // most runs to wait for comparable ones (same dims, not observed); then the
                      // rates decide
};

static void compare_forget(struct smr_settling *settling) {
  for (size_t i = 0; i < 2; i++)
    settling->compared[i] = (struct smr_compared){.least_ns = UINT64_MAX};
}

void smr_compare_begin(samara_session *session) {
  struct smr_settling *settling = &session->common.devices->settling;
  settling->phase = SMR_SETTLING_COMPARING;
  settling->comparing = 0;
  settling->dims = 0;
  compare_forget(settling);
}

static uint64_t compare_dims(const samara_session *session) {
  uint64_t hash = SMR_FNV_START;
  for (uint32_t i = 0; i < session->function->input_count; i++)
    hash = smr_fnv(hash, session->inputs[i].dims, sizeof session->inputs[i].dims);
  return hash;
}

// Whether times or values of nodes are observed, which costs more on a device.
static bool compare_is_watched(const samara_session *session) {
  return (SMR_HAS(profile) && session->profile.on) ||
         (SMR_HAS(keep) && session->keep.watch != NULL);
}

void smr_compare_note(samara_session *session, uint64_t start_ns) {
  struct smr_devices *devices = session->common.devices;
  if (devices == NULL || devices->settling.phase != SMR_SETTLING_COMPARING) return;
  devices->settling.comparing++;
  if (compare_is_watched(session)) return;
  const uint64_t taken = smr_os_now_ns() - start_ns, dims = compare_dims(session);
  struct smr_compared *own = &devices->settling.compared[devices->active];
  if (devices->settling.dims != dims) compare_forget(&devices->settling);
  devices->settling.dims = dims;
  if (++own->runs > COMPARE_FIRST && taken < own->least_ns) own->least_ns = taken;
}

static bool compare_is_known(const struct smr_compared *compared) {
  return compared->runs >= COMPARE_FIRST + COMPARE_RUNS;
}

bool smr_compare_is_due(const struct smr_devices *devices) {
  const struct smr_settling *settling = &devices->settling;
  if (devices->returns) return false;  // the comparison starts again
  return devices->other_entry == NULL || settling->comparing >= COMPARE_MOST ||
         compare_is_known(&settling->compared[devices->active]);
}

// Switch to the other frames. On failure the session keeps the current ones.
static samara_status compare_change(samara_session *session) {
  struct smr_devices *devices = session->common.devices;
  samara_status status = smr_away_fetch(session);
  if (status == SAMARA_OK && !devices->failed) {
    status = smr_session_go_over(session);
    if (status == SAMARA_OK) return status;
  }
  // If a device failed, the next run switches to the CPU.
  devices->settling.phase = SMR_SETTLING_OVER;
  return session->ready ? smr_session_forgive(&session->common) : status;
}

static samara_status compare_decide(samara_session *session) {
  struct smr_devices *devices = session->common.devices;
  struct smr_settling *settling = &devices->settling;
  const uint64_t cpu = settling->compared[0].least_ns, device = settling->compared[1].least_ns;
  const bool lost = device > cpu && compare_is_known(&settling->compared[1]);
  settling->phase = SMR_SETTLING_OVER;
  if (devices->active == lost) SMR_TRY(compare_change(session));
  if (!lost || devices->active) return SAMARA_OK;
  settling->lost = true;
  smr_session_log(&session->common, SAMARA_LOG_INFO,
                  "the session stays on the CPU: a run takes %llu us there and %llu us on devices",
                  (unsigned long long)(cpu / 1000), (unsigned long long)(device / 1000));
  smr_session_drop_others(session);
  return SAMARA_OK;
}

samara_status smr_compare_step(samara_session *session) {
  const struct smr_devices *devices = session->common.devices;
  struct smr_settling *settling = &session->common.devices->settling;
  if (devices->other_entry == NULL) {  // a device failed
    settling->phase = SMR_SETTLING_OVER;
    return SAMARA_OK;
  }
  if (settling->comparing >= COMPARE_MOST ||
      compare_is_known(&settling->compared[!devices->active]))
    return compare_decide(session);
  return compare_change(session);
}
