// SPDX-License-Identifier: Apache-2.0
// Tensors for and from runs, and their descriptions.
#import <Foundation/Foundation.h>

NS_ASSUME_NONNULL_BEGIN

// The type of a tensor's elements, by the codes of the file format.
typedef NS_ENUM(NSUInteger, SMRElementType) {
  SMRElementTypeFloat32 = 1,
  SMRElementTypeFloat16,
  SMRElementTypeInt8,
  SMRElementTypeQInt8,  // int8 with a scale and a zero point
  SMRElementTypeUInt8,
  SMRElementTypeInt32,
  SMRElementTypeInt64,
  SMRElementTypeBool,
  SMRElementTypeFloat64,
  SMRElementTypeBFloat16,
  SMRElementTypeInt16,
  SMRElementTypeUInt16,
  SMRElementTypeUInt32,
  SMRElementTypeUInt64,
  SMRElementTypeInt4,  // two to a byte, the first in the low half
  SMRElementTypeUInt4
};

// A dense, row-major, immutable tensor.
@interface SMRTensor : NSObject {
 @private
  SMRElementType _elementType;
  NSArray<NSNumber *> *_shape;
  NSData *_data;
}

@property(nonatomic, readonly) SMRElementType elementType;
@property(nonatomic, readonly, copy) NSArray<NSNumber *> *shape;
// The elements, little-endian.
@property(nonatomic, readonly, copy) NSData *data;

// SMRErrorBadShape if the size of `data` does not match the shape.
- (nullable instancetype)initWithData:(NSData *)data
                          elementType:(SMRElementType)type
                                shape:(NSArray<NSNumber *> *)shape
                                error:(NSError **)error NS_DESIGNATED_INITIALIZER;
- (instancetype)init NS_UNAVAILABLE;

@end

// Name, element type and shape of an input or output.
@interface SMRTensorInfo : NSObject {
 @private
  NSString *_name;
  SMRElementType _elementType;
  NSArray<NSNumber *> *_shape;
}

@property(nonatomic, readonly, copy) NSString *name;
@property(nonatomic, readonly) SMRElementType elementType;
// -1 for symbolic dims.
@property(nonatomic, readonly, copy) NSArray<NSNumber *> *shape;

@end

NS_ASSUME_NONNULL_END
