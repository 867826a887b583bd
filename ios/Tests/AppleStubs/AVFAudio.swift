// SPDX-License-Identifier: Apache-2.0
// Declarations of AVFAudio that the package uses, after Apple's documentation, to check its types
// on machines without them. Nothing runs.

public class AVAudioFormat {
  public var channelCount: UInt32 { fatalError() }
  public var sampleRate: Double { fatalError() }
  public var isInterleaved: Bool { fatalError() }
}

public class AVAudioPCMBuffer {
  public var frameLength: UInt32 { fatalError() }
  public var format: AVAudioFormat { fatalError() }
  public var stride: Int { fatalError() }
  public var floatChannelData: UnsafePointer<UnsafeMutablePointer<Float>>? { fatalError() }
  public var int16ChannelData: UnsafePointer<UnsafeMutablePointer<Int16>>? { fatalError() }
}
