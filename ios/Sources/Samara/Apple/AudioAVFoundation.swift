// SPDX-License-Identifier: Apache-2.0
// Sound from AVFoundation: a microphone's buffers.
#if canImport(AVFAudio)
  import AVFAudio

  extension Audio {
    /// The copied samples of a buffer, e.g. from a tap of AVAudioEngine's input.
    ///
    /// Floats or 16-bit integers, interleaved or by channel. .unsupported for other samples.
    public init(_ buffer: AVAudioPCMBuffer) throws {
      let (count, channels) = (Int(buffer.frameLength), Int(buffer.format.channelCount))
      let rate = Int(buffer.format.sampleRate.rounded())
      let together = buffer.format.isInterleaved
      if let data = buffer.floatChannelData {
        let samples = Self.joined(data, count, channels, together, buffer.stride)
        try self.init(samples, rate: rate, channels: channels)
      } else if let data = buffer.int16ChannelData {
        let samples = Self.joined(data, count, channels, together, buffer.stride)
        try self.init(samples, rate: rate, channels: channels)
      } else {
        throw SamaraError(
          .unsupported, .unsupported, "the buffer holds neither floats nor 16-bit integers",
          fix: "tap the input with a format of float32")
      }
    }

    /// Interleaved samples of all channels.
    private static func joined<T>(
      _ data: UnsafePointer<UnsafeMutablePointer<T>>, _ count: Int, _ channels: Int,
      _ together: Bool, _ stride: Int
    ) -> [T] {
      if together { return Array(UnsafeBufferPointer(start: data[0], count: count * channels)) }
      var samples: [T] = []
      samples.reserveCapacity(count * channels)
      for frame in 0..<count {
        for channel in 0..<channels { samples.append(data[channel][frame * stride]) }
      }
      return samples
    }
  }
#endif
