// SPDX-License-Identifier: Apache-2.0
// Runs in the session's own thread, for which a task waits and which it can cancel.
import CSamara
import Foundation

extension Session {
  /// Run on named inputs in a thread of the session's own. Cancelling the task stops the run at its
  /// next node; then this throws .cancelled. Else as run(_:outputs:).
  public func runAsync(_ feeds: [String: Tensor], outputs names: [String]? = nil) async throws
    -> [String: Tensor]
  {
    try checkNames(feeds)
    let handle = try enter()
    defer { leave() }
    try feed(handle, feeds)
    try await run(handle)
    return try results(handle, names)
  }

  /// Run on the current inputs in the session's own thread.
  public func runAsync() async throws {
    let handle = try enter()
    defer { leave() }
    try await run(handle)
  }

  /// Run a session that this call has entered, and wait.
  func run(_ handle: OpaquePointer) async throws {
    let going = AsyncRun(handle)
    let status = await withTaskCancellationHandler {
      await withCheckedContinuation { going.begin($0) }
    } onCancel: {
      going.cancel()
    }
    // The callback that resumed this task may not have returned, but the session may be destroyed
    // next.
    samara_session_wait(handle)
    if !going.begun {
      throw SamaraError(.cancelled, .cancelled, "cancelled before the run began")
    }
    try Self.check(status, handle)
  }
}

/// One run in the session's own thread, and its waiter.
private final class AsyncRun: @unchecked Sendable {
  private let handle: OpaquePointer
  private let lock = NSLock()
  private var waiting: CheckedContinuation<samara_status, Never>?
  private var cancelled = false
  /// Whether there was a run; read after waiting.
  private(set) var begun = false

  init(_ handle: OpaquePointer) { self.handle = handle }

  /// Begin, and resume `continuation` with the status of the run.
  func begin(_ continuation: CheckedContinuation<samara_status, Never>) {
    lock.lock()
    if cancelled {
      lock.unlock()
      continuation.resume(returning: SAMARA_CANCELLED)
      return
    }
    waiting = continuation
    begun = true
    let kept = Unmanaged.passRetained(self)
    let done: samara_done_fn = { user, _, status in
      Unmanaged<AsyncRun>.fromOpaque(user!).takeRetainedValue().end(status)
    }
    let status = samara_session_run_async(handle, done, kept.toOpaque())
    lock.unlock()
    if status != SAMARA_OK {
      kept.release()
      end(status)
    }
  }

  /// Stop the run, or prevent it from beginning.
  func cancel() {
    lock.lock()
    defer { lock.unlock() }
    cancelled = true
    // After the run the session may be destroyed; `begin` handles a run that has not begun.
    if waiting != nil { samara_session_cancel(handle) }
  }

  private func end(_ status: samara_status) {
    lock.lock()
    let continuation = waiting
    waiting = nil
    lock.unlock()
    continuation?.resume(returning: status)
  }
}
