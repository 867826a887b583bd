// SPDX-License-Identifier: Apache-2.0
/// Pictures, sound and answers.
#include "jni_media.h"

#include <stdlib.h>

// ---- pictures ----

#if SAMARA_WITH_IMAGES
bool jni_read_image(JNIEnv *env, jintArray numbers, samara_image *image) {
  jint n[JNI_IMAGE_NUMBERS] = {0};
  (*env)->GetIntArrayRegion(env, numbers, 0, JNI_IMAGE_NUMBERS, n);
  if ((*env)->ExceptionCheck(env)) return false;
  *image = (samara_image){.struct_size = sizeof *image,
                          .format = (samara_image_format)n[0],
                          .width = (uint32_t)n[1],
                          .height = (uint32_t)n[2],
                          .crop_x = (uint32_t)n[3],
                          .crop_y = (uint32_t)n[4],
                          .crop_width = (uint32_t)n[5],
                          .crop_height = (uint32_t)n[6],
                          .rotation = (uint32_t)n[7],
                          .mirror = n[8] != 0,
                          .matrix = (samara_yuv_matrix)n[9],
                          .range = (samara_yuv_range)n[10]};
  return true;
}

void jni_set_image(JNIEnv *env, samara_session *session, jint index, const samara_image *image) {
  jni_ok(env, session, samara_session_set_image(session, (size_t)index, image));
}

/// A plane's Java object, and its bytes if it is an array.
struct held {
  jobject object;
  jbyte *bytes;
};

/// Locate the bytes of a plane; false with an exception pending.
static bool read_plane(JNIEnv *env, jclass array_class, const jlong *place, struct held *held,
                       samara_plane *plane) {
  const char *data;
  if ((*env)->IsInstanceOf(env, held->object, array_class)) {
    const jlong length = (*env)->GetArrayLength(env, held->object);
    if (place[0] < 0 || place[1] < 0 || place[0] > length - place[1]) {
      jni_throw(env, SAMARA_BAD_ARGUMENT, "a plane is outside its array", NULL);
      return false;
    }
    held->bytes = (*env)->GetByteArrayElements(env, held->object, NULL);
    if (held->bytes == NULL) return false;
    data = (const char *)held->bytes + place[0];
  } else {
    data = jni_memory(env, held->object, place[0], place[1]);
    if (data == NULL) return false;
  }
  *plane = (samara_plane){.data = data,
                          .size_bytes = (size_t)place[1],
                          .row_stride = (size_t)place[2],
                          .pixel_stride = (size_t)place[3]};
  return true;
}

static void set_image(JNIEnv *env, jclass type, jlong session, jint index, jintArray numbers,
                      jobjectArray planes, jlongArray places) {
  (void)type;
  samara_image image;
  struct held held[3] = {{0}};
  jlong place[12] = {0};
  const jsize count = (*env)->GetArrayLength(env, planes);
  const jclass array_class = (*env)->FindClass(env, "[B");
  if (array_class == NULL || !jni_read_image(env, numbers, &image)) return;
  (*env)->GetLongArrayRegion(env, places, 0, 4 * count, place);
  bool right = !(*env)->ExceptionCheck(env) && count <= 3;
  for (jsize i = 0; right && i < count; i++) {
    held[i].object = (*env)->GetObjectArrayElement(env, planes, i);
    right = read_plane(env, array_class, place + 4 * i, &held[i], &image.planes[i]);
  }
  if (right) jni_set_image(env, jni_session(session), index, &image);
  for (jsize i = 0; i < 3; i++) {
    if (held[i].bytes != NULL)
      (*env)->ReleaseByteArrayElements(env, held[i].object, held[i].bytes, JNI_ABORT);
  }
}

#else
JNI_ABSENT(images)
#define set_image without_images
#endif

// ---- sound ----

#if SAMARA_WITH_AUDIO
/// Push `audio` with Java samples; returns 2 * (samples read) + (1 if ready).
static jlong push(JNIEnv *env, samara_session *session, jint index, const samara_audio *audio) {
  size_t taken = 0;
  bool ready = false;
  if (!jni_ok(env, session,
              samara_session_push_audio(session, (size_t)index, audio, &taken, &ready)))
    return 0;
  return (jlong)taken * 2 + ready;
}

static jlong push_audio(JNIEnv *env, jclass type, jlong handle, jint index, jobject samples,
                        jint at, jint count, jint rate, jint channels) {
  (void)type;
  samara_session *session = jni_session(handle);
  const jclass shorts = (*env)->FindClass(env, "[S");
  if (shorts == NULL) return 0;
  const bool wide = !(*env)->IsInstanceOf(env, samples, shorts);
  (*env)->DeleteLocalRef(env, shorts);
  samara_audio audio = {.struct_size = sizeof audio,
                        .count = (size_t)count,
                        .rate = (uint32_t)rate,
                        .channels = (uint32_t)channels,
                        .dtype = wide ? SAMARA_FLOAT32 : SAMARA_INT16};
  const size_t first = (size_t)at * (size_t)channels;
  jlong said = 0;
  if (wide) {
    jfloat *data = (*env)->GetFloatArrayElements(env, samples, NULL);
    if (data == NULL) return 0;
    audio.samples = data + first;
    said = push(env, session, index, &audio);
    (*env)->ReleaseFloatArrayElements(env, samples, data, JNI_ABORT);
  } else {
    jshort *data = (*env)->GetShortArrayElements(env, samples, NULL);
    if (data == NULL) return 0;
    audio.samples = data + first;
    said = push(env, session, index, &audio);
    (*env)->ReleaseShortArrayElements(env, samples, data, JNI_ABORT);
  }
  return said;
}

static jboolean end_audio(JNIEnv *env, jclass type, jlong handle, jint index) {
  (void)type;
  samara_session *session = jni_session(handle);
  bool ready = false;
  jni_ok(env, session, samara_session_end_audio(session, (size_t)index, &ready));
  return ready ? JNI_TRUE : JNI_FALSE;
}

#else
JNI_ABSENT(audio)
#define push_audio without_audio
#define end_audio without_audio
#endif

// ---- answers ----

#if SAMARA_WITH_ANSWERS
static void put_boxes(struct jni_blob *blob, const samara_answer *answer) {
  jni_put_int(blob, (int64_t)answer->points_per_box);
  for (size_t i = 0; i < answer->count; i++) {
    const samara_box *box = &answer->boxes[i];
    jni_put_int(blob, box->class_index);
    const float values[] = {box->score, box->x0, box->y0, box->x1, box->y1};
    jni_put(blob, values, sizeof values);
    jni_put(blob, box->points, 2 * answer->points_per_box * sizeof *box->points);
  }
}

/// Pack an answer for dev.samara.Answers.
static void put_answer(struct jni_blob *blob, const samara_answer *answer) {
  jni_put_int(blob, answer->kind);
  jni_put_int(blob, (int64_t)answer->count);
  switch (answer->kind) {
    case SAMARA_CLASSES:
      for (size_t i = 0; i < answer->count; i++) {
        jni_put_int(blob, answer->classes[i].index);
        jni_put_float(blob, answer->classes[i].score);
      }
      break;
    case SAMARA_MASK:
      jni_put_int(blob, (int64_t)answer->mask_element_bytes);
      jni_put_int(blob, answer->width);
      jni_put_int(blob, answer->height);
      jni_put_block(blob, answer->mask, answer->count * answer->mask_element_bytes);
      break;
    case SAMARA_BOXES:
      put_boxes(blob, answer);
      break;
    case SAMARA_KEYPOINTS:
      for (size_t i = 0; i < answer->count; i++) {
        jni_put_float(blob, answer->points[i].x);
        jni_put_float(blob, answer->points[i].y);
      }
      for (size_t i = 0; i < answer->count; i++) jni_put_float(blob, answer->points[i].score);
      break;
  }
}

static jbyteArray answer(JNIEnv *env, jclass type, jlong handle) {
  (void)type;
  samara_session *session = jni_session(handle);
  samara_answer found = {.struct_size = sizeof found};
  struct jni_blob blob = {0};
  if (!jni_ok(env, session, samara_session_answer(session, &found))) return NULL;
  put_answer(&blob, &found);
  return jni_take(env, &blob);
}

#else
JNI_ABSENT(answers)
#define answer without_answers
#endif

static const JNINativeMethod methods[] = {
    {"setImage", "(JI[I[Ljava/lang/Object;[J)V", (void *)set_image},
    {"pushAudio", "(JILjava/lang/Object;IIII)J", (void *)push_audio},
    {"endAudio", "(JI)Z", (void *)end_audio},
    {"answer", "(J)[B", (void *)answer},
};
const struct jni_table jni_media_table = {methods, sizeof methods / sizeof *methods};
