// SPDX-License-Identifier: Apache-2.0
// Verdicts on a device's results by kind of node, stored with the open device, and in its cache
// folder for the next process.
#include "base/fp.h"

#include "session/device/device.h"

#include <string.h>

#include "base/fnv.h"
#include "base/format.h"

// ---- keys ----

static size_t trust_operand(char *key, size_t used, const struct smr_tensor *t, bool float16) {
  if (t == NULL || used >= SMR_TRUST_KEY) return used;
  const uint8_t dtype = SMR_HAS(backends_float16) && float16 && t->dtype == SAMARA_FLOAT32
                            ? SAMARA_FLOAT16
                            : t->dtype;
  used += smr_format(key + used, SMR_TRUST_KEY - used, " %s", smr_dtype_name(dtype));
  if (t->layout != SMR_LAYOUT_PLAIN && used < SMR_TRUST_KEY)
    used += smr_format(key + used, SMR_TRUST_KEY - used, ":%u", (unsigned)t->layout);
  return used;
}

void smr_trust_key(const struct smr_frame_node *node, char key[SMR_TRUST_KEY]) {
  const struct smr_job *job = &node->job;
  size_t used = smr_format(key, SMR_TRUST_KEY, "%s", job->op->name);
  // Three inputs are enough: a concat may have any number, all alike.
  for (uint32_t i = 0; i < job->input_count && i < 3; i++)
    used = trust_operand(key, used, job->inputs[i], node->float16);
  for (uint32_t i = 0; i < job->output_count && i < 2; i++)
    used = trust_operand(key, used, job->outputs[i], node->float16);
}

void smr_trust_step_key(const struct smr_device_region *region, uint32_t n,
                        char key[SMR_TRUST_KEY]) {
  enum { HASH = 20 };  // bytes reserved for the hash
  const uint64_t kind = region->joins[n - region->begin].kind;
  size_t used = 0;
  for (uint32_t m = region->begin; m <= n; m++) {
    if (smr_region_last(region, m) != n) continue;
    used += smr_format(key + used, SMR_TRUST_KEY - HASH - used, "%s%s", used == 0 ? "" : "+",
                       region->frame->nodes[m].node->op->name);
    if (used >= SMR_TRUST_KEY - HASH) used = SMR_TRUST_KEY - HASH - 1;  // truncate
  }
  (void)smr_format(key + used, SMR_TRUST_KEY - used, " #%08x%08x", (unsigned)(kind >> 32),
                   (unsigned)kind);
}

// ---- verdicts ----

// Under the lock.
static struct smr_verdict *trust_find(const samara_backend *backend, const char *key) {
  struct smr_verdict *verdict = backend->verdicts;
  while (verdict != NULL && strcmp(verdict->key, key) != 0) verdict = verdict->next;
  return verdict;
}

enum smr_trust smr_trust_of(samara_backend *backend, const char *key) {
  smr_os_mutex_lock(&backend->lock);
  const struct smr_verdict *verdict = trust_find(backend, key);
  const enum smr_trust trust = verdict != NULL ? verdict->trust : SMR_TRUST_UNKNOWN;
  smr_os_mutex_unlock(&backend->lock);
  return trust;
}

// Under the lock. Returns whether the verdict changed; bad verdicts are final.
static bool trust_put(samara_backend *backend, const char *key, enum smr_trust trust) {
  struct smr_verdict *verdict = trust_find(backend, key);
  if (verdict != NULL && (verdict->trust == SMR_TRUST_BAD || verdict->trust == trust)) return false;
  if (verdict == NULL) {
    verdict = smr_allocate_zeroed(&backend->allocator, 1, sizeof *verdict);
    if (verdict == NULL) return false;
    memcpy(verdict->key, key, strlen(key));
    verdict->next = backend->verdicts;
    backend->verdicts = verdict;
  }
  verdict->trust = trust;
  return true;
}

void smr_trust_free(samara_backend *backend) {
  for (struct smr_verdict *next; backend->verdicts != NULL; backend->verdicts = next) {
    next = backend->verdicts->next;
    smr_release(&backend->allocator, backend->verdicts);
  }
}

// ---- the file ----

enum { TRUST_PATH_BYTES = 1024, TRUST_FILE_BYTES = 1 << 16 };

// False if the device has no cache folder.
static bool trust_path(const samara_backend *backend, char *path) {
  const char *const keys[] = {SAMARA_VERSION, backend->name, backend->info.name,
                              backend->info.driver};
  uint64_t hash = SMR_FNV_START;
  if (backend->cache == NULL) return false;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    hash = smr_fnv(hash, keys[i], strlen(keys[i]) + 1);
  return smr_format(path, TRUST_PATH_BYTES, "%s/checked-%08x%08x.txt", backend->cache,
                    (unsigned)(hash >> 32), (unsigned)hash) < TRUST_PATH_BYTES;
}

static const char trust_magic[] = "samara-checked 1\n";
static const char trust_good[] = "good ", trust_bad[] = "bad ";

static void trust_line(samara_backend *backend, const char *line, size_t length) {
  const bool good = strncmp(line, trust_good, sizeof trust_good - 1) == 0;
  const size_t skipped = good ? sizeof trust_good - 1 : sizeof trust_bad - 1;
  if (!good && strncmp(line, trust_bad, sizeof trust_bad - 1) != 0) return;
  char key[SMR_TRUST_KEY] = "";
  if (length <= skipped || length - skipped >= sizeof key) return;
  memcpy(key, line + skipped, length - skipped);
  (void)trust_put(backend, key, good ? SMR_TRUST_GOOD : SMR_TRUST_BAD);
}

// Under the lock, or before the device is shared.
void smr_trust_read(samara_backend *backend) {
  char path[TRUST_PATH_BYTES];
  struct smr_os_file file;
  samara_error ignored;
  if (!trust_path(backend, path) ||
      smr_os_read_path(path, TRUST_FILE_BYTES, &backend->allocator, &file, &ignored) != SAMARA_OK)
    return;
  const char *text = file.data, *end = text + file.size_bytes;
  const size_t magic = sizeof trust_magic - 1;
  if (file.size_bytes > magic && memcmp(text, trust_magic, magic) == 0)
    for (const char *line = text + magic, *stop; line < end; line = stop + 1) {
      stop = memchr(line, '\n', (size_t)(end - line));
      if (stop == NULL) break;
      trust_line(backend, line, (size_t)(stop - line));
    }
  smr_os_close(&file, &backend->allocator);
}

// Under the lock. Verdicts that cannot be written are checked again by the next process.
static void trust_write(samara_backend *backend) {
  char path[TRUST_PATH_BYTES];
  samara_error ignored;
  size_t room = sizeof trust_magic, used = 0;
  if (!trust_path(backend, path)) return;
  // Another process may have written verdicts meanwhile.
  smr_trust_read(backend);
  for (const struct smr_verdict *v = backend->verdicts; v != NULL; v = v->next)
    room += SMR_TRUST_KEY + sizeof trust_good;
  char *text = smr_allocate(&backend->allocator, room);
  if (text == NULL) return;
  used = smr_format(text, room, "%s", trust_magic);
  for (const struct smr_verdict *v = backend->verdicts; v != NULL; v = v->next)
    used += smr_format(text + used, room - used, "%s%s\n",
                       v->trust == SMR_TRUST_GOOD ? trust_good : trust_bad, v->key);
  if (smr_os_make_folder(backend->cache, &backend->allocator, &ignored) == SAMARA_OK)
    (void)smr_os_write_path(path, text, used, &backend->allocator, &ignored);
  smr_release(&backend->allocator, text);
}

void smr_trust_note(samara_backend *backend, const char *key, enum smr_trust trust) {
  smr_os_mutex_lock(&backend->lock);
  if (trust_put(backend, key, trust)) trust_write(backend);
  smr_os_mutex_unlock(&backend->lock);
}
