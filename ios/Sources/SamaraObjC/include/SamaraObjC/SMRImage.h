// SPDX-License-Identifier: Apache-2.0
// Pictures from callers.
#import <Foundation/Foundation.h>
#if __has_include(<CoreVideo/CoreVideo.h>)
#import <CoreVideo/CoreVideo.h>
#define SMR_HAS_CORE_VIDEO 1
#endif

NS_ASSUME_NONNULL_BEGIN

// Pixel formats.
typedef NS_ENUM(NSUInteger, SMRImageFormat) {
  SMRImageFormatRGB = 1,
  SMRImageFormatBGR,
  SMRImageFormatRGBA,  // alpha is ignored
  SMRImageFormatBGRA,
  SMRImageFormatGray,
  SMRImageFormatNV21,  // a plane of Y, a plane of alternating V and U
  SMRImageFormatNV12,  // a plane of Y, a plane of alternating U and V
  SMRImageFormatI420   // planes of Y, U and V
};

// Degrees clockwise that make a picture upright.
typedef NS_ENUM(NSUInteger, SMRImageRotation) {
  SMRImageRotationNone = 0,
  SMRImageRotationRight = 90,
  SMRImageRotationHalf = 180,
  SMRImageRotationLeft = 270
};

// A picture of 8 bits per channel.
@interface SMRImage : NSObject {
 @private
  SMRImageFormat _format;
  NSUInteger _width, _height;
  SMRImageRotation _rotation;
  BOOL _mirror;
  NSData *_data;
  void *_buffer;
  unsigned _range, _matrix;
}

@property(nonatomic, readonly) SMRImageFormat format;
@property(nonatomic, readonly) NSUInteger width;
@property(nonatomic, readonly) NSUInteger height;
@property(nonatomic) SMRImageRotation rotation;
// Whether to flip horizontally after the rotation.
@property(nonatomic) BOOL mirror;

// A picture with contiguous planes. Chroma planes in NV12, NV21 and I420 have (width + 1) / 2 by
// (height + 1) / 2 samples. SMRErrorBadShape if `data` has another size.
- (nullable instancetype)initWithData:(NSData *)data
                               format:(SMRImageFormat)format
                                width:(NSUInteger)width
                               height:(NSUInteger)height
                                error:(NSError **)error;
#if SMR_HAS_CORE_VIDEO
// A camera or video frame, read in place during a call: BGRA, RGBA, RGB, BGR, one component of 8
// bits, and 4:2:0 YCbCr with the buffer's range and matrix. SMRErrorUnsupported for other formats.
- (nullable instancetype)initWithPixelBuffer:(CVPixelBufferRef)buffer error:(NSError **)error;
#endif
- (instancetype)init NS_UNAVAILABLE;

@end

NS_ASSUME_NONNULL_END
