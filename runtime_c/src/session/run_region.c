// SPDX-License-Identifier: Apache-2.0
// Runs regions on devices, and repeats failed runs on the CPU.
#include "base/fp.h"

#include "session/session.h"

#include "base/os.h"

// After node `n`: check it if a check is due.
static samara_status region_check(struct smr_device_region *region, uint32_t n) {
  bool whole;
  if (smr_check_is_due(region, n, &whole)) SMR_TRY(smr_check_step(region, n, whole));
  return !SMR_HAS(backends_float16) || whole || !smr_check_looks(region, n)
             ? SAMARA_OK
             : smr_check_float16(region, n);
}

// Run every node separately, for observers of times or values.
static samara_status region_separately(struct smr_device_region *region, bool timed, bool watched) {
  struct smr_frame *frame = region->frame;
  for (uint32_t n = region->begin; n < region->end; n++) {
    uint64_t start = timed ? smr_os_now_ns() : 0;
    SMR_TRY(smr_region_compute(region, n - region->begin, 1));
    SMR_TRY(smr_region_wait(region));
    const uint64_t stop = timed ? smr_os_now_ns() : 0;
    SMR_TRY(region_check(region, n));
    if (watched) SMR_TRY(smr_region_show(region, n));
    if (timed) start += smr_os_now_ns() - stop;  // without the check and the copies
    SMR_TRY(smr_session_note(frame, &frame->nodes[n], timed, start));
  }
  *smr_region_trusted(region) = true;
  return smr_region_end(region);
}

// Run the region as a whole, with stops after steps that are checked.
static samara_status region_checked(struct smr_device_region *region) {
  uint32_t begun = region->begin;
  bool whole = false;
  for (uint32_t n = region->begin; n < region->end; n++) {
    if (!smr_check_is_due(region, n, &whole) && !smr_check_looks(region, n)) continue;
    SMR_TRY(smr_region_compute(region, begun - region->begin, n + 1 - begun));
    SMR_TRY(region_check(region, n));
    begun = n + 1;
  }
  *smr_region_trusted(region) = true;
  if (begun == region->end) return SAMARA_OK;
  return smr_region_compute(region, begun - region->begin, region->end - begun);
}

static bool region_looks(const struct smr_device_region *region) {
  for (uint32_t n = region->begin; n < region->end; n++)
    if (SMR_HAS(backends_float16) && smr_check_looks(region, n)) return true;
  return false;
}

samara_status smr_session_run_region(struct smr_device_region *region) {
  struct smr_frame *frame = region->frame;
  const samara_session *session = frame->session;
  const bool timed = SMR_HAS(profile) && session->profile.on;
  const bool watched = SMR_HAS(keep) && session->keep.watch != NULL;
  for (uint32_t n = region->begin; n < region->end; n++) SMR_TRY(smr_session_tick(frame->common));
  const bool looks = region_looks(region);
  const bool nodes = timed || watched || looks || region->joins == NULL;
  const bool checked =
      !region->trusted[nodes] || looks || session->common.devices->checked == region;
  const bool stops = checked && !region->space->backend->requirements.any_range;
  SMR_TRY(smr_region_begin(region, timed || watched || (looks && region->joins != NULL) || stops));
  if (timed || watched) return region_separately(region, timed, watched);
  if (checked)
    SMR_TRY(region_checked(region));
  else
    SMR_TRY(smr_region_compute(region, 0, region->end - region->begin));
  SMR_TRY(smr_region_end(region));
  for (uint32_t n = region->begin; n < region->end; n++)
    SMR_TRY(smr_session_note(frame, &frame->nodes[n], false, 0));
  return SAMARA_OK;
}

// Repeat the run on the CPU after a device reported invalid data. The device stays in use in any
// case. If the CPU finds the data valid, the report may concern another session; too many such
// reports are a failure of the device.
static samara_status run_judge(samara_session *session) {
  enum { MOST_ALARMS = 3 };
  struct smr_devices *devices = session->common.devices;
  const samara_status status = smr_session_run_once(session);
  devices->returns = status != SAMARA_OK || ++devices->alarms <= MOST_ALARMS;
  return status;
}

// Repeat a run in which a device failed on the CPU. Its inputs are unchanged, because variables get
// their new values at the end of a run.
samara_status smr_session_run_again(samara_session *session, samara_status status) {
  struct smr_devices *devices = session->common.devices;
  if (devices == NULL) return status;
  if (devices->active && devices->regions != NULL) {
    devices->runs++;
    devices->launches = devices->launching;
  }
  devices->launching = 0;
  if (status == SAMARA_OK || !devices->failed) return status;
  SMR_TRY(smr_session_recover(session, status, true));
  SMR_TRY(smr_away_fetch(session));
  devices->repeated++;
  session->common.run.steps = 0;
  if (SMR_DEVICES_BLAME && devices->blames_data) return run_judge(session);
  if (!SMR_HAS(backends_float16) || !devices->overflowed || !devices->float16)
    return smr_session_run_once(session);
  devices->float16 = false;
  SMR_TRY(smr_session_return(session));
  if (devices->active)
    smr_session_log(&session->common, SAMARA_LOG_WARNING, "the devices continue in float32");
  return smr_session_run_again(session, smr_session_run_once(session));
}
