// SPDX-License-Identifier: Apache-2.0
// Declarations of CoreVideo and CoreFoundation that SamaraObjC uses, after Apple's documentation,
// to check its types on machines without them. Nothing runs.
#ifndef SAMARA_STUB_CORE_VIDEO_H_
#define SAMARA_STUB_CORE_VIDEO_H_

#include <stddef.h>
#include <stdint.h>

typedef uint32_t OSType;
typedef const void *CFTypeRef;
typedef const struct __CFString *CFStringRef;
typedef unsigned char Boolean;
typedef struct __CVBuffer *CVBufferRef;
typedef CVBufferRef CVImageBufferRef;
typedef CVImageBufferRef CVPixelBufferRef;
typedef int32_t CVReturn;
typedef uint64_t CVPixelBufferLockFlags;
typedef uint32_t CVAttachmentMode;

enum { kCVReturnSuccess = 0, kCVPixelBufferLock_ReadOnly = 1 };
enum {
  kCVPixelFormatType_32BGRA = 'BGRA',
  kCVPixelFormatType_32RGBA = 'RGBA',
  kCVPixelFormatType_24RGB = 0x18,
  kCVPixelFormatType_24BGR = '24BG',
  kCVPixelFormatType_OneComponent8 = 'L008',
  kCVPixelFormatType_420YpCbCr8BiPlanarVideoRange = '420v',
  kCVPixelFormatType_420YpCbCr8BiPlanarFullRange = '420f',
  kCVPixelFormatType_420YpCbCr8Planar = 'y420',
  kCVPixelFormatType_420YpCbCr8PlanarFullRange = 'f420'
};

extern const CFStringRef kCVImageBufferYCbCrMatrixKey;
extern const CFStringRef kCVImageBufferYCbCrMatrix_ITU_R_709_2;
extern const CFStringRef kCVImageBufferYCbCrMatrix_ITU_R_601_4;

Boolean CFEqual(CFTypeRef cf1, CFTypeRef cf2);
void CFRelease(CFTypeRef cf);
CFTypeRef CVBufferCopyAttachment(CVBufferRef buffer, CFStringRef key, CVAttachmentMode *mode);
CVPixelBufferRef CVPixelBufferRetain(CVPixelBufferRef texture);
void CVPixelBufferRelease(CVPixelBufferRef texture);
OSType CVPixelBufferGetPixelFormatType(CVPixelBufferRef buffer);
size_t CVPixelBufferGetWidth(CVPixelBufferRef buffer);
size_t CVPixelBufferGetHeight(CVPixelBufferRef buffer);
CVReturn CVPixelBufferLockBaseAddress(CVPixelBufferRef buffer, CVPixelBufferLockFlags flags);
CVReturn CVPixelBufferUnlockBaseAddress(CVPixelBufferRef buffer, CVPixelBufferLockFlags flags);
Boolean CVPixelBufferIsPlanar(CVPixelBufferRef buffer);
void *CVPixelBufferGetBaseAddress(CVPixelBufferRef buffer);
size_t CVPixelBufferGetBytesPerRow(CVPixelBufferRef buffer);
size_t CVPixelBufferGetPlaneCount(CVPixelBufferRef buffer);
void *CVPixelBufferGetBaseAddressOfPlane(CVPixelBufferRef buffer, size_t index);
size_t CVPixelBufferGetBytesPerRowOfPlane(CVPixelBufferRef buffer, size_t index);
size_t CVPixelBufferGetHeightOfPlane(CVPixelBufferRef buffer, size_t index);

#endif
