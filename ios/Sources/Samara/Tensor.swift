// SPDX-License-Identifier: Apache-2.0
// Tensors as values, for runs that may allocate.
import CSamara

/// A dense, row-major tensor. A value: copies are independent.
///
///     let image = try Tensor([Float](repeating: 0, count: 64), shape: [1, 1, 8, 8])
///     let scores = try session.run(["image": image])["scores"]!.values(as: Float.self)
public struct Tensor: Hashable, Sendable {
  public let dtype: DType
  public let shape: [Int]
  /// The bytes of the elements, little-endian.
  public let bytes: [UInt8]

  /// The elements of an array; `shape` nil is one axis. SamaraError.Kind.shape if the counts
  /// differ.
  public init<T: TensorElement>(_ values: [T], shape: [Int]? = nil) throws {
    let dtype = T.dtypes[0]
    let bytes = values.withUnsafeBytes { [UInt8]($0) }
    try self.init(dtype: dtype, shape: shape ?? [values.count], bytes: bytes)
  }

  /// A single element, of rank 0.
  public init<T: TensorElement>(_ value: T) {
    dtype = T.dtypes[0]
    shape = []
    bytes = withUnsafeBytes(of: value) { [UInt8]($0) }
  }

  /// The bytes of elements of any type. SamaraError.Kind.shape if their number does not match the
  /// shape.
  public init(dtype: DType, shape: [Int], bytes: [UInt8]) throws {
    let count = Self.count(of: shape)
    let expected = count.flatMap { dtype.bytes(of: $0) }
    guard let expected, expected == bytes.count else {
      throw SamaraError(
        .shape, .badShape,
        "\(bytes.count) bytes for \(dtype) \(shape), expected "
          + (expected.map { "\($0)" } ?? "sizes that are not negative and fit memory"),
        fix: "give as many elements as the shape has")
    }
    self.dtype = dtype
    self.shape = shape
    self.bytes = bytes
  }

  /// A copy of the runtime's tensor.
  init(_ native: samara_tensor) throws {
    dtype = try DType(native.dtype)
    shape = native.dims
    let raw = UnsafeRawBufferPointer(start: native.data, count: native.size_bytes)
    bytes = [UInt8](raw)
  }

  /// Number of elements.
  public var count: Int { Self.count(of: shape) ?? 0 }

  /// The elements as an array. SamaraError.Kind.shape if they have another type.
  ///
  /// float16 and bfloat16 are their bits as UInt16 too, bool its bytes as UInt8, and 4-bit types
  /// two to a UInt8.
  public func values<T: TensorElement>(as type: T.Type = T.self) throws -> [T] {
    try dtype.check(type, "the tensor")
    return bytes.withUnsafeBytes { raw in
      let count = raw.count / MemoryLayout<T>.stride
      return [T](unsafeUninitializedCapacity: count) { into, made in
        let whole = raw.prefix(count * MemoryLayout<T>.stride)
        UnsafeMutableRawBufferPointer(into).copyMemory(from: .init(rebasing: whole))
        made = count
      }
    }
  }

  /// Elements of a shape; nil if a dim is negative or the product overflows.
  static func count(of shape: [Int]) -> Int? {
    var product = 1
    for size in shape {
      let (next, overflow) = product.multipliedReportingOverflow(by: size)
      if size < 0 || overflow { return nil }
      product = next
    }
    return product
  }
}

extension Tensor: CustomStringConvertible {
  public var description: String { "Tensor(\(dtype) \(shape))" }
}

extension DType {
  /// Throw unless elements of `type` have the memory of this one.
  func check<T: TensorElement>(_ type: T.Type, _ what: String) throws {
    if !fits(type) {
      throw SamaraError(
        .shape, .badShape, "\(what) is \(self), not \(T.dtypes[0])",
        fix: "ask for elements of its own type")
    }
  }

  /// Whether elements of `type` have the memory of this one.
  @inline(__always)
  func fits<T: TensorElement>(_ type: T.Type) -> Bool {
    // The common case, without searching an array.
    if self == .float32 && T.self == Float.self { return true }
    return T.dtypes.contains(self)
  }
}

extension samara_tensor {
  /// The dims as an array.
  var dims: [Int] {
    withUnsafeBytes(of: shape) { raw in
      raw.bindMemory(to: Int64.self).prefix(Int(rank)).map { Int($0) }
    }
  }
}
