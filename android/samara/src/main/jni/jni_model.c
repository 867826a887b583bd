// SPDX-License-Identifier: Apache-2.0
// Models, and facts about the library.
#include "jni_features.h"
#include "jni_system.h"

#include <stdlib.h>
#include <string.h>

enum { ISA_BYTES = 256 };  // enough for the names of all instruction sets

static jbyteArray version(JNIEnv *env, jclass type) {
  (void)type;
  const char *text = samara_version();
  return jni_bytes(env, text, strlen(text));
}

static jbyteArray isa(JNIEnv *env, jclass type) {
  (void)type;
  char text[ISA_BYTES];
  samara_isa(text, sizeof text);
  return jni_bytes(env, text, strlen(text));
}

// ---- opening ----

static void logs(void *user, samara_log_level level, const char *text) {
  (void)user;
  jni_log((int)level, text);
}

static samara_model_options options_of(jboolean copy, jint verify) {
  return (samara_model_options){.struct_size = sizeof(samara_model_options),
                                .log = logs,
                                .copy = copy == JNI_TRUE,
                                .verify = (size_t)verify};
}

static jlong opened(JNIEnv *env, samara_status status, samara_model *model,
                    const samara_error *error) {
  if (status == SAMARA_OK) return jni_handle(model);
  jni_throw_error(env, status, error);
  return 0;
}

#if SAMARA_WITH_FILES
static jlong open_path(JNIEnv *env, jclass type, jbyteArray path, jboolean copy, jint verify) {
  (void)type;
  const samara_model_options options = options_of(copy, verify);
  samara_error error = {0};
  samara_model *model = NULL;
  char *name = jni_text(env, path);
  if (name == NULL) return 0;
  const samara_status status = samara_model_open_path(name, &options, &model, &error);
  free(name);
  return opened(env, status, model, &error);
}

static jlong open_fd(JNIEnv *env, jclass type, jint fd, jlong offset, jlong size, jboolean copy,
                     jint verify) {
  (void)type;
  const samara_model_options options = options_of(copy, verify);
  samara_error error = {0};
  samara_model *model = NULL;
  if (offset < 0 || size < 0) {
    jni_throw(env, SAMARA_BAD_ARGUMENT, "the offset or the length is negative", NULL);
    return 0;
  }
  const samara_status status =
      samara_model_open_fd(fd, (uint64_t)offset, (uint64_t)size, &options, &model, &error);
  return opened(env, status, model, &error);
}

#else
JNI_ABSENT(files)
#define open_path without_files
#define open_fd without_files
#endif

#if SAMARA_WITH_CALLBACKS
static int copy_from(void *user, uint64_t offset, void *buffer, size_t size_bytes) {
  memcpy(buffer, (const char *)user + offset, size_bytes);
  return 0;
}

#endif

static jlong open_buffer(JNIEnv *env, jclass type, jobject buffer, jlong offset, jlong size,
                         jboolean copy, jint verify) {
  (void)type;
  const samara_model_options options = options_of(copy, verify);
  samara_error error = {0};
  samara_model *model = NULL;
  void *data = jni_memory(env, buffer, offset, size);
  if (data == NULL) return 0;
  samara_status status;
  if ((uintptr_t)data % 4 == 0) {
    status = samara_model_open_memory(data, (size_t)size, &options, &model, &error);
  } else {  // misaligned, e.g. at an odd position: copy
#if SAMARA_WITH_CALLBACKS
    const samara_reader reader = {copy_from, (uint64_t)size, data};
    status = samara_model_open_callbacks(&reader, &options, &model, &error);
#else
    return jni_throw_absent(env, "callbacks");
#endif
  }
  return opened(env, status, model, &error);
}

static void close_model(JNIEnv *env, jclass type, jlong model) {
  (void)env, (void)type;
  samara_model_close(jni_model(model));
}

// ---- describing ----

/// Pack a description for dev.samara.TensorInfo.
static void put_info(struct jni_blob *blob, const samara_tensor_info *info, int record) {
  jni_put_text(blob, info->name);
  jni_put_int(blob, info->dtype);
  jni_put_int(blob, info->rank);
  for (int32_t i = 0; i < info->rank; i++) jni_put_long(blob, info->shape[i]);
  for (int32_t i = 0; i < info->rank; i++) jni_put_text(blob, info->dim_names[i]);
  jni_put_float(blob, info->scale);
  jni_put_int(blob, info->zero_point);
  jni_put_int(blob, record);
}

/// 1 for an input with an image record, 2 for one with an audio record, else 0.
static int record_of(const samara_model *model, const char *function, size_t index) {
  (void)model, (void)function, (void)index;
#if SAMARA_WITH_IMAGES
  samara_image_record image = {.struct_size = sizeof image};
  if (samara_model_image_record(model, function, index, &image) == SAMARA_OK) return 1;
#endif
#if SAMARA_WITH_AUDIO
  samara_audio_record audio = {.struct_size = sizeof audio};
  if (samara_model_audio_record(model, function, index, &audio) == SAMARA_OK) return 2;
#endif
  return 0;
}

static void put_function(struct jni_blob *blob, const samara_model *model, const char *name) {
  samara_tensor_info info;
  jni_put_text(blob, name);
#if SAMARA_WITH_ANSWERS
  jni_put_int(blob, samara_model_answer_kind(model, name));
#else
  jni_put_int(blob, 0);
#endif
  jni_put_int(blob, samara_model_is_growing(model, name));
  const size_t inputs = samara_model_input_count(model, name);
  jni_put_int(blob, (int64_t)inputs);
  for (size_t i = 0; i < inputs; i++) {
    if (samara_model_input_info(model, name, i, &info) != SAMARA_OK) blob->failed = true;
    if (!blob->failed) put_info(blob, &info, record_of(model, name, i));
  }
  const size_t outputs = samara_model_output_count(model, name);
  jni_put_int(blob, (int64_t)outputs);
  for (size_t i = 0; i < outputs; i++) {
    if (samara_model_output_info(model, name, i, &info) != SAMARA_OK) blob->failed = true;
    if (!blob->failed) put_info(blob, &info, 0);
  }
}

static void put_metadata(struct jni_blob *blob, const samara_model *model) {
#if SAMARA_WITH_METADATA
  const size_t count = samara_model_metadata_count(model);
  jni_put_int(blob, (int64_t)count);
  for (size_t i = 0; i < count; i++) {
    const char *key = NULL, *value = NULL;
    if (samara_model_metadata(model, i, &key, &value) != SAMARA_OK) blob->failed = true;
    jni_put_text(blob, key);
    jni_put_text(blob, value);
  }
#else
  (void)model;
  jni_put_int(blob, 0);
#endif
}

static jbyteArray describe(JNIEnv *env, jclass type, jlong handle) {
  (void)type;
  const samara_model *model = jni_model(handle);
  struct jni_blob blob = {0};
  const size_t functions = samara_model_function_count(model);
  jni_put_int(&blob, (int64_t)functions);
  for (size_t i = 0; i < functions; i++)
    put_function(&blob, model, samara_model_function_name(model, i));
  put_metadata(&blob, model);
  return jni_take(env, &blob);
}

// ---- whether it is sound ----

#if SAMARA_WITH_SELFTEST
static void selftest(JNIEnv *env, jclass type, jlong model) {
  (void)type;
  samara_error error = {0};
  const samara_status status = samara_model_selftest(jni_model(model), &error);
  if (status != SAMARA_OK) jni_throw_error(env, status, &error);
}

#else
JNI_ABSENT(selftest)
#define selftest without_selftest
#endif

static void verify(JNIEnv *env, jclass type, jlong model) {
  (void)type;
  samara_error error = {0};
  const samara_status status = samara_model_verify(jni_model(model), &error);
  if (status != SAMARA_OK) jni_throw_error(env, status, &error);
}

static jboolean verified(JNIEnv *env, jclass type, jlong model) {
  (void)env, (void)type;
  return samara_model_verified(jni_model(model)) == SAMARA_VERIFIED ? JNI_TRUE : JNI_FALSE;
}

static const JNINativeMethod methods[] = {
    {"version", "()[B", (void *)version},
    {"isa", "()[B", (void *)isa},
    {"openPath", "([BZI)J", (void *)open_path},
    {"openFd", "(IJJZI)J", (void *)open_fd},
    {"openBuffer", "(Ljava/nio/Buffer;JJZI)J", (void *)open_buffer},
    {"closeModel", "(J)V", (void *)close_model},
    {"describe", "(J)[B", (void *)describe},
    {"selftest", "(J)V", (void *)selftest},
    {"verify", "(J)V", (void *)verify},
    {"verified", "(J)Z", (void *)verified},
};
const struct jni_table jni_model_table = {methods, sizeof methods / sizeof *methods};
