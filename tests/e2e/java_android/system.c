// SPDX-License-Identifier: Apache-2.0
/// As much of libjnigraphics, libandroid and libnativewindow as the library calls, over the classes
/// beside this file. Written after Android's public documentation of the functions.
#include <jni.h>

#include <stdint.h>

static jint number(JNIEnv *env, jobject of, const char *name) {
  return (*env)->GetIntField(env, of,
                             (*env)->GetFieldID(env, (*env)->GetObjectClass(env, of), name, "I"));
}

static void count(JNIEnv *env, jobject of, jint by) {
  const jfieldID locks = (*env)->GetFieldID(env, (*env)->GetObjectClass(env, of), "locks", "I");
  (*env)->SetIntField(env, of, locks, (*env)->GetIntField(env, of, locks) + by);
}

static char *pixels_of(JNIEnv *env, jobject of) {
  const jfieldID pixels =
      (*env)->GetFieldID(env, (*env)->GetObjectClass(env, of), "pixels", "Ljava/nio/ByteBuffer;");
  return (*env)->GetDirectBufferAddress(env, (*env)->GetObjectField(env, of, pixels));
}

struct info {
  uint32_t width, height, stride;
  int32_t format;
  uint32_t flags;
};

int AndroidBitmap_getInfo(JNIEnv *env, jobject bitmap, struct info *info) {
  *info =
      (struct info){(uint32_t)number(env, bitmap, "width"), (uint32_t)number(env, bitmap, "height"),
                    (uint32_t)number(env, bitmap, "stride"), 1, 0};
  return 0;
}

int AndroidBitmap_lockPixels(JNIEnv *env, jobject bitmap, void **pixels) {
  count(env, bitmap, 1);
  *pixels = pixels_of(env, bitmap);
  return 0;
}

int AndroidBitmap_unlockPixels(JNIEnv *env, jobject bitmap) {
  count(env, bitmap, -1);
  return 0;
}

struct desc {
  uint32_t width, height, layers, format;
  uint64_t usage;
  uint32_t stride, reserved0;
  uint64_t reserved1;
};
struct planes {
  uint32_t count;
  struct {
    void *data;
    uint32_t pixel_stride, row_stride;
  } planes[4];
};

/// One buffer at a time, for the test has one.
static struct desc now;
static char *bytes;
static JNIEnv *now_env;
static jobject now_object;

void *AHardwareBuffer_fromHardwareBuffer(JNIEnv *env, jobject buffer) {
  now = (struct desc){.width = (uint32_t)number(env, buffer, "width"),
                      .height = (uint32_t)number(env, buffer, "height"),
                      .layers = 1,
                      .format = (uint32_t)number(env, buffer, "format"),
                      .stride = (uint32_t)number(env, buffer, "stride")};
  bytes = pixels_of(env, buffer);
  now_env = env;
  now_object = buffer;
  return &now;
}

void AHardwareBuffer_describe(const void *buffer, struct desc *desc) {
  *desc = *(const struct desc *)buffer;
}

int AHardwareBuffer_lock(void *buffer, uint64_t usage, int32_t fence, const void *rect,
                         void **data) {
  (void)buffer;
  if (usage != 3 || fence != -1 || rect != NULL) return -22;
  count(now_env, now_object, 1);
  *data = bytes;
  return 0;
}

int AHardwareBuffer_lockPlanes(void *buffer, uint64_t usage, int32_t fence, const void *rect,
                               struct planes *planes) {
  void *data = NULL;
  const int status = AHardwareBuffer_lock(buffer, usage, fence, rect, &data);
  // Rows of Y, then rows of V and U by turns.
  char *chroma = bytes + now.stride * now.height;
  *planes = (struct planes){
      3, {{bytes, 1, now.stride}, {chroma + 1, 2, now.stride}, {chroma, 2, now.stride}}};
  return status;
}

int AHardwareBuffer_unlock(void *buffer, int32_t *fence) {
  (void)buffer, (void)fence;
  count(now_env, now_object, -1);
  return 0;
}
