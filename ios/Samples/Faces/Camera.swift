// SPDX-License-Identifier: Apache-2.0
// The front camera: frames for a model, and a preview for a view.
import AVFoundation
import Samara
import SwiftUI

/// Drops frames that arrive while one is in use.
final class Camera: NSObject, AVCaptureVideoDataOutputSampleBufferDelegate, @unchecked Sendable {
  static let width = 480
  static let height = 640

  let session = AVCaptureSession()
  private let queue = DispatchQueue(label: "camera")
  private var frame: ((Samara.Image) -> Void)?

  struct Refused: Error, CustomStringConvertible {
    let description: String
  }

  /// Returns the newest frames, upright, until the caller stops iterating.
  func frames() async throws -> AsyncStream<Samara.Image> {
    guard await AVCaptureDevice.requestAccess(for: .video) else {
      throw Refused(description: "The app may not use the camera: see Settings.")
    }
    try configure()
    return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { stream in
      queue.async {
        self.frame = { stream.yield($0) }
        self.session.startRunning()
      }
      stream.onTermination = { _ in
        self.queue.async {
          self.frame = nil
          self.session.stopRunning()
        }
      }
    }
  }

  private func configure() throws {
    guard session.inputs.isEmpty else { return }
    guard
      let device = AVCaptureDevice.default(.builtInWideAngleCamera, for: .video, position: .front)
    else { throw Refused(description: "There is no front camera.") }
    let output = AVCaptureVideoDataOutput()
    output.videoSettings = [
      kCVPixelBufferPixelFormatTypeKey as String: kCVPixelFormatType_420YpCbCr8BiPlanarFullRange
    ]
    output.setSampleBufferDelegate(self, queue: queue)
    session.beginConfiguration()
    defer { session.commitConfiguration() }
    session.sessionPreset = .vga640x480
    session.addInput(try AVCaptureDeviceInput(device: device))
    session.addOutput(output)
    // Orient frames as the preview shows them, so that boxes need no rotation.
    guard let connection = output.connection(with: .video) else { return }
    connection.videoOrientation = .portrait
    connection.automaticallyAdjustsVideoMirroring = false
    connection.isVideoMirrored = true
  }

  func captureOutput(
    _ output: AVCaptureOutput, didOutput sampleBuffer: CMSampleBuffer,
    from connection: AVCaptureConnection
  ) {
    guard let buffer = CMSampleBufferGetImageBuffer(sampleBuffer),
      let picture = try? Samara.Image(buffer)
    else { return }
    frame?(picture)
  }
}

/// Shows the camera's picture.
struct CameraPreview: UIViewRepresentable {
  let session: AVCaptureSession

  final class PreviewView: UIView {
    override class var layerClass: AnyClass { AVCaptureVideoPreviewLayer.self }
  }

  func makeUIView(context: Context) -> PreviewView {
    let view = PreviewView()
    (view.layer as? AVCaptureVideoPreviewLayer)?.session = session
    return view
  }

  func updateUIView(_ view: PreviewView, context: Context) {}
}
