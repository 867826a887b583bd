// SPDX-License-Identifier: Apache-2.0
/// A Java machine that has just what libsamara_jni calls: loads it, and runs models by its natives.
///
/// Usage: program LIBRARY MODEL INPUTS OUTPUTS...; MODEL takes INPUTS floats, 0, 1/8, 2/8 … of a
/// period of 17, and gives OUTPUTS. Prints the library's version and instruction sets, the outputs'
/// bits, and what is thrown.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <jni.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- objects ----

struct object {
  jsize length;
  void *data;
};

static struct object native_class, exception_class;
static jthrowable pending;
static int locked;  // arrays that C has not given back

static struct object *new_array(jsize length, size_t element_bytes) {
  struct object *made = malloc(sizeof *made);
  made->length = length;
  made->data = calloc((size_t)length + 1, element_bytes);
  return made;
}

static struct object *bytes_of(const char *text) {  // as Native's names: they end with a zero
  struct object *made = new_array((jsize)strlen(text) + 1, 1);
  memcpy(made->data, text, strlen(text));
  return made;
}

static jclass find_class(JNIEnv *env, const char *name) {
  (void)env;
  if (strcmp(name, "dev/samara/Native") == 0) return (jclass)&native_class;
  return (jclass)&exception_class;
}
static jobject same(JNIEnv *env, jobject object) { return (void)env, object; }
static void drop(JNIEnv *env, jobject object) { (void)env, (void)object; }
static jmethodID method(JNIEnv *env, jclass type, const char *name, const char *signature) {
  (void)env, (void)type, (void)signature;
  return strcmp(name, "of") == 0 ? (jmethodID)&exception_class : NULL;
}
static jboolean is_pending(JNIEnv *env) { return (void)env, pending != NULL; }
static jint throws(JNIEnv *env, jthrowable what) { return (void)env, pending = what, 0; }

/// SamaraException.of(status, message, fix): the message, with the status in front.
static jobject made_exception(JNIEnv *env, jclass type, jmethodID of, ...) {
  (void)env, (void)type, (void)of;
  va_list given;
  va_start(given, of);
  const jint status = va_arg(given, jint);
  const struct object *text = va_arg(given, struct object *);
  va_end(given);
  struct object *made = new_array(text->length + 20, 1);
  snprintf(made->data, (size_t)made->length, "%d %.*s", (int)status, (int)text->length,
           (const char *)text->data);
  return (jobject)made;
}

static jsize length_of(JNIEnv *env, jarray array) {
  return (void)env, ((struct object *)array)->length;
}
static jbyteArray new_bytes(JNIEnv *env, jsize length) {
  return (void)env, (jbyteArray)new_array(length, 1);
}
static void read_bytes(JNIEnv *env, jbyteArray array, jsize at, jsize count, jbyte *to) {
  (void)env;
  memcpy(to, (jbyte *)((struct object *)array)->data + at, (size_t)count);
}
static void write_bytes(JNIEnv *env, jbyteArray array, jsize at, jsize count, const jbyte *from) {
  (void)env;
  memcpy((jbyte *)((struct object *)array)->data + at, from, (size_t)count);
}
static void read_longs(JNIEnv *env, jlongArray array, jsize at, jsize count, jlong *to) {
  (void)env;
  memcpy(to, (jlong *)((struct object *)array)->data + at, (size_t)count * sizeof(jlong));
}
static jobject element(JNIEnv *env, jobjectArray array, jsize at) {
  return (void)env, ((jobject *)((struct object *)array)->data)[at];
}
static void *lock(JNIEnv *env, jarray array, jboolean *copied) {
  (void)env, (void)copied;
  locked++;
  return ((struct object *)array)->data;
}
static void unlock(JNIEnv *env, jarray array, void *data, jint mode) {
  (void)env, (void)mode;
  locked -= ((struct object *)array)->data == data;
}

// ---- the natives ----

static JNINativeMethod natives[256];
static int native_count;

static jint registers(JNIEnv *env, jclass type, const JNINativeMethod *methods, jint count) {
  (void)env;
  if (type != (jclass)&native_class || native_count + count > 256) return JNI_ERR;
  memcpy(&natives[native_count], methods, (size_t)count * sizeof *methods);
  native_count += count;
  return JNI_OK;
}

static void *native(const char *name, const char *signature) {
  for (int i = 0; i < native_count; i++)
    if (strcmp(natives[i].name, name) == 0 && strcmp(natives[i].signature, signature) == 0)
      return natives[i].fnPtr;
  printf("no native %s%s\n", name, signature);
  exit(2);
}

static void unexpected(void) {
  printf("a function of JNI that this machine has not\n");
  fflush(stdout);
  _Exit(3);
}

static struct JNINativeInterface_ table;
static struct JNIInvokeInterface_ machine;
static JNIEnv env = &table;
static JavaVM vm = &machine;

static jint get_env(JavaVM *of, void **to, jint version) {
  (void)of, (void)version;
  *to = &env;
  return JNI_OK;
}

static void fill(void) {
  void (**slots)(void) = (void (**)(void))&table;
  for (size_t i = 0; i < sizeof table / sizeof *slots; i++) slots[i] = unexpected;
  table.FindClass = find_class;
  table.NewGlobalRef = same;
  table.DeleteGlobalRef = drop;
  table.DeleteLocalRef = drop;
  table.GetStaticMethodID = method;
  table.CallStaticObjectMethod = made_exception;
  table.ExceptionCheck = is_pending;
  table.Throw = throws;
  table.RegisterNatives = registers;
  table.GetArrayLength = length_of;
  table.NewByteArray = new_bytes;
  table.GetByteArrayRegion = read_bytes;
  table.SetByteArrayRegion = write_bytes;
  table.GetLongArrayRegion = read_longs;
  table.GetObjectArrayElement = element;
  table.GetPrimitiveArrayCritical = lock;
  table.ReleasePrimitiveArrayCritical = unlock;
  machine.GetEnv = get_env;
}

// ---- what a program does ----

static void print_thrown(const char *of) {
  if (pending == NULL) return;
  printf("%s: thrown %s\n", of, (const char *)((struct object *)pending)->data);
  pending = NULL;
}

static void print_text(const char *of) {
  jbyteArray (*call)(JNIEnv *, jclass) = (jbyteArray (*)(JNIEnv *, jclass))native(of, "()[B");
  const struct object *text = (struct object *)call(&env, NULL);
  printf("%s=%.*s\n", of, (int)text->length, (const char *)text->data);
}

static void end(const char *of, jlong handle) {
  void (*call)(JNIEnv *, jclass, jlong) = (void (*)(JNIEnv *, jclass, jlong))native(of, "(J)V");
  call(&env, NULL, handle);
}

static jlong open_model(const char *path) {
  jlong (*call)(JNIEnv *, jclass, jbyteArray, jboolean, jint) =
      (jlong (*)(JNIEnv *, jclass, jbyteArray, jboolean, jint))native("openPath", "([BZI)J");
  return call(&env, NULL, (jbyteArray)bytes_of(path), JNI_FALSE, 0);
}

static jlong new_session(jlong model, jlong pool) {
  jlong (*call)(JNIEnv *, jclass, jlong, jlong, jbyteArray, jbyteArray, jobject, jobjectArray,
                jobjectArray, jlongArray, jint) =
      (jlong (*)(JNIEnv *, jclass, jlong, jlong, jbyteArray, jbyteArray, jobject, jobjectArray,
                 jobjectArray, jlongArray, jint))native("createSession",
                                                        "(JJ[B[BLjava/nio/ByteBuffer;[[B[[B[JI)J");
  struct object *none = new_array(0, sizeof(void *)), *limits = new_array(3, sizeof(jlong));
  return call(&env, NULL, model, pool, NULL, NULL, NULL, (jobjectArray)none, (jobjectArray)none,
              (jlongArray)limits, 0);
}

static void array(const char *of, jlong session, struct object *values) {
  void (*call)(JNIEnv *, jclass, jlong, jint, jbyteArray, jobject, jint) =
      (void (*)(JNIEnv *, jclass, jlong, jint, jbyteArray, jobject, jint))native(
          of, "(JI[BLjava/lang/Object;I)V");
  enum { FLOATS = 4 };
  call(&env, NULL, session, 0, NULL, (jobject)values, FLOATS);
  print_thrown(of);
}

static void run_model(const char *path, int inputs, int outputs) {
  jlong (*new_pool)(JNIEnv *, jclass, jint) =
      (jlong (*)(JNIEnv *, jclass, jint))native("createPool", "(I)J");
  const jlong model = open_model(path);
  const jlong pool = new_pool(&env, NULL, 2), session = new_session(model, pool);
  print_thrown("opening");
  struct object *x = new_array(inputs, sizeof(float)), *y = new_array(outputs, sizeof(float));
  for (int i = 0; i < inputs; i++) ((float *)x->data)[i] = (float)(i % 17) / 8;
  array("setArray", session, new_array(1, sizeof(float)));  // the wrong size
  array("setArray", session, x);
  end("run", session);
  print_thrown("run");
  array("getArray", session, y);
  for (int i = 0; i < outputs; i++) printf("%08x", (unsigned)((uint32_t *)y->data)[i]);
  printf("\n");
  end("destroySession", session);
  end("destroyPool", pool);
  end("closeModel", model);
}

int main(int argc, char **argv) {
  fill();
  // Its own libraries first: they have other layouts than this program's of the same names.
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND);
  if (library == NULL || argc != 5) {
    printf("%s\n", library == NULL ? dlerror() : "wrong arguments");
    return 1;
  }
  jint (*load)(JavaVM *, void *) = (jint (*)(JavaVM *, void *))dlsym(library, "JNI_OnLoad");
  void (*unload)(JavaVM *, void *) = (void (*)(JavaVM *, void *))dlsym(library, "JNI_OnUnload");
  if (load == NULL || load(&vm, NULL) != JNI_VERSION_1_6) {
    printf("JNI_OnLoad failed\n");
    return 1;
  }
  print_text("version");
  print_text("isa");
  open_model("no such file");
  print_thrown("openPath");
  run_model(argv[2], atoi(argv[3]), atoi(argv[4]));
  unload(&vm, NULL);
  printf("natives=%d locked=%d\n", native_count, locked);
  return 0;
}
