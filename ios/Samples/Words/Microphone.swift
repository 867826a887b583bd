// SPDX-License-Identifier: Apache-2.0
// The microphone: chunks of sound at the device's own rate.
import AVFoundation
import Samara

final class Microphone: @unchecked Sendable {
  private let engine = AVAudioEngine()

  struct Refused: Error, CustomStringConvertible {
    let description: String
  }

  /// Returns sound until the caller stops iterating.
  func portions() async throws -> AsyncStream<Audio> {
    guard await AVCaptureDevice.requestAccess(for: .audio) else {
      throw Refused(description: "The app may not use the microphone: see Settings.")
    }
    try AVAudioSession.sharedInstance().setCategory(.record, mode: .measurement)
    try AVAudioSession.sharedInstance().setActive(true)
    let (stream, sink) = AsyncStream<Audio>.makeStream()
    let input = engine.inputNode
    input.installTap(onBus: 0, bufferSize: 4096, format: input.outputFormat(forBus: 0)) {
      buffer, _ in
      if let portion = try? Audio(buffer) { sink.yield(portion) }
    }
    sink.onTermination = { _ in
      self.engine.inputNode.removeTap(onBus: 0)
      self.engine.stop()
    }
    try engine.start()
    return stream
  }
}
