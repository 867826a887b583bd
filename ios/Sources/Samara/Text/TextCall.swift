// SPDX-License-Identifier: Apache-2.0
// A call of a text model while it runs.
import CSamara
import Foundation

/// One call, with exclusive access to the text model. Any thread may cancel it.
final class TextCall: @unchecked Sendable {
  private let opened: OpenedTextModel
  private let lock = NSLock()
  private var cancelled = false
  private var ended = false

  init(_ opened: OpenedTextModel) { self.opened = opened }

  var handle: OpaquePointer { opened.handle }

  /// The tokens of the text.
  var tokens: [Int] {
    var count = 0
    let ids = samara_text_model_tokens(handle, &count)
    return UnsafeBufferPointer(start: ids, count: count).map { Int($0) }
  }

  /// Stop the call. The runtime stops the run of this moment only, and a call has many: one for each
  /// chunk of a prompt, and one for each token. So this repeats until the call has ended.
  func cancel() {
    lock.lock()
    let isFirst = !cancelled
    cancelled = true
    lock.unlock()
    if isFirst { stop() }
  }

  private func stop() {
    lock.lock()
    defer { lock.unlock() }
    if ended { return }
    samara_text_model_cancel(handle)
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) { self.stop() }
  }

  /// The call returns now. A later cancel() does nothing.
  func end() {
    lock.lock()
    ended = true
    lock.unlock()
  }

  /// Throw .cancelled if the call was cancelled.
  func goOn() throws {
    lock.lock()
    defer { lock.unlock() }
    if cancelled { throw SamaraError(.cancelled, .cancelled, "cancelled between two runs") }
  }

  /// Throw the error of a status.
  func check(_ status: samara_status) throws {
    if status == SAMARA_OK { return }
    let error = SamaraError(status, String(cString: samara_text_model_error(handle)))
    // Texts have no shapes: the argument is wrong.
    throw SamaraError(
      status == SAMARA_BAD_ARGUMENT ? .argument : error.kind, error.status, error.message,
      node: error.node, operator: error.operator)
  }
}
