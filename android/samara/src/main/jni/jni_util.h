// SPDX-License-Identifier: Apache-2.0
/// What the JNI files share: exceptions, strings, packed bytes, addresses of objects.
#ifndef SAMARA_JNI_UTIL_H_
#define SAMARA_JNI_UTIL_H_

#include <jni.h>
#include <samara/samara.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Find dev.samara.SamaraException; false with an exception pending.
bool jni_util_load(JNIEnv *env);
void jni_util_unload(JNIEnv *env);

// ---- exceptions ----

/// Throw the exception of a status. `fix` may be NULL. An exception that is pending stays.
void jni_throw(JNIEnv *env, samara_status status, const char *text, const char *fix);
/// Throw "built without this feature of `samara build`". Returns 0.
jlong jni_throw_absent(JNIEnv *env, const char *feature);
/// Throw the failure `error` of a call that returned `status`, which is not SAMARA_OK.
void jni_throw_error(JNIEnv *env, samara_status status, const samara_error *error);
/// Whether status is SAMARA_OK. If not, throw the session's message.
bool jni_ok(JNIEnv *env, const samara_session *session, samara_status status);

// ---- text and bytes ----

/// A NUL-terminated copy of a name from Java; the caller frees it. NULL for null, or, with an
/// exception pending, when memory is short.
char *jni_text(JNIEnv *env, jbyteArray text);
/// Texts of an array of byte[].
struct jni_texts {
  char **all;
  size_t count;
};
/// Copies of them all; false with an exception pending. The caller frees `texts` either way.
bool jni_read_texts(JNIEnv *env, jobjectArray array, struct jni_texts *texts);
void jni_free_texts(struct jni_texts *texts);
/// An array of Java with these bytes; NULL with an exception pending.
jbyteArray jni_bytes(JNIEnv *env, const void *data, size_t size_bytes);

/// An array of Java with these numbers; NULL with an exception pending.
jintArray jni_ints(JNIEnv *env, const int32_t *values, size_t count);
/// A copy of an array of Java; the caller frees it. NULL with an exception pending.
int32_t *jni_read_ints(JNIEnv *env, jintArray array, size_t *count);

/// Packed numbers and texts, in the format that dev.samara.Blob reads.
struct jni_blob {
  char *data;
  size_t size, capacity;
  bool failed;
};
void jni_put(struct jni_blob *blob, const void *data, size_t size_bytes);
void jni_put_int(struct jni_blob *blob, int64_t value);
void jni_put_long(struct jni_blob *blob, int64_t value);
void jni_put_float(struct jni_blob *blob, float value);
/// Append the length, then the bytes.
void jni_put_block(struct jni_blob *blob, const void *data, size_t size_bytes);
/// Append a text the same way; NULL counts as "".
void jni_put_text(struct jni_blob *blob, const char *text);
/// Append a tensor: type, rank, dims, scale, zero point, bytes.
void jni_put_tensor(struct jni_blob *blob, const samara_tensor *tensor);
/// Return the blob as a Java array and free its memory; NULL with an exception pending.
jbyteArray jni_take(JNIEnv *env, struct jni_blob *blob);

// ---- addresses ----

static inline samara_model *jni_model(jlong handle) { return (samara_model *)(intptr_t)handle; }
static inline samara_session *jni_session(jlong handle) {
  return (samara_session *)(intptr_t)handle;
}
static inline samara_pool *jni_pool(jlong handle) { return (samara_pool *)(intptr_t)handle; }
static inline jlong jni_handle(const void *object) { return (jlong)(intptr_t)object; }

/// The `size_bytes` of a direct buffer that begin at byte `at`; NULL with an exception pending if
/// the buffer is shorter.
void *jni_memory(JNIEnv *env, jobject buffer, jlong at, jlong size_bytes);

// ---- the natives of dev.samara.Native, by file ----

struct jni_table {
  const JNINativeMethod *methods;
  jint count;
};
extern const struct jni_table jni_model_table, jni_session_table, jni_values_table, jni_media_table,
    jni_state_table, jni_observe_table, jni_text_table, jni_sampler_table, jni_text_model_table,
    jni_system_table;

#endif  // SAMARA_JNI_UTIL_H_
