// SPDX-License-Identifier: Apache-2.0
// Errors as NSError.
#import <Foundation/Foundation.h>

NS_ASSUME_NONNULL_BEGIN

// The domain of all errors. Codes are the runtime's, below. The localized description says what
// happened; the localized recovery suggestion, if any, what to do.
extern NSString *const SMRErrorDomain;
// The names of the node in the author's model and of its operator, if known.
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
