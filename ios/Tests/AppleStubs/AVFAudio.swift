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

public class AVAudioTime {}
public typealias AVAudioNodeTapBlock = (AVAudioPCMBuffer, AVAudioTime) -> Void

public class AVAudioInputNode {
  public func outputFormat(forBus bus: Int) -> AVAudioFormat { fatalError() }
  public func installTap(
    onBus bus: Int, bufferSize: UInt32, format: AVAudioFormat?,
    block tapBlock: @escaping AVAudioNodeTapBlock
  ) { fatalError() }
  public func removeTap(onBus bus: Int) { fatalError() }
}

public class AVAudioEngine {
  public init() {}
  public var inputNode: AVAudioInputNode { fatalError() }
  public func start() throws { fatalError() }
  public func stop() { fatalError() }
}

public class AVAudioSession {
  public struct Category { public static let record = Category() }
  public struct Mode { public static let measurement = Mode() }
  public class func sharedInstance() -> AVAudioSession { fatalError() }
  public func setCategory(_ category: Category, mode: Mode) throws { fatalError() }
  public func setActive(_ active: Bool) throws { fatalError() }
}
