// SPDX-License-Identifier: Apache-2.0
/// Copies Java arrays and direct buffers into inputs and from outputs, and binds buffers.
#include "jni_values.h"

#include "jni_features.h"

#include <stdio.h>
#include <string.h>

// Kinds of arrays, numbered as in dev.samara.DType.
enum { BYTES, SHORTS, INTS, LONGS, FLOATS, DOUBLES };
enum { NAME_BYTES = 100, MESSAGE_BYTES = 240 };

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

/// The tensor's name in messages. A long name is cut.
static const char *place_text(JNIEnv *env, const struct jni_place *place, char *text, size_t size) {
  char name[NAME_BYTES] = {0};
  if (place->name == NULL) {
    snprintf(text, size, "%s %d", place->what, (int)place->index);
    return text;
  }
  const jsize length = (*env)->GetArrayLength(env, place->name);
  const jsize most = (jsize)sizeof name - 1;
  (*env)->GetByteArrayRegion(env, place->name, 0, length < most ? length : most, (jbyte *)name);
  snprintf(text, size, "%s '%s'", place->what, name);
  return text;
}

bool jni_array_fits(JNIEnv *env, const samara_tensor *tensor, const struct jni_place *place,
                    int kind, jsize length) {
  char text[MESSAGE_BYTES], name[NAME_BYTES + 20];
  const int wanted = kind_of(tensor->dtype);
  if (kind != wanted) {
    snprintf(text, sizeof text, "%s takes a %s, not a %s",
             place_text(env, place, name, sizeof name), kinds[wanted].array, kinds[kind].array);
    throw_shape(env, text, "give an array of the tensor's element type");
    return false;
  }
  const size_t elements = tensor->size_bytes / kinds[kind].element_bytes;
  if (elements == (size_t)length) return true;
  snprintf(text, sizeof text, "%s has %zu elements, the array %d",
           place_text(env, place, name, sizeof name), elements, (int)length);
  throw_shape(env, text, "give an array of that size, or resize the session first");
  return false;
}

static void set_array(JNIEnv *env, jclass type, jlong handle, jint index, jbyteArray name,
                      jobject array, jint kind) {
  (void)type;
  samara_session *session = jni_session(handle);
  samara_tensor to;
  const jsize length = (*env)->GetArrayLength(env, array);
  if (!jni_ok(env, session, samara_session_input(session, (size_t)index, &to)) ||
      !jni_array_fits(env, &to, &(struct jni_place){"input", index, name}, kind, length))
    return;
  // Until the array is released, JNI forbids other JNI calls and anything that blocks.
  void *data = (*env)->GetPrimitiveArrayCritical(env, array, NULL);
  if (data == NULL) return;
  const samara_status status =
      samara_session_set_input(session, (size_t)index, data, to.size_bytes);
  (*env)->ReleasePrimitiveArrayCritical(env, array, data, JNI_ABORT);
  jni_ok(env, session, status);
}

static void get_array(JNIEnv *env, jclass type, jlong handle, jint index, jbyteArray name,
                      jobject array, jint kind) {
  (void)type;
  samara_session *session = jni_session(handle);
  samara_tensor from;
  const jsize length = (*env)->GetArrayLength(env, array);
  if (!jni_ok(env, session, samara_session_output(session, (size_t)index, &from)) ||
      !jni_array_fits(env, &from, &(struct jni_place){"output", index, name}, kind, length) ||
      length == 0)
    return;
  void *data = (*env)->GetPrimitiveArrayCritical(env, array, NULL);
  if (data == NULL) return;
  memcpy(data, from.data, from.size_bytes);
  (*env)->ReleasePrimitiveArrayCritical(env, array, data, 0);
}

/// Check that a buffer has the tensor's size and native byte order; throw if not.
static bool buffer_fits(JNIEnv *env, const samara_tensor *tensor, const struct jni_place *place,
                        jboolean swapped, jlong size) {
  char text[MESSAGE_BYTES], name[NAME_BYTES + 20];
  if (swapped == JNI_TRUE && kinds[kind_of(tensor->dtype)].element_bytes > 1) {
    snprintf(text, sizeof text, "the buffer for %s is not in native byte order",
             place_text(env, place, name, sizeof name));
    jni_throw(env, SAMARA_BAD_ARGUMENT, text,
              "call order(ByteOrder.nativeOrder()) on the buffer before filling it");
    return false;
  }
  if (size >= 0 && (uint64_t)size == tensor->size_bytes) return true;
  snprintf(text, sizeof text, "%s has %zu bytes, the buffer %lld",
           place_text(env, place, name, sizeof name), tensor->size_bytes, (long long)size);
  throw_shape(env, text, "set position and limit to span that many, or resize the session first");
  return false;
}

/// A function that copies a buffer into an input or binds the buffer itself.
typedef samara_status (*jni_giver)(samara_session *session, size_t index, const void *data,
                                   size_t size_bytes);

static void give_buffer(JNIEnv *env, samara_session *session, const struct jni_place *place,
                        jobject buffer, jboolean swapped, jlong at, jlong size, jni_giver give) {
  const size_t index = (size_t)place->index;
  samara_tensor to;
  if (!jni_ok(env, session, samara_session_input(session, index, &to)) ||
      !buffer_fits(env, &to, place, swapped, size))
    return;
  const void *from = jni_memory(env, buffer, at, size);
  if (from != NULL) jni_ok(env, session, give(session, index, from, (size_t)size));
}

static void set_buffer(JNIEnv *env, jclass type, jlong handle, jint index, jbyteArray name,
                       jobject buffer, jboolean swapped, jlong at, jlong size) {
  (void)type;
  give_buffer(env, jni_session(handle), &(struct jni_place){"input", index, name}, buffer, swapped,
              at, size, samara_session_set_input);
}

static void get_buffer(JNIEnv *env, jclass type, jlong handle, jint index, jbyteArray name,
                       jobject buffer, jboolean swapped, jlong at, jlong size) {
  (void)type;
  samara_session *session = jni_session(handle);
  samara_tensor from;
  if (!jni_ok(env, session, samara_session_output(session, (size_t)index, &from)) ||
      !buffer_fits(env, &from, &(struct jni_place){"output", index, name}, swapped, size) ||
      size == 0)
    return;
  void *to = jni_memory(env, buffer, at, size);
  if (to != NULL) memmove(to, from.data, (size_t)size);
}

// ---- bound buffers ----

static void bind_input(JNIEnv *env, jclass type, jlong handle, jint index, jbyteArray name,
                       jobject buffer, jboolean swapped, jlong at, jlong size) {
  (void)type;
  give_buffer(env, jni_session(handle), &(struct jni_place){"input", index, name}, buffer, swapped,
              at, size, samara_session_bind_input);
}

#if SAMARA_WITH_BIND
static void bind_output(JNIEnv *env, jclass type, jlong handle, jint index, jbyteArray name,
                        jobject buffer, jboolean swapped, jlong at, jlong size) {
  (void)type;
  samara_session *session = jni_session(handle);
  samara_tensor from;
  void *to = NULL;
  if (buffer != NULL) {
    // The runtime compares sizes: an output's size may depend on data.
    if (!jni_ok(env, session, samara_session_output_shape(session, (size_t)index, &from))) return;
    if (swapped == JNI_TRUE &&
        !buffer_fits(env, &from, &(struct jni_place){"output", index, name}, swapped, size))
      return;
    to = jni_memory(env, buffer, at, size);
    if (to == NULL) return;
  }
  jni_ok(env, session, samara_session_bind_output(session, (size_t)index, to, (size_t)size));
}

#else
JNI_ABSENT(bind)
#define bind_output without_bind
#endif

static const JNINativeMethod methods[] = {
    {"setArray", "(JI[BLjava/lang/Object;I)V", (void *)set_array},
    {"getArray", "(JI[BLjava/lang/Object;I)V", (void *)get_array},
    {"setBuffer", "(JI[BLjava/nio/Buffer;ZJJ)V", (void *)set_buffer},
    {"getBuffer", "(JI[BLjava/nio/Buffer;ZJJ)V", (void *)get_buffer},
    {"bindInput", "(JI[BLjava/nio/Buffer;ZJJ)V", (void *)bind_input},
    {"bindOutput", "(JI[BLjava/nio/Buffer;ZJJ)V", (void *)bind_output},
};
const struct jni_table jni_values_table = {methods, sizeof methods / sizeof *methods};
