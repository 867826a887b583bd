// SPDX-License-Identifier: Apache-2.0
// Converts pictures and sound to tensors without a session.
import CSamara

extension Model {
  /// The tensor that the record of an input makes of a picture, bit for bit that of a session.
  ///
  /// function: the first for nil. input: the first with a record of pictures for nil. Errors:
  /// .unsupported where the file does not say how a picture becomes that input, .unknownName for
  /// names that there are not, .shape for a picture that contradicts itself.
  public func preprocess(_ image: Image, function: String? = nil, input: String? = nil) throws
    -> Tensor
  {
    let model = try used()
    let (owner, index) = try recorded(function, input, "a picture") { $0 == .picture }
    var record = samara_image_record()
    record.struct_size = MemoryLayout<samara_image_record>.size
    try check(samara_model_image_record(model.handle, owner.name, index, &record))
    var made: Tensor?
    try image.withNative { native in
      let shape = try Self.shape { sizes, rank, error in
        samara_preprocess_shape(&record, native, sizes, rank, error)
      }
      let dtype = try DType(record.dtype)
      let bytes = try Self.bytes(dtype, shape) { place, error in
        samara_preprocess(&record, native, nil, nil, place.baseAddress, place.count, error)
      }
      made = try Tensor(dtype: owner.inputs[index].dtype, shape: shape, bytes: bytes)
    }
    return made!
  }

  /// The tensors that the record of an input makes of a recording, which begins and ends with
  /// `sound`: what a session would run on, one after the other. Errors as for pictures.
  public func preprocess(_ sound: Audio, function: String? = nil, input: String? = nil) throws
    -> [Tensor]
  {
    let model = try used()
    let (owner, index) = try recorded(function, input, "sound") {
      if case .sound = $0 { return true }
      return false
    }
    var record = samara_audio_record()
    record.struct_size = MemoryLayout<samara_audio_record>.size
    try check(samara_model_audio_record(model.handle, owner.name, index, &record))
    return try sound.withNative(from: 0) { native in
      var count = 0
      let shape = try Self.shape { sizes, rank, error in
        samara_preprocess_audio(&record, native, nil, nil, 0, &count, sizes, rank, error)
      }
      let dtype = try DType(record.dtype)
      let bytes = try Self.bytes(dtype, [count] + shape) { place, error in
        samara_preprocess_audio(
          &record, native, nil, place.baseAddress, place.count, &count, nil, nil, error)
      }
      let info = owner.inputs[index]
      let size = count == 0 ? 0 : bytes.count / count
      // An input of another rank takes the whole tensor as one row.
      let same = info.shape.count == shape.count
      return try (0..<count).map {
        try Tensor(
          dtype: info.dtype, shape: same ? shape : [1, shape.reduce(1, *)],
          bytes: Array(bytes[$0 * size..<($0 + 1) * size]))
      }
    }
  }

  // ---- internals

  /// The function and its input with a suitable record.
  private func recorded(
    _ function: String?, _ input: String?, _ what: String, _ fits: (InputRecord) -> Bool
  ) throws -> (FunctionInfo, Int) {
    let owner = try self.function(function)
    let names = owner.inputs.map(\.name)
    if let input, !names.contains(input) {
      throw SamaraError(
        .unknownName, .notFound, "the model has no input '\(input)'",
        fix: "it has \(names.joined(separator: ", "))")
    }
    let index = owner.inputs.firstIndex { info in
      (input ?? info.name) == info.name && info.record.map(fits) ?? false
    }
    if let index { return (owner, index) }
    throw SamaraError(
      .unsupported, .notFound, "the file does not say how \(what) becomes an input",
      fix: "export it with preprocess=")
  }

  private func check(_ status: samara_status) throws {
    if status != SAMARA_OK { throw SamaraError(status, "") }
  }

  /// The shape written by a function of the runtime.
  private static func shape(
    _ call: (
      UnsafeMutablePointer<Int64>, UnsafeMutablePointer<Int32>, UnsafeMutablePointer<samara_error>
    ) -> samara_status
  ) throws -> [Int] {
    var sizes = [Int64](repeating: 0, count: Int(SAMARA_MAX_RANK))
    var rank: Int32 = 0
    try Samara.check { call(&sizes, &rank, $0) }
    return sizes.prefix(Int(rank)).map { Int($0) }
  }

  /// The bytes of a tensor of that shape, written by a function of the runtime.
  private static func bytes(
    _ dtype: DType, _ shape: [Int],
    _ call: (UnsafeMutableRawBufferPointer, UnsafeMutablePointer<samara_error>) -> samara_status
  ) throws -> [UInt8] {
    guard let count = Tensor.count(of: shape).flatMap({ dtype.bytes(of: $0) }) else {
      throw SamaraError(
        .limit, .limit, "a tensor of \(shape) does not fit memory", fix: "give less at once")
    }
    var bytes = [UInt8](repeating: 0, count: count)
    try Samara.check { error in bytes.withUnsafeMutableBytes { call($0, error) } }
    return bytes
  }
}
