// SPDX-License-Identifier: Apache-2.0
// The sampler in C.
package dev.samara;

/** Guards the address of a sampler. */
final class SamplerHandle extends Handle {
  SamplerHandle(long pointer) {
    super(pointer, "sampler");
  }

  @Override
  void cancel(long sampler) {
    // Calls are short.
  }

  @Override
  void destroy(long sampler) {
    Native.destroySampler(sampler);
  }
}
