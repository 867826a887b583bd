// SPDX-License-Identifier: Apache-2.0
// Declarations of CoreVideo that the package uses, after Apple's documentation, to check its types
// on machines without them. Nothing runs.
import Foundation

public typealias OSType = UInt32
// Any, not AnyObject: Linux does not bridge Foundation's strings to Swift's.
public typealias CFTypeRef = Any
public typealias CFString = String
public typealias CVReturn = Int32
public class CVBuffer {}
public typealias CVImageBuffer = CVBuffer
public typealias CVPixelBuffer = CVImageBuffer

public struct CVAttachmentMode { public let rawValue: UInt32 }
public struct CVPixelBufferLockFlags: OptionSet {
  public let rawValue: UInt64
  public init(rawValue: UInt64) { self.rawValue = rawValue }
  public static var readOnly: CVPixelBufferLockFlags { .init(rawValue: 1) }
}

public var kCVReturnSuccess: CVReturn { 0 }
public var kCVPixelFormatType_32BGRA: OSType { 0x4247_5241 }
public var kCVPixelFormatType_32RGBA: OSType { 0x5247_4241 }
public var kCVPixelFormatType_24RGB: OSType { 0x18 }
public var kCVPixelFormatType_24BGR: OSType { 0x3234_4247 }
public var kCVPixelFormatType_OneComponent8: OSType { 0x4c30_3038 }
public var kCVPixelFormatType_420YpCbCr8BiPlanarVideoRange: OSType { 0x3432_3076 }
public var kCVPixelFormatType_420YpCbCr8BiPlanarFullRange: OSType { 0x3432_3066 }
public var kCVPixelFormatType_420YpCbCr8Planar: OSType { 0x7934_3230 }
public var kCVPixelFormatType_420YpCbCr8PlanarFullRange: OSType { 0x6634_3230 }
public let kCVPixelBufferPixelFormatTypeKey: CFString = ""
public let kCVImageBufferYCbCrMatrixKey: CFString = ""
public let kCVImageBufferYCbCrMatrix_ITU_R_709_2: CFString = ""
public let kCVImageBufferYCbCrMatrix_ITU_R_601_4: CFString = ""

public func CFEqual(_ cf1: CFTypeRef!, _ cf2: CFTypeRef!) -> Bool { fatalError() }
public func CVBufferCopyAttachment(
  _ buffer: CVBuffer, _ key: CFString, _ attachmentMode: UnsafeMutablePointer<CVAttachmentMode>?
) -> CFTypeRef? { fatalError() }
public func CVPixelBufferGetPixelFormatType(_ pixelBuffer: CVPixelBuffer) -> OSType { fatalError() }
public func CVPixelBufferGetWidth(_ pixelBuffer: CVPixelBuffer) -> Int { fatalError() }
public func CVPixelBufferGetHeight(_ pixelBuffer: CVPixelBuffer) -> Int { fatalError() }
@discardableResult
public func CVPixelBufferLockBaseAddress(
  _ pixelBuffer: CVPixelBuffer, _ lockFlags: CVPixelBufferLockFlags
) -> CVReturn { fatalError() }
@discardableResult
public func CVPixelBufferUnlockBaseAddress(
  _ pixelBuffer: CVPixelBuffer, _ unlockFlags: CVPixelBufferLockFlags
) -> CVReturn { fatalError() }
public func CVPixelBufferIsPlanar(_ pixelBuffer: CVPixelBuffer) -> Bool { fatalError() }
public func CVPixelBufferGetBaseAddress(_ pixelBuffer: CVPixelBuffer) -> UnsafeMutableRawPointer? {
  fatalError()
}
public func CVPixelBufferGetBytesPerRow(_ pixelBuffer: CVPixelBuffer) -> Int { fatalError() }
public func CVPixelBufferGetPlaneCount(_ pixelBuffer: CVPixelBuffer) -> Int { fatalError() }
public func CVPixelBufferGetBaseAddressOfPlane(
  _ pixelBuffer: CVPixelBuffer, _ planeIndex: Int
) -> UnsafeMutableRawPointer? { fatalError() }
public func CVPixelBufferGetBytesPerRowOfPlane(
  _ pixelBuffer: CVPixelBuffer, _ planeIndex: Int
) -> Int { fatalError() }
public func CVPixelBufferGetHeightOfPlane(
  _ pixelBuffer: CVPixelBuffer, _ planeIndex: Int
) -> Int { fatalError() }
