// SPDX-License-Identifier: Apache-2.0
// Describes a model's functions, inputs and outputs.
import CSamara

/// A dim of an input or output: a fixed size, or the name of a symbolic one.
public enum Dimension: Hashable, Sendable, ExpressibleByIntegerLiteral, CustomStringConvertible {
  case fixed(Int)
  case symbolic(String)

  public init(integerLiteral value: Int) { self = .fixed(value) }
  /// The size; nil if the dim is symbolic.
  public var size: Int? {
    if case .fixed(let size) = self { return size }
    return nil
  }
  public var description: String {
    switch self {
    case .fixed(let size): return "\(size)"
    case .symbolic(let name): return name
    }
  }
}

/// What an input accepts besides tensors, as the file's record says.
public enum InputRecord: Hashable, Sendable {
  /// A picture: `Session.setImage`, `Session.predict`.
  case picture
  /// Sound, resampled to this rate: `Session.listen`.
  case sound(rate: Int)
}

/// Name, element type and shape of an input or output.
public struct TensorInfo: Hashable, Sendable {
  public let name: String
  public let dtype: DType
  public let shape: [Dimension]
  /// Set for a quantized tensor: real = scale * (stored - zeroPoint). Otherwise nil.
  public let scale: Float?
  public let zeroPoint: Int?
  /// How a picture or sound becomes this input; nil if the file has no record of it.
  public let record: InputRecord?

  init(_ native: samara_tensor_info, record: InputRecord? = nil) throws {
    self.record = record
    name = String(cString: native.name)
    dtype = try DType(native.dtype)
    shape = withUnsafeBytes(of: native.shape) { sizes in
      withUnsafeBytes(of: native.dim_names) { names in
        (0..<Int(native.rank)).map { axis in
          let size = sizes.bindMemory(to: Int64.self)[axis]
          if size >= 0 { return .fixed(Int(size)) }
          let name = names.bindMemory(to: UnsafePointer<CChar>?.self)[axis]
          return .symbolic(name.map { String(cString: $0) } ?? "?")
        }
      }
    }
    scale = dtype == .qint8 ? native.scale : nil
    zeroPoint = dtype == .qint8 ? Int(native.zero_point) : nil
  }
}

/// One function of a model: what it takes and returns.
public struct FunctionInfo: Hashable, Sendable {
  /// The kind of answer that `Session.predict` returns.
  public enum AnswerKind: Int, Hashable, Sendable {
    case classification = 1
    case mask
    case detections
    case keypoints
  }

  public let name: String
  public let inputs: [TensorInfo]
  public let outputs: [TensorInfo]
  /// Whether a run may allocate memory, because some dim has no known bound.
  public let isGrowing: Bool
  /// nil if the file does not say what the outputs mean.
  public let answer: AnswerKind?
}

extension FunctionInfo {
  init(_ model: OpaquePointer, _ name: String) throws {
    self.name = name
    inputs = try (0..<samara_model_input_count(model, name)).map { index in
      var info = samara_tensor_info()
      try Self.check(samara_model_input_info(model, name, index, &info))
      return try TensorInfo(info, record: InputRecord(model, name, index))
    }
    outputs = try (0..<samara_model_output_count(model, name)).map { index in
      var info = samara_tensor_info()
      try Self.check(samara_model_output_info(model, name, index, &info))
      return try TensorInfo(info)
    }
    isGrowing = samara_model_is_growing(model, name)
    answer = AnswerKind(rawValue: Int(samara_model_answer_kind(model, name)))
  }

  private static func check(_ status: samara_status) throws {
    if status != SAMARA_OK { throw SamaraError(status, "") }
  }
}

extension InputRecord {
  /// The record of an input; nil if it has none.
  init?(_ model: OpaquePointer, _ function: String, _ index: Int) {
    var picture = samara_image_record()
    picture.struct_size = MemoryLayout<samara_image_record>.size
    var sound = samara_audio_record()
    sound.struct_size = MemoryLayout<samara_audio_record>.size
    if samara_model_image_record(model, function, index, &picture) == SAMARA_OK {
      self = .picture
    } else if samara_model_audio_record(model, function, index, &sound) == SAMARA_OK {
      self = .sound(rate: Int(sound.rate))
    } else {
      return nil
    }
  }
}
