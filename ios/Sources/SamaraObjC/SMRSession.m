// SPDX-License-Identifier: Apache-2.0
// Sessions as objects. One call at a time may use a session.
#if __has_include(<Foundation/Foundation.h>)  // else compile nothing
#import "SMRInternal.h"

// The index of a name; SIZE_MAX and an error if it is unknown.
static size_t index_of(NSString *name, NSArray<SMRTensorInfo *> *infos, NSError **error) {
  NSMutableArray<NSString *> *names = [NSMutableArray array];
  for (SMRTensorInfo *info in infos) {
    if ([info.name isEqual:name]) return names.count;
    [names addObject:info.name];
  }
  SMRFail(error, SAMARA_NOT_FOUND,
          [NSString stringWithFormat:@"it has %@", [names componentsJoinedByString:@", "]],
          [NSString stringWithFormat:@"the model has no input '%@'", name]);
  return SIZE_MAX;
}

// Describe the inputs or outputs of a function.
static NSArray<SMRTensorInfo *> *infos_of(const samara_model *model, const char *function,
                                          BOOL outputs) {
  NSMutableArray<SMRTensorInfo *> *all = [NSMutableArray array];
  const size_t count = outputs ? samara_model_output_count(model, function)
                               : samara_model_input_count(model, function);
  for (size_t i = 0; i < count; i++) {
    samara_tensor_info info;
    const samara_status status = outputs ? samara_model_output_info(model, function, i, &info)
                                         : samara_model_input_info(model, function, i, &info);
    if (status == SAMARA_OK) [all addObject:[SMRTensorInfo infoWithNative:&info]];
  }
  return all;
}

@implementation SMRSession

@synthesize model = _model;
@synthesize function = _function;
@synthesize inputs = _inputs;
@synthesize outputs = _outputs;

- (instancetype)initWithModel:(SMRModel *)model error:(NSError **)error {
  return [self initWithModel:model function:nil threads:0 error:error];
}

- (instancetype)initWithModel:(SMRModel *)model
                     function:(NSString *)function
                      threads:(NSInteger)threads
                        error:(NSError **)error {
  self = [super init];
  if (self == nil) return nil;
  if ([self open:model function:function threads:threads error:error]) return self;
  SMR_RELEASE(self);
  return nil;
}

- (BOOL)open:(SMRModel *)model
    function:(NSString *)function
     threads:(NSInteger)threads
       error:(NSError **)error {
  if (model.handle == NULL) {
    return SMRFail(error, SAMARA_BAD_ARGUMENT, @"open the model first, and look at its error",
                   @"the model is nil");
  }
  if (threads < 0) {
    return SMRFail(error, SAMARA_BAD_ARGUMENT, @"give 1 or more, or 0 for up to 4",
                   [NSString stringWithFormat:@"threads is %ld", (long)threads]);
  }
  samara_error said = {0};
  const samara_pool_options pool = {.struct_size = sizeof pool, .threads = (size_t)threads};
  if (threads != 1 && !SMRCheck(samara_pool_create(&pool, &_pool, &said), said.text, error)) {
    return NO;
  }
  _function = [(function == nil ? model.functions.firstObject : function) copy];
  const samara_session_options options = {
      .struct_size = sizeof options, .function = _function.UTF8String, .pool = _pool};
  const samara_status status = samara_session_create(model.handle, &options, &_handle, &said);
  if (!SMRCheck(status, said.text, error)) return NO;
  _model = SMR_RETAIN(model);
  _inputs = [infos_of(model.handle, _function.UTF8String, NO) copy];
  _outputs = [infos_of(model.handle, _function.UTF8String, YES) copy];
  _lock = [[NSLock alloc] init];
  return YES;
}

- (void)dealloc {
  [self destroy];
  SMR_RELEASE(_model);
  SMR_RELEASE(_function);
  SMR_RELEASE(_inputs);
  SMR_RELEASE(_outputs);
  SMR_RELEASE(_lock);
  SMR_DEALLOC_SUPER;
}

- (void)destroy {
  [_lock lock];
  samara_session *closing = _handle;
  _handle = NULL;
  [_lock unlock];
  samara_session_destroy(closing);
  samara_pool_destroy(_pool);
  _pool = NULL;
}

// ---- one call at a time ----

- (BOOL)take:(NSError **)error {
  if (!samara_flag_take(&_taken)) {
    return SMRFail(
        error, SAMARA_BAD_STATE,
        @"give every thread a session of its own; sessions of one model share its weights",
        @"the session is in use by another call");
  }
  if (_handle != NULL) return YES;
  samara_flag_give(&_taken);
  return SMRFail(error, SAMARA_BAD_STATE, @"create another one, or close it later",
                 @"the session is closed");
}

- (BOOL)check:(samara_status)status error:(NSError **)error {
  return SMRCheck(status, samara_session_error(_handle), error);
}

- (void)cancel {
  [_lock lock];
  samara_session_cancel(_handle);
  [_lock unlock];
}

- (BOOL)close:(NSError **)error {
  if (!samara_flag_take(&_taken)) return [self take:error];  // writes why it is refused
  [self destroy];
  samara_flag_give(&_taken);
  return YES;
}

- (BOOL)reset:(NSError **)error {
  if (![self take:error]) return NO;
  const BOOL done = [self check:samara_session_reset(_handle) error:error];
  samara_flag_give(&_taken);
  return done;
}

// ---- runs ----

- (NSDictionary<NSString *, SMRTensor *> *)runWithInputs:
                                               (NSDictionary<NSString *, SMRTensor *> *)inputs
                                                   error:(NSError **)error {
  if (![self checkNames:inputs error:error] || ![self take:error]) return nil;
  NSDictionary<NSString *, SMRTensor *> *made = nil;
  if ([self feed:inputs error:error] && [self check:samara_session_run(_handle) error:error]) {
    made = [self results:error];
  }
  samara_flag_give(&_taken);
  return made;
}

// Check that the function has one input, a record for pictures, and an answer.
- (BOOL)checkPicture:(SMRImage *)image error:(NSError **)error {
  if (image == nil || _inputs.count != 1) {
    return SMRFail(
        error, SAMARA_BAD_ARGUMENT, @"use a model with one input, or runWithInputs:error:",
        image == nil ? @"the picture is nil" : @"the function takes more than a picture");
  }
  const char *name = _function.UTF8String;
  samara_image_record record = {.struct_size = sizeof record};
  if (samara_model_image_record(_model.handle, name, 0, &record) != SAMARA_OK) {
    return SMRFail(error, SAMARA_NOT_FOUND, @"export it with preprocess=, or give tensors",
                   @"the file does not say how a picture becomes an input");
  }
  if (samara_model_answer_kind(_model.handle, name) == 0) {
    return SMRFail(error, SAMARA_NOT_FOUND, @"export it with postprocess=, or give tensors",
                   @"the file does not say what the outputs mean");
  }
  return YES;
}

- (SMRAnswer *)predictImage:(SMRImage *)image error:(NSError **)error {
  if (![self checkPicture:image error:error]) return nil;
  if (![self take:error]) return nil;
  samara_answer native = {.struct_size = sizeof native};
  SMRAnswer *made = nil;
  if ([image setInput:0 ofSession:_handle error:error] &&
      [self check:samara_session_run(_handle) error:error] &&
      [self check:samara_session_answer(_handle, &native) error:error]) {
    made = [SMRAnswer answerWithNative:&native];
  }
  samara_flag_give(&_taken);
  return made;
}

// Check that every input has a tensor of its type and that no other name is given.
- (BOOL)checkNames:(NSDictionary<NSString *, SMRTensor *> *)inputs error:(NSError **)error {
  for (NSString *name in inputs) {
    const size_t index = index_of(name, _inputs, error);
    if (index == SIZE_MAX) return NO;
    SMRTensor *tensor = [inputs objectForKey:name];
    if (![tensor isKindOfClass:[SMRTensor class]]) {
      return SMRFail(error, SAMARA_BAD_ARGUMENT, @"give an SMRTensor",
                     [NSString stringWithFormat:@"input '%@' is no tensor", name]);
    }
    const SMRElementType type = [_inputs objectAtIndex:index].elementType;
    if (tensor.elementType != type) {
      return SMRFail(
          error, SAMARA_BAD_SHAPE, @"make the tensor of that type",
          [NSString stringWithFormat:@"input '%@' has elements of type %lu, not %lu", name,
                                     (unsigned long)type, (unsigned long)tensor.elementType]);
    }
  }
  for (SMRTensorInfo *info in _inputs) {
    if ([inputs objectForKey:info.name] != nil) continue;
    return SMRFail(error, SAMARA_BAD_SHAPE, @"give all inputs of the function",
                   [NSString stringWithFormat:@"no value for '%@'", info.name]);
  }
  return YES;
}

- (BOOL)feed:(NSDictionary<NSString *, SMRTensor *> *)inputs error:(NSError **)error {
  if (![self resize:inputs error:error]) return NO;
  for (size_t i = 0; i < _inputs.count; i++) {
    NSData *data = [inputs objectForKey:[_inputs objectAtIndex:i].name].data;
    const samara_status status = samara_session_set_input(_handle, i, data.bytes, data.length);
    if (![self check:status error:error]) return NO;
  }
  return YES;
}

// Whether the input's current shape is that one.
- (BOOL)input:(size_t)index hasShape:(NSArray<NSNumber *> *)shape {
  samara_tensor now;
  if (samara_session_input(_handle, index, &now) != SAMARA_OK) return NO;
  if ((NSUInteger)now.rank != shape.count) return NO;
  for (NSUInteger axis = 0; axis < shape.count; axis++) {
    if (now.shape[axis] != [shape objectAtIndex:axis].longLongValue) return NO;
  }
  return YES;
}

- (BOOL)resize:(NSDictionary<NSString *, SMRTensor *> *)inputs error:(NSError **)error {
  const size_t count = _inputs.count;
  BOOL same = YES;
  for (size_t i = 0; i < count; i++) {
    NSArray<NSNumber *> *shape = [inputs objectForKey:[_inputs objectAtIndex:i].name].shape;
    if (shape.count != [_inputs objectAtIndex:i].shape.count) {
      return SMRFail(
          error, SAMARA_BAD_SHAPE, @"give a size for each dim",
          [NSString stringWithFormat:@"input '%@' has %lu dims, not %lu",
                                     [_inputs objectAtIndex:i].name,
                                     (unsigned long)[_inputs objectAtIndex:i].shape.count,
                                     (unsigned long)shape.count]);
    }
    same = same && [self input:i hasShape:shape];
  }
  if (same) return YES;
  NSMutableData *sizes = [NSMutableData dataWithLength:count * SAMARA_MAX_RANK * sizeof(int64_t)];
  NSMutableData *places = [NSMutableData dataWithLength:count * sizeof(int64_t *)];
  int64_t *next = sizes.mutableBytes;
  const int64_t **shapes = places.mutableBytes;
  for (size_t i = 0; i < count; i++, next += SAMARA_MAX_RANK) {
    NSArray<NSNumber *> *shape = [inputs objectForKey:[_inputs objectAtIndex:i].name].shape;
    for (NSUInteger axis = 0; axis < shape.count; axis++)
      next[axis] = [shape objectAtIndex:axis].longLongValue;
    shapes[i] = next;
  }
  return [self check:samara_session_resize(_handle, shapes, count) error:error];
}

- (NSDictionary<NSString *, SMRTensor *> *)results:(NSError **)error {
  NSMutableDictionary<NSString *, SMRTensor *> *made = [NSMutableDictionary dictionary];
  for (size_t i = 0; i < _outputs.count; i++) {
    samara_tensor native;
    if (![self check:samara_session_output(_handle, i, &native) error:error]) return nil;
    [made setObject:[SMRTensor tensorWithNative:&native] forKey:[_outputs objectAtIndex:i].name];
  }
  return made;
}

@end

#endif
