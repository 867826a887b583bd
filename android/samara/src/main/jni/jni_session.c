// SPDX-License-Identifier: Apache-2.0
// Sessions and their pools: creation, shapes, runs, destruction.
#include "jni_features.h"

#include <stdlib.h>
#include <string.h>

// Bits that dev.samara.SessionOptions sets.
enum {
  KEEP_ALL = 1,
  STRICT = 2,
  BFLOAT16 = 4,
  FLOAT16 = 8,
  WAIT = 16,
  PROFILE = 32,
  TEXT = 64,
  EXACT = 128,
  BOUNDED = 256
};
enum { MAX_BACKENDS = 8 };  // limit of samara_session_options

// ---- pools ----

#if SAMARA_WITH_THREADS
static jlong create_pool(JNIEnv *env, jclass type, jint threads) {
  (void)type;
  const samara_pool_options options = {.struct_size = sizeof options, .threads = (size_t)threads};
  samara_error error = {0};
  samara_pool *pool = NULL;
  const samara_status status = samara_pool_create(&options, &pool, &error);
  if (status == SAMARA_OK) return jni_handle(pool);
  jni_throw_error(env, status, &error);
  return 0;
}

static void destroy_pool(JNIEnv *env, jclass type, jlong pool) {
  (void)env, (void)type;
  samara_pool_destroy(jni_pool(pool));
}

#else
// A library without threads has no pool and runs in the caller's thread.
static jlong create_pool(JNIEnv *env, jclass type, jint threads) {
  (void)env, (void)type, (void)threads;
  return 0;
}

static void destroy_pool(JNIEnv *env, jclass type, jlong pool) {
  (void)env, (void)type, (void)pool;
}
#endif

// ---- making ----

/// Open the devices named by a session's `backend`.
struct devices {
  samara_backend *all[MAX_BACKENDS];
  size_t count;
  bool automatic;
};

#if SAMARA_WITH_BACKENDS
static void close_devices(struct devices *devices) {
  // The devices are closed with the session that uses them.
  for (size_t i = 0; i < devices->count; i++) samara_backend_close(devices->all[i]);
}

static bool is_path(const char *name) { return strchr(name, '/') != NULL; }

static bool open_device(JNIEnv *env, const char *name, struct devices *devices, bool must) {
  const samara_backend_options options = {.struct_size = sizeof options,
                                          .name = is_path(name) ? NULL : name,
                                          .library = is_path(name) ? name : NULL};
  samara_error error = {0};
  if (devices->count == MAX_BACKENDS) {
    jni_throw(env, SAMARA_BAD_ARGUMENT, "more than 8 backends are given", "give fewer");
    return false;
  }
  const samara_status status = samara_backend_open(&options, &devices->all[devices->count], &error);
  if (status == SAMARA_OK) {
    devices->count++;
  } else if (must) {
    jni_throw(env, SAMARA_BACKEND, error.text, "give \"cpu\", or \"auto\" where it may be absent");
    return false;
  }
  return true;
}

static bool open_devices(JNIEnv *env, const struct jni_texts *names, struct devices *devices) {
  for (size_t i = 0; i < names->count; i++) {
    const char *name = names->all[i];
    if (strcmp(name, "auto") == 0) devices->automatic = true;
    if (strcmp(name, "auto") == 0 || strcmp(name, "cpu") == 0) continue;
    if (!open_device(env, name, devices, true)) return false;
  }
  const bool any = devices->automatic && devices->count == 0;
  return !any || open_device(env, "opencl", devices, false);
}

#else
static void close_devices(struct devices *devices) { (void)devices; }

static bool open_devices(JNIEnv *env, const struct jni_texts *names, struct devices *devices) {
  (void)devices;
  for (size_t i = 0; i < names->count; i++) {
    if (strcmp(names->all[i], "auto") == 0 || strcmp(names->all[i], "cpu") == 0) continue;
    jni_throw_absent(env, "backends");
    return false;
  }
  return true;
}
#endif

/// As in Python: reduced precision asks for what an exact model excludes.
static samara_exactness exactness_of(jint flags) {
  if ((flags & EXACT) != 0) return SAMARA_EXACT_ON;
  return (flags & (BOUNDED | BFLOAT16 | FLOAT16)) != 0 ? SAMARA_EXACT_OFF : SAMARA_EXACT_AS_MODEL;
}

static bool read_limits(JNIEnv *env, jlongArray limits, samara_session_options *options) {
  jlong values[3] = {0};
  (*env)->GetLongArrayRegion(env, limits, 0, 3, values);
  if ((*env)->ExceptionCheck(env)) return false;
  options->max_arena_bytes = (uint64_t)values[0];
  options->max_steps = (uint64_t)values[1];
  options->deadline_us = (uint64_t)values[2];
  return true;
}

/// A session of the model, or with TEXT a text model; 0 with an exception pending.
static jlong created(JNIEnv *env, const samara_model *model, const samara_session_options *options,
                     jint flags) {
  samara_error error = {0};
  if ((flags & TEXT) == 0) {
    samara_session *session = NULL;
    const samara_status status = samara_session_create(model, options, &session, &error);
    if (status != SAMARA_OK) jni_throw_error(env, status, &error);
    return jni_handle(session);
  }
#if SAMARA_WITH_TEXT
  samara_text_model *text = NULL;
  const samara_status status = samara_text_model_create(model, options, &text, &error);
  if (status != SAMARA_OK) jni_throw_error(env, status, &error);
  return jni_handle(text);
#else
  return jni_throw_absent(env, "text");
#endif
}

static jlong create_session(JNIEnv *env, jclass type, jlong model, jlong pool, jbyteArray function,
                            jbyteArray isa, jobject tuned, jobjectArray keep, jobjectArray backends,
                            jlongArray limits, jint flags) {
  (void)type;
  samara_session_options options = {.struct_size = sizeof options, .pool = jni_pool(pool)};
  struct jni_texts kept = {0}, names = {0};
  struct devices devices = {0};
  jlong made = 0;
  char *name = jni_text(env, function);
  char *ceiling = jni_text(env, isa);
  if (!(*env)->ExceptionCheck(env) && jni_read_texts(env, keep, &kept) &&
      jni_read_texts(env, backends, &names) && read_limits(env, limits, &options) &&
      open_devices(env, &names, &devices)) {
    options.function = name;
    options.keep = (const char *const *)kept.all;
    options.keep_count = kept.count;
    options.keep_all = (flags & KEEP_ALL) != 0;
    options.strict_accuracy = (flags & STRICT) != 0;
    options.bfloat16 = (flags & BFLOAT16) != 0;
    options.profile = (flags & PROFILE) != 0;
    options.backends = devices.all;
    options.backend_count = devices.count;
    options.backend_auto = devices.automatic;
    options.backend_wait = (flags & WAIT) != 0 && devices.automatic;
    options.backend_float16 = (flags & FLOAT16) != 0;
    options.exact = exactness_of(flags);
    options.isa = ceiling;
    options.tuned = tuned != NULL ? jni_memory(env, tuned, 0, 0) : NULL;
    made = created(env, jni_model(model), &options, flags);
  }
  close_devices(&devices);
  jni_free_texts(&names);
  jni_free_texts(&kept);
  free(ceiling);
  free(name);
  return made;
}

static void destroy_session(JNIEnv *env, jclass type, jlong session) {
  (void)env, (void)type;
  samara_session_destroy(jni_session(session));
}

static void cancel(JNIEnv *env, jclass type, jlong session) {
  (void)env, (void)type;
  samara_session_cancel(jni_session(session));
}

// ---- shapes ----

/// Resize to concatenated shapes of the inputs' ranks; rank -1: unchanged.
static void resize_to(JNIEnv *env, samara_session *session, const jint *ranks, size_t inputs,
                      const int64_t *dims) {
  const int64_t **shapes = calloc(inputs + 1, sizeof *shapes);
  if (shapes == NULL) {
    jni_throw(env, SAMARA_OUT_OF_MEMORY, "no memory for shapes", NULL);
    return;
  }
  for (size_t i = 0; i < inputs; i++) {
    if (ranks[i] < 0) continue;
    shapes[i] = dims;
    dims += ranks[i];
  }
  jni_ok(env, session, samara_session_resize(session, shapes, inputs));
  free((void *)shapes);
}

static void resize(JNIEnv *env, jclass type, jlong session, jintArray ranks, jlongArray dims) {
  (void)type;
  const jsize inputs = (*env)->GetArrayLength(env, ranks);
  const jsize count = (*env)->GetArrayLength(env, dims);
  jint *own_ranks = calloc((size_t)inputs + 1, sizeof *own_ranks);
  int64_t *own_dims = calloc((size_t)count + 1, sizeof *own_dims);
  if (own_ranks == NULL || own_dims == NULL) {
    jni_throw(env, SAMARA_OUT_OF_MEMORY, "no memory for shapes", NULL);
  } else {
    (*env)->GetIntArrayRegion(env, ranks, 0, inputs, own_ranks);
    (*env)->GetLongArrayRegion(env, dims, 0, count, (jlong *)own_dims);
    resize_to(env, jni_session(session), own_ranks, (size_t)inputs, own_dims);
  }
  free(own_ranks);
  free(own_dims);
}

static jint put_shape(JNIEnv *env, const samara_tensor *tensor, jlongArray dims) {
  jlong values[SAMARA_MAX_RANK];
  for (int32_t i = 0; i < tensor->rank; i++) values[i] = tensor->shape[i];
  (*env)->SetLongArrayRegion(env, dims, 0, tensor->rank, values);
  return tensor->rank;
}

static jint input_shape(JNIEnv *env, jclass type, jlong handle, jint index, jlongArray dims) {
  (void)type;
  samara_session *session = jni_session(handle);
  samara_tensor tensor;
  const samara_status status = samara_session_input(session, (size_t)index, &tensor);
  if (status == SAMARA_BAD_STATE) return -1;  // shapes are not all known
  return jni_ok(env, session, status) ? put_shape(env, &tensor, dims) : 0;
}

static jint output_shape(JNIEnv *env, jclass type, jlong handle, jint index, jlongArray dims) {
  (void)type;
  samara_session *session = jni_session(handle);
  samara_tensor tensor;
  // After a run the output also has the dims that depend on data.
  if (samara_session_output(session, (size_t)index, &tensor) != SAMARA_OK &&
      !jni_ok(env, session, samara_session_output_shape(session, (size_t)index, &tensor)))
    return 0;
  return put_shape(env, &tensor, dims);
}

// ---- runs ----

static void run(JNIEnv *env, jclass type, jlong session) {
  (void)type;
  jni_ok(env, jni_session(session), samara_session_run(jni_session(session)));
}

static const JNINativeMethod methods[] = {
    {"createPool", "(I)J", (void *)create_pool},
    {"destroyPool", "(J)V", (void *)destroy_pool},
    {"createSession", "(JJ[B[BLjava/nio/ByteBuffer;[[B[[B[JI)J", (void *)create_session},
    {"destroySession", "(J)V", (void *)destroy_session},
    {"cancel", "(J)V", (void *)cancel},
    {"resize", "(J[I[J)V", (void *)resize},
    {"inputShape", "(JI[J)I", (void *)input_shape},
    {"outputShape", "(JI[J)I", (void *)output_shape},
    {"run", "(J)V", (void *)run},
};
const struct jni_table jni_session_table = {methods, sizeof methods / sizeof *methods};
