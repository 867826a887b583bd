// SPDX-License-Identifier: Apache-2.0
// Opens and closes models, answers questions about them, and keeps derived copies of constants.
#include "base/fp.h"

#include "model/model.h"

#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "base/fnv.h"
#include "base/os.h"
#include "model/decode.h"

enum {
  MODEL_CHECKSUM_FROM = 24,  // the checksum covers the program part from here on
  MODEL_SCHEMA_VERSION = 1,
};
static const uint64_t model_max_program = UINT64_C(256) << 20;

// A derived copy; its bytes follow in a block of their own.
struct model_derived {
  struct model_derived *next;
  const struct smr_op *op;
  int32_t constant;
  uint32_t layout;
  size_t size_bytes;
  void *data;
};

struct smr_model_private {
  struct smr_os_file file;  // base NULL when the image is not a file
  void *image;              // read by callbacks, or NULL
  void *program;            // copy of the program part, or NULL when it lies in `image`
  void *memory;             // decoded arrays
  struct smr_os_mutex lock;
  struct model_derived *derived;
};

// ---- the header ----

struct model_header {
  uint64_t program_bytes, checksum, file_bytes;
};

static samara_status model_read_header(const uint8_t *image, uint64_t image_bytes,
                                       struct model_header *header, samara_error *error) {
  if (image_bytes < SMR_FB_HEADER_BYTES) {
    SMR_FAIL(error, BAD_MODEL, "%" PRIu64 " bytes are too few for a samara file", image_bytes);
  }
  if (memcmp(image + 4, "SMRA", 4) != 0) SMR_FAIL(error, BAD_MODEL, "not a samara file");
  memcpy(&header->program_bytes, image + 8, 8);
  memcpy(&header->checksum, image + 16, 8);
  memcpy(&header->file_bytes, image + 24, 8);
  for (size_t i = 32; i < SMR_FB_HEADER_BYTES; i++) {
    if (image[i] != 0) SMR_FAIL(error, BAD_MODEL, "byte %zu of the header is not zero", i);
  }
  if (header->file_bytes > image_bytes) {
    SMR_FAIL(error, BAD_MODEL, "the file is cut: %" PRIu64 " of %" PRIu64 " bytes are there",
             image_bytes, header->file_bytes);
  }
  if (header->program_bytes < SMR_FB_HEADER_BYTES || header->program_bytes > header->file_bytes ||
      header->program_bytes > model_max_program || header->program_bytes % 8 != 0) {
    SMR_FAIL(error, BAD_MODEL, "the program part has %" PRIu64 " bytes in a file of %" PRIu64,
             header->program_bytes, header->file_bytes);
  }
  return SAMARA_OK;
}

// major << 16 | minor << 8 | patch of SAMARA_VERSION.
static uint32_t model_runtime_version(void) {
  uint32_t parts[3] = {0, 0, 0};
  const char *c = SAMARA_VERSION;
  for (int i = 0; i < 3; i++) {
    while (*c >= '0' && *c <= '9') parts[i] = parts[i] * 10 + (uint32_t)(*c++ - '0');
    if (*c++ != '.') break;
  }
  return parts[0] << 16 | parts[1] << 8 | parts[2];
}

static samara_status model_check_versions(const struct smr_fb *fb, uint32_t root,
                                          samara_error *error) {
  const unsigned schema = smr_fb_u16(fb, root, SMR_FB_MODEL_schema_version, 0);
  const uint32_t needed = smr_fb_u32(fb, root, SMR_FB_MODEL_min_runtime, 0);
  if (schema == 0) SMR_FAIL(error, BAD_MODEL, "the file has no schema version");
  if (schema > MODEL_SCHEMA_VERSION || needed > model_runtime_version()) {
    SMR_FAIL(error, BAD_VERSION,
             "the file (schema %u) needs samara %u.%u.%u or later, this is " SAMARA_VERSION, schema,
             needed >> 16, needed >> 8 & 0xff, needed & 0xff);
  }
  return SAMARA_OK;
}

// ---- open ----

// Copy the program part, so that nothing can change it any more. An image of our own needs no copy.
static samara_status model_take_program(samara_model *model, const uint8_t *image, bool own,
                                        size_t bytes, const uint8_t **out, samara_error *error) {
  *out = image;
  if (own) return SAMARA_OK;
  struct smr_model_private *private_ = model->private_;
  private_->program = smr_allocate(&model->allocator, bytes);
  if (private_->program == NULL) {
    SMR_FAIL(error, OUT_OF_MEMORY, "no memory for %zu bytes of program", bytes);
  }
  memcpy(private_->program, image, bytes);
  *out = (const uint8_t *)private_->program;
  return SAMARA_OK;
}

static samara_status model_load(samara_model *model, const uint8_t *image, uint64_t image_bytes,
                                bool own, bool trust_checksum, samara_error *error) {
  struct model_header header, copied;
  const uint8_t *program;
  SMR_TRY(model_read_header(image, image_bytes, &header, error));
  const size_t bytes = (size_t)header.program_bytes;
  SMR_TRY(model_take_program(model, image, own, bytes, &program, error));
  // What was checked is the image's header; what is used is the copy's.
  SMR_TRY(model_read_header(program, image_bytes, &copied, error));
  if (memcmp(&header, &copied, sizeof header) != 0) {
    SMR_FAIL(error, BAD_MODEL, "the file changes while it is read");
  }
  if (!trust_checksum) {
    const uint64_t sum =
        smr_fnv(SMR_FNV_START, program + MODEL_CHECKSUM_FROM, bytes - MODEL_CHECKSUM_FROM);
    if (sum != header.checksum) {
      SMR_FAIL(error, BAD_CHECKSUM, "checksum %016" PRIx64 ", the header says %016" PRIx64, sum,
               header.checksum);
    }
  }
  const struct smr_fb fb = {.data = program, .size = bytes};
  uint32_t root;
  SMR_TRY(smr_fb_verify_root(&fb, &root, error));
  SMR_TRY(model_check_versions(&fb, root, error));
  SMR_TRY(smr_fb_verify(&fb, root, error));
  return smr_decode(&fb, root, image, header.file_bytes, &model->allocator, model,
                    &model->private_->memory, error);
}

// A model without contents. On failure *out is NULL.
static samara_status model_create(const samara_model_options *given, samara_model_options *options,
                                  samara_model **out, samara_error *error) {
  SMR_TRY(smr_options_read(given, options, sizeof *options, "model options", error));
  const samara_allocator allocator = smr_allocator(options->allocator);
  samara_model *model = smr_allocate_zeroed(&allocator, 1, sizeof *model);
  struct smr_model_private *private_ = smr_allocate_zeroed(&allocator, 1, sizeof *private_);
  const bool good = model != NULL && private_ != NULL;
  if (!good || !smr_os_mutex_init(&private_->lock)) {
    smr_release(&allocator, private_);
    smr_release(&allocator, model);
    SMR_FAIL(error, OUT_OF_MEMORY, "no memory for a model");
  }
  model->allocator = allocator;
  model->log = options->log;
  model->log_user = options->log_user;
  model->private_ = private_;
  *out = model;
  return SAMARA_OK;
}

void samara_model_close(samara_model *model) {
  if (model == NULL) return;
  const samara_allocator allocator = model->allocator;
  struct smr_model_private *private_ = model->private_;
  for (struct model_derived *copy = private_->derived; copy != NULL;) {
    struct model_derived *next = copy->next;
    smr_release(&allocator, copy->data);
    smr_release(&allocator, copy);
    copy = next;
  }
  smr_release(&allocator, private_->memory);
  smr_release(&allocator, private_->program);
  smr_release(&allocator, private_->image);
  smr_os_close(&private_->file, &allocator);
  smr_os_mutex_destroy(&private_->lock);
  smr_release(&allocator, private_);
  smr_release(&allocator, model);
}

// Hand over a model that was loaded, or close one that was not.
static samara_status model_finish(samara_model *model, samara_status status, samara_model **out) {
  if (status == SAMARA_OK) {
    *out = model;
  } else {
    samara_model_close(model);
  }
  return status;
}

samara_status samara_model_open_path(const char *path, const samara_model_options *given,
                                     samara_model **out, samara_error *error) {
  if (out == NULL) SMR_FAIL(error, BAD_ARGUMENT, "no place for the model");
  *out = NULL;
  if (path == NULL) SMR_FAIL(error, BAD_ARGUMENT, "no path");
  samara_model_options options;
  samara_model *model;
  SMR_TRY(model_create(given, &options, &model, error));
  struct smr_os_file *file = &model->private_->file;
  samara_status status = smr_os_open_path(path, &model->allocator, file, error);
  if (status == SAMARA_OK) {
    status = model_load(model, (const uint8_t *)file->data, file->size_bytes, !file->mapped,
                        options.trust_checksum, error);
  }
  if (status != SAMARA_OK) smr_fail_prefix(error, status, "%.200s: ", path);
  return model_finish(model, status, out);
}

samara_status samara_model_open_fd(int fd, uint64_t offset, uint64_t size_bytes,
                                   const samara_model_options *given, samara_model **out,
                                   samara_error *error) {
  if (out == NULL) SMR_FAIL(error, BAD_ARGUMENT, "no place for the model");
  *out = NULL;
  if (fd < 0) SMR_FAIL(error, BAD_ARGUMENT, "descriptor %d", fd);
  if (offset % 4 != 0) {
    SMR_FAIL(error, BAD_ARGUMENT, "offset %" PRIu64 " is no multiple of 4", offset);
  }
  samara_model_options options;
  samara_model *model;
  SMR_TRY(model_create(given, &options, &model, error));
  struct smr_os_file *file = &model->private_->file;
  samara_status status = smr_os_open_fd(fd, offset, size_bytes, &model->allocator, file, error);
  if (status == SAMARA_OK) {
    status = model_load(model, (const uint8_t *)file->data, file->size_bytes, !file->mapped,
                        options.trust_checksum, error);
  }
  return model_finish(model, status, out);
}

samara_status samara_model_open_memory(const void *data, size_t size_bytes,
                                       const samara_model_options *given, samara_model **out,
                                       samara_error *error) {
  if (out == NULL) SMR_FAIL(error, BAD_ARGUMENT, "no place for the model");
  *out = NULL;
  if (data == NULL) SMR_FAIL(error, BAD_ARGUMENT, "no data");
  if ((uintptr_t)data % 4 != 0) SMR_FAIL(error, BAD_ARGUMENT, "the data is not aligned to 4 bytes");
  samara_model_options options;
  samara_model *model;
  SMR_TRY(model_create(given, &options, &model, error));
  const samara_status status =
      model_load(model, (const uint8_t *)data, size_bytes, false, options.trust_checksum, error);
  return model_finish(model, status, out);
}

static samara_status model_read_all(samara_model *model, const samara_reader *reader,
                                    samara_error *error) {
  if (reader->size_bytes > SIZE_MAX / 2) {
    SMR_FAIL(error, OUT_OF_MEMORY, "%" PRIu64 " bytes are more than the address space",
             reader->size_bytes);
  }
  const size_t bytes = (size_t)reader->size_bytes;
  void *image = smr_allocate(&model->allocator, bytes);
  model->private_->image = image;
  if (image == NULL) SMR_FAIL(error, OUT_OF_MEMORY, "no memory for %zu bytes of file", bytes);
  if (reader->read(reader->user, 0, image, bytes) != 0) {
    SMR_FAIL(error, IO, "the reader failed to read %zu bytes", bytes);
  }
  return SAMARA_OK;
}

samara_status samara_model_open_callbacks(const samara_reader *reader,
                                          const samara_model_options *given, samara_model **out,
                                          samara_error *error) {
  if (out == NULL) SMR_FAIL(error, BAD_ARGUMENT, "no place for the model");
  *out = NULL;
  if (reader == NULL || reader->read == NULL) SMR_FAIL(error, BAD_ARGUMENT, "no reader");
  samara_model_options options;
  samara_model *model;
  SMR_TRY(model_create(given, &options, &model, error));
  samara_status status = model_read_all(model, reader, error);
  if (status == SAMARA_OK) {
    status = model_load(model, (const uint8_t *)model->private_->image, reader->size_bytes, true,
                        options.trust_checksum, error);
  }
  return model_finish(model, status, out);
}

// ---- questions ----

const struct smr_function *smr_model_entry(const samara_model *model, const char *name) {
  if (model == NULL) return NULL;
  for (uint32_t i = 0; i < model->entry_count; i++) {
    const struct smr_function *f = &model->functions[model->entries[i]];
    if (name == NULL || strcmp(name, f->name) == 0) return f;
  }
  return NULL;
}

size_t samara_model_function_count(const samara_model *model) {
  return model != NULL ? model->entry_count : 0;
}

const char *samara_model_function_name(const samara_model *model, size_t index) {
  if (model == NULL || index >= model->entry_count) return NULL;
  return model->functions[model->entries[index]].name;
}

size_t samara_model_input_count(const samara_model *model, const char *function) {
  const struct smr_function *f = smr_model_entry(model, function);
  return f != NULL ? f->user_input_count : 0;
}

size_t samara_model_output_count(const samara_model *model, const char *function) {
  const struct smr_function *f = smr_model_entry(model, function);
  return f != NULL ? f->user_output_count : 0;
}

// The symbol that an expression is, under its own index or that of an equal INPUT_DIM.
static const char *model_dim_name(const struct smr_function *f, uint32_t expr) {
  const struct smr_expr *e = &f->exprs[expr];
  if (e->op != SMR_EXPR_INPUT_DIM) return NULL;
  for (uint32_t i = 0; i < f->symbol_count; i++) {
    const struct smr_expr *s = &f->exprs[f->symbols[i].expr];
    if (s->a == e->a && s->b == e->b) return f->symbols[i].name;
  }
  return NULL;
}

static void model_describe(const struct smr_function *f, uint32_t value, const char *name,
                           samara_tensor_info *out) {
  const struct smr_value *v = &f->values[value];
  memset(out, 0, sizeof *out);
  out->name = name;
  out->dtype = (samara_dtype)v->dtype;
  out->rank = v->rank;
  for (uint32_t i = 0; i < v->rank; i++) {
    const struct smr_expr *e = &f->exprs[v->dims[i]];
    out->shape[i] = e->op == SMR_EXPR_CONST ? e->k : -1;
    out->dim_names[i] = model_dim_name(f, v->dims[i]);
  }
  if (v->quant != NULL && v->quant->axis < 0) {
    out->scale = v->quant->scales[0];
    out->zero_point = v->quant->zero_points[0];
  }
}

samara_status samara_model_input_info(const samara_model *model, const char *function, size_t index,
                                      samara_tensor_info *out) {
  const struct smr_function *f = smr_model_entry(model, function);
  if (f == NULL) return SAMARA_NOT_FOUND;
  if (out == NULL || index >= f->user_input_count) return SAMARA_BAD_ARGUMENT;
  const uint32_t value = f->inputs[f->user_inputs[index]];
  model_describe(f, value, f->values[value].name, out);
  return SAMARA_OK;
}

samara_status samara_model_output_info(const samara_model *model, const char *function,
                                       size_t index, samara_tensor_info *out) {
  const struct smr_function *f = smr_model_entry(model, function);
  if (f == NULL) return SAMARA_NOT_FOUND;
  if (out == NULL || index >= f->user_output_count) return SAMARA_BAD_ARGUMENT;
  const int32_t position = f->user_outputs[index];
  model_describe(f, f->outputs[position], f->output_names[position], out);
  return SAMARA_OK;
}

size_t samara_model_metadata_count(const samara_model *model) {
  return model != NULL ? model->metadata_count : 0;
}

samara_status samara_model_metadata(const samara_model *model, size_t index, const char **key,
                                    const char **value) {
  if (model == NULL || index >= model->metadata_count || key == NULL || value == NULL) {
    return SAMARA_BAD_ARGUMENT;
  }
  *key = model->metadata[index].key;
  *value = model->metadata[index].value;
  return SAMARA_OK;
}

bool samara_model_is_growing(const samara_model *model, const char *function) {
  const struct smr_function *f = smr_model_entry(model, function);
  return f != NULL && f->growing;
}

// ---- derived copies ----

// Under the lock.
static samara_status model_derive(const samara_model *model, int32_t constant,
                                  const struct smr_job *job, const struct smr_derived *what,
                                  const void **out, samara_error *error) {
  struct smr_model_private *private_ = model->private_;
  for (struct model_derived *copy = private_->derived; copy != NULL; copy = copy->next) {
    if (copy->constant == constant && copy->op == job->op && copy->layout == what->layout &&
        copy->size_bytes == what->size_bytes) {
      *out = copy->data;
      return SAMARA_OK;
    }
  }
  struct model_derived *copy = smr_allocate(&model->allocator, sizeof *copy);
  void *data = smr_allocate(&model->allocator, what->size_bytes);
  samara_status status = SAMARA_OK;
  if (copy == NULL || data == NULL) {
    status =
        smr_fail(error, SAMARA_OUT_OF_MEMORY, "no memory for %zu bytes of packed '" SMR_NAME "'",
                 what->size_bytes, model->constants[constant].name);
  } else {
    status = job->op->funcs->pack(job, what, data);
  }
  if (status != SAMARA_OK) {
    smr_release(&model->allocator, data);
    smr_release(&model->allocator, copy);
    return status;
  }
  *copy = (struct model_derived){.next = private_->derived,
                                 .op = job->op,
                                 .constant = constant,
                                 .layout = what->layout,
                                 .size_bytes = what->size_bytes,
                                 .data = data};
  private_->derived = copy;
  *out = data;
  return SAMARA_OK;
}

samara_status smr_model_derived(const samara_model *model, int32_t constant,
                                const struct smr_job *job, const struct smr_derived *what,
                                const void **out, samara_error *error) {
  if (constant < 0 || (uint32_t)constant >= model->constant_count) {
    SMR_FAIL(error, BAD_STATE, "a derived copy of constant %d", constant);
  }
  if (job->op->funcs == NULL || job->op->funcs->pack == NULL) {
    SMR_FAIL(error, BAD_STATE, "%s does not pack", job->op->name);
  }
  smr_os_mutex_lock(&model->private_->lock);
  const samara_status status = model_derive(model, constant, job, what, out, error);
  smr_os_mutex_unlock(&model->private_->lock);
  return status;
}
