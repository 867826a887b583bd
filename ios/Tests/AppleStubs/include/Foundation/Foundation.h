// SPDX-License-Identifier: Apache-2.0
// Declarations of Foundation that SamaraObjC uses, after Apple's documentation, to check its types
// on machines without it. Nothing runs.
#ifndef SAMARA_STUB_FOUNDATION_H_
#define SAMARA_STUB_FOUNDATION_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define NS_ASSUME_NONNULL_BEGIN _Pragma("clang assume_nonnull begin")
#define NS_ASSUME_NONNULL_END _Pragma("clang assume_nonnull end")
#define NS_DESIGNATED_INITIALIZER __attribute__((objc_designated_initializer))
#define NS_UNAVAILABLE __attribute__((unavailable))
#define NS_ENUM(type, name) \
  enum name : type name;    \
  enum __attribute__((enum_extensibility(open))) name : type

typedef bool BOOL;
#define nil NULL
#define YES ((BOOL)1)
#define NO ((BOOL)0)
typedef long NSInteger;
typedef unsigned long NSUInteger;
#define NSNotFound ((NSInteger)INTPTR_MAX)

typedef struct NSRange {
  NSUInteger location;
  NSUInteger length;
} NSRange;
static inline NSUInteger NSMaxRange(NSRange range) { return range.location + range.length; }

@class NSArray<ObjectType>, NSBundle, NSData, NSString;
typedef NSString *NSErrorDomain;
typedef NSString *NSErrorUserInfoKey;

NS_ASSUME_NONNULL_BEGIN

__attribute__((objc_root_class))
@interface NSObject
+ (instancetype)alloc;
+ (Class)class;
- (instancetype)init NS_DESIGNATED_INITIALIZER;
- (void)dealloc;
- (id)copy;
- (BOOL)isEqual:(nullable id)object;
- (BOOL)isKindOfClass:(Class)aClass;
@end

typedef struct NSFastEnumerationState {
  unsigned long state;
  id __unsafe_unretained _Nullable *_Nullable itemsPtr;
  unsigned long *_Nullable mutationsPtr;
  unsigned long extra[5];
} NSFastEnumerationState;

@interface NSCharacterSet : NSObject
+ (NSCharacterSet *)characterSetWithCharactersInString:(NSString *)aString;
@end

typedef NSUInteger NSStringEncoding;
enum { NSUTF8StringEncoding = 4 };

@interface NSString : NSObject
+ (nullable instancetype)stringWithUTF8String:(const char *)nullTerminatedCString;
+ (instancetype)stringWithFormat:(NSString *)format,
                                 ... __attribute__((format(__NSString__, 1, 2)));
@property(readonly, nullable) const char *UTF8String __attribute__((objc_returns_inner_pointer));
- (NSRange)rangeOfString:(NSString *)searchString;
- (NSRange)rangeOfCharacterFromSet:(NSCharacterSet *)searchSet;
- (NSString *)substringFromIndex:(NSUInteger)from;
- (NSString *)substringToIndex:(NSUInteger)to;
- (nullable NSData *)dataUsingEncoding:(NSStringEncoding)encoding;
@end

@interface NSNumber : NSObject
+ (NSNumber *)numberWithLongLong:(long long)value;
+ (NSNumber *)numberWithFloat:(float)value;
@property(readonly) long long longLongValue;
@end

@interface NSData : NSObject
+ (instancetype)dataWithBytes:(nullable const void *)bytes length:(NSUInteger)length;
- (instancetype)initWithBytes:(nullable const void *)bytes length:(NSUInteger)length;
- (void)getBytes:(void *)buffer length:(NSUInteger)length;
@property(readonly) NSUInteger length;
@property(readonly) const void *bytes __attribute__((objc_returns_inner_pointer));
@end

@interface NSMutableData : NSData
+ (nullable instancetype)dataWithLength:(NSUInteger)length;
@property(readonly) void *mutableBytes __attribute__((objc_returns_inner_pointer));
@end

@interface NSArray<__covariant ObjectType> : NSObject
+ (instancetype)array;
@property(readonly) NSUInteger count;
@property(nullable, nonatomic, readonly) ObjectType firstObject;
- (ObjectType)objectAtIndex:(NSUInteger)index;
- (NSString *)componentsJoinedByString:(NSString *)separator;
- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState *)state
                                  objects:(id __unsafe_unretained _Nullable[_Nonnull])buffer
                                    count:(NSUInteger)len;
@end

@interface NSMutableArray<ObjectType> : NSArray <ObjectType>
- (void)addObject:(ObjectType)anObject;
@end

@interface NSDictionary<__covariant KeyType, __covariant ObjectType> : NSObject
- (nullable ObjectType)objectForKey:(KeyType)aKey;
- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState *)state
                                  objects:(id __unsafe_unretained _Nullable[_Nonnull])buffer
                                    count:(NSUInteger)len;
@end

@interface NSMutableDictionary<KeyType, ObjectType> : NSDictionary <KeyType, ObjectType>
+ (instancetype)dictionary;
- (void)setObject:(ObjectType)anObject forKey:(KeyType)aKey;
@end

@interface NSError : NSObject
+ (instancetype)errorWithDomain:(NSErrorDomain)domain
                           code:(NSInteger)code
                       userInfo:(nullable NSDictionary<NSErrorUserInfoKey, id> *)dict;
@end
extern NSErrorUserInfoKey const NSLocalizedDescriptionKey;
extern NSErrorUserInfoKey const NSLocalizedRecoverySuggestionErrorKey;

@interface NSBundle : NSObject
@property(class, readonly, strong) NSBundle *mainBundle;
@property(readonly, copy) NSString *bundlePath;
- (nullable NSString *)pathForResource:(nullable NSString *)name ofType:(nullable NSString *)ext;
@end

typedef NSUInteger NSJSONReadingOptions;
@interface NSJSONSerialization : NSObject
+ (nullable id)JSONObjectWithData:(NSData *)data
                          options:(NSJSONReadingOptions)opt
                            error:(NSError **)error;
@end

@interface NSLock : NSObject
- (void)lock;
- (void)unlock;
@end

NS_ASSUME_NONNULL_END

#endif
