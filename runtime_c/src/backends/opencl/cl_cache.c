// SPDX-License-Identifier: Apache-2.0
// Reads and writes compiled programs; a file is a header, the texts of its key, and the binary.
#include "base/fp.h"

#include "backends/opencl/cl_cache.h"

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/fnv.h"
#include "base/format.h"
#include "base/sum.h"

// In the machine's byte order: on a machine with another one the magic does not match.
struct cache_header {
  uint64_t magic;
  uint64_t version;
  uint64_t key;           // hash of the source and the texts, also the file's name
  uint64_t source_bytes;  // in addition to the hash, against collisions
  uint64_t source_sum;
  uint64_t texts_bytes;  // each ends in a NUL
  uint64_t binary_bytes;
  uint64_t sum;  // checksum of the file, with this field 0
};

static const uint64_t CACHE_MAGIC = UINT64_C(0x4e49424c43524d53);  // "SMRCLBIN"
enum {
  CACHE_VERSION = 1,
  CACHE_MAX_BYTES = 256 << 20,  // limit per program; the largest seen has 2 MB
  CACHE_NAME_BYTES = 48,
};

static struct cache_header cache_expect(const struct smr_cl_cache_key *key) {
  struct cache_header header = {.magic = CACHE_MAGIC,
                                .version = CACHE_VERSION,
                                .source_bytes = key->source_bytes,
                                .source_sum = smr_sum(key->source, key->source_bytes)};
  header.key = smr_fnv(SMR_FNV_START, key->source, key->source_bytes);
  for (size_t i = 0; i < SMR_CL_CACHE_TEXTS; i++) {
    const size_t bytes = strlen(key->texts[i]) + 1;
    header.key = smr_fnv(header.key, key->texts[i], bytes);
    header.texts_bytes += bytes;
  }
  return header;
}

static char *cache_path(const struct smr_cl_cache_key *key, uint64_t hash,
                        const samara_allocator *allocator) {
  const size_t room = strlen(key->folder) + CACHE_NAME_BYTES;
  char *path = (char *)smr_allocate(allocator, room);
  if (path != NULL) {
    (void)smr_format(path, room, "%s/opencl-%016llx.bin", key->folder, (unsigned long long)hash);
  }
  return path;
}

// Write the texts consecutively, or compare them with existing bytes.
static void cache_put_texts(const struct smr_cl_cache_key *key, unsigned char *to) {
  for (size_t i = 0; i < SMR_CL_CACHE_TEXTS; i++) {
    const size_t bytes = strlen(key->texts[i]) + 1;
    memcpy(to, key->texts[i], bytes);
    to += bytes;
  }
}
static bool cache_has_texts(const struct smr_cl_cache_key *key, const unsigned char *at) {
  for (size_t i = 0; i < SMR_CL_CACHE_TEXTS; i++) {
    const size_t bytes = strlen(key->texts[i]) + 1;
    if (memcmp(at, key->texts[i], bytes) != 0) return false;
    at += bytes;
  }
  return true;
}

// Whether the bytes are a valid entry for this key. Clears the sum in them.
static bool cache_fits(const struct smr_cl_cache_key *key, const struct cache_header *expect,
                       unsigned char *bytes, size_t size, size_t *binary_bytes) {
  struct cache_header header;
  if (size < sizeof header) return false;
  memcpy(&header, bytes, sizeof header);
  const size_t rest = size - sizeof header;
  if (header.magic != expect->magic || header.version != expect->version ||
      header.key != expect->key || header.source_bytes != expect->source_bytes ||
      header.source_sum != expect->source_sum || header.texts_bytes != expect->texts_bytes ||
      header.texts_bytes > rest || header.binary_bytes != rest - header.texts_bytes ||
      header.binary_bytes == 0)
    return false;
  const uint64_t sum = header.sum;
  header.sum = 0;
  memcpy(bytes, &header, sizeof header);
  if (smr_sum(bytes, size) != sum || !cache_has_texts(key, bytes + sizeof header)) return false;
  *binary_bytes = (size_t)header.binary_bytes;
  return true;
}

bool smr_cl_cache_read(const struct smr_cl_cache_key *key, const samara_allocator *allocator,
                       struct smr_cl_cache_entry *out) {
  const struct cache_header expect = cache_expect(key);
  char *path = cache_path(key, expect.key, allocator);
  if (path == NULL) return false;
  struct smr_cl_cache_entry entry = {{0}, NULL, 0};
  const samara_status status =
      smr_os_read_path(path, CACHE_MAX_BYTES, allocator, &entry.file, NULL);
  smr_release(allocator, path);
  if (status != SAMARA_OK) return false;
  if (!cache_fits(key, &expect, (unsigned char *)entry.file.base, entry.file.size_bytes,
                  &entry.binary_bytes)) {
    smr_os_close(&entry.file, allocator);
    return false;
  }
  entry.binary =
      (const unsigned char *)entry.file.data + entry.file.size_bytes - entry.binary_bytes;
  *out = entry;
  return true;
}

samara_status smr_cl_cache_write(const struct smr_cl_cache_key *key, const unsigned char *binary,
                                 size_t binary_bytes, const samara_allocator *allocator,
                                 samara_error *error) {
  struct cache_header header = cache_expect(key);
  header.binary_bytes = binary_bytes;
  size_t size = sizeof header;
  if (!smr_add_size(size, (size_t)header.texts_bytes, &size) ||
      !smr_add_size(size, binary_bytes, &size) || size > CACHE_MAX_BYTES) {
    SMR_FAIL(error, LIMIT, "a program of %zu bytes is too large to keep", binary_bytes);
  }
  SMR_TRY(smr_os_make_folder(key->folder, allocator, error));
  char *path = cache_path(key, header.key, allocator);
  unsigned char *bytes = (unsigned char *)smr_allocate(allocator, size);
  samara_status status = SAMARA_OK;
  if (path == NULL || bytes == NULL) {
    status = smr_no_memory(error, size);
  } else {
    memcpy(bytes, &header, sizeof header);
    cache_put_texts(key, bytes + sizeof header);
    memcpy(bytes + size - binary_bytes, binary, binary_bytes);
    header.sum = smr_sum(bytes, size);
    memcpy(bytes, &header, sizeof header);
    status = smr_os_write_path(path, bytes, size, allocator, error);
  }
  smr_release(allocator, bytes);
  smr_release(allocator, path);
  return status;
}
