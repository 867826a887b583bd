// SPDX-License-Identifier: Apache-2.0
// Tensors as objects.
#if __has_include(<Foundation/Foundation.h>)  // else compile nothing
#import "SMRInternal.h"

// Bits of an element; 0 for an unknown type.
static NSUInteger bits_of(SMRElementType type) {
  switch (type) {
    case SMRElementTypeInt4:
    case SMRElementTypeUInt4:
      return 4;
    case SMRElementTypeInt8:
    case SMRElementTypeQInt8:
    case SMRElementTypeUInt8:
    case SMRElementTypeBool:
      return 8;
    case SMRElementTypeFloat16:
    case SMRElementTypeBFloat16:
    case SMRElementTypeInt16:
    case SMRElementTypeUInt16:
      return 16;
    case SMRElementTypeFloat32:
    case SMRElementTypeInt32:
    case SMRElementTypeUInt32:
      return 32;
    case SMRElementTypeFloat64:
    case SMRElementTypeInt64:
    case SMRElementTypeUInt64:
      return 64;
  }
  return 0;
}

// Compute a tensor's bytes; NO if a size is negative or the product overflows.
static BOOL bytes_of(SMRElementType type, NSArray<NSNumber *> *shape, size_t *bytes) {
  size_t count = 1;
  for (NSNumber *size in shape) {
    if (![size isKindOfClass:[NSNumber class]] || size.longLongValue < 0) return NO;
    if (__builtin_mul_overflow(count, (size_t)size.longLongValue, &count)) return NO;
  }
  const NSUInteger bits = bits_of(type);
  if (bits == 4) *bytes = count / 2 + count % 2;
  if (bits == 4) return YES;
  return bits != 0 && !__builtin_mul_overflow(count, bits / 8, bytes);
}

static NSArray<NSNumber *> *shape_of(const int64_t *sizes, int32_t rank) {
  NSMutableArray<NSNumber *> *shape = [NSMutableArray array];
  for (int32_t axis = 0; axis < rank; axis++) {
    [shape addObject:[NSNumber numberWithLongLong:sizes[axis]]];
  }
  return shape;
}

@implementation SMRTensor

@synthesize elementType = _elementType;
@synthesize shape = _shape;
@synthesize data = _data;

- (instancetype)initWithData:(NSData *)data
                 elementType:(SMRElementType)type
                       shape:(NSArray<NSNumber *> *)shape
                       error:(NSError **)error {
  self = [super init];
  if (self == nil) return nil;
  size_t bytes = 0;
  if (data == nil || shape == nil || !bytes_of(type, shape, &bytes) || data.length != bytes) {
    NSString *sizes = [shape componentsJoinedByString:@", "];
    SMRFail(error, SAMARA_BAD_SHAPE, @"give as many elements as the shape has",
            [NSString stringWithFormat:@"%lu bytes for elements of type %lu and shape [%@]",
                                       (unsigned long)data.length, (unsigned long)type, sizes]);
    SMR_RELEASE(self);
    return nil;
  }
  _elementType = type;
  _shape = [shape copy];
  _data = [data copy];
  return self;
}

- (void)dealloc {
  SMR_RELEASE(_shape);
  SMR_RELEASE(_data);
  SMR_DEALLOC_SUPER;
}

+ (SMRTensor *)tensorWithNative:(const samara_tensor *)native {
  NSData *data = [NSData dataWithBytes:native->data length:native->size_bytes];
  SMRTensor *made = [[SMRTensor alloc] initWithData:data
                                        elementType:(SMRElementType)native->dtype
                                              shape:shape_of(native->shape, native->rank)
                                              error:NULL];
  return SMR_AUTORELEASE(made);
}

@end

@implementation SMRTensorInfo

@synthesize name = _name;
@synthesize elementType = _elementType;
@synthesize shape = _shape;

+ (SMRTensorInfo *)infoWithNative:(const samara_tensor_info *)native {
  SMRTensorInfo *made = SMR_AUTORELEASE([[SMRTensorInfo alloc] init]);
  made->_name = [SMRText(native->name, @"") copy];
  made->_elementType = (SMRElementType)native->dtype;
  made->_shape = [shape_of(native->shape, native->rank) copy];
  return made;
}

- (void)dealloc {
  SMR_RELEASE(_name);
  SMR_RELEASE(_shape);
  SMR_DEALLOC_SUPER;
}

@end

#endif
