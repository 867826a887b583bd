// SPDX-License-Identifier: Apache-2.0
// Sound from callers: samples of any rate and number of channels.
import CSamara

/// A recording, or a chunk of one.
public struct Audio: Hashable, Sendable {
  /// Interleaved samples of all channels.
  public enum Samples: Hashable, Sendable {
    case int16([Int16])
    /// Full scale is 1.0.
    case float32([Float])
  }

  public let samples: Samples
  /// Samples per channel and second.
  public let rate: Int
  public let channels: Int

  /// Samples of 16 bits. Errors: .argument for a rate outside 1000 to 192000 or channels outside 1
  /// to 32; .shape if the number of samples is not a multiple of the channels.
  public init(_ samples: [Int16], rate: Int, channels: Int = 1) throws {
    try self.init(.int16(samples), samples.count, rate, channels)
  }

  /// Float samples with full scale 1.0.
  public init(_ samples: [Float], rate: Int, channels: Int = 1) throws {
    try self.init(.float32(samples), samples.count, rate, channels)
  }

  private init(_ samples: Samples, _ count: Int, _ rate: Int, _ channels: Int) throws {
    guard 1000...192_000 ~= rate, 1...32 ~= channels else {
      throw SamaraError(
        .argument, .badArgument, "\(rate) samples per second of \(channels) channels",
        fix: "give 1000 to 192000 samples per second, and 1 to 32 channels")
    }
    guard count % channels == 0 else {
      throw SamaraError(
        .shape, .badShape, "\(count) samples are no whole number of frames of \(channels) channels",
        fix: "give the samples of all channels by turns")
    }
    self.samples = samples
    self.rate = rate
    self.channels = channels
  }

  /// Samples of each channel.
  public var count: Int {
    switch samples {
    case .int16(let all): return all.count / channels
    case .float32(let all): return all.count / channels
    }
  }

  public var seconds: Double { Double(count) / Double(rate) }

  /// Call `body` with the samples from `first` on, as a struct of the C runtime.
  func withNative<R>(from first: Int, _ body: (UnsafePointer<samara_audio>) throws -> R) rethrows
    -> R
  {
    var native = samara_audio()
    native.struct_size = MemoryLayout<samara_audio>.size
    native.count = count - first
    native.rate = UInt32(rate)
    native.channels = UInt32(channels)
    switch samples {
    case .int16(let all):
      native.dtype = SAMARA_INT16
      return try all.withUnsafeBytes { try Self.with($0, first * channels * 2, &native, body) }
    case .float32(let all):
      native.dtype = SAMARA_FLOAT32
      return try all.withUnsafeBytes { try Self.with($0, first * channels * 4, &native, body) }
    }
  }

  private static func with<R>(
    _ bytes: UnsafeRawBufferPointer, _ offset: Int, _ native: inout samara_audio,
    _ body: (UnsafePointer<samara_audio>) throws -> R
  ) rethrows -> R {
    native.samples = bytes.baseAddress.map { $0 + offset }
    return try body(&native)
  }
}
