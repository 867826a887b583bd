// SPDX-License-Identifier: Apache-2.0
// A session: runs one function of a model.
#import <Foundation/Foundation.h>

#import "SMRAnswer.h"
#import "SMRImage.h"
#import "SMRModel.h"
#import "SMRTensor.h"

NS_ASSUME_NONNULL_BEGIN

struct samara_session;
struct samara_pool;

// Runs one function of a model. Holds the activations and the state.
//
// One call at a time: a concurrent call from another thread fails with SMRErrorBadState. Give every
// thread its own session; sessions of one model share its weights. Only cancel may be called at any
// time.
@interface SMRSession : NSObject {
 @private
  struct samara_session *_handle;
  struct samara_pool *_pool;
  SMRModel *_model;
  NSString *_function;
  NSArray<SMRTensorInfo *> *_inputs;
  NSArray<SMRTensorInfo *> *_outputs;
  NSLock *_lock;
  int32_t _taken;
}

@property(nonatomic, readonly, strong) SMRModel *model;
@property(nonatomic, readonly, copy) NSString *function;
@property(nonatomic, readonly, copy) NSArray<SMRTensorInfo *> *inputs;
@property(nonatomic, readonly, copy) NSArray<SMRTensorInfo *> *outputs;

// A session of the first function, in as many threads as there are cores, at most 4.
- (nullable instancetype)initWithModel:(SMRModel *)model error:(NSError **)error;
// function: nil for the first. threads: 0 for as many as there are cores, at most 4.
- (nullable instancetype)initWithModel:(SMRModel *)model
                              function:(nullable NSString *)function
                               threads:(NSInteger)threads
                                 error:(NSError **)error NS_DESIGNATED_INITIALIZER;
- (instancetype)init NS_UNAVAILABLE;

// Run on named inputs, all of them, and return the outputs by their names. New shapes resize the
// session. Errors: SMRErrorNotFound for a wrong name, SMRErrorBadShape for a wrong type or shape.
- (nullable NSDictionary<NSString *, SMRTensor *> *)
    runWithInputs:(NSDictionary<NSString *, SMRTensor *> *)inputs
            error:(NSError **)error;
// Run on a picture, and return the answer in pixels of that picture. The file must have an image
// record for its only input, and a record for the outputs.
- (nullable SMRAnswer *)predictImage:(SMRImage *)image error:(NSError **)error;
// Reset the state to the initial values of the file.
- (BOOL)reset:(NSError **)error;

// Stop a run in another thread, which fails with SMRErrorCancelled at its next node. Does nothing
// without one.
- (void)cancel;
// Release the memory; the session can no longer run. May be called twice. Fails during another
// call. A session without references closes automatically.
- (BOOL)close:(NSError **)error;

@end

NS_ASSUME_NONNULL_END
