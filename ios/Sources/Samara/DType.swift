// SPDX-License-Identifier: Apache-2.0
// Element types of tensors, and the types of Swift that hold them.
import CSamara

/// The type of a tensor's elements. Raw values are the codes of the file format.
public enum DType: UInt32, Hashable, Sendable, CaseIterable {
  case float32 = 1
  case float16
  case int8
  /// int8 with a scale and a zero point: real = scale * (stored - zeroPoint)
  case qint8
  case uint8
  case int32
  case int64
  /// One byte, 0 or 1.
  case bool
  case float64
  case bfloat16
  case int16
  case uint16
  case uint32
  case uint64
  /// Two to a byte, the first in the low half.
  case int4
  case uint4

  init(_ code: samara_dtype) throws {
    guard let known = DType(rawValue: UInt32(code.rawValue)) else {
      throw SamaraError(
        .unsupported, .unsupported, "element type \(code.rawValue) is not known",
        fix: "the library is newer than this Swift code: take both from one version")
    }
    self = known
  }

  /// Bits of an element.
  public var bits: Int {
    switch self {
    case .int4, .uint4: return 4
    case .int8, .qint8, .uint8, .bool: return 8
    case .float16, .bfloat16, .int16, .uint16: return 16
    case .float32, .int32, .uint32: return 32
    case .float64, .int64, .uint64: return 64
    }
  }

  /// Bytes of `count` contiguous elements; nil on overflow.
  func bytes(of count: Int) -> Int? {
    if bits == 4 { return count / 2 + count % 2 }
    let (product, overflow) = count.multipliedReportingOverflow(by: bits / 8)
    return overflow ? nil : product
  }
}

/// A Swift type that represents elements of a tensor, including Float16 if the system has it. Not
/// for other types.
public protocol TensorElement: Sendable {
  /// The element types with the memory layout of `Self`; the first is that of new tensors.
  static var dtypes: [DType] { get }
}

extension Float: TensorElement { public static let dtypes: [DType] = [.float32] }
extension Double: TensorElement { public static let dtypes: [DType] = [.float64] }
extension Int8: TensorElement { public static let dtypes: [DType] = [.int8, .qint8] }
extension UInt8: TensorElement {
  public static let dtypes: [DType] = [.uint8, .bool, .int4, .uint4]
}
extension Int16: TensorElement { public static let dtypes: [DType] = [.int16] }
extension UInt16: TensorElement {
  public static let dtypes: [DType] = [.uint16, .float16, .bfloat16]
}
extension Int32: TensorElement { public static let dtypes: [DType] = [.int32] }
extension UInt32: TensorElement { public static let dtypes: [DType] = [.uint32] }
extension Int64: TensorElement { public static let dtypes: [DType] = [.int64] }
extension UInt64: TensorElement { public static let dtypes: [DType] = [.uint64] }
#if arch(arm64_32) || arch(arm) || arch(i386)
  extension Int: TensorElement { public static let dtypes: [DType] = [.int32] }
#else
  extension Int: TensorElement { public static let dtypes: [DType] = [.int64] }
#endif
extension Bool: TensorElement { public static let dtypes: [DType] = [.bool] }
#if !((os(macOS) || targetEnvironment(macCatalyst)) && arch(x86_64))
  extension Float16: TensorElement { public static let dtypes: [DType] = [.float16] }
#endif
