// SPDX-License-Identifier: Apache-2.0
// A flag that one call at a time can hold.
import CSamara

/// Held by a call while it uses the guarded object. A second call fails instead of waiting.
final class Flag: @unchecked Sendable {
  private let value: UnsafeMutablePointer<Int32>

  init() {
    value = .allocate(capacity: 1)
    value.initialize(to: 0)
  }

  deinit { value.deallocate() }

  @inline(__always) func take() -> Bool { samara_flag_take(value) }
  @inline(__always) func give() { samara_flag_give(value) }
}
