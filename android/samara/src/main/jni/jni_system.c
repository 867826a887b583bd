// SPDX-License-Identifier: Apache-2.0
// Bitmaps, hardware buffers and the log of Android. Their libraries are opened at first use and
// declared here from Android's public documentation, so no NDK headers are needed, and the library
// also loads on systems without them.
#include "jni_system.h"
#include "jni_media.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

// ---- the log ----

#if defined(__ANDROID__)
extern int __android_log_write(int priority, const char *tag, const char *text);

void jni_log(int level, const char *text) {
  // ANDROID_LOG_INFO, _WARN, _ERROR
  const int priority = level == SAMARA_LOG_ERROR ? 6 : level == SAMARA_LOG_WARNING ? 5 : 4;
  __android_log_write(priority, "samara", text);
}
#else
void jni_log(int level, const char *text) { (void)level, (void)text; }
#endif

static void warn(JNIEnv *env, jclass type, jbyteArray text) {
  (void)type;
  const jsize size = (*env)->GetArrayLength(env, text);
  char line[512] = {0};
  const jsize taken = size < (jsize)sizeof line ? size : (jsize)sizeof line - 1;
  (*env)->GetByteArrayRegion(env, text, 0, taken, (jbyte *)line);
  jni_log(SAMARA_LOG_WARNING, line);
}

#if SAMARA_WITH_IMAGES
/// A function of a system library, which stays open; NULL with an exception pending.
static bool find(JNIEnv *env, const char *library, const char *name, void *function) {
  char text[160];
  void *opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  void *found = opened == NULL ? NULL : dlsym(opened, name);
  if (found == NULL) {
    snprintf(text, sizeof text, "this system has no %s in %s", name, library);
    jni_throw(env, SAMARA_UNSUPPORTED, text, "give the picture's planes instead");
    return false;
  }
  memcpy(function, &found, sizeof found);  // POSIX allows this conversion
  return true;
}

// ---- bitmaps ----

struct bitmap_info {
  uint32_t width, height, stride;
  int32_t format;
  uint32_t flags;
};
enum { BITMAP_RGBA_8888 = 1 };

struct bitmap_functions {
  int (*info)(JNIEnv *env, jobject bitmap, struct bitmap_info *info);
  int (*lock)(JNIEnv *env, jobject bitmap, void **pixels);
  int (*unlock)(JNIEnv *env, jobject bitmap);
};

static bool find_bitmap(JNIEnv *env, struct bitmap_functions *f) {
  static const char library[] = "libjnigraphics.so";
  return find(env, library, "AndroidBitmap_getInfo", &f->info) &&
         find(env, library, "AndroidBitmap_lockPixels", &f->lock) &&
         find(env, library, "AndroidBitmap_unlockPixels", &f->unlock);
}

static void set_bitmap(JNIEnv *env, jclass type, jlong session, jint index, jintArray numbers,
                       jobject bitmap) {
  (void)type;
  struct bitmap_functions f;
  struct bitmap_info info = {0};
  samara_image image;
  void *pixels = NULL;
  if (!jni_read_image(env, numbers, &image) || !find_bitmap(env, &f)) return;
  if (f.info(env, bitmap, &info) != 0 || info.format != BITMAP_RGBA_8888 ||
      f.lock(env, bitmap, &pixels) != 0 || pixels == NULL) {
    jni_throw(env, SAMARA_BAD_ARGUMENT, "the pixels of the bitmap cannot be read",
              "bitmap.copy(Bitmap.Config.ARGB_8888, false) has pixels that can");
    return;
  }
  image.format = SAMARA_RGBA;
  image.width = info.width;
  image.height = info.height;
  image.planes[0] = (samara_plane){
      .data = pixels, .size_bytes = (size_t)info.stride * info.height, .row_stride = info.stride};
  const samara_status status =
      samara_session_set_image(jni_session(session), (size_t)index, &image);
  f.unlock(env, bitmap);
  jni_ok(env, jni_session(session), status);
}

// ---- hardware buffers, from API level 26 on ----

struct hardware_buffer_desc {
  uint32_t width, height, layers, format;
  uint64_t usage;
  uint32_t stride, reserved0;  // the stride is in pixels
  uint64_t reserved1;
};
struct hardware_plane {
  void *data;
  uint32_t pixel_stride, row_stride;
};
struct hardware_planes {
  uint32_t count;
  struct hardware_plane planes[4];
};
enum { HARDWARE_RGBA_8888 = 1, HARDWARE_RGBX_8888 = 2, HARDWARE_YUV_420 = 0x23 };
enum { CPU_READ_OFTEN = 3 };

struct hardware_functions {
  void *(*from_java)(JNIEnv *env, jobject buffer);
  void (*describe)(const void *buffer, struct hardware_buffer_desc *desc);
  int (*lock)(void *buffer, uint64_t usage, int32_t fence, const void *rect, void **data);
  int (*lock_planes)(void *buffer, uint64_t usage, int32_t fence, const void *rect,
                     struct hardware_planes *planes);
  int (*unlock)(void *buffer, int32_t *fence);
};

static bool find_hardware(JNIEnv *env, struct hardware_functions *f) {
  static const char window[] = "libnativewindow.so";
  return find(env, "libandroid.so", "AHardwareBuffer_fromHardwareBuffer", &f->from_java) &&
         find(env, window, "AHardwareBuffer_describe", &f->describe) &&
         find(env, window, "AHardwareBuffer_lock", &f->lock) &&
         find(env, window, "AHardwareBuffer_unlock", &f->unlock);
}

static bool lock_pixels(JNIEnv *env, const struct hardware_functions *f, void *buffer,
                        const struct hardware_buffer_desc *desc, samara_image *image) {
  void *pixels = NULL;
  (void)env;
  if (f->lock(buffer, CPU_READ_OFTEN, -1, NULL, &pixels) != 0 || pixels == NULL) return false;
  const size_t row = (size_t)desc->stride * 4;
  image->format = SAMARA_RGBA;
  image->planes[0] =
      (samara_plane){.data = pixels, .size_bytes = row * desc->height, .row_stride = row};
  return true;
}

static bool lock_yuv(JNIEnv *env, struct hardware_functions *f, void *buffer,
                     const struct hardware_buffer_desc *desc, samara_image *image) {
  struct hardware_planes planes = {0};
  if (!find(env, "libnativewindow.so", "AHardwareBuffer_lockPlanes", &f->lock_planes)) return false;
  if (f->lock_planes(buffer, CPU_READ_OFTEN, -1, NULL, &planes) != 0) return false;
  image->format = SAMARA_I420;
  for (uint32_t i = 0; i < 3; i++) {
    const struct hardware_plane *plane = &planes.planes[i];
    const uint32_t width = i == 0 ? desc->width : (desc->width + 1) / 2;
    const uint32_t height = i == 0 ? desc->height : (desc->height + 1) / 2;
    image->planes[i] = (samara_plane){.data = plane->data,
                                      .size_bytes = (size_t)plane->row_stride * (height - 1) +
                                                    (size_t)plane->pixel_stride * (width - 1) + 1,
                                      .row_stride = plane->row_stride,
                                      .pixel_stride = plane->pixel_stride};
  }
  return true;
}

static void set_hardware_buffer(JNIEnv *env, jclass type, jlong session, jint index,
                                jintArray numbers, jobject object) {
  (void)type;
  struct hardware_functions f;
  struct hardware_buffer_desc desc = {0};
  samara_image image;
  if (!jni_read_image(env, numbers, &image) || !find_hardware(env, &f)) return;
  void *buffer = f.from_java(env, object);
  if (buffer != NULL) f.describe(buffer, &desc);
  bool locked = false;
  if (desc.format == HARDWARE_RGBA_8888 || desc.format == HARDWARE_RGBX_8888)
    locked = lock_pixels(env, &f, buffer, &desc, &image);
  else if (desc.format == HARDWARE_YUV_420)
    locked = lock_yuv(env, &f, buffer, &desc, &image);
  if (!locked) {
    jni_throw(env, SAMARA_BAD_ARGUMENT, "the hardware buffer cannot be read by the CPU",
              "make it RGBA_8888 with USAGE_CPU_READ_OFTEN; YCBCR_420_888 needs API level 29");
    return;
  }
  image.width = desc.width;
  image.height = desc.height;
  const samara_status status =
      samara_session_set_image(jni_session(session), (size_t)index, &image);
  f.unlock(buffer, NULL);
  jni_ok(env, jni_session(session), status);
}

#else
JNI_ABSENT(images)
#define set_bitmap without_images
#define set_hardware_buffer without_images
#endif

static const JNINativeMethod methods[] = {
    {"warn", "([B)V", (void *)warn},
    {"setBitmap", "(JI[ILjava/lang/Object;)V", (void *)set_bitmap},
    {"setHardwareBuffer", "(JI[ILjava/lang/Object;)V", (void *)set_hardware_buffer},
};
const struct jni_table jni_system_table = {methods, sizeof methods / sizeof *methods};
