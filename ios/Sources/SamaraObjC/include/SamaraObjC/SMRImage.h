// SPDX-License-Identifier: Apache-2.0
// Pictures as callers have them.
#import <Foundation/Foundation.h>
#if __has_include(<CoreVideo/CoreVideo.h>)
#import <CoreVideo/CoreVideo.h>
#define SMR_HAS_CORE_VIDEO 1
#endif

NS_ASSUME_NONNULL_BEGIN

// How the bytes of a picture lie.
typedef NS_ENUM(NSUInteger, SMRImageFormat) {
  SMRImageFormatRGB = 1,
  SMRImageFormatBGR,
  SMRImageFormatRGBA,  // alpha is ignored
  SMRImageFormatBGRA,
  SMRImageFormatGray,
  SMRImageFormatNV21,  // a plane of Y, a plane of V and U by turns
  SMRImageFormatNV12,  // a plane of Y, a plane of U and V by turns
  SMRImageFormatI420   // a plane of Y, of U, of V
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
// Whether left and right change places after the rotation.
@property(nonatomic) BOOL mirror;

// A picture whose planes follow each other, without gaps. Those of colours in NV12, NV21 and I420
// have (width + 1) / 2 by (height + 1) / 2 samples. SMRErrorBadShape where `data` has another size.
- (nullable instancetype)initWithData:(NSData *)data
                               format:(SMRImageFormat)format
                                width:(NSUInteger)width
                               height:(NSUInteger)height
                                error:(NSError **)error;
#if SMR_HAS_CORE_VIDEO
// A frame of a camera or a video, whose memory is read where it lies during a call: BGRA, RGBA,
// RGB, BGR, one component of 8 bits, and 4:2:0 of YCbCr, whose range and matrix are taken from the
// buffer. SMRErrorUnsupported names another format.
- (nullable instancetype)initWithPixelBuffer:(CVPixelBufferRef)buffer error:(NSError **)error;
#endif
- (instancetype)init NS_UNAVAILABLE;

@end

NS_ASSUME_NONNULL_END
