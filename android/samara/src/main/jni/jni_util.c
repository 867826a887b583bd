// SPDX-License-Identifier: Apache-2.0
/// Exceptions, strings and packed bytes for the JNI files.
#include "jni_util.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static jclass exception_class;
static jmethodID exception_of;

bool jni_util_load(JNIEnv *env) {
  const jclass found = (*env)->FindClass(env, "dev/samara/SamaraException");
  if (found == NULL) return false;
  exception_of = (*env)->GetStaticMethodID(env, found, "of", "(I[B[B)Ldev/samara/SamaraException;");
  if (exception_of != NULL) exception_class = (*env)->NewGlobalRef(env, found);
  (*env)->DeleteLocalRef(env, found);
  return exception_of != NULL && exception_class != NULL;
}

void jni_util_unload(JNIEnv *env) {
  if (exception_class != NULL) (*env)->DeleteGlobalRef(env, exception_class);
  exception_class = NULL;
}

// ---- exceptions ----

void jni_throw(JNIEnv *env, samara_status status, const char *text, const char *fix) {
  if ((*env)->ExceptionCheck(env)) return;
  const jbyteArray what = jni_bytes(env, text, strlen(text));
  const jbyteArray why = what != NULL && fix != NULL ? jni_bytes(env, fix, strlen(fix)) : NULL;
  if ((*env)->ExceptionCheck(env)) return;  // Java is out of memory and has thrown
  const jobject made =
      (*env)->CallStaticObjectMethod(env, exception_class, exception_of, (jint)status, what, why);
  if (!(*env)->ExceptionCheck(env) && made != NULL) (*env)->Throw(env, (jthrowable)made);
  (*env)->DeleteLocalRef(env, what);
  if (why != NULL) (*env)->DeleteLocalRef(env, why);
}

jlong jni_throw_absent(JNIEnv *env, const char *feature) {
  char text[80], fix[120];
  snprintf(text, sizeof text, "the library was built without the feature '%s'", feature);
  snprintf(fix, sizeof fix, "build it with --features %s beside those that it has", feature);
  jni_throw(env, SAMARA_UNSUPPORTED, text, fix);
  return 0;
}

void jni_throw_error(JNIEnv *env, samara_status status, const samara_error *error) {
  jni_throw(env, status, error->text[0] != '\0' ? error->text : samara_status_text(status), NULL);
}

bool jni_ok(JNIEnv *env, const samara_session *session, samara_status status) {
  if (status == SAMARA_OK) return true;
  const char *text = samara_session_error(session);
  jni_throw(env, status, text[0] != '\0' ? text : samara_status_text(status), NULL);
  return false;
}

// ---- text and bytes ----

char *jni_text(JNIEnv *env, jbyteArray text) {
  if (text == NULL) return NULL;
  const jsize size = (*env)->GetArrayLength(env, text);
  char *copy = malloc((size_t)size + 1);
  if (copy == NULL) {
    jni_throw(env, SAMARA_OUT_OF_MEMORY, "no memory for a name", NULL);
    return NULL;
  }
  (*env)->GetByteArrayRegion(env, text, 0, size, (jbyte *)copy);
  copy[size] = '\0';
  return copy;
}

void jni_free_texts(struct jni_texts *texts) {
  for (size_t i = 0; i < texts->count; i++) free(texts->all[i]);
  free(texts->all);
}

bool jni_read_texts(JNIEnv *env, jobjectArray array, struct jni_texts *texts) {
  const jsize count = (*env)->GetArrayLength(env, array);
  texts->all = calloc((size_t)count + 1, sizeof *texts->all);
  if (texts->all == NULL) {
    jni_throw(env, SAMARA_OUT_OF_MEMORY, "no memory for names", NULL);
    return false;
  }
  for (jsize i = 0; i < count; i++) {
    const jobject text = (*env)->GetObjectArrayElement(env, array, i);
    texts->all[i] = jni_text(env, text);
    (*env)->DeleteLocalRef(env, text);
    if (texts->all[i] == NULL) {
      jni_throw(env, SAMARA_BAD_ARGUMENT, "a name is null", NULL);
      return false;
    }
    texts->count++;
  }
  return true;
}

jbyteArray jni_bytes(JNIEnv *env, const void *data, size_t size_bytes) {
  if (size_bytes > INT_MAX - 8) {
    jni_throw(env, SAMARA_LIMIT, "more bytes than an array of Java holds", NULL);
    return NULL;
  }
  const jbyteArray made = (*env)->NewByteArray(env, (jsize)size_bytes);
  if (made != NULL) (*env)->SetByteArrayRegion(env, made, 0, (jsize)size_bytes, data);
  return made;
}

jintArray jni_ints(JNIEnv *env, const int32_t *values, size_t count) {
  if (count > INT_MAX - 8) {
    jni_throw(env, SAMARA_LIMIT, "more numbers than an array of Java holds", NULL);
    return NULL;
  }
  const jintArray made = (*env)->NewIntArray(env, (jsize)count);
  if (made != NULL && count != 0)
    (*env)->SetIntArrayRegion(env, made, 0, (jsize)count, (const jint *)values);
  return made;
}

int32_t *jni_read_ints(JNIEnv *env, jintArray array, size_t *count) {
  const jsize size = (*env)->GetArrayLength(env, array);
  int32_t *copy = malloc(((size_t)size + 1) * sizeof *copy);
  if (copy == NULL) {
    jni_throw(env, SAMARA_OUT_OF_MEMORY, "no memory for numbers", NULL);
    return NULL;
  }
  (*env)->GetIntArrayRegion(env, array, 0, size, (jint *)copy);
  *count = (size_t)size;
  return copy;
}

void jni_put(struct jni_blob *blob, const void *data, size_t size_bytes) {
  if (blob->failed || size_bytes == 0) return;
  if (size_bytes > blob->capacity - blob->size) {
    // Java arrays hold at most INT_MAX bytes, so the sums below cannot overflow.
    if (size_bytes > INT_MAX || blob->size > INT_MAX) {
      blob->failed = true;
      return;
    }
    const size_t capacity = 2 * blob->size + size_bytes + 256;
    char *grown = realloc(blob->data, capacity);
    if (grown == NULL) {
      blob->failed = true;
      return;
    }
    blob->data = grown;
    blob->capacity = capacity;
  }
  memcpy(blob->data + blob->size, data, size_bytes);
  blob->size += size_bytes;
}

void jni_put_int(struct jni_blob *blob, int64_t value) {
  const int32_t number = (int32_t)value;
  jni_put(blob, &number, sizeof number);
}

void jni_put_long(struct jni_blob *blob, int64_t value) { jni_put(blob, &value, sizeof value); }

void jni_put_float(struct jni_blob *blob, float value) { jni_put(blob, &value, sizeof value); }

void jni_put_block(struct jni_blob *blob, const void *data, size_t size_bytes) {
  if (size_bytes > INT_MAX) {
    blob->failed = true;
    return;
  }
  jni_put_int(blob, (int64_t)size_bytes);
  jni_put(blob, data, size_bytes);
}

void jni_put_text(struct jni_blob *blob, const char *text) {
  jni_put_block(blob, text, text == NULL ? 0 : strlen(text));
}

void jni_put_tensor(struct jni_blob *blob, const samara_tensor *tensor) {
  jni_put_int(blob, tensor->dtype);
  jni_put_int(blob, tensor->rank);
  for (int32_t i = 0; i < tensor->rank; i++) jni_put_long(blob, tensor->shape[i]);
  jni_put_float(blob, tensor->scale);
  jni_put_int(blob, tensor->zero_point);
  jni_put_block(blob, tensor->data, tensor->size_bytes);
}

jbyteArray jni_take(JNIEnv *env, struct jni_blob *blob) {
  jbyteArray made = NULL;
  if ((*env)->ExceptionCheck(env)) {
    made = NULL;
  } else if (blob->failed) {
    jni_throw(env, SAMARA_OUT_OF_MEMORY, "no memory for what the call returns", NULL);
  } else {
    made = jni_bytes(env, blob->data, blob->size);
  }
  free(blob->data);
  *blob = (struct jni_blob){0};
  return made;
}

// ---- addresses ----

void *jni_memory(JNIEnv *env, jobject buffer, jlong at, jlong size_bytes) {
  // The capacity that JNI tells is in elements; Java has checked position and limit.
  char *data = (*env)->GetDirectBufferAddress(env, buffer);
  if (data == NULL || at < 0 || size_bytes < 0) {
    jni_throw(env, SAMARA_BAD_ARGUMENT, "the buffer has no memory that C can read",
              "make it by ByteBuffer.allocateDirect; a closed frame has none");
    return NULL;
  }
  return data + at;
}
