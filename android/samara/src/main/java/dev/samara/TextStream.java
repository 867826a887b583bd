// SPDX-License-Identifier: Apache-2.0
// Text that comes one token at a time.
package dev.samara;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;

/**
 * The text of ids while they come. One thread at a time.
 *
 * <pre>{@code
 * try (TextStream stream = tokenizer.stream()) {
 *   for (int id : ids) show(stream.push(id));
 *   show(stream.finish());
 * }
 * }</pre>
 */
public final class TextStream implements AutoCloseable {
  private final StreamHandle handle;
  private final Reaper reaper;

  TextStream(@NonNull TokenizerHandle tokenizer, int flags) {
    long used = tokenizer.use();
    try {
      handle = new StreamHandle(Native.createStream(used, flags), tokenizer);
    } catch (RuntimeException | Error failure) {
      tokenizer.release();
      throw failure;
    }
    reaper = Reaper.watch(this, handle::abandon);
  }

  /**
   * Adds a token. Returns the text that no later token can change: whole characters, often none. All
   * parts together are what {@link Tokenizer#decode} makes of all ids.
   */
  @NonNull
  public String push(int id) {
    return text(handle.get(stream -> Native.pushStream(stream, id)));
  }

  /** The rest of the text. The stream then begins the next one. */
  @NonNull
  public String finish() {
    return text(handle.get(Native::finishStream));
  }

  private static String text(@Nullable byte[] part) {
    return part == null ? "" : Words.of(part);
  }

  /** Releases the memory. May be called twice. */
  @Override
  public void close() {
    reaper.dismiss();
    handle.close();
  }

  @NonNull
  @Override
  public String toString() {
    return "TextStream(" + (handle.isClosed() ? "closed" : "open") + ")";
  }
}
