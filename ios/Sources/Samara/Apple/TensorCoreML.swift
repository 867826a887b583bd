// SPDX-License-Identifier: Apache-2.0
// Tensors from and to the arrays of Core ML.
#if canImport(CoreML)
  import CoreML
  import Foundation

  /// Types of Core ML's elements by their codes: systems before iOS 16 do not name that of float16.
  private let codes: [DType: Int] = [
    .float32: 0x10000 | 32, .float64: 0x10000 | 64, .float16: 0x10000 | 16, .int32: 0x20000 | 32,
  ]

  extension Tensor {
    /// The copied elements of a Core ML array. .unsupported if they are not contiguous.
    public init(_ array: MLMultiArray) throws {
      let code = array.dataType.rawValue
      guard let dtype = codes.first(where: { $0.value == code })?.key else {
        throw SamaraError(
          .unsupported, .unsupported, "elements of type \(code) of Core ML",
          fix: "make the array of float32")
      }
      let shape = array.shape.map(\.intValue)
      guard array.strides.map(\.intValue) == Self.strides(of: shape) || array.count == 0 else {
        throw SamaraError(
          .unsupported, .unsupported, "the array's strides \(array.strides) leave gaps",
          fix: "copy it into one made with MLMultiArray(shape:dataType:)")
      }
      let size = dtype.bytes(of: array.count) ?? 0
      let bytes = [UInt8](UnsafeRawBufferPointer(start: array.dataPointer, count: size))
      try self.init(dtype: dtype, shape: shape, bytes: bytes)
    }

    /// The elements as a Core ML array. .unsupported for types that Core ML lacks.
    public func multiArray() throws -> MLMultiArray {
      guard let code = codes[dtype], let type = MLMultiArrayDataType(rawValue: code) else {
        throw SamaraError(
          .unsupported, .unsupported, "Core ML has no arrays of \(dtype)",
          fix: "convert the elements to Float")
      }
      let array = try MLMultiArray(shape: shape.map { NSNumber(value: $0) }, dataType: type)
      bytes.withUnsafeBytes {
        UnsafeMutableRawBufferPointer(start: array.dataPointer, count: $0.count).copyMemory(
          from: $0)
      }
      return array
    }

    /// Strides of a dense tensor, in elements.
    private static func strides(of shape: [Int]) -> [Int] {
      var strides = [Int](repeating: 1, count: shape.count)
      for axis in shape.indices.dropLast().reversed() {
        strides[axis] = strides[axis + 1] * shape[axis + 1]
      }
      return strides
    }
  }
#endif
