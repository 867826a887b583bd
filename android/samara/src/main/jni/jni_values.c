// SPDX-License-Identifier: Apache-2.0
/// Values of inputs and outputs: arrays and direct buffers of Java.
#include "jni_util.h"

#include <stdio.h>
#include <string.h>

// Kinds of arrays, as dev.samara.DType counts them.
enum { BYTES, SHORTS, INTS, LONGS, FLOATS, DOUBLES };
enum { MESSAGE_BYTES = 200 };

static const struct {
  const char *array;
  size_t element_bytes;
} kinds[] = {{"byte[]", 1}, {"short[]", 2}, {"int[]", 4},
             {"long[]", 8}, {"float[]", 4}, {"double[]", 8}};

/// The kind of array that holds elements of a type.
static int kind_of(samara_dtype dtype) {
  switch (dtype) {
    case SAMARA_FLOAT32:
      return FLOATS;
    case SAMARA_FLOAT64:
      return DOUBLES;
    case SAMARA_INT32:
    case SAMARA_UINT32:
      return INTS;
    case SAMARA_INT64:
    case SAMARA_UINT64:
      return LONGS;
    case SAMARA_FLOAT16:
    case SAMARA_BFLOAT16:
    case SAMARA_INT16:
    case SAMARA_UINT16:
      return SHORTS;
    case SAMARA_INT8:
    case SAMARA_QINT8:
    case SAMARA_UINT8:
    case SAMARA_BOOL:
    case SAMARA_INT4:
    case SAMARA_UINT4:
      break;
  }
  return BYTES;
}

static void throw_shape(JNIEnv *env, const char *text, const char *fix) {
  jni_throw(env, SAMARA_BAD_SHAPE, text, fix);
}

/// Whether an array of `kind` with `length` elements is what the tensor holds; else throw.
static bool array_fits(JNIEnv *env, const samara_tensor *tensor, const char *what, jint index,
                       int kind, jsize length) {
  char text[MESSAGE_BYTES];
  const int wanted = kind_of(tensor->dtype);
  if (kind != wanted) {
    snprintf(text, sizeof text, "%s %d takes a %s, not a %s", what, (int)index, kinds[wanted].array,
             kinds[kind].array);
    throw_shape(env, text, "give an array of the tensor's element type");
    return false;
  }
  const size_t elements = tensor->size_bytes / kinds[kind].element_bytes;
  if (elements == (size_t)length) return true;
  snprintf(text, sizeof text, "%s %d has %zu elements, the array %d", what, (int)index, elements,
           (int)length);
  throw_shape(env, text, "give an array of that size, or resize the session first");
  return false;
}

static void set_array(JNIEnv *env, jclass type, jlong handle, jint index, jobject array,
                      jint kind) {
  (void)type;
  samara_session *session = jni_session(handle);
  samara_tensor to;
  const jsize length = (*env)->GetArrayLength(env, array);
  if (!jni_ok(env, session, samara_session_input(session, (size_t)index, &to)) ||
      !array_fits(env, &to, "input", index, kind, length))
    return;
  // No call of JNI until it is released, and nothing that waits.
  void *data = (*env)->GetPrimitiveArrayCritical(env, array, NULL);
  if (data == NULL) return;
  const samara_status status =
      samara_session_set_input(session, (size_t)index, data, to.size_bytes);
  (*env)->ReleasePrimitiveArrayCritical(env, array, data, JNI_ABORT);
  jni_ok(env, session, status);
}

static void get_array(JNIEnv *env, jclass type, jlong handle, jint index, jobject array,
                      jint kind) {
  (void)type;
  samara_session *session = jni_session(handle);
  samara_tensor from;
  const jsize length = (*env)->GetArrayLength(env, array);
  if (!jni_ok(env, session, samara_session_output(session, (size_t)index, &from)) ||
      !array_fits(env, &from, "output", index, kind, length) || length == 0)
    return;
  void *data = (*env)->GetPrimitiveArrayCritical(env, array, NULL);
  if (data == NULL) return;
  memcpy(data, from.data, from.size_bytes);
  (*env)->ReleasePrimitiveArrayCritical(env, array, data, 0);
}

/// Whether a buffer of that many bytes is what the tensor holds; else throw.
static bool buffer_fits(JNIEnv *env, const samara_tensor *tensor, const char *what, jint index,
                        jboolean swapped, jlong size) {
  char text[MESSAGE_BYTES];
  if (swapped == JNI_TRUE && kinds[kind_of(tensor->dtype)].element_bytes > 1) {
    jni_throw(env, SAMARA_BAD_ARGUMENT, "the buffer has the other byte order",
              "call order(ByteOrder.nativeOrder()) of the buffer before it is filled");
    return false;
  }
  if (size >= 0 && (uint64_t)size == tensor->size_bytes) return true;
  snprintf(text, sizeof text, "%s %d has %zu bytes, the buffer %lld", what, (int)index,
           tensor->size_bytes, (long long)size);
  throw_shape(env, text, "have position and limit say so many, or resize the session first");
  return false;
}

static void set_buffer(JNIEnv *env, jclass type, jlong handle, jint index, jobject buffer,
                       jboolean swapped, jlong at, jlong size) {
  (void)type;
  samara_session *session = jni_session(handle);
  samara_tensor to;
  if (!jni_ok(env, session, samara_session_input(session, (size_t)index, &to)) ||
      !buffer_fits(env, &to, "input", index, swapped, size))
    return;
  const void *from = jni_memory(env, buffer, at, size);
  if (from == NULL) return;
  jni_ok(env, session, samara_session_set_input(session, (size_t)index, from, (size_t)size));
}

static void get_buffer(JNIEnv *env, jclass type, jlong handle, jint index, jobject buffer,
                       jboolean swapped, jlong at, jlong size) {
  (void)type;
  samara_session *session = jni_session(handle);
  samara_tensor from;
  if (!jni_ok(env, session, samara_session_output(session, (size_t)index, &from)) ||
      !buffer_fits(env, &from, "output", index, swapped, size) || size == 0)
    return;
  void *to = jni_memory(env, buffer, at, size);
  if (to != NULL) memmove(to, from.data, (size_t)size);
}

static const JNINativeMethod methods[] = {
    {"setArray", "(JILjava/lang/Object;I)V", (void *)set_array},
    {"getArray", "(JILjava/lang/Object;I)V", (void *)get_array},
    {"setBuffer", "(JILjava/nio/Buffer;ZJJ)V", (void *)set_buffer},
    {"getBuffer", "(JILjava/nio/Buffer;ZJJ)V", (void *)get_buffer},
};
const struct jni_table jni_values_table = {methods, sizeof methods / sizeof *methods};
