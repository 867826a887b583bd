// SPDX-License-Identifier: Apache-2.0
// Declarations of CoreGraphics that the package uses, after Apple's documentation, to check its
// types on machines without them. Nothing runs.
import Foundation

public class CGImage {
  public var width: Int { fatalError() }
  public var height: Int { fatalError() }
}

public class CGColorSpace {
  public static let sRGB: NSString = ""
  public init?(name: NSString) { fatalError() }
}

public enum CGImageAlphaInfo: UInt32 {
  case none, premultipliedLast, premultipliedFirst, last, first, noneSkipLast, noneSkipFirst,
    alphaOnly
}

public class CGContext {
  public init?(
    data: UnsafeMutableRawPointer?, width: Int, height: Int, bitsPerComponent: Int,
    bytesPerRow: Int, space: CGColorSpace, bitmapInfo: UInt32
  ) { fatalError() }
  public func draw(_ image: CGImage, in rect: CGRect) { fatalError() }
}
