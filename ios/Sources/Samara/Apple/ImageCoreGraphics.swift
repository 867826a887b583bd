// SPDX-License-Identifier: Apache-2.0
// Pictures of CoreGraphics and UIKit.
#if canImport(CoreGraphics)
  import CoreGraphics
  import Foundation

  extension Image {
    /// A CoreGraphics picture, drawn into RGBA in sRGB: pixels of other colour spaces change
    /// slightly, and transparent pixels are blended with black.
    public init(_ image: CGImage, rotation: Rotation = .none, mirror: Bool = false) throws {
      let (width, height) = (image.width, image.height)
      guard 1...Self.maxSide ~= width, 1...Self.maxSide ~= height else {
        try self.init([UInt8](), format: .rgba, width: width, height: height)
        return
      }
      var pixels = Data(count: 4 * width * height)
      let drawn = pixels.withUnsafeMutableBytes { bytes -> Bool in
        guard let space = CGColorSpace(name: CGColorSpace.sRGB),
          let context = CGContext(
            data: bytes.baseAddress, width: width, height: height, bitsPerComponent: 8,
            bytesPerRow: 4 * width, space: space, bitmapInfo: CGImageAlphaInfo.noneSkipLast.rawValue
          )
        else { return false }
        context.draw(image, in: CGRect(x: 0, y: 0, width: width, height: height))
        return true
      }
      guard drawn else {
        throw SamaraError(
          .limit, .outOfMemory, "no memory to draw a picture of \(width)x\(height)",
          fix: "scale it down first")
      }
      try self.init(pixels, format: .rgba, width: width, height: height)
      self.rotation = rotation
      self.mirror = mirror
    }
  }
#endif

#if canImport(UIKit)
  import UIKit

  extension Image {
    /// A UIKit picture, rotated by its orientation.
    public init(_ image: UIImage) throws {
      guard let pixels = image.cgImage else {
        throw SamaraError(
          .unsupported, .unsupported, "the UIImage has no CGImage",
          fix: "render it with UIGraphicsImageRenderer, which makes one")
      }
      let (rotation, mirror) = Self.turn(image.imageOrientation)
      try self.init(pixels, rotation: rotation, mirror: mirror)
    }

    private static func turn(_ orientation: UIImage.Orientation) -> (Rotation, Bool) {
      switch orientation {
      case .up: return (.none, false)
      case .upMirrored: return (.none, true)
      case .down: return (.half, false)
      case .downMirrored: return (.half, true)
      case .left: return (.left, false)
      case .leftMirrored: return (.right, true)
      case .right: return (.right, false)
      case .rightMirrored: return (.left, true)
      @unknown default: return (.none, false)
      }
    }
  }
#endif
