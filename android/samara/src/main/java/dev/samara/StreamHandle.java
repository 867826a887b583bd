// SPDX-License-Identifier: Apache-2.0
// The stream in C, with what it holds.
package dev.samara;

/** Guards the address of a stream of tokens. */
final class StreamHandle extends Handle {
  private final TokenizerHandle tokenizer;

  /** Holds one use of the tokenizer. */
  StreamHandle(long pointer, TokenizerHandle tokenizer) {
    super(pointer, "stream");
    this.tokenizer = tokenizer;
  }

  @Override
  void cancel(long stream) {
    // Calls are short.
  }

  @Override
  void destroy(long stream) {
    Native.destroyStream(stream);
    tokenizer.release();
  }
}
