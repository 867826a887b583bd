// SPDX-License-Identifier: Apache-2.0
// A session: a place to run one function of a model.
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
// One call at a time: one that comes while another thread is inside fails with SMRErrorBadState,
// and nothing waits or crashes. Give every thread a session of its own; sessions of one model share
// its weights. cancel alone may be called at any time.
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
// Run on a picture, and return what the outputs mean, in pixels of that picture. The file must say
// how a picture becomes an input, the only one, and what the outputs mean.
- (nullable SMRAnswer *)predictImage:(SMRImage *)image error:(NSError **)error;
// Set the state back to what it is in the file.
- (BOOL)reset:(NSError **)error;

// Stop the run that is going on in another thread, which fails with SMRErrorCancelled at its next
// node. Without one it does nothing.
- (void)cancel;
// Give back the memory; the session cannot run any more. Twice is harmless. Fails while another
// call is inside. A session that nobody refers to any more closes by itself.
- (BOOL)close:(NSError **)error;

@end

NS_ASSUME_NONNULL_END
