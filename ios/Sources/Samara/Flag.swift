// SPDX-License-Identifier: Apache-2.0
// A flag that one call at a time takes.
import CSamara

/// Taken by a call for as long as it uses what the flag guards. Nobody waits: who comes second
/// fails.
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
