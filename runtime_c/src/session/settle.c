// SPDX-License-Identifier: Apache-2.0
// backend_auto: a session starts on the CPU, measures and compiles in a background thread, and
// switches to its devices between two runs.
#include "base/fp.h"

#include "session/session.h"

#include <string.h>

#include "base/fnv.h"
#include "base/format.h"
#include "base/isa.h"
#include "base/isa_name.h"
#include "session/device/rates.h"

enum { SETTLE_PATH_BYTES = 1024 };

// ---- rates ----

// Path of the file with rates of this device and this CPU. False if there is no cache folder.
static bool settle_path(const samara_session *session, const samara_backend *backend, char *path) {
  char cpu[128], isa[128];
  if (backend->cache == NULL) return false;
  smr_cpu_name(cpu, sizeof cpu);
  (void)smr_isa_format(session->common.isa, isa, sizeof isa);
  const char *const keys[] = {SAMARA_VERSION,       backend->name, backend->info.name,
                              backend->info.driver, cpu,           isa};
  uint64_t hash = SMR_FNV_START;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    hash = smr_fnv(hash, keys[i], strlen(keys[i]) + 1);
  hash = smr_fnv(hash, &session->common.threads, sizeof session->common.threads);
  return smr_format(path, SETTLE_PATH_BYTES, "%s/rates-%08x%08x.txt", backend->cache,
                    (unsigned)(hash >> 32), (unsigned)hash) < SETTLE_PATH_BYTES;
}

// Measure the CPU with as many threads as the session has, in another pool, because the session's
// pool may be busy.
static samara_status settle_host(const samara_session *session, const samara_backend *backend,
                                 samara_rates *host, samara_error *error) {
  samara_pool *pool = NULL;
  const samara_pool_options options = {.struct_size = sizeof options,
                                       .threads = session->common.threads,
                                       .allocator = &backend->allocator};
  if (SMR_HAS(threads) && session->common.threads > 1)
    SMR_TRY(samara_pool_create(&options, &pool, error));
  const samara_status status =
      smr_rates_measure_host(pool, session->common.isa, &backend->allocator, host, error);
  samara_pool_destroy(pool);
  return status;
}

// The rates of a device and of the CPU: from the options, from the cache folder, or measured.
static samara_status settle_rates(const samara_session *session, const samara_backend *backend,
                                  struct smr_rates *rates, samara_error *error) {
  char path[SETTLE_PATH_BYTES];
  samara_error ignored;
  if (backend->rates != NULL)
    return smr_rates_read(backend->rates, &backend->allocator, rates, error);
  const bool kept = settle_path(session, backend, path);
  if (kept && smr_rates_read(path, &backend->allocator, rates, &ignored) == SAMARA_OK)
    return SAMARA_OK;
  *rates = (struct smr_rates){.device = backend->info.rates};
  // Measure the host twice at different times, so that one disturbance does not favour the device.
  samara_rates again = {0};
  SMR_TRY(settle_host(session, backend, &again, error));
  SMR_TRY(smr_rates_measure_device(backend, &rates->device, error));
  SMR_TRY(settle_host(session, backend, &rates->host, error));
  smr_rates_better(&rates->host, &again);
  // If the file cannot be written, the next process measures again.
  if (kept && smr_os_make_folder(backend->cache, &backend->allocator, &ignored) == SAMARA_OK)
    (void)smr_rates_write(path, &backend->allocator, rates, &ignored);
  return SAMARA_OK;
}

// ---- the background thread ----

static samara_status settle_work(const samara_session *session, samara_error *error) {
  const struct smr_devices *devices = session->common.devices;
  if (devices->settling.phase == SMR_SETTLING_COMPILING)
    return smr_devices_compile(devices, session->common.model, error);
  for (uint32_t i = 0; i < devices->count; i++) {
    samara_error why = {.status = SAMARA_OK};
    const samara_backend *backend = devices->backends[i];
    const samara_status status = settle_rates(session, backend, &devices->settling.rates[i], &why);
    if (status != SAMARA_OK) return smr_device_error(backend, "measuring", status, &why, error);
  }
  return SAMARA_OK;
}

static void settle_thread(void *argument) {
  const samara_session *session = argument;
  struct smr_settling *settling = &session->common.devices->settling;
  settling->status = settle_work(session, &settling->error);
  SMR_ATOMIC_STORE(&settling->done, 1);
}

static void settle_begin(samara_session *session, enum smr_settling_phase phase) {
  struct smr_settling *settling = &session->common.devices->settling;
  settling->phase = phase;
  settling->error = (samara_error){.status = SAMARA_OK};
  SMR_ATOMIC_STORE(&settling->done, 0);
  settling->threaded = SMR_HAS(threads) && !settling->wait &&
                       smr_os_thread_start(&settling->thread, settle_thread, session);
  if (!settling->threaded) settle_thread(session);
}

void smr_session_settle_end(samara_session *session) {
  struct smr_settling *settling = &session->common.devices->settling;
  if (settling->threaded) smr_os_thread_join(&settling->thread);
  settling->threaded = false;
}

// ---- steps ----

static samara_status settle_idle(samara_session *session) {
  struct smr_devices *devices = session->common.devices;
  SMR_TAKE(&session->common, devices->settling.rates, devices->count);
  settle_begin(session, SMR_SETTLING_MEASURING);
  return SAMARA_OK;
}

// Rates are known: decide, and compile if there is a gain.
static samara_status settle_measured(samara_session *session) {
  struct smr_devices *devices = session->common.devices;
  bool any = false;
  SMR_TAKE(&session->common, devices->choices, session->common.model->function_count);
  for (uint32_t i = 0; i < session->frames.count; i++) {
    struct smr_frame *frame = session->frames.order[i];
    struct smr_device_choice **choices =
        &devices->choices[frame->function - session->common.model->functions];
    SMR_TAKE(&session->common, *choices, frame->function->node_count);
    for (uint32_t d = 0; d < devices->count; d++)
      SMR_TRY(smr_devices_decide(frame, d, &devices->settling.rates[d], *choices));
    for (uint32_t n = 0; n < frame->function->node_count; n++) any = any || (*choices)[n].space;
  }
  devices->settling.phase = SMR_SETTLING_OVER;
  if (!any) return SAMARA_OK;
  SMR_TRY(smr_session_build_others(session));
  settle_begin(session, SMR_SETTLING_COMPILING);
  return SAMARA_OK;
}

// Given rates decide; measured rates may mislead, so runs are compared.
static samara_status settle_compiled(samara_session *session) {
  struct smr_devices *devices = session->common.devices;
  for (uint32_t i = 0; i < devices->count; i++)
    if (devices->backends[i]->rates != NULL) return smr_session_go_over(session);
  // With backend_wait the first run uses the devices.
  if (devices->settling.wait) SMR_TRY(smr_session_go_over(session));
  if (devices->other_entry != NULL) smr_compare_begin(session);
  return SAMARA_OK;
}

static samara_status settle_step(samara_session *session) {
  struct smr_settling *settling = &session->common.devices->settling;
  const enum smr_settling_phase phase = settling->phase;
  if (phase == SMR_SETTLING_IDLE) return settle_idle(session);
  if (phase == SMR_SETTLING_COMPARING) return smr_compare_step(session);
  smr_session_settle_end(session);
  settling->phase = SMR_SETTLING_OVER;
  if (settling->status != SAMARA_OK) {
    session->error = settling->error;
    return settling->status;
  }
  return phase == SMR_SETTLING_MEASURING ? settle_measured(session) : settle_compiled(session);
}

// Whether a step can be taken without waiting.
static bool settle_is_due(const struct smr_devices *devices) {
  if (devices->settling.phase == SMR_SETTLING_IDLE) return true;
  if (devices->settling.phase == SMR_SETTLING_COMPARING) return smr_compare_is_due(devices);
  return devices->settling.phase != SMR_SETTLING_OVER && SMR_ATOMIC_LOAD(&devices->settling.done);
}

samara_status smr_session_settle(samara_session *session) {
  struct smr_devices *devices = session->common.devices;
  if (devices == NULL || !devices->automatic) return SAMARA_OK;
  while (settle_is_due(devices)) {
    if (settle_step(session) == SAMARA_OK) continue;
    devices->settling.phase = SMR_SETTLING_OVER;
    devices->failure = session->error;
    smr_session_log(&session->common, SAMARA_LOG_WARNING, "the session stays on the CPU: %s",
                    session->error.text);
    (void)smr_session_forgive(&session->common);
    if (!devices->active) smr_session_drop_others(session);
    if (session->ready) continue;
    session->error = devices->failure;
    return session->error.status;
  }
  return SAMARA_OK;
}
