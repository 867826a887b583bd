// SPDX-License-Identifier: Apache-2.0
// Opens and closes models, describes them, and caches derived copies of constants.
#include "base/fp.h"

#include "model/model.h"

#include <samara/samara_experimental.h>

#include <inttypes.h>
#include <string.h>

#include "base/atomic.h"
#include "base/checked.h"
#include "base/os.h"
#include "model/decode.h"

enum {
  MODEL_MAX_PROGRAM = 256 << 20,
  // Bytes that systems map at once around a page that is read: the default of Linux.
  MODEL_PREFETCH_BYTES = 64 * 1024,
  // Smaller files are read completely, one cache line at a time, because they fit in the caches.
  MODEL_CACHED_BYTES = 2 * 1024 * 1024,
  MODEL_LINE_BYTES = 64,
};

// A derived copy. Its bytes are in a separate block.
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
  void *copy;               // copy of the file (callbacks or options.copy), or NULL
  void *program;            // copy of the program part, or NULL if it is used in place
  struct smr_image image;
  SMR_ATOMIC(int) verified;  // a samara_verified
  void *memory;              // decoded arrays
  struct smr_os_mutex lock;
  struct model_derived *derived;
  // Not read: this reference makes linkers keep the manifest in an app that opens models. A web
  // package has it as a file, ops.txt.
#if !SMR_OS_USE_WEB
  const char *manifest;
#endif
};

// ---- the header ----

struct model_header {
  uint64_t program_bytes, checksum, file_bytes;
};

static samara_status model_bad_sizes(const struct model_header *header, uint64_t image_bytes,
                                     samara_error *error) {
  SMR_FAIL(error, BAD_MODEL,
           "%" PRIu64 " bytes are given of a file of %" PRIu64 " with %" PRIu64 " of program",
           image_bytes, header->file_bytes, header->program_bytes);
}

static samara_status model_read_header(const uint8_t *image, uint64_t image_bytes,
                                       struct model_header *header, samara_error *error) {
  if (image_bytes < SMR_FB_HEADER_BYTES || memcmp(image + 4, "SMRA", 4) != 0) {
    SMR_FAIL(error, BAD_MODEL, "not a samara file");
  }
  memcpy(header, image + 8, sizeof *header);
  for (size_t i = 8 + sizeof *header; i < SMR_FB_HEADER_BYTES; i++) {
    if (image[i] != 0) SMR_FAIL(error, BAD_MODEL, "byte %u of the header is not zero", (unsigned)i);
  }
  const uint64_t bytes = header->program_bytes;
  if (header->file_bytes > image_bytes || bytes < SMR_FB_HEADER_BYTES + 8 ||
      bytes > header->file_bytes || bytes > MODEL_MAX_PROGRAM || bytes % 8 != 0) {
    return model_bad_sizes(header, image_bytes, error);
  }
  return SAMARA_OK;
}

// ---- open ----

static void model_set_verified(const samara_model *model, samara_verified verified) {
  SMR_ATOMIC_STORE(&model->private_->verified, (int)verified);
}

// Compare the data with its checksums now, also the program part if `all`, and store the result.
static samara_status model_verify(const samara_model *model, bool all, samara_error *error) {
  struct smr_model_private *private_ = model->private_;
  samara_status status = all ? smr_verify_program(&private_->image, error) : SAMARA_OK;
  if (status == SAMARA_OK) status = smr_verify_data(model, &private_->image, error);
  model_set_verified(model, status == SAMARA_OK ? SAMARA_VERIFIED : SAMARA_NOT_VERIFIED_DAMAGED);
  return status;
}

// Why open need not compare the data with its checksums; SAMARA_VERIFIED: it must.
static samara_verified model_exempt(const struct smr_image *image,
                                    const samara_model_options *options) {
  if (!SMR_HAS(verify) || !image->sealed) return SAMARA_NOT_VERIFIED_OLD;
  if (options->verify == SAMARA_VERIFY_ALWAYS) return SAMARA_VERIFIED;
  if (options->verify == SAMARA_VERIFY_NEVER) return SAMARA_NOT_VERIFIED_TRUSTED;
  if (options->constant) return SAMARA_NOT_VERIFIED_CONSTANT;
  return image->size_bytes > SAMARA_VERIFY_BYTES ? SAMARA_NOT_VERIFIED_LARGE : SAMARA_VERIFIED;
}

// `own`: nobody else can change the image, so the program part is used in place. Else it is copied.
static samara_status model_load(samara_model *model, const void *data, uint64_t image_bytes,
                                bool own, const samara_model_options *options,
                                samara_error *error) {
  struct smr_model_private *private_ = model->private_;
  struct smr_image *const image = &private_->image;
  struct model_header header;
  SMR_TRY(model_read_header(data, image_bytes, &header, error));
  const size_t bytes = (size_t)header.program_bytes;
  *image = (struct smr_image){
      .data = data, .size_bytes = header.file_bytes, .program = data, .program_bytes = bytes};
  if (!own) {
    private_->program = smr_allocate(&model->allocator, bytes);
    if (private_->program == NULL) return smr_no_memory(error, bytes);
    image->program = memcpy(private_->program, data, bytes);
    // The header was checked in the image, but that of the copy is used.
    if (memcmp(image->program + 8, &header, sizeof header) != 0) {
      SMR_FAIL(error, BAD_MODEL, "the file changes while it is read");
    }
  }
  if (!options->trust_checksum) SMR_TRY(smr_verify_program(image, error));
  if (SMR_HAS(verify)) SMR_TRY(smr_verify_seal(image, error));
  if (image->sealed && !options->constant && image_bytes != header.file_bytes)
    return model_bad_sizes(&header, image_bytes, error);
  if (SMR_HAS(choices) || SMR_HAS(text)) model->checksum = header.checksum;
  SMR_TRY(smr_decode(image, model, &private_->memory, error));
  const samara_verified exempt = model_exempt(image, options);
  if (exempt == SAMARA_VERIFIED) SMR_TRY(model_verify(model, false, error));
  // Without the program part, not every byte was compared.
  model_set_verified(model, exempt == SAMARA_VERIFIED && options->trust_checksum
                                ? SAMARA_NOT_VERIFIED_TRUSTED
                                : exempt);
  return SAMARA_OK;
}

samara_status samara_model_verify(const samara_model *model, samara_error *error) {
  if (model == NULL) SMR_FAIL(error, BAD_ARGUMENT, "expected a model");
  const struct smr_image *image = &model->private_->image;
  if (!SMR_HAS(verify) || !image->sealed)
    SMR_FAIL(error, NOT_FOUND, "a file older than 0.6 has no checksums of its data");
  return model_verify(model, true, error);
}

samara_verified samara_model_verified(const samara_model *model) {
  if (model == NULL) return SAMARA_NOT_VERIFIED_OLD;
  return (samara_verified)SMR_ATOMIC_LOAD(&model->private_->verified);
}

// A model and its private part, in one block.
struct model_block {
  samara_model model;
  struct smr_model_private private_;
};

// Read the caller's options. *out, if given, is NULL afterwards.
static samara_status model_options(const samara_model_options *given, samara_model_options *options,
                                   samara_model **out, samara_error *error) {
  if (out != NULL) *out = NULL;
  return smr_options_read(given, options, sizeof *options, "model options", error);
}

// Create an empty model. `what` is the source to open, called `name` in messages. On failure *out,
// if given, is NULL.
static samara_status model_create(const void *what, const char *name,
                                  const samara_model_options *options, samara_model **out,
                                  samara_error *error) {
  if (out != NULL) *out = NULL;
  if (out == NULL || what == NULL)
    SMR_FAIL(error, BAD_ARGUMENT, "expected %s and a place for the model", name);
  if (options->verify > SAMARA_VERIFY_NEVER)
    SMR_FAIL(error, BAD_ARGUMENT, "verify is %zu, expected a samara_verify", options->verify);
  const samara_allocator allocator = smr_allocator(options->allocator);
  struct model_block *block = smr_allocate_zeroed(&allocator, 1, sizeof *block);
  if (block == NULL || !smr_os_mutex_init(&block->private_.lock)) {
    smr_release(&allocator, block);
    return smr_no_memory(error, sizeof *block);
  }
  samara_model *model = &block->model;
  model->allocator = allocator;
  model->log = options->log;
  model->log_user = options->log_user;
  model->private_ = &block->private_;
#if !SMR_OS_USE_WEB
  model->private_->manifest = samara_manifest();
#endif
  *out = model;
  return SAMARA_OK;
}

void samara_model_close(samara_model *model) {
  if (model == NULL) return;
  const samara_allocator allocator = model->allocator;
  struct smr_model_private *private_ = model->private_;
  for (struct model_derived *copy = private_->derived; SMR_HAS(derived) && copy != NULL;) {
    struct model_derived *next = copy->next;
    smr_release(&allocator, copy->data);
    smr_release(&allocator, copy);
    copy = next;
  }
  smr_release(&allocator, private_->memory);
  smr_release(&allocator, private_->program);
  smr_release(&allocator, private_->copy);
  smr_os_close(&private_->file, &allocator);
  smr_os_mutex_destroy(&private_->lock);
  smr_release(&allocator, model);  // with private_
}

// Close a model that could not be loaded; *out is NULL then.
static samara_status model_finish(samara_status status, samara_model **out) {
  if (status != SAMARA_OK) {
    samara_model_close(*out);
    *out = NULL;
  }
  return status;
}

static samara_status model_load_file(samara_model *model, samara_status status,
                                     samara_model_options *options, samara_error *error) {
  const struct smr_os_file *file = &model->private_->file;
  SMR_TRY(status);
  options->constant = false;  // for memory only
  return model_load(model, file->data, file->size_bytes, !file->mapped, options, error);
}

samara_status samara_model_open_path(const char *path, const samara_model_options *given,
                                     samara_model **out, samara_error *error) {
  samara_model_options options;
  SMR_TRY(model_options(given, &options, out, error));
  SMR_TRY(model_create(path, "a path", &options, out, error));
  samara_model *model = *out;
  samara_status status =
      smr_os_open_path(path, options.copy, &model->allocator, &model->private_->file, error);
  status = model_load_file(model, status, &options, error);
  if (status != SAMARA_OK) smr_fail_prefix(error, status, "%.200s: ", path);
  return model_finish(status, out);
}

samara_status samara_model_open_fd(int fd, uint64_t offset, uint64_t size_bytes,
                                   const samara_model_options *given, samara_model **out,
                                   samara_error *error) {
  const bool good = fd >= 0 && offset % 4 == 0;
  samara_model_options options;
  SMR_TRY(model_options(given, &options, out, error));
  SMR_TRY(model_create(good ? &fd : NULL, "a descriptor, an offset that is a multiple of 4",
                       &options, out, error));
  samara_model *model = *out;
  const samara_status status = smr_os_open_fd(fd, offset, size_bytes, options.copy,
                                              &model->allocator, &model->private_->file, error);
  return model_finish(model_load_file(model, status, &options, error), out);
}

void smr_model_prefetch(const samara_model *model) {
  if (model->private_ == NULL) return;  // not opened by samara_model_open_*
  const struct smr_os_file *file = &model->private_->file;
  const volatile uint8_t *bytes = file->data;
  const size_t step =
      file->size_bytes <= MODEL_CACHED_BYTES ? MODEL_LINE_BYTES : MODEL_PREFETCH_BYTES;
  for (size_t i = 0; file->mapped && i < file->size_bytes; i += step) (void)bytes[i];
}

samara_status smr_model_open_memory(const void *data, size_t size_bytes,
                                    const samara_model_options *options, samara_model **out,
                                    samara_error *error) {
  const bool good = (uintptr_t)data % 4 == 0;
  SMR_TRY(model_create(good ? data : NULL, "data at a multiple of 4 bytes", options, out, error));
  samara_model *model = *out;
  if (options->copy) {
    struct smr_model_private *private_ = model->private_;
    private_->copy = smr_allocate(&model->allocator, size_bytes);
    if (private_->copy == NULL) return model_finish(smr_no_memory(error, size_bytes), out);
    data = memcpy(private_->copy, data, size_bytes);
  }
  // The program part has vectors of 8-byte elements: its copy is aligned to them.
  const bool own = options->copy || (options->constant && (uintptr_t)data % 8 == 0);
  return model_finish(model_load(model, data, size_bytes, own, options, error), out);
}

samara_status samara_model_open_memory(const void *data, size_t size_bytes,
                                       const samara_model_options *given, samara_model **out,
                                       samara_error *error) {
  samara_model_options options;
  SMR_TRY(model_options(given, &options, out, error));
  return smr_model_open_memory(data, size_bytes, &options, out, error);
}

static samara_status model_read_all(samara_model *model, const samara_reader *reader,
                                    samara_error *error) {
  if (reader->size_bytes > SIZE_MAX / 2) {
    return smr_no_memory(error, SIZE_MAX);
  }
  const size_t bytes = (size_t)reader->size_bytes;
  void *image = smr_allocate(&model->allocator, bytes);
  model->private_->copy = image;
  if (image == NULL) return smr_no_memory(error, bytes);
  if (reader->read(reader->user, 0, image, bytes) != 0) {
    SMR_FAIL(error, IO, "the reader failed to read %zu bytes", bytes);
  }
  return SAMARA_OK;
}

samara_status samara_model_open_callbacks(const samara_reader *reader,
                                          const samara_model_options *given, samara_model **out,
                                          samara_error *error) {
  const bool good = reader != NULL && reader->read != NULL;
  samara_model_options options;
  SMR_TRY(model_options(given, &options, out, error));
  SMR_TRY(model_create(good ? reader : NULL, "a reader", &options, out, error));
  samara_model *model = *out;
  samara_status status = model_read_all(model, reader, error);
  if (status == SAMARA_OK) {
    options.constant = false;  // for memory only
    status = model_load(model, model->private_->copy, reader->size_bytes, true, &options, error);
  }
  return model_finish(status, out);
}

// ---- queries ----

const struct smr_function *smr_model_entry(const samara_model *model, const char *name) {
  if (model == NULL) return NULL;
  for (uint32_t i = 0; i < model->entry_count; i++) {
    const struct smr_function *f = &model->functions[model->entries[i]];
    if (name == NULL || strcmp(name, f->name) == 0) return f;
  }
  return NULL;
}

const void *smr_model_segment(const samara_model *model, const struct smr_segment *segment) {
  return model->private_->image.data + segment->offset;
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

// The symbol of an expression, or of an equal INPUT_DIM.
static const char *model_dim_name(const struct smr_function *f, uint32_t expr) {
  const struct smr_expr *e = &f->exprs[expr];
  if (!SMR_HAS(symbolic) || e->op != SMR_EXPR_INPUT_DIM) return NULL;
  for (uint32_t i = 0; i < f->symbol_count; i++) {
    const struct smr_expr *s = &f->exprs[f->symbols[i].expr];
    if (s->a == e->a && s->b == e->b) return f->symbols[i].name;
  }
  return NULL;
}

static samara_status model_describe(const samara_model *model, const char *function, size_t index,
                                    bool is_input, samara_tensor_info *out) {
  const struct smr_function *f = smr_model_entry(model, function);
  if (f == NULL) return SAMARA_NOT_FOUND;
  if (out == NULL || index >= (is_input ? f->user_input_count : f->user_output_count)) {
    return SAMARA_BAD_ARGUMENT;
  }
  const int32_t position = (is_input ? f->user_inputs : f->user_outputs)[index];
  const struct smr_value *v = &f->values[(is_input ? f->inputs : f->outputs)[position]];
  memset(out, 0, sizeof *out);
  out->name = is_input ? v->name : f->output_names[position];
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
  return SAMARA_OK;
}

samara_status samara_model_input_info(const samara_model *model, const char *function, size_t index,
                                      samara_tensor_info *out) {
  return model_describe(model, function, index, true, out);
}

samara_status samara_model_output_info(const samara_model *model, const char *function,
                                       size_t index, samara_tensor_info *out) {
  return model_describe(model, function, index, false, out);
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

// The layout stored in the file; NULL if there is none or it is not aligned like copies.
static const void *model_stored(const samara_model *model, int32_t constant,
                                const struct smr_op *op, const struct smr_derived *what) {
  for (uint32_t i = 0; SMR_HAS(derived_stored) && i < model->derived_count; i++) {
    const struct smr_stored *stored = &model->derived[i];
    const struct smr_constant *bytes = &model->constants[stored->data];
    if (stored->constant == (uint32_t)constant && stored->op == op->code &&
        stored->layout == what->layout && stored->version == SMR_DERIVED_VERSION &&
        bytes->size_bytes == what->size_bytes &&
        (uintptr_t)bytes->data % SMR_DERIVED_ALIGNMENT == 0)
      return bytes->data;
  }
  return NULL;
}

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
    status = smr_fail(error, SAMARA_OUT_OF_MEMORY, "no memory for %zu bytes of packed '%.80s'",
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
  SMR_NEED_IN(job->parts, error, derived);
  if (!SMR_HAS(derived)) return SAMARA_UNSUPPORTED;
  if (constant < 0 || (uint32_t)constant >= model->constant_count || job->op->funcs == NULL ||
      job->op->funcs->pack == NULL) {
    SMR_FAIL(error, BAD_STATE, "%s: a derived copy of constant %d", job->op->name, (int)constant);
  }
  *out = model_stored(model, constant, job->op, what);
  if (*out != NULL) {
    SMR_NEED_IN(job->parts, error, derived_stored);
    return SAMARA_OK;
  }
  smr_os_mutex_lock(&model->private_->lock);
  const samara_status status = model_derive(model, constant, job, what, out, error);
  smr_os_mutex_unlock(&model->private_->lock);
  return status;
}

samara_status samara_model_derived(const samara_model *model, samara_derived_row *rows,
                                   size_t capacity, size_t *count) {
  if (model == NULL || count == NULL || (rows == NULL && capacity > 0)) return SAMARA_BAD_ARGUMENT;
  size_t n = 0;
  smr_os_mutex_lock(&model->private_->lock);
  for (const struct model_derived *copy = model->private_->derived; copy != NULL;
       copy = copy->next, n++) {
    if (n >= capacity) continue;
    rows[n] = (samara_derived_row){.data = copy->data,
                                   .size_bytes = copy->size_bytes,
                                   .constant = (uint32_t)copy->constant,
                                   .op = copy->op->code,
                                   .layout = copy->layout,
                                   .version = SMR_DERIVED_VERSION};
  }
  smr_os_mutex_unlock(&model->private_->lock);
  *count = n;
  return SAMARA_OK;
}
