// SPDX-License-Identifier: Apache-2.0
// Text models: prompts, tokens one at a time, texts in files. jni_session.c creates them.
#include "jni_features.h"
#include "jni_sampler.h"

#include <stdlib.h>
#include <string.h>

#if SAMARA_WITH_TEXT
static samara_text_model *text_of(jlong handle) { return (samara_text_model *)(intptr_t)handle; }

/// Whether status is SAMARA_OK. If not, throw the text model's message.
static bool text_ok(JNIEnv *env, const samara_text_model *model, samara_status status) {
  if (status == SAMARA_OK) return true;
  const char *text = samara_text_model_error(model);
  jni_throw(env, status, text[0] != '\0' ? text : samara_status_text(status), NULL);
  return false;
}

static void destroy_text_model(JNIEnv *env, jclass type, jlong model) {
  (void)env, (void)type;
  samara_text_model_destroy(text_of(model));
}

static void cancel_text(JNIEnv *env, jclass type, jlong model) {
  (void)env, (void)type;
  samara_text_model_cancel(text_of(model));
}

static jlong text_context(JNIEnv *env, jclass type, jlong model) {
  (void)env, (void)type;
  return (jlong)samara_text_model_context(text_of(model));
}

static jlong text_total_bytes(JNIEnv *env, jclass type, jlong model) {
  (void)env, (void)type;
  return (jlong)samara_session_total_bytes(samara_text_model_session(text_of(model)));
}

// ---- prompts ----

/// What a put returns: tokens of the text, and how many were in the cache.
static jlong put_result(const samara_text_model *model, size_t reused) {
  size_t count;
  (void)samara_text_model_tokens(model, &count);
  return (jlong)((uint64_t)count << 32 | (uint32_t)reused);
}

static jlong prompt_text(JNIEnv *env, jclass type, jlong handle, jbyteArray text, jint flags) {
  (void)type;
  samara_text_model *model = text_of(handle);
  size_t reused = 0;
  char *own = jni_text(env, text);
  if (own == NULL) return 0;
  const size_t size = (size_t)(*env)->GetArrayLength(env, text);
  const samara_status status = samara_text_model_prompt(model, own, size, (uint32_t)flags, &reused);
  free(own);
  return text_ok(env, model, status) ? put_result(model, reused) : 0;
}

static jlong put_text(JNIEnv *env, jclass type, jlong handle, jintArray ids) {
  (void)type;
  samara_text_model *model = text_of(handle);
  size_t count, reused = 0;
  int32_t *own = jni_read_ints(env, ids, &count);
  if (own == NULL) return 0;
  const samara_status status = samara_text_model_put(model, own, count, &reused);
  free(own);
  return text_ok(env, model, status) ? put_result(model, reused) : 0;
}

static jintArray text_tokens(JNIEnv *env, jclass type, jlong model) {
  (void)type;
  size_t count;
  const int32_t *ids = samara_text_model_tokens(text_of(model), &count);
  return jni_ints(env, ids, count);
}

static jfloatArray text_logits(JNIEnv *env, jclass type, jlong handle) {
  (void)type;
  samara_text_model *model = text_of(handle);
  const float *logits = NULL;
  size_t count = 0;
  if (!text_ok(env, model, samara_text_model_logits(model, &logits, &count))) return NULL;
  const jfloatArray made = (*env)->NewFloatArray(env, (jsize)count);
  if (made != NULL) (*env)->SetFloatArrayRegion(env, made, 0, (jsize)count, logits);
  return made;
}

// ---- texts ----

static void begin_text(JNIEnv *env, jclass type, jlong handle, jint most_tokens, jlongArray numbers,
                       jfloatArray shares, jobjectArray stops, jintArray ends) {
  (void)type;
  samara_text_model *model = text_of(handle);
  samara_sampler_options sampler;
  struct jni_texts texts = {0};
  size_t end_count = 0;
  if (!jni_sampler_options(env, numbers, shares, &sampler)) return;
  int32_t *own_ends = ends != NULL ? jni_read_ints(env, ends, &end_count) : NULL;
  if ((ends == NULL || own_ends != NULL) && jni_read_texts(env, stops, &texts)) {
    const samara_text_options options = {.struct_size = sizeof options,
                                         .sampler = &sampler,
                                         .max_tokens = (size_t)most_tokens,
                                         .stops = (const char *const *)texts.all,
                                         .stop_count = texts.count,
                                         .end_tokens = own_ends,
                                         .end_token_count = end_count,
                                         .ignore_end_tokens = ends != NULL && end_count == 0};
    text_ok(env, model, samara_text_model_begin(model, &options));
  }
  jni_free_texts(&texts);
  free(own_ends);
}

static jbyteArray step_text(JNIEnv *env, jclass type, jlong handle, jintArray token_and_end) {
  (void)type;
  samara_text_model *model = text_of(handle);
  int32_t token;
  const char *text;
  size_t size;
  samara_text_end end;
  if (!text_ok(env, model, samara_text_model_step(model, &token, &text, &size, &end))) return NULL;
  const jint values[] = {token, (jint)end};
  (*env)->SetIntArrayRegion(env, token_and_end, 0, 2, values);
  if (size == 0 || (*env)->ExceptionCheck(env)) return NULL;
  return jni_bytes(env, text, size);
}

// ---- files ----

enum { CHUNK_BYTES = 1 << 16 };  // of an array that carries a file's bytes between C and Java

/// A file of Java: an OutputStream that takes whole chunks, or a RandomAccessFile.
struct java_file {
  JNIEnv *env;
  jobject object;
  jmethodID seek, move;
  jbyteArray chunk;
  jsize used;  // bytes of the chunk that wait to be written
};

/// Find the methods and make the chunk; false with an exception pending.
static bool java_file_begin(struct java_file *file, const char *type, const char *move) {
  JNIEnv *env = file->env;
  const jclass found = (*env)->FindClass(env, type);
  if (found == NULL) return false;
  file->move = (*env)->GetMethodID(env, found, move, "([BII)V");
  if (file->move != NULL && strcmp(move, "readFully") == 0)
    file->seek = (*env)->GetMethodID(env, found, "seek", "(J)V");
  (*env)->DeleteLocalRef(env, found);
  if (!(*env)->ExceptionCheck(env)) file->chunk = (*env)->NewByteArray(env, CHUNK_BYTES);
  return file->chunk != NULL;
}

/// Write or read the first bytes of the chunk; false with an exception pending.
static bool java_file_move(struct java_file *file, jsize bytes) {
  JNIEnv *env = file->env;
  (*env)->CallVoidMethod(env, file->object, file->move, file->chunk, (jint)0, (jint)bytes);
  return !(*env)->ExceptionCheck(env);
}

static bool java_file_flush(struct java_file *file) {
  const jsize used = file->used;
  file->used = 0;
  return used == 0 || java_file_move(file, used);
}

static int java_file_write(void *user, const void *data, size_t size_bytes) {
  struct java_file *file = user;
  JNIEnv *env = file->env;
  for (const jbyte *from = data; size_bytes != 0;) {
    if (file->used == CHUNK_BYTES && !java_file_flush(file)) return 1;
    const size_t room = (size_t)(CHUNK_BYTES - file->used);
    const jsize n = (jsize)(size_bytes < room ? size_bytes : room);
    (*env)->SetByteArrayRegion(env, file->chunk, file->used, n, from);
    if ((*env)->ExceptionCheck(env)) return 1;
    file->used += n;
    from += n;
    size_bytes -= (size_t)n;
  }
  return 0;
}

static void save_text(JNIEnv *env, jclass type, jlong handle, jobject to) {
  (void)type;
  samara_text_model *model = text_of(handle);
  struct java_file file = {.env = env, .object = to};
  if (!java_file_begin(&file, "java/io/OutputStream", "write")) return;
  const samara_writer writer = {sizeof writer, java_file_write, &file};
  if (text_ok(env, model, samara_text_state_save(model, &writer))) java_file_flush(&file);
}

static int java_file_read(void *user, uint64_t offset, void *buffer, size_t size_bytes) {
  struct java_file *file = user;
  JNIEnv *env = file->env;
  (*env)->CallVoidMethod(env, file->object, file->seek, (jlong)offset);
  if ((*env)->ExceptionCheck(env)) return 1;
  for (jbyte *to = buffer; size_bytes != 0;) {
    const jsize n = (jsize)(size_bytes < CHUNK_BYTES ? size_bytes : CHUNK_BYTES);
    if (!java_file_move(file, n)) return 1;
    (*env)->GetByteArrayRegion(env, file->chunk, 0, n, to);
    if ((*env)->ExceptionCheck(env)) return 1;
    to += n;
    size_bytes -= (size_t)n;
  }
  return 0;
}

static void load_text(JNIEnv *env, jclass type, jlong handle, jobject from, jlong size) {
  (void)type;
  samara_text_model *model = text_of(handle);
  struct java_file file = {.env = env, .object = from};
  if (!java_file_begin(&file, "java/io/RandomAccessFile", "readFully")) return;
  const samara_reader reader = {java_file_read, (uint64_t)size, &file};
  text_ok(env, model, samara_text_state_load(model, &reader));
}

#else
JNI_ABSENT(text)
#define destroy_text_model without_text
#define cancel_text without_text
#define text_context without_text
#define text_total_bytes without_text
#define prompt_text without_text
#define put_text without_text
#define text_tokens without_text
#define text_logits without_text
#define begin_text without_text
#define step_text without_text
#define save_text without_text
#define load_text without_text
#endif

static const JNINativeMethod methods[] = {
    {"destroyTextModel", "(J)V", (void *)destroy_text_model},
    {"cancelText", "(J)V", (void *)cancel_text},
    {"textContext", "(J)J", (void *)text_context},
    {"textTotalBytes", "(J)J", (void *)text_total_bytes},
    {"promptText", "(J[BI)J", (void *)prompt_text},
    {"putText", "(J[I)J", (void *)put_text},
    {"textTokens", "(J)[I", (void *)text_tokens},
    {"textLogits", "(J)[F", (void *)text_logits},
    {"beginText", "(JI[J[F[[B[I)V", (void *)begin_text},
    {"stepText", "(J[I)[B", (void *)step_text},
    {"saveText", "(JLjava/io/OutputStream;)V", (void *)save_text},
    {"loadText", "(JLjava/io/RandomAccessFile;J)V", (void *)load_text},
};
const struct jni_table jni_text_model_table = {methods, sizeof methods / sizeof *methods};
