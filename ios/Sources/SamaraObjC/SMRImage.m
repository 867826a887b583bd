// SPDX-License-Identifier: Apache-2.0
// Pictures, passed to the runtime without a copy.
#if __has_include(<Foundation/Foundation.h>)  // else compile nothing
#import "SMRInternal.h"

// Bytes of a sample of plane `plane`; 0 if the format has no such plane.
static size_t bytes_per_sample(SMRImageFormat format, int plane) {
  switch (format) {
    case SMRImageFormatRGB:
    case SMRImageFormatBGR:
      return plane == 0 ? 3 : 0;
    case SMRImageFormatRGBA:
    case SMRImageFormatBGRA:
      return plane == 0 ? 4 : 0;
    case SMRImageFormatGray:
      return plane == 0 ? 1 : 0;
    case SMRImageFormatNV21:
    case SMRImageFormatNV12:
      return plane == 0 ? 1 : plane == 1 ? 2 : 0;
    case SMRImageFormatI420:
      return 1;
  }
  return 0;
}

static size_t bytes_of_plane(SMRImageFormat format, int plane, size_t width, size_t height) {
  const size_t samples = plane == 0 ? width * height : ((width + 1) / 2) * ((height + 1) / 2);
  return samples * bytes_per_sample(format, plane);
}

@implementation SMRImage

@synthesize format = _format;
@synthesize width = _width;
@synthesize height = _height;
@synthesize rotation = _rotation;
@synthesize mirror = _mirror;

- (instancetype)initWithData:(NSData *)data
                      format:(SMRImageFormat)format
                       width:(NSUInteger)width
                      height:(NSUInteger)height
                       error:(NSError **)error {
  self = [super init];
  if (self == nil) return nil;
  const BOOL fits = width - 1 < SAMARA_MAX_SIDE && height - 1 < SAMARA_MAX_SIDE;
  size_t expected = 0;
  for (int plane = 0; fits && plane < 3; plane++) {
    expected += bytes_of_plane(format, plane, width, height);
  }
  if (data == nil || expected == 0 || data.length != expected) {
    SMRFail(error, SAMARA_BAD_SHAPE, @"give sides of 1 to 16384 pixels, and planes without gaps",
            [NSString stringWithFormat:@"%lu bytes for a picture of format %lu and %lux%lu pixels, "
                                       @"expected %zu",
                                       (unsigned long)data.length, (unsigned long)format,
                                       (unsigned long)width, (unsigned long)height, expected]);
    SMR_RELEASE(self);
    return nil;
  }
  _format = format;
  _width = width;
  _height = height;
  _data = [data copy];
  return self;
}

- (void)dealloc {
#if SMR_HAS_CORE_VIDEO
  CVPixelBufferRelease((CVPixelBufferRef)_buffer);
#endif
  SMR_RELEASE(_data);
  SMR_DEALLOC_SUPER;
}

// The native picture without its planes.
- (samara_image)native {
  samara_image native = {.struct_size = sizeof native,
                         .format = (samara_image_format)_format,
                         .width = (uint32_t)_width,
                         .height = (uint32_t)_height,
                         .rotation = (uint32_t)_rotation,
                         .mirror = _mirror,
                         .matrix = (samara_yuv_matrix)_matrix,
                         .range = (samara_yuv_range)_range};
  return native;
}

- (BOOL)setInput:(size_t)index ofSession:(samara_session *)session error:(NSError **)error {
#if SMR_HAS_CORE_VIDEO
  if (_buffer != NULL) return [self setBufferAsInput:index ofSession:session error:error];
#endif
  samara_image native = [self native];
  const char *at = _data.bytes;
  for (int plane = 0; plane < 3; plane++) {
    const size_t bytes = bytes_of_plane(_format, plane, _width, _height);
    if (bytes == 0) continue;
    native.planes[plane] = (samara_plane){.data = at, .size_bytes = bytes};
    at += bytes;
  }
  const samara_status status = samara_session_set_image(session, index, &native);
  return SMRCheck(status, samara_session_error(session), error);
}

#if SMR_HAS_CORE_VIDEO

typedef struct pixel_format {
  OSType code;
  SMRImageFormat format;
  unsigned range;
} pixel_format;

static const pixel_format formats[] = {
    {kCVPixelFormatType_32BGRA, SMRImageFormatBGRA, 0},
    {kCVPixelFormatType_32RGBA, SMRImageFormatRGBA, 0},
    {kCVPixelFormatType_24RGB, SMRImageFormatRGB, 0},
    {kCVPixelFormatType_24BGR, SMRImageFormatBGR, 0},
    {kCVPixelFormatType_OneComponent8, SMRImageFormatGray, 0},
    {kCVPixelFormatType_420YpCbCr8BiPlanarVideoRange, SMRImageFormatNV12, SAMARA_LIMITED_RANGE},
    {kCVPixelFormatType_420YpCbCr8BiPlanarFullRange, SMRImageFormatNV12, SAMARA_FULL_RANGE},
    {kCVPixelFormatType_420YpCbCr8Planar, SMRImageFormatI420, SAMARA_LIMITED_RANGE},
    {kCVPixelFormatType_420YpCbCr8PlanarFullRange, SMRImageFormatI420, SAMARA_FULL_RANGE},
};

// 0 if the buffer names no colour matrix or one that the runtime does not know.
static unsigned matrix_of(CVPixelBufferRef buffer) {
  CFTypeRef said = CVBufferCopyAttachment(buffer, kCVImageBufferYCbCrMatrixKey, NULL);
  if (said == NULL) return 0;
  unsigned matrix = CFEqual(said, kCVImageBufferYCbCrMatrix_ITU_R_601_4) ? SAMARA_BT601 : 0;
  if (CFEqual(said, kCVImageBufferYCbCrMatrix_ITU_R_709_2)) matrix = SAMARA_BT709;
  CFRelease(said);
  return matrix;
}

- (instancetype)initWithPixelBuffer:(CVPixelBufferRef)buffer error:(NSError **)error {
  self = [super init];
  if (self == nil) return nil;
  const OSType code = buffer == NULL ? 0 : CVPixelBufferGetPixelFormatType(buffer);
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    if (code != formats[i].code) continue;
    _format = formats[i].format;
    _range = formats[i].range;
    _matrix = _range == 0 ? 0 : matrix_of(buffer);
    _width = CVPixelBufferGetWidth(buffer);
    _height = CVPixelBufferGetHeight(buffer);
    _buffer = CVPixelBufferRetain(buffer);
    return self;
  }
  SMRFail(error, SAMARA_UNSUPPORTED, @"ask the camera for kCVPixelFormatType_32BGRA",
          [NSString stringWithFormat:@"the buffer's pixel format is 0x%08x", (unsigned)code]);
  SMR_RELEASE(self);
  return nil;
}

static samara_plane plane_of(const void *data, size_t stride, size_t rows) {
  return (samara_plane){
      .data = data, .size_bytes = data == NULL ? 0 : stride * rows, .row_stride = stride};
}

- (BOOL)setBufferAsInput:(size_t)index ofSession:(samara_session *)session error:(NSError **)error {
  CVPixelBufferRef buffer = (CVPixelBufferRef)_buffer;
  if (CVPixelBufferLockBaseAddress(buffer, kCVPixelBufferLock_ReadOnly) != kCVReturnSuccess) {
    return SMRFail(error, SAMARA_BAD_ARGUMENT, @"give a buffer in memory that the CPU reads",
                   @"the pixel buffer cannot be locked");
  }
  samara_image native = [self native];
  const size_t planes = CVPixelBufferIsPlanar(buffer) ? CVPixelBufferGetPlaneCount(buffer) : 0;
  for (size_t i = 0; i < planes && i < 3; i++) {
    native.planes[i] = plane_of(CVPixelBufferGetBaseAddressOfPlane(buffer, i),
                                CVPixelBufferGetBytesPerRowOfPlane(buffer, i),
                                CVPixelBufferGetHeightOfPlane(buffer, i));
  }
  if (planes == 0) {
    native.planes[0] =
        plane_of(CVPixelBufferGetBaseAddress(buffer), CVPixelBufferGetBytesPerRow(buffer),
                 CVPixelBufferGetHeight(buffer));
  }
  const samara_status status = samara_session_set_image(session, index, &native);
  CVPixelBufferUnlockBaseAddress(buffer, kCVPixelBufferLock_ReadOnly);
  return SMRCheck(status, samara_session_error(session), error);
}

#endif

@end

#endif
