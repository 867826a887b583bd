// SPDX-License-Identifier: Apache-2.0
// Pictures from callers: common pixel formats with strides, crop and rotation.
import CSamara
import Foundation

/// A picture of 8 bits per channel.
///
///     let picture = try Image(rgba, format: .rgba, width: 640, height: 480)
///     let answer = try session.predict(picture)
///
/// With CoreVideo, CoreGraphics or UIKit see also Image(pixelBuffer) and Image(cgImage).
public struct Image: Sendable {
  /// Pixel formats.
  public enum Format: UInt32, Hashable, Sendable, CaseIterable {
    case rgb = 1
    case bgr
    /// Alpha is ignored.
    case rgba
    case bgra
    case gray
    /// A plane of Y, a plane of alternating V and U.
    case nv21
    /// A plane of Y, a plane of alternating U and V.
    case nv12
    /// Planes of Y, U and V.
    case i420

    /// Bytes of a sample, by plane.
    var channels: [Int] {
      switch self {
      case .rgb, .bgr: return [3]
      case .rgba, .bgra: return [4]
      case .gray: return [1]
      case .nv21, .nv12: return [1, 2]
      case .i420: return [1, 1, 1]
      }
    }
  }

  /// Degrees clockwise that make the picture upright.
  public enum Rotation: UInt32, Hashable, Sendable, CaseIterable {
    case none = 0
    case right = 90
    case half = 180
    case left = 270
  }

  public enum Matrix: UInt32, Hashable, Sendable {
    case bt601 = 1
    case bt709
  }
  public enum Range: UInt32, Hashable, Sendable {
    case limited = 1
    case full
  }

  /// A part of a picture, in its pixels.
  public struct Rectangle: Hashable, Sendable {
    public var x: Int, y: Int, width: Int, height: Int
    public init(x: Int, y: Int, width: Int, height: Int) {
      self.x = x
      self.y = y
      self.width = width
      self.height = height
    }
  }

  /// Bytes of one plane. A stride of 0 means contiguous.
  public struct Plane: Hashable, Sendable {
    public var data: Data
    public var rowStride: Int
    public var pixelStride: Int
    public init(_ data: Data, rowStride: Int = 0, pixelStride: Int = 0) {
      self.data = data
      self.rowStride = rowStride
      self.pixelStride = pixelStride
    }
  }

  public let format: Format
  public let width: Int
  public let height: Int
  /// The crop, before the rotation; nil: the whole picture.
  public var crop: Rectangle?
  public var rotation = Rotation.none
  /// Whether to flip horizontally after the rotation.
  public var mirror = false
  /// Conversion from YUV to RGB; nil: that of the model's record, else BT.601.
  public var matrix: Matrix?
  /// Range of YUV; nil: that of the model's record, else limited.
  public var range: Range?

  let source: any ImageSource

  /// Largest width and height of a picture.
  static let maxSide = 16384

  init(_ source: any ImageSource, format: Format, width: Int, height: Int) throws {
    guard 1...Self.maxSide ~= width, 1...Self.maxSide ~= height else {
      throw SamaraError(
        .shape, .badShape, "the picture is \(width)x\(height)",
        fix: "give sides of 1 to \(Self.maxSide) pixels")
    }
    self.format = format
    self.width = width
    self.height = height
    self.source = source
  }

  /// A picture with contiguous planes. Chroma planes in nv12, nv21 and i420 have (width + 1) / 2 by
  /// (height + 1) / 2 samples.
  public init(_ bytes: [UInt8], format: Format, width: Int, height: Int) throws {
    try self.init(Data(bytes), format: format, width: width, height: height)
  }

  /// A picture with contiguous planes.
  public init(_ data: Data, format: Format, width: Int, height: Int) throws {
    guard 1...Self.maxSide ~= width, 1...Self.maxSide ~= height else {
      try self.init(PlanesOfData([]), format: format, width: width, height: height)
      return
    }
    let small = ((width + 1) / 2) * ((height + 1) / 2)
    let sizes = format.channels.enumerated().map { $0 == 0 ? width * height * $1 : small * $1 }
    let total = sizes.reduce(0, +)
    guard data.count == total else {
      throw SamaraError(
        .shape, .badShape,
        "\(data.count) bytes for a picture in \(format) of \(width)x\(height), expected \(total)",
        fix: "give its planes with their strides where rows have gaps")
    }
    var planes: [Plane] = []
    var at = data.startIndex
    for size in sizes {
      planes.append(Plane(data.subdata(in: at..<at + size)))
      at += size
    }
    try self.init(PlanesOfData(planes), format: format, width: width, height: height)
  }

  /// A picture of planes with strides.
  public init(planes: [Plane], format: Format, width: Int, height: Int) throws {
    guard planes.count == format.channels.count else {
      throw SamaraError(
        .shape, .badShape, "\(planes.count) planes for a picture in \(format)",
        fix: "give \(format.channels.count)")
    }
    guard planes.allSatisfy({ $0.rowStride >= 0 && $0.pixelStride >= 0 }) else {
      throw SamaraError(
        .shape, .badShape, "a stride of the picture is negative", fix: "flip the picture's rows")
    }
    try self.init(PlanesOfData(planes), format: format, width: width, height: height)
  }
}

/// The memory of a picture. `lend` calls `body` with the planes, which are valid during the call.
protocol ImageSource: Sendable {
  func lend(_ body: ([samara_plane]) throws -> Void) throws
}

/// Planes in Swift arrays.
struct PlanesOfData: ImageSource {
  let planes: [Image.Plane]
  init(_ planes: [Image.Plane]) { self.planes = planes }

  func lend(_ body: ([samara_plane]) throws -> Void) throws {
    try lend(0, [], body)
  }

  private func lend(
    _ index: Int, _ lent: [samara_plane], _ body: ([samara_plane]) throws -> Void
  ) throws {
    if index == planes.count { return try body(lent) }
    try planes[index].data.withUnsafeBytes { bytes in
      var plane = samara_plane()
      plane.data = bytes.baseAddress
      plane.size_bytes = bytes.count
      plane.row_stride = planes[index].rowStride
      plane.pixel_stride = planes[index].pixelStride
      try lend(index + 1, lent + [plane], body)
    }
  }
}

extension Image {
  /// Call `body` with the picture as a struct of the C runtime.
  func withNative(_ body: (UnsafePointer<samara_image>) throws -> Void) throws {
    var native = samara_image()
    native.struct_size = MemoryLayout<samara_image>.size
    native.format = samara_image_format(rawValue: format.rawValue)
    native.width = UInt32(width)
    native.height = UInt32(height)
    if let crop { try Self.put(crop, &native) }
    native.rotation = rotation.rawValue
    native.mirror = mirror
    native.matrix = samara_yuv_matrix(rawValue: matrix?.rawValue ?? 0)
    native.range = samara_yuv_range(rawValue: range?.rawValue ?? 0)
    try source.lend { planes in
      withUnsafeMutableBytes(of: &native.planes) { raw in
        let places = raw.bindMemory(to: samara_plane.self)
        for (index, plane) in planes.prefix(places.count).enumerated() { places[index] = plane }
      }
      try body(&native)
    }
  }

  private static func put(_ crop: Rectangle, _ native: inout samara_image) throws {
    let sides = [crop.x, crop.y, crop.width, crop.height]
    guard sides.allSatisfy({ 0...maxSide ~= $0 }), crop.width > 0, crop.height > 0 else {
      throw SamaraError(
        .shape, .badShape, "the crop is \(sides)",
        fix: "give x, y, width, height inside the picture")
    }
    native.crop_x = UInt32(crop.x)
    native.crop_y = UInt32(crop.y)
    native.crop_width = UInt32(crop.width)
    native.crop_height = UInt32(crop.height)
  }
}

extension Image: CustomStringConvertible {
  public var description: String { "Image(\(format) \(width)x\(height))" }
}
