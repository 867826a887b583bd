// SPDX-License-Identifier: Apache-2.0
// Declarations of UIKit that the package uses, after Apple's documentation, to check its types on
// machines without them. Nothing runs.
import CoreGraphics

public class UIImage {
  public enum Orientation: Int {
    case up, down, left, right, upMirrored, downMirrored, leftMirrored, rightMirrored
  }
  public var cgImage: CGImage? { fatalError() }
  public var imageOrientation: Orientation { fatalError() }
}

@MainActor
open class CALayer {}

@MainActor
open class UIView {
  public init() {}
  open class var layerClass: AnyClass { CALayer.self }
  public var layer: CALayer { fatalError() }
}
