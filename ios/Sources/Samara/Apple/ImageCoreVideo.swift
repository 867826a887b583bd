// SPDX-License-Identifier: Apache-2.0
// Frames of a camera as pictures, without a copy.
#if canImport(CoreVideo)
  import CSamara
  import CoreVideo

  extension Image {
    /// A camera or video frame. Its memory is read in place during a call.
    ///
    /// Formats: BGRA, RGBA, RGB, BGR, one component of 8 bits, and 4:2:0 of YCbCr in two or three
    /// planes, whose range and matrix are taken from the buffer. .unsupported names another one.
    public init(_ buffer: CVPixelBuffer, rotation: Rotation = .none, mirror: Bool = false) throws {
      let code = CVPixelBufferGetPixelFormatType(buffer)
      guard let found = Self.known[code] else {
        throw SamaraError(
          .unsupported, .unsupported, "the buffer's pixel format is '\(Self.fourLetters(code))'",
          fix: "ask the camera for kCVPixelFormatType_32BGRA or …420YpCbCr8BiPlanarFullRange")
      }
      try self.init(
        PixelBuffer(buffer), format: found.format, width: CVPixelBufferGetWidth(buffer),
        height: CVPixelBufferGetHeight(buffer))
      self.rotation = rotation
      self.mirror = mirror
      range = found.range
      if found.range != nil { matrix = Self.matrix(of: buffer) }
    }

    private static let known: [OSType: (format: Format, range: Range?)] = [
      kCVPixelFormatType_32BGRA: (.bgra, nil),
      kCVPixelFormatType_32RGBA: (.rgba, nil),
      kCVPixelFormatType_24RGB: (.rgb, nil),
      kCVPixelFormatType_24BGR: (.bgr, nil),
      kCVPixelFormatType_OneComponent8: (.gray, nil),
      kCVPixelFormatType_420YpCbCr8BiPlanarVideoRange: (.nv12, .limited),
      kCVPixelFormatType_420YpCbCr8BiPlanarFullRange: (.nv12, .full),
      kCVPixelFormatType_420YpCbCr8Planar: (.i420, .limited),
      kCVPixelFormatType_420YpCbCr8PlanarFullRange: (.i420, .full),
    ]

    /// nil if the buffer has none, or an unknown one.
    private static func matrix(of buffer: CVPixelBuffer) -> Matrix? {
      guard let said = CVBufferCopyAttachment(buffer, kCVImageBufferYCbCrMatrixKey, nil) else {
        return nil
      }
      if CFEqual(said, kCVImageBufferYCbCrMatrix_ITU_R_709_2) { return .bt709 }
      return CFEqual(said, kCVImageBufferYCbCrMatrix_ITU_R_601_4) ? .bt601 : nil
    }

    private static func fourLetters(_ code: OSType) -> String {
      let letters = (0..<4).map { UInt8(truncatingIfNeeded: code >> (24 - 8 * $0)) }
      return letters.allSatisfy { 32..<127 ~= $0 }
        ? String(decoding: letters, as: UTF8.self) : "\(code)"
    }
  }

  /// A buffer that is locked while its planes are lent, and must not change meanwhile.
  private struct PixelBuffer: ImageSource, @unchecked Sendable {
    private let buffer: CVPixelBuffer

    init(_ buffer: CVPixelBuffer) { self.buffer = buffer }

    func lend(_ body: ([samara_plane]) throws -> Void) throws {
      let status = CVPixelBufferLockBaseAddress(buffer, .readOnly)
      guard status == kCVReturnSuccess else {
        throw SamaraError(
          .other, .badArgument, "the pixel buffer cannot be locked: CVReturn \(status)",
          fix: "give a buffer in memory that the CPU reads")
      }
      defer { CVPixelBufferUnlockBaseAddress(buffer, .readOnly) }
      try body(CVPixelBufferIsPlanar(buffer) ? planes() : [whole()])
    }

    private func whole() -> samara_plane {
      Self.plane(
        CVPixelBufferGetBaseAddress(buffer), CVPixelBufferGetBytesPerRow(buffer),
        CVPixelBufferGetHeight(buffer))
    }

    private func planes() -> [samara_plane] {
      (0..<CVPixelBufferGetPlaneCount(buffer)).map {
        Self.plane(
          CVPixelBufferGetBaseAddressOfPlane(buffer, $0),
          CVPixelBufferGetBytesPerRowOfPlane(buffer, $0), CVPixelBufferGetHeightOfPlane(buffer, $0))
      }
    }

    private static func plane(_ data: UnsafeMutableRawPointer?, _ stride: Int, _ rows: Int)
      -> samara_plane
    {
      var plane = samara_plane()
      plane.data = UnsafeRawPointer(data)
      plane.row_stride = stride
      plane.size_bytes = data == nil ? 0 : stride * rows
      return plane
    }
  }
#endif
