// SPDX-License-Identifier: Apache-2.0
// The tokenizer in C, which lives as long as a stream or a call uses it.
package dev.samara;

/** Counts the users of a tokenizer: its Java object, streams, and current calls. */
final class TokenizerHandle extends SharedHandle {
  private final ModelHandle model;

  /** Holds one use of the model. */
  TokenizerHandle(long pointer, ModelHandle model) {
    super(pointer, "tokenizer");
    this.model = model;
  }

  @Override
  void destroy(long tokenizer) {
    Native.closeTokenizer(tokenizer);
    model.release();
  }
}
