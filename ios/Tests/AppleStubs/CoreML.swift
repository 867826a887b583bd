// SPDX-License-Identifier: Apache-2.0
// Declarations of Core ML that the package uses, after Apple's documentation, to check its types on
// machines without them. Nothing runs.
import Foundation

public enum MLMultiArrayDataType: Int {
  case double = 65600
  case float32 = 65568
  case int32 = 131104
}

public class MLMultiArray {
  public init(shape: [NSNumber], dataType: MLMultiArrayDataType) throws { fatalError() }
  public var dataType: MLMultiArrayDataType { fatalError() }
  public var shape: [NSNumber] { fatalError() }
  public var strides: [NSNumber] { fatalError() }
  public var count: Int { fatalError() }
  public var dataPointer: UnsafeMutableRawPointer { fatalError() }
}
