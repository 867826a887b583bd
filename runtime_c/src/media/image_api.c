// SPDX-License-Identifier: Apache-2.0
// Pictures to tensors without a model.
#include "base/fp.h"

#include "media/image.h"

#include <string.h>

#include "base/isa.h"

// A checked record with a checked picture.
struct image_job {
  samara_image_record record;
  struct smr_image_source source;
  struct smr_image_sizes sizes;
};

static samara_status image_job(const samara_image_record *record, const samara_image *image,
                               struct image_job *out, samara_error *error) {
  if (record == NULL) SMR_FAIL(error, BAD_ARGUMENT, "the record is NULL");
  SMR_TRY(smr_options_read(record, &out->record, sizeof out->record, "samara_image_record", error));
  SMR_TRY(smr_image_record_check(&out->record, NULL, error));
  SMR_TRY(smr_image_source(image, &out->record, &out->source, error));
  return smr_image_sizes(&out->record, smr_image_old_width(&out->source),
                         smr_image_old_height(&out->source), &out->sizes, error);
}

samara_status samara_preprocess_shape(const samara_image_record *record, const samara_image *image,
                                      int64_t *shape, int32_t *rank, samara_error *error) {
  struct image_job job;
  if (shape == NULL || rank == NULL) SMR_FAIL(error, BAD_ARGUMENT, "shape or rank is NULL");
  SMR_TRY(image_job(record, image, &job, error));
  *rank = smr_image_shape(&job.record, &job.sizes, shape);
  return SAMARA_OK;
}

samara_status samara_preprocess(const samara_image_record *record, const samara_image *image,
                                samara_pool *pool, const samara_allocator *allocator, void *out,
                                size_t size_bytes, samara_error *error) {
  struct image_job job;
  if (out == NULL) SMR_FAIL(error, BAD_ARGUMENT, "out is NULL");
  SMR_TRY(image_job(record, image, &job, error));
  const size_t needed = smr_image_bytes(&job.record, &job.sizes);
  if (size_bytes != needed)
    SMR_FAIL(error, BAD_SHAPE, "the tensor takes %zu bytes, out has %zu", needed, size_bytes);
  const samara_allocator memory = smr_allocator(allocator);
  const bool copies = (uintptr_t)out % sizeof(float) != 0;
  const size_t threads = pool != NULL ? samara_pool_threads(pool) : 1;
  const uint32_t isa = smr_cpu_isa();
  struct smr_bump bump = {.base = NULL};
  struct smr_image_plan plan;
  smr_image_plan(&job.record, &job.sizes, &job.source, isa, threads, &bump, &plan);
  if (copies) smr_bump_take(&bump, 1, needed);
  void *block = bump.overflow ? NULL : smr_allocate(&memory, bump.used);
  if (block == NULL) return smr_no_memory(error, bump.overflow ? SIZE_MAX : bump.used);
  bump = (struct smr_bump){.base = block, .capacity = bump.used};
  smr_image_plan(&job.record, &job.sizes, &job.source, isa, threads, &bump, &plan);
  void *tensor = copies ? smr_bump_take(&bump, 1, needed) : out;
  smr_image_run(&plan, &job.source, pool, tensor);
  if (copies) memcpy(out, tensor, needed);
  smr_release(&memory, block);
  return SAMARA_OK;
}
