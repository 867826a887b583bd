// SPDX-License-Identifier: Apache-2.0
// Cancelling, the only call that is allowed from any thread at any time.
import CSamara
import Foundation

/// The session that cancel() stops. It is not destroyed during that call.
final class CancelTarget: @unchecked Sendable {
  private let lock = NSLock()
  private var session: OpenedSession?

  func set(_ session: OpenedSession?) {
    lock.lock()
    let former = self.session
    self.session = session
    lock.unlock()
    withExtendedLifetime(former) {}
  }

  func cancel() {
    lock.lock()
    if let session { samara_session_cancel(session.handle) }
    lock.unlock()
  }
}
