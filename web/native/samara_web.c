/* SPDX-License-Identifier: Apache-2.0 */
/* What JavaScript calls (web/source/engine.js): the public C interface with structs whose
 * every field is one word of 32 bits, so that an array of words reads them. Pointers are 32 bits
 * here; a NULL result is a failure, which web_error() describes.
 *
 * Everything is for the one thread that made the module's instance, which gives every model an
 * instance and a memory of its own. */
#include <samara/samara.h>

#if !SAMARA_SELECTIVE /* the header of the whole runtime */
#define SAMARA_WITH_METADATA 1
#define SAMARA_WITH_THREADS 1
#define SAMARA_WITH_STATE 1
#define SAMARA_WITH_IMAGES 1
#define SAMARA_WITH_AUDIO 1
#define SAMARA_WITH_ANSWERS 1
#endif
#if SAMARA_WITH_IMAGES || SAMARA_WITH_AUDIO || SAMARA_WITH_ANSWERS
#include <samara/samara_media.h>
#endif
#include <string.h>

#if defined(__wasm__)
#define WEB(name) __attribute__((export_name(#name)))
#else
#define WEB(name)
#endif

/* Of model/model.h and session/session.h: opening and creating without copies of the options. */
samara_status smr_model_open_memory(const void *data, size_t size_bytes,
                                    const samara_model_options *options, samara_model **out,
                                    samara_error *error);
samara_status smr_session_create(const samara_model *model, const samara_session_options *options,
                                 samara_session **out, samara_error *error);

/* ---- memory and errors ---- */

/* Of base/os.h: blocks of the module's heap, and running a thread in a worker. */
void *smr_os_allocate(size_t size_bytes);
void smr_os_release(void *pointer);
struct smr_os_thread;
void smr_web_thread(struct smr_os_thread *thread);

WEB(allocate) void *web_allocate(size_t size_bytes) { return smr_os_allocate(size_bytes); }
WEB(release) void web_release(void *pointer) { smr_os_release(pointer); }

static samara_error web_last;
/* The last failure: its status, then its text. */
WEB(error) const samara_error *web_error(void) { return &web_last; }

/* Keep a failure for web_error; returns its status. */
static samara_status web_say(samara_status status, const char *text) {
  size_t length = strlen(text);
  if (length >= sizeof web_last.text) length = sizeof web_last.text - 1;
  web_last.status = status;
  memcpy(web_last.text, text, length);
  web_last.text[length] = '\0';
  return status;
}

/* The same for what a session's function returned. */
static samara_status web_failed(const samara_session *session, samara_status status) {
  return status == SAMARA_OK ? status : web_say(status, samara_session_error(session));
}

static samara_status web_no_memory(void) {
  return web_say(SAMARA_OUT_OF_MEMORY, "no memory for the shapes");
}

/* ---- models ---- */

/* Open a model of `size_bytes` bytes at `data`, which must stay until it is closed. All of it is
 * compared with its checksums. */
WEB(open) samara_model *web_open(const void *data, size_t size_bytes) {
  const samara_model_options options = {.verify = SAMARA_VERIFY_ALWAYS};
  samara_model *model = NULL;
  (void)smr_model_open_memory(data, size_bytes, &options, &model, &web_last);
  return model;
}

WEB(close) void web_close(samara_model *model) { samara_model_close(model); }
WEB(version) const char *web_version(void) { return samara_version(); }
/* Name of function `index`; NULL beyond the last. */
WEB(function) const char *web_function(const samara_model *model, size_t index) {
  return samara_model_function_name(model, index);
}

/* A tensor, declared or of a session. */
struct web_tensor {
  const char *name;
  int32_t dtype, rank;
  void *data;
  size_t size_bytes;
  float scale;
  int32_t zero_point;
  int32_t shape[SAMARA_MAX_RANK];
  const char *dim_names[SAMARA_MAX_RANK];
};
static struct web_tensor web_tensor;

/* Input (`output` 0) or output `index` of a function (NULL: the first); NULL beyond the last. */
WEB(declared)
const struct web_tensor *web_declared(const samara_model *model, const char *function, int output,
                                      size_t index) {
  samara_tensor_info info;
  memset(&web_tensor, 0, sizeof web_tensor);
  if (index >= (output ? samara_model_output_count(model, function)
                       : samara_model_input_count(model, function)))
    return NULL;
  if ((output ? samara_model_output_info : samara_model_input_info)(model, function, index, &info))
    return NULL;
  web_tensor.name = info.name;
  web_tensor.dtype = (int32_t)info.dtype;
  web_tensor.rank = info.rank;
  web_tensor.scale = info.scale;
  web_tensor.zero_point = info.zero_point;
  for (int32_t i = 0; i < info.rank; i++) {
    web_tensor.shape[i] = (int32_t)info.shape[i];
    web_tensor.dim_names[i] = info.dim_names[i];
  }
  return &web_tensor;
}

#if SAMARA_WITH_METADATA
/* Key (`value` 0) or value `index` of the model's metadata; NULL beyond the last. */
WEB(metadata) const char *web_metadata(const samara_model *model, size_t index, int value) {
  const char *pair[2] = {NULL, NULL};
  (void)samara_model_metadata(model, index, &pair[0], &pair[1]);
  return pair[value != 0];
}
#endif

/* ---- sessions ---- */

#if SAMARA_WITH_THREADS
/* A pool of threads that all sessions of the model share. */
WEB(pool) samara_pool *web_pool(size_t threads) {
  const samara_pool_options options = {.struct_size = sizeof options, .threads = threads};
  samara_pool *pool = NULL;
  (void)samara_pool_create(&options, &pool, &web_last);
  return pool;
}
/* In a worker: run the thread that it was started for. */
WEB(thread) void web_thread(struct smr_os_thread *thread) { smr_web_thread(thread); }
#endif

/* A session of a function (NULL: the first). max_arena_mib 0: no limit. */
WEB(session)
samara_session *web_session(const samara_model *model, const char *function, samara_pool *pool,
                            int strict, uint32_t max_arena_mib, uint32_t deadline_ms) {
  const samara_session_options options = {.function = function,
                                          .pool = pool,
                                          .strict_accuracy = strict != 0,
                                          .max_arena_bytes = (uint64_t)max_arena_mib << 20,
                                          .deadline_us = (uint64_t)deadline_ms * 1000};
  samara_session *session = NULL;
  (void)smr_session_create(model, &options, &session, &web_last);
  return session;
}

WEB(destroy) void web_destroy(samara_session *session) { samara_session_destroy(session); }
WEB(total_bytes) size_t web_total_bytes(const samara_session *session) {
  return samara_session_total_bytes(session);
}

static const struct web_tensor *web_filled(const samara_tensor *tensor) {
  memset(&web_tensor, 0, sizeof web_tensor);
  web_tensor.dtype = (int32_t)tensor->dtype;
  web_tensor.rank = tensor->rank;
  web_tensor.data = tensor->data;
  web_tensor.size_bytes = tensor->size_bytes;
  web_tensor.scale = tensor->scale;
  web_tensor.zero_point = tensor->zero_point;
  for (int32_t i = 0; i < tensor->rank; i++) web_tensor.shape[i] = (int32_t)tensor->shape[i];
  return &web_tensor;
}

/* Input `index`, to be filled in place. */
WEB(input) const struct web_tensor *web_input(samara_session *session, size_t index) {
  samara_tensor tensor;
  const samara_status status = samara_session_input(session, index, &tensor);
  return web_failed(session, status) ? NULL : web_filled(&tensor);
}
/* Output `index` of the last run; valid until the next one. */
WEB(output) const struct web_tensor *web_output(samara_session *session, size_t index) {
  samara_tensor tensor;
  const samara_status status = samara_session_output(session, index, &tensor);
  return web_failed(session, status) ? NULL : web_filled(&tensor);
}

/* Set the shapes of the first `count` inputs. Of each, nine words: its rank and its dims; a rank
 * below 0: its shape stays. */
WEB(resize) samara_status web_resize(samara_session *session, const int32_t *words, size_t count) {
  enum { WEB_WORDS = 1 + SAMARA_MAX_RANK };
  const size_t bytes = count * (sizeof(int64_t *) + SAMARA_MAX_RANK * sizeof(int64_t));
  int64_t *dims = (int64_t *)smr_os_allocate(bytes);
  if (dims == NULL) return web_no_memory();
  const int64_t **shapes = (const int64_t **)(void *)(dims + count * SAMARA_MAX_RANK);
  for (size_t i = 0; i < count; i++) {
    const int32_t *own = words + i * WEB_WORDS;
    int64_t *to = dims + i * SAMARA_MAX_RANK;
    for (int32_t k = 0; k < SAMARA_MAX_RANK; k++) to[k] = own[1 + k];
    shapes[i] = own[0] < 0 ? NULL : to;
  }
  const samara_status status = samara_session_resize(session, shapes, count);
  smr_os_release(dims);
  return web_failed(session, status);
}

WEB(run) samara_status web_run(samara_session *session) {
  return web_failed(session, samara_session_run(session));
}
#if SAMARA_WITH_STATE
/* Set all variables to the values of the file. */
WEB(reset) samara_status web_reset(samara_session *session) {
  return web_failed(session, samara_session_reset(session));
}
#endif

/* ---- pictures, sound, answers ---- */

#if SAMARA_WITH_IMAGES
/* Whether input `index` of a function takes pictures. */
WEB(takes_image)
int web_takes_image(const samara_model *model, const char *function, size_t index) {
  samara_image_record record = {.struct_size = sizeof record};
  return samara_model_image_record(model, function, index, &record) == SAMARA_OK;
}
static samara_image web_picture(const void *pixels, uint32_t width, uint32_t height,
                                uint32_t rotation, int mirror) {
  samara_image image = {.struct_size = sizeof image,
                        .format = SAMARA_RGBA,
                        .width = width,
                        .height = height,
                        .rotation = rotation,
                        .mirror = mirror != 0};
  image.planes[0].data = pixels;
  image.planes[0].size_bytes = (size_t)4 * width * height;
  return image;
}

/* The shape that input `index` of a function takes for a picture, in RGBA, row by row. */
WEB(image_shape)
const struct web_tensor *web_image_shape(const samara_model *model, const char *function,
                                         size_t index, const void *pixels, uint32_t width,
                                         uint32_t height, uint32_t rotation) {
  const samara_image image = web_picture(pixels, width, height, rotation, 0);
  samara_image_record record = {.struct_size = sizeof record};
  samara_tensor made = {.dtype = SAMARA_UINT8};
  samara_status status = samara_model_image_record(model, function, index, &record);
  if (status != SAMARA_OK) {
    (void)web_say(status, "the input takes no picture");
    return NULL;
  }
  status = samara_preprocess_shape(&record, &image, made.shape, &made.rank, &web_last);
  return status == SAMARA_OK ? web_filled(&made) : NULL;
}
/* Make input `index` of that picture; it must have that shape. */
WEB(image)
samara_status web_image(samara_session *session, size_t index, const void *pixels, uint32_t width,
                        uint32_t height, uint32_t rotation, int mirror) {
  const samara_image image = web_picture(pixels, width, height, rotation, mirror);
  return web_failed(session, samara_session_set_image(session, index, &image));
}
#endif

#if SAMARA_WITH_AUDIO
static size_t web_samples_taken;
/* The rate of the sound that input `index` of a function takes; 0 if it takes none. */
WEB(takes_audio)
uint32_t web_takes_audio(const samara_model *model, const char *function, size_t index) {
  samara_audio_record record = {.struct_size = sizeof record};
  return samara_model_audio_record(model, function, index, &record) ? 0 : record.rate;
}
/* Dim `axis` of the tensors that the record of input `index` makes, if it is symbolic: one tensor
 * at a time, of the record's frames. */
WEB(audio_dim)
uint32_t web_audio_dim(const samara_model *model, const char *function, size_t index, size_t axis) {
  samara_audio_record record = {.struct_size = sizeof record};
  if (samara_model_audio_record(model, function, index, &record)) return 0;
  return axis < sizeof record.layout && record.layout[axis] == 't' ? record.frames : 1;
}
/* Read `count` float samples; 1 if the input has a new tensor, 0 if all samples were read, -1 on
 * failure. web_taken() is the number of samples read. */
WEB(push)
int web_push(samara_session *session, size_t index, const float *samples, size_t count,
             uint32_t rate) {
  const samara_audio audio = {.struct_size = sizeof audio,
                              .samples = samples,
                              .count = count,
                              .rate = rate,
                              .channels = 1,
                              .dtype = SAMARA_FLOAT32};
  bool ready = false;
  return web_failed(session,
                    samara_session_push_audio(session, index, &audio, &web_samples_taken, &ready))
             ? -1
             : (int)ready;
}
WEB(taken) size_t web_taken(void) { return web_samples_taken; }
/* The same at the end of the sound. */
WEB(push_end) int web_push_end(samara_session *session, size_t index) {
  bool ready = false;
  return web_failed(session, samara_session_end_audio(session, index, &ready)) ? -1 : (int)ready;
}
#endif

#if SAMARA_WITH_ANSWERS
/* Whether the file says what the outputs of a function mean. */
WEB(answer_kind) int web_answer_kind(const samara_model *model, const char *function) {
  return samara_model_answer_kind(model, function);
}
/* The answer of the last run: samara_answer, whose fields are words here. */
WEB(answer) const samara_answer *web_answer(samara_session *session) {
  static samara_answer answer;
  answer = (samara_answer){.struct_size = sizeof answer};
  return web_failed(session, samara_session_answer(session, &answer)) ? NULL : &answer;
}
#endif
