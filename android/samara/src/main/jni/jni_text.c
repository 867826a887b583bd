// SPDX-License-Identifier: Apache-2.0
// Tokenizers, and streams of tokens.
#include "jni_features.h"

#include <stdlib.h>
#include <string.h>

#if SAMARA_WITH_TEXT
static samara_tokenizer *tokenizer_of(jlong handle) { return (samara_tokenizer *)(intptr_t)handle; }

static samara_text_stream *stream_of(jlong handle) {
  return (samara_text_stream *)(intptr_t)handle;
}

static jlong open_tokenizer(JNIEnv *env, jclass type, jlong model) {
  (void)type;
  samara_error error = {0};
  samara_tokenizer *tokenizer = NULL;
  const samara_status status = samara_tokenizer_of_model(jni_model(model), &tokenizer, &error);
  if (status != SAMARA_OK) jni_throw_error(env, status, &error);
  return jni_handle(tokenizer);
}

static void close_tokenizer(JNIEnv *env, jclass type, jlong tokenizer) {
  (void)env, (void)type;
  samara_tokenizer_close(tokenizer_of(tokenizer));
}

static jint vocabulary(JNIEnv *env, jclass type, jlong tokenizer) {
  (void)env, (void)type;
  return (jint)samara_tokenizer_vocabulary(tokenizer_of(tokenizer));
}

// ---- texts and ids ----

static bool memory_is_there(JNIEnv *env, const void *data) {
  if (data == NULL) jni_throw(env, SAMARA_OUT_OF_MEMORY, "no memory for a text", NULL);
  return data != NULL;
}

/// The ids of a text. A text mostly has fewer ids than bytes; if it has more, the call is repeated.
static jintArray encoded(JNIEnv *env, const samara_tokenizer *tokenizer, const char *text,
                         size_t text_bytes, uint32_t flags) {
  size_t room = text_bytes + 16, count = 0;
  while (true) {
    samara_error error = {0};
    int32_t *ids = malloc(room * sizeof *ids);
    jintArray made = NULL;
    if (!memory_is_there(env, ids)) return NULL;
    const samara_status status =
        samara_tokenizer_encode(tokenizer, text, text_bytes, flags, ids, room, &count, &error);
    if (status != SAMARA_OK) {
      jni_throw_error(env, status, &error);
    } else if (count <= room) {
      made = jni_ints(env, ids, count);
    }
    free(ids);
    if (status != SAMARA_OK || count <= room) return made;
    room = count;
  }
}

static jintArray encode(JNIEnv *env, jclass type, jlong tokenizer, jbyteArray text, jint flags) {
  (void)type;
  char *own = jni_text(env, text);
  if (own == NULL) return NULL;
  const size_t size = (size_t)(*env)->GetArrayLength(env, text);
  const jintArray made = encoded(env, tokenizer_of(tokenizer), own, size, (uint32_t)flags);
  free(own);
  return made;
}

/// A text that `make` writes to memory of its choice; `make` is called again if it needs more.
struct text_maker {
  samara_status (*make)(const struct text_maker *maker, char *text, size_t room, size_t *bytes,
                        samara_error *error);
  const samara_tokenizer *tokenizer;
  const char *text;
  const int32_t *ids;
  size_t count;  // of ids, or bytes of the text
  uint32_t flags;
};

static samara_status decodes(const struct text_maker *maker, char *text, size_t room, size_t *bytes,
                             samara_error *error) {
  return samara_tokenizer_decode(maker->tokenizer, maker->ids, maker->count, maker->flags, text,
                                 room, bytes, error);
}

static samara_status normalizes(const struct text_maker *maker, char *text, size_t room,
                                size_t *bytes, samara_error *error) {
  return samara_tokenizer_normalize(maker->tokenizer, maker->text, maker->count, text, room, bytes,
                                    error);
}

static jbyteArray made_text(JNIEnv *env, const struct text_maker *maker, size_t room) {
  size_t bytes = 0;
  while (true) {
    samara_error error = {0};
    char *text = malloc(room);
    jbyteArray made = NULL;
    if (!memory_is_there(env, text)) return NULL;
    const samara_status status = maker->make(maker, text, room, &bytes, &error);
    if (status != SAMARA_OK) {
      jni_throw_error(env, status, &error);
    } else if (bytes <= room) {
      made = jni_bytes(env, text, bytes);
    }
    free(text);
    if (status != SAMARA_OK || bytes <= room) return made;
    room = bytes;
  }
}

static jbyteArray decode(JNIEnv *env, jclass type, jlong tokenizer, jintArray ids, jint flags) {
  (void)type;
  size_t count;
  int32_t *own = jni_read_ints(env, ids, &count);
  if (own == NULL) return NULL;
  const struct text_maker maker = {.make = decodes,
                                   .tokenizer = tokenizer_of(tokenizer),
                                   .ids = own,
                                   .count = count,
                                   .flags = (uint32_t)flags};
  const jbyteArray made = made_text(env, &maker, 8 * count + 64);
  free(own);
  return made;
}

static jbyteArray normalize(JNIEnv *env, jclass type, jlong tokenizer, jbyteArray text) {
  (void)type;
  char *own = jni_text(env, text);
  if (own == NULL) return NULL;
  const size_t size = (size_t)(*env)->GetArrayLength(env, text);
  const struct text_maker maker = {
      .make = normalizes, .tokenizer = tokenizer_of(tokenizer), .text = own, .count = size};
  const jbyteArray made = made_text(env, &maker, 2 * size + 64);
  free(own);
  return made;
}

static jint token_id(JNIEnv *env, jclass type, jlong tokenizer, jbyteArray token) {
  (void)type;
  char *own = jni_text(env, token);
  if (own == NULL) return -1;
  const size_t size = (size_t)(*env)->GetArrayLength(env, token);
  const int32_t id = samara_tokenizer_id(tokenizer_of(tokenizer), own, size);
  free(own);
  return id;
}

static jbyteArray token(JNIEnv *env, jclass type, jlong tokenizer, jint id) {
  (void)type;
  size_t size = 0;
  const char *text = samara_tokenizer_token(tokenizer_of(tokenizer), id, &size);
  return text != NULL ? jni_bytes(env, text, size) : NULL;
}

// ---- streams ----

static jlong create_stream(JNIEnv *env, jclass type, jlong tokenizer, jint flags) {
  (void)type;
  samara_error error = {0};
  samara_text_stream *stream = NULL;
  const samara_status status =
      samara_text_stream_create(tokenizer_of(tokenizer), (uint32_t)flags, &stream, &error);
  if (status != SAMARA_OK) jni_throw_error(env, status, &error);
  return jni_handle(stream);
}

static void destroy_stream(JNIEnv *env, jclass type, jlong stream) {
  (void)env, (void)type;
  samara_text_stream_destroy(stream_of(stream));
}

static jbyteArray streamed(JNIEnv *env, samara_status status, const samara_error *error,
                           const char *text, size_t size) {
  if (status != SAMARA_OK) {
    jni_throw_error(env, status, error);
    return NULL;
  }
  return size != 0 ? jni_bytes(env, text, size) : NULL;
}

static jbyteArray push_stream(JNIEnv *env, jclass type, jlong stream, jint id) {
  (void)type;
  samara_error error = {0};
  const char *text = NULL;
  size_t size = 0;
  const samara_status status = samara_text_stream_push(stream_of(stream), id, &text, &size, &error);
  return streamed(env, status, &error, text, size);
}

static jbyteArray finish_stream(JNIEnv *env, jclass type, jlong stream) {
  (void)type;
  samara_error error = {0};
  const char *text = NULL;
  size_t size = 0;
  const samara_status status = samara_text_stream_finish(stream_of(stream), &text, &size, &error);
  return streamed(env, status, &error, text, size);
}

#else
JNI_ABSENT(text)
#define open_tokenizer without_text
#define close_tokenizer without_text
#define vocabulary without_text
#define encode without_text
#define decode without_text
#define normalize without_text
#define token_id without_text
#define token without_text
#define create_stream without_text
#define destroy_stream without_text
#define push_stream without_text
#define finish_stream without_text
#endif

static const JNINativeMethod methods[] = {
    {"openTokenizer", "(J)J", (void *)open_tokenizer},
    {"closeTokenizer", "(J)V", (void *)close_tokenizer},
    {"vocabulary", "(J)I", (void *)vocabulary},
    {"encode", "(J[BI)[I", (void *)encode},
    {"decode", "(J[II)[B", (void *)decode},
    {"normalize", "(J[B)[B", (void *)normalize},
    {"tokenId", "(J[B)I", (void *)token_id},
    {"token", "(JI)[B", (void *)token},
    {"createStream", "(JI)J", (void *)create_stream},
    {"destroyStream", "(J)V", (void *)destroy_stream},
    {"pushStream", "(JI)[B", (void *)push_stream},
    {"finishStream", "(J)[B", (void *)finish_stream},
};
const struct jni_table jni_text_table = {methods, sizeof methods / sizeof *methods};
