// SPDX-License-Identifier: Apache-2.0
// The functions of libsamara_jni, which registers exactly these at load.
package dev.samara;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.io.IOException;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.nio.Buffer;
import java.nio.ByteBuffer;

/**
 * Calls into C. Handles are addresses that only the callers check; everything else is checked in C,
 * which throws a {@link SamaraException}. Names are zero-terminated UTF-8.
 */
final class Native {
  private static final Throwable FAILURE = load();

  private Native() {}

  private static Throwable load() {
    try {
      System.loadLibrary("samara_jni");
      return null;
    } catch (LinkageError | SecurityException failure) {
      return failure;
    }
  }

  /** Throws if the library is missing. Called before the first handle is created. */
  static void check() {
    if (FAILURE == null) return;
    BackendException failure =
        new BackendException(
            Status.BACKEND,
            "libsamara_jni cannot be loaded: " + FAILURE.getMessage(),
            "add the AAR to the app, with the ABI of this device, in the version of these classes");
    failure.initCause(FAILURE);
    throw failure;
  }

  static native byte[] version();

  /** Writes a line to the system's log, if there is one. */
  static native void warn(@NonNull byte[] text);

  static native byte[] isa();

  // ---- models ----

  static native long openPath(@NonNull byte[] path, boolean copy, int verify);

  static native long openFd(int fd, long offset, long size, boolean copy, int verify);

  /** The buffer must live until closeModel, unless it is copied. */
  static native long openBuffer(
      @NonNull Buffer buffer, long offset, long size, boolean copy, int verify);

  static native void closeModel(long model);

  static native byte[] describe(long model);

  static native void selftest(long model);

  static native void verify(long model);

  static native boolean verified(long model);

  // ---- pools ----

  /** 0 if the library was built without threads. */
  static native long createPool(int threads);

  static native void destroyPool(long pool);

  // ---- sessions ----

  /**
   * tuned: a zero-terminated text that must live until destroySession. limits: arena bytes, steps,
   * microseconds; 0 is none. flags: those of {@link SessionOptions}, which tell a text model from a
   * session.
   */
  static native long createSession(
      long model,
      long pool,
      @Nullable byte[] function,
      @Nullable byte[] isa,
      @Nullable ByteBuffer tuned,
      @NonNull byte[][] keep,
      @NonNull byte[][] backends,
      @NonNull long[] limits,
      int flags);

  static native void destroySession(long session);

  static native void cancel(long session);

  /** Shapes, concatenated; ranks[i] is -1 if input i is unchanged. */
  static native void resize(long session, @NonNull int[] ranks, @NonNull long[] dims);

  /** Sets the dims and returns the rank; -1 before all inputs have a shape. */
  static native int inputShape(long session, int index, @NonNull long[] dims);

  /** The same for an output; unknown dims are -1. */
  static native int outputShape(long session, int index, @NonNull long[] dims);

  // Names of inputs and outputs for messages; null if there is none at this index.

  static native void setArray(
      long session, int index, @Nullable byte[] name, @NonNull Object array, int kind);

  /** swapped: the buffer has the other byte order, which is allowed for single bytes only. */
  static native void setBuffer(
      long session, int index, @Nullable byte[] name, @NonNull Buffer from, boolean swapped, long at,
      long size);

  static native void run(long session);

  static native void getArray(
      long session, int index, @Nullable byte[] name, @NonNull Object array, int kind);

  static native void getBuffer(
      long session, int index, @Nullable byte[] name, @NonNull Buffer to, boolean swapped, long at,
      long size);

  /** The buffer must live until another one is bound, or destroySession. */
  static native void bindInput(
      long session, int index, @Nullable byte[] name, @NonNull Buffer from, boolean swapped, long at,
      long size);

  /** The same; null: none. */
  static native void bindOutput(
      long session, int index, @Nullable byte[] name, @Nullable Buffer to, boolean swapped, long at,
      long size);

  /** A kept tensor: type, rank, dims, scale, zero point, bytes. */
  static native byte[] kept(long session, @NonNull byte[] name);

  // ---- pictures, sound, answers ----

  /**
   * numbers: those of {@link Image}. planes: byte arrays or direct buffers; places: offset, size,
   * row stride and pixel stride of each.
   */
  static native void setImage(
      long session, int index, @NonNull int[] numbers, @NonNull Object[] planes,
      @NonNull long[] places);

  /** The same of an android.graphics.Bitmap of ARGB_8888. */
  static native void setBitmap(
      long session, int index, @NonNull int[] numbers, @NonNull Object bitmap);

  /** The same of an android.hardware.HardwareBuffer. */
  static native void setHardwareBuffer(
      long session, int index, @NonNull int[] numbers, @NonNull Object buffer);

  /** samples: short[] or float[]. Returns 2 * (samples read) + (1 if the input is ready). */
  static native long pushAudio(
      long session, int index, @NonNull Object samples, int at, int count, int rate, int channels);

  static native boolean endAudio(long session, int index);

  static native byte[] answer(long session);

  // ---- state, times, devices ----

  static native byte[] saveState(long session);

  static native void loadState(long session, @NonNull byte[] file);

  static native void resetState(long session);

  static native byte[] stateNames(long session);

  /** A variable: type, rank, dims, scale, zero point, bytes. */
  static native byte[] getState(long session, @NonNull byte[] name);

  static native void setState(
      long session, @NonNull byte[] name, @NonNull Object array, int kind, @NonNull long[] shape);

  static native void setProfiling(long session, boolean on);

  static native byte[] profile(long session);

  static native byte[] trace(long session);

  static native long arenaBytes(long session);

  static native long totalBytes(long session);

  static native byte[] placement(long session);

  static native byte[] backendReport(long session);

  // ---- tokenizers. Texts are UTF-8 without a zero; flags are those of {@link TextFlags} ----

  /** The tokenizer in the model's file; the model must live until closeTokenizer. */
  static native long openTokenizer(long model);

  static native void closeTokenizer(long tokenizer);

  static native int vocabulary(long tokenizer);

  static native int[] encode(long tokenizer, @NonNull byte[] text, int flags);

  static native byte[] decode(long tokenizer, @NonNull int[] ids, int flags);

  static native byte[] normalize(long tokenizer, @NonNull byte[] text);

  /** -1 if there is none. */
  static native int tokenId(long tokenizer, @NonNull byte[] token);

  /** null if the id has none. */
  static native byte[] token(long tokenizer, int id);

  /** The tokenizer must live until destroyStream. */
  static native long createStream(long tokenizer, int flags);

  static native void destroyStream(long stream);

  /** The text that is now certain; null if there is none. */
  static native byte[] pushStream(long stream, int id);

  static native byte[] finishStream(long stream);

  // ---- samplers ----

  /** numbers: top k, window, seed. shares: penalty, temperature, top p, min p. */
  static native long createSampler(
      int vocabulary, @NonNull long[] numbers, @NonNull float[] shares);

  static native void destroySampler(long sampler);

  static native int nextToken(long sampler, @NonNull float[] logits);

  static native void acceptTokens(long sampler, @NonNull int[] tokens);

  static native void resetSampler(long sampler);

  // ---- text models ----

  static native void destroyTextModel(long model);

  static native void cancelText(long model);

  static native long textContext(long model);

  static native long textTotalBytes(long model);

  /** Returns the tokens of the text * 2^32 + how many of them were in the cache. */
  static native long promptText(long model, @NonNull byte[] text, int flags);

  /** The same for tokens. */
  static native long putText(long model, @NonNull int[] ids);

  static native int[] textTokens(long model);

  static native float[] textLogits(long model);

  /**
   * numbers and shares: as for createSampler. stops: zero-terminated. ends: null for those of the
   * file.
   */
  static native void beginText(
      long model,
      int mostTokens,
      @NonNull long[] numbers,
      @NonNull float[] shares,
      @NonNull byte[][] stops,
      @Nullable int[] ends);

  /** Sets the token, or -1, and why the text ends; returns what is certain of it, null for none. */
  static native byte[] stepText(long model, @NonNull int[] tokenAndEnd);

  static native void saveText(long model, @NonNull OutputStream to) throws IOException;

  static native void loadText(long model, @NonNull RandomAccessFile from, long size)
      throws IOException;
}
