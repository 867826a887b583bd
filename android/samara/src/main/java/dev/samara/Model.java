// SPDX-License-Identifier: Apache-2.0
// An opened .samara file.
package dev.samara;

import android.content.Context;
import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.io.File;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * An immutable model, shared by any number of sessions and threads.
 *
 * <pre>{@code
 * try (Model model = Model.fromAsset(context, "digits.samara"); Session session = new Session(model)) {
 *   session.setInput("image", pixels);
 *   session.run();
 *   session.getOutput("probability", probabilities);
 * }
 * }</pre>
 */
public final class Model implements AutoCloseable {
  final ModelHandle handle;
  private final Reaper reaper;
  private final Map<String, FunctionInfo> functions;
  private final List<String> labels;
  private final Map<String, String> metadata;

  private Model(long pointer, @Nullable Object memory) {
    ModelHandle opened = new ModelHandle(pointer, memory);
    try {
      Blob blob = new Blob(opened.describe());
      functions = functions(blob);
      metadata = metadata(blob);
      labels = Labels.read(metadata.get("labels"));
    } catch (RuntimeException | Error failure) {
      opened.close();
      throw failure;
    }
    handle = opened;
    reaper = Reaper.watch(this, opened::close);
  }

  private static Map<String, FunctionInfo> functions(Blob blob) {
    Map<String, FunctionInfo> found = new LinkedHashMap<>();
    for (int count = blob.number(); count > 0; count--) {
      FunctionInfo function = new FunctionInfo(blob);
      found.put(function.getName(), function);
    }
    return Collections.unmodifiableMap(found);
  }

  private static Map<String, String> metadata(Blob blob) {
    Map<String, String> found = new LinkedHashMap<>();
    for (int count = blob.number(); count > 0; count--) {
      String key = blob.text();
      found.put(key, blob.text());
    }
    return Collections.unmodifiableMap(found);
  }

  // ---- opening ----

  /**
   * Opens an asset of the app. An uncompressed asset is mapped in the APK: {@code android {
   * androidResources { noCompress += "samara" } }}. A compressed one is read into memory, with a
   * message in the log.
   */
  @NonNull
  public static Model fromAsset(@NonNull Context context, @NonNull String name) {
    return fromAsset(context, name, new ModelOptions());
  }

  @NonNull
  public static Model fromAsset(
      @NonNull Context context, @NonNull String name, @NonNull ModelOptions options) {
    SamaraException.given(context, "the context");
    SamaraException.given(name, "the name of the asset");
    return AndroidAssets.open(context, name, SamaraException.given(options, "the options"));
  }

  /** Opens a file, which is mapped: it must not change while the model is open, unless copied. */
  @NonNull
  public static Model fromFile(@NonNull File file) {
    return fromFile(file, new ModelOptions());
  }

  @NonNull
  public static Model fromFile(@NonNull File file, @NonNull ModelOptions options) {
    SamaraException.given(file, "the file");
    SamaraException.given(options, "the options");
    Native.check();
    byte[] path = Words.c(file.getPath(), "the path");
    return new Model(Native.openPath(path, options.copy(), options.verify()), null);
  }

  /** Opens a file, as {@link #fromFile(File)} does. */
  @NonNull
  public static Model fromFile(@NonNull String path) {
    return fromFile(new File(SamaraException.given(path, "the path")));
  }

  /**
   * Opens the bytes of a direct buffer from its position to its limit. The model keeps the buffer.
   * Its bytes must not change while the model is open, unless they are copied.
   */
  @NonNull
  public static Model fromBuffer(@NonNull ByteBuffer buffer) {
    return fromBuffer(buffer, new ModelOptions());
  }

  @NonNull
  public static Model fromBuffer(@NonNull ByteBuffer buffer, @NonNull ModelOptions options) {
    SamaraException.given(buffer, "the buffer");
    SamaraException.given(options, "the options");
    Native.check();
    if (!buffer.isDirect()) {
      throw new ArgumentException(
          Status.BAD_ARGUMENT,
          "the buffer is not direct",
          "make it by ByteBuffer.allocateDirect, or map a file");
    }
    ByteBuffer own = buffer.duplicate();
    long opened =
        Native.openBuffer(
            own, own.position(), own.remaining(), options.copy(), options.verify());
    return new Model(opened, options.copy() ? null : own);
  }

  /**
   * Opens {@code length} bytes at {@code offset}, a multiple of 4, of a descriptor, which may be closed
   * afterwards. length 0: to the end.
   */
  @NonNull
  static Model fromDescriptor(int fd, long offset, long length, @NonNull ModelOptions options) {
    Native.check();
    return new Model(Native.openFd(fd, offset, length, options.copy(), options.verify()), null);
  }

  // ---- what it holds ----

  /** The functions that a session can run; the first is the default. */
  @NonNull
  public Map<String, FunctionInfo> getFunctions() {
    return functions;
  }

  /** The function of that name; null for the default one. */
  @NonNull
  public FunctionInfo getFunction(@Nullable String name) {
    FunctionInfo found = name == null ? functions.values().iterator().next() : functions.get(name);
    if (found != null) return found;
    throw new UnknownNameException(
        Status.NOT_FOUND,
        "the model has no function '" + name + "'",
        "it has " + Words.joined(new ArrayList<>(functions.keySet())));
  }

  /** The inputs of the default function. */
  @NonNull
  public List<TensorInfo> getInputs() {
    return getFunction(null).getInputs();
  }

  /** The outputs of the default function. */
  @NonNull
  public List<TensorInfo> getOutputs() {
    return getFunction(null).getOutputs();
  }

  /** The names of classes, by number; empty if the file has none. */
  @NonNull
  public List<String> getLabels() {
    return labels;
  }

  /** Keys and values that are stored in the file. */
  @NonNull
  public Map<String, String> getMetadata() {
    return metadata;
  }

  // ---- whether it is sound ----

  /** Runs the golden inputs of the file, and throws if an output differs. */
  public void selftest() {
    long model = handle.use();
    try {
      Native.selftest(model);
    } finally {
      handle.release();
    }
  }

  /** Compares every byte with the checksums in the file, whatever its size. */
  public void verify() {
    long model = handle.use();
    try {
      Native.verify(model);
    } finally {
      handle.release();
    }
  }

  /** Whether every byte matched its checksum in the last comparison. */
  public boolean isVerified() {
    long model = handle.use();
    try {
      return Native.verified(model);
    } finally {
      handle.release();
    }
  }

  /**
   * Closes the model: no further session can be created. Its memory is released when the last
   * session is closed. May be called twice. The model's descriptions stay available.
   */
  @Override
  public void close() {
    reaper.dismiss();
    handle.close();
  }

  @NonNull
  @Override
  public String toString() {
    String closed = handle.isClosed() ? ", closed" : "";
    return "Model(" + Words.joined(new ArrayList<>(functions.keySet())) + closed + ")";
  }
}
