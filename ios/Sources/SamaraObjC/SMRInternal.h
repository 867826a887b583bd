// SPDX-License-Identifier: Apache-2.0
// Shared by the classes, which compile with and without automatic reference counting (ARC).
#import "SamaraObjC/SamaraObjC.h"

#if __has_include(<CSamara/CSamara.h>)
#include <CSamara/CSamara.h>
#else
#include <samara/samara.h>
#include <samara/samara_media.h>
#include <samara_swift.h>
#endif

#if __has_feature(objc_arc)
#define SMR_RELEASE(object) ((void)0)
#define SMR_AUTORELEASE(object) (object)
#define SMR_RETAIN(object) (object)
#define SMR_DEALLOC_SUPER ((void)0)
#else
#define SMR_RELEASE(object) [(object) release]
#define SMR_AUTORELEASE(object) [(object) autorelease]
#define SMR_RETAIN(object) [(object) retain]
#define SMR_DEALLOC_SUPER [super dealloc]
#endif

NS_ASSUME_NONNULL_BEGIN

// Write an error and return NO. `fix` says what to do.
BOOL SMRFail(NSError **error, NSInteger code, NSString *_Nullable fix, NSString *message);
// Whether `status` is SAMARA_OK; if not, write an error. An empty `text` means the status itself.
BOOL SMRCheck(samara_status status, const char *_Nullable text, NSError **error);
// A text of the runtime; `other` if it is NULL or not UTF-8.
NSString *SMRText(const char *_Nullable text, NSString *other);

@interface SMRTensor (Native)
// Copies a tensor of the runtime.
+ (SMRTensor *)tensorWithNative:(const samara_tensor *)native;
@end

@interface SMRTensorInfo (Native)
+ (SMRTensorInfo *)infoWithNative:(const samara_tensor_info *)native;
@end

@interface SMRAnswer (Native)
// Copies an answer out of the session's memory.
+ (SMRAnswer *)answerWithNative:(const samara_answer *)native;
@end

@interface SMRImage (Native)
// Set the picture as an input.
- (BOOL)setInput:(size_t)index ofSession:(samara_session *)session error:(NSError **)error;
@end

@interface SMRModel (Native)
// NULL if opening failed.
@property(nonatomic, readonly) struct samara_model *_Nullable handle;
@end

NS_ASSUME_NONNULL_END
