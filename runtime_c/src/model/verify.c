// SPDX-License-Identifier: Apache-2.0
// Compares a file with the checksums in it.
#include "base/fp.h"

#include "model/verify.h"

#include <samara/samara_experimental.h>

#include <inttypes.h>
#include <string.h>

#include "base/fnv.h"
#include "base/sum.h"

enum {
  VERIFY_PROGRAM_FROM = 24,  // start of the bytes covered by the checksum of the program part,
  VERIFY_PROGRAM_SUM = 16,   // and position of that checksum
  VERIFY_ROOT_BYTES = 4,     // of the header: the offset of the root table, then what tells a
  VERIFY_SEAL_BYTES = 16,    // samara file and the size of the program part
};

uint64_t samara_checksum(const void *data, size_t size_bytes) { return smr_sum(data, size_bytes); }

// Fail: bytes [from, to) of the file are damaged.
static samara_status verify_bad(uint64_t from, uint64_t to, samara_error *error) {
  SMR_FAIL(error, BAD_CHECKSUM,
           "bytes %" PRIu64 " to %" PRIu64 " do not match their checksum: the file is damaged",
           from, to - 1);
}

samara_status smr_verify_program(const struct smr_image *image, samara_error *error) {
  uint64_t sum;
  memcpy(&sum, image->program + VERIFY_PROGRAM_SUM, sizeof sum);
  if (smr_fnv(SMR_FNV_START, image->program + VERIFY_PROGRAM_FROM,
              image->program_bytes - VERIFY_PROGRAM_FROM) == sum)
    return SAMARA_OK;
  return verify_bad(0, image->program_bytes, error);
}

samara_status smr_verify_seal(struct smr_image *image, samara_error *error) {
  const uint8_t *seal = image->program + image->program_bytes - VERIFY_SEAL_BYTES;
  image->sealed = memcmp(seal + VERIFY_ROOT_BYTES, image->program + VERIFY_ROOT_BYTES,
                         VERIFY_SEAL_BYTES - VERIFY_ROOT_BYTES) == 0;
  if (!image->sealed || memcmp(seal, image->program, VERIFY_ROOT_BYTES) == 0) return SAMARA_OK;
  return verify_bad(0, VERIFY_ROOT_BYTES, error);
}

// Fail: bytes [from, to) of the file, in a segment, are damaged. Names the segment and a constant
// there.
static samara_status verify_damaged(const samara_model *model, const struct smr_image *image,
                                    const struct smr_segment *segment, uint64_t from, uint64_t to,
                                    samara_error *error) {
  const samara_status status = verify_bad(from, to, error);
  smr_fail_prefix(error, status, "segment '%.40s', MiB %u: ", segment->name,
                  (unsigned)((from - segment->offset) / SMR_SUM_CHUNK));
  const struct smr_constant *first = NULL;
  bool more = false;
  for (uint32_t i = 0; i < model->constant_count; i++) {
    const struct smr_constant *c = &model->constants[i];
    // Its position in the file; out of range for a copied constant.
    const uint64_t at = (uint64_t)((uintptr_t)c->data - (uintptr_t)image->data);
    if (at >= to || at + c->size_bytes <= from) continue;
    more = first != NULL;
    if (!more) first = c;
  }
  if (first == NULL) return status;
  return smr_fail_prefix(error, status, "tensor '%.80s'%s: ", first->name,
                         more ? " or a neighbour" : "");
}

samara_status smr_verify_data(const samara_model *model, const struct smr_image *image,
                              samara_error *error) {
  uint64_t at = image->program_bytes;
  for (uint32_t i = 0; i <= model->segment_count; i++) {
    const struct smr_segment *s = i < model->segment_count ? &model->segments[i] : NULL;
    const uint64_t end = s != NULL ? s->offset : image->size_bytes;
    for (; at < end; at++)
      if (image->data[at] != 0) return verify_bad(at, end, error);
    for (uint32_t k = 0; s != NULL && k < s->sum_count; k++) {
      const uint64_t left = s->offset + s->size - at;
      const size_t bytes = left < SMR_SUM_CHUNK ? (size_t)left : SMR_SUM_CHUNK;
      if (smr_sum(image->data + at, bytes) != s->sums[k])
        return verify_damaged(model, image, s, at, at + bytes, error);
      at += bytes;
    }
  }
  return SAMARA_OK;
}
