// SPDX-License-Identifier: Apache-2.0
// Declarations of AVFoundation that the samples use, after Apple's documentation, to check their
// types on machines without them. Nothing runs.
@_exported import AVFAudio
@_exported import CoreMedia
@_exported import CoreVideo
@_exported import Foundation
import UIKit

public struct AVMediaType {
  public static let video = AVMediaType()
  public static let audio = AVMediaType()
}

public class AVCaptureDevice {
  public enum Position: Int { case unspecified, back, front }
  public struct DeviceType { public static let builtInWideAngleCamera = DeviceType() }
  public class func `default`(
    _ deviceType: DeviceType, for mediaType: AVMediaType?, position: Position
  ) -> AVCaptureDevice? { fatalError() }
  public class func requestAccess(for mediaType: AVMediaType) async -> Bool { fatalError() }
}

public class AVCaptureInput {}
public class AVCaptureDeviceInput: AVCaptureInput {
  public init(device: AVCaptureDevice) throws { fatalError() }
}

public enum AVCaptureVideoOrientation: Int {
  case portrait = 1
  case portraitUpsideDown, landscapeRight, landscapeLeft
}

public class AVCaptureConnection {
  public var videoOrientation: AVCaptureVideoOrientation = .portrait
  public var automaticallyAdjustsVideoMirroring = true
  public var isVideoMirrored = false
}

public class AVCaptureOutput {
  public func connection(with mediaType: AVMediaType) -> AVCaptureConnection? { fatalError() }
}

public protocol AVCaptureVideoDataOutputSampleBufferDelegate: AnyObject {
  func captureOutput(
    _ output: AVCaptureOutput, didOutput sampleBuffer: CMSampleBuffer,
    from connection: AVCaptureConnection)
}

public class AVCaptureVideoDataOutput: AVCaptureOutput {
  public override init() {}
  public var videoSettings: [String: Any]! = [:]
  public func setSampleBufferDelegate(
    _ sampleBufferDelegate: AVCaptureVideoDataOutputSampleBufferDelegate?,
    queue sampleBufferCallbackQueue: DispatchQueue?
  ) { fatalError() }
}

public class AVCaptureSession {
  public struct Preset { public static let vga640x480 = Preset() }
  public init() {}
  public var inputs: [AVCaptureInput] { fatalError() }
  public var sessionPreset: Preset = .vga640x480
  public func beginConfiguration() { fatalError() }
  public func commitConfiguration() { fatalError() }
  public func addInput(_ input: AVCaptureInput) { fatalError() }
  public func addOutput(_ output: AVCaptureOutput) { fatalError() }
  public func startRunning() { fatalError() }
  public func stopRunning() { fatalError() }
}

public class AVCaptureVideoPreviewLayer: CALayer {
  public var session: AVCaptureSession?
}
