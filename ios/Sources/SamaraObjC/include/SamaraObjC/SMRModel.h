// SPDX-License-Identifier: Apache-2.0
// A model: a .samara file, opened and verified.
#import <Foundation/Foundation.h>

NS_ASSUME_NONNULL_BEGIN

struct samara_model;

// An immutable model, shared by any number of sessions and threads.
//
// A file is mapped and must not change while the model is open. Errors: SMRErrorFile if the file
// cannot be read, SMRErrorBadModel, ...Version and ...Checksum if it is not a valid model,
// SMRErrorUnsupported for an operator that this build of the runtime lacks.
@interface SMRModel : NSObject {
 @private
  struct samara_model *_handle;
  NSArray<NSString *> *_functions;
  NSDictionary<NSString *, NSString *> *_metadata;
  NSArray<NSString *> *_labels;
}

// The functions that a session can run; the first is the default.
@property(nonatomic, readonly, copy) NSArray<NSString *> *functions;
// Keys and values stored in the file.
@property(nonatomic, readonly, copy) NSDictionary<NSString *, NSString *> *metadata;
// The names of classes by number; empty if the file has none.
@property(nonatomic, readonly, copy) NSArray<NSString *> *labels;

- (nullable instancetype)initWithPath:(NSString *)path error:(NSError **)error;
// `name`.samara of a bundle: the app's own for nil.
- (nullable instancetype)initWithName:(NSString *)name
                               bundle:(nullable NSBundle *)bundle
                                error:(NSError **)error;
// The bytes of a file, which are copied.
- (nullable instancetype)initWithData:(NSData *)data error:(NSError **)error;
- (instancetype)init NS_UNAVAILABLE;

// Run the golden inputs stored in the file. The error names the output that differs, or says that
// there are no golden inputs.
- (BOOL)selftest:(NSError **)error;

@end

NS_ASSUME_NONNULL_END
