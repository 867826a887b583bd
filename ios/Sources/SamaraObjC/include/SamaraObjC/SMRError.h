// SPDX-License-Identifier: Apache-2.0
// What goes wrong, as NSError.
#import <Foundation/Foundation.h>

NS_ASSUME_NONNULL_BEGIN

// The domain of all errors. Codes are the runtime's, below. What happened is the localized
// description, what to do, where there is something to say, the localized recovery suggestion.
extern NSString *const SMRErrorDomain;
// The name of the node in the author's model, and of its operator, where the error has them.
extern NSString *const SMRErrorNodeKey;
extern NSString *const SMRErrorOperatorKey;

// The numbers of samara.h, which never change.
typedef NS_ENUM(NSInteger, SMRErrorCode) {
  SMRErrorBadArgument = 10,
  SMRErrorBadShape = 11,
  SMRErrorNotFound = 12,
  SMRErrorBadState = 13,
  SMRErrorBadModel = 20,
  SMRErrorBadVersion = 21,
  SMRErrorBadChecksum = 22,
  SMRErrorSelftestFailed = 23,
  SMRErrorUnsupported = 30,
  SMRErrorOutOfMemory = 40,
  SMRErrorLimit = 41,
  SMRErrorCancelled = 42,
  SMRErrorFile = 50,
  SMRErrorBadData = 60,
  SMRErrorTrap = 61,
  SMRErrorCustomOp = 62,
  SMRErrorBackend = 70
};

NS_ASSUME_NONNULL_END
