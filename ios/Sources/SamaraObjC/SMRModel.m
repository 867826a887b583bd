// SPDX-License-Identifier: Apache-2.0
// Models as objects.
#if __has_include(<Foundation/Foundation.h>)  // else compile nothing
#import "SMRInternal.h"

static NSDictionary<NSString *, NSString *> *metadata_of(const samara_model *model) {
  NSMutableDictionary<NSString *, NSString *> *pairs = [NSMutableDictionary dictionary];
  for (size_t i = 0; i < samara_model_metadata_count(model); i++) {
    const char *key = NULL, *value = NULL;
    if (samara_model_metadata(model, i, &key, &value) != SAMARA_OK) continue;
    [pairs setObject:SMRText(value, @"") forKey:SMRText(key, @"")];
  }
  return pairs;
}

// Parse metadata "labels", a JSON list of texts; empty if it is anything else.
static NSArray<NSString *> *labels_in(NSDictionary<NSString *, NSString *> *metadata) {
  NSData *text = [[metadata objectForKey:@"labels"] dataUsingEncoding:NSUTF8StringEncoding];
  if (text == nil) return [NSArray array];
  id list = [NSJSONSerialization JSONObjectWithData:text options:0 error:NULL];
  if (![list isKindOfClass:[NSArray class]]) return [NSArray array];
  for (id each in (NSArray *)list) {
    if (![each isKindOfClass:[NSString class]]) return [NSArray array];
  }
  return list;
}

@implementation SMRModel

@synthesize functions = _functions;
@synthesize metadata = _metadata;
@synthesize labels = _labels;

- (struct samara_model *)handle {
  return _handle;
}

- (instancetype)initWithPath:(NSString *)path error:(NSError **)error {
  self = [super init];
  if (self == nil) return nil;
  samara_error said = {0};
  const samara_status status = samara_model_open_path(path.UTF8String, NULL, &_handle, &said);
  return [self read:SMRCheck(status, said.text, error)];
}

- (instancetype)initWithName:(NSString *)name bundle:(NSBundle *)bundle error:(NSError **)error {
  NSBundle *place = bundle == nil ? [NSBundle mainBundle] : bundle;
  NSString *path = [place pathForResource:name ofType:@"samara"];
  if (path != nil) return [self initWithPath:path error:error];
  NSString *message =
      [NSString stringWithFormat:@"%@.samara is not in the bundle %@", name, place.bundlePath];
  SMRFail(error, SAMARA_IO, @"add the file to the target's \"Copy Bundle Resources\"", message);
  SMR_RELEASE(self);
  return nil;
}

- (instancetype)initWithData:(NSData *)data error:(NSError **)error {
  self = [super init];
  if (self == nil) return nil;
  samara_error said = {0};
  const samara_model_options options = {.struct_size = sizeof options, .copy = true};
  // The runtime needs a multiple of 4 as address, which a subrange of other data may not have.
  void *aligned = malloc(data.length + 1);
  samara_status status = SAMARA_OUT_OF_MEMORY;
  if (aligned != NULL) {
    [data getBytes:aligned length:data.length];
    status = samara_model_open_memory(aligned, data.length, &options, &_handle, &said);
  }
  free(aligned);
  return [self read:SMRCheck(status, said.text, error)];
}

// Read the opened model's description; returns nil if opening failed.
- (instancetype)read:(BOOL)opened {
  if (!opened) {
    SMR_RELEASE(self);
    return nil;
  }
  NSMutableArray<NSString *> *names = [NSMutableArray array];
  for (size_t i = 0; i < samara_model_function_count(_handle); i++) {
    [names addObject:SMRText(samara_model_function_name(_handle, i), @"")];
  }
  _functions = [names copy];
  _metadata = [metadata_of(_handle) copy];
  _labels = [labels_in(_metadata) copy];
  return self;
}

- (void)dealloc {
  samara_model_close(_handle);
  SMR_RELEASE(_functions);
  SMR_RELEASE(_metadata);
  SMR_RELEASE(_labels);
  SMR_DEALLOC_SUPER;
}

- (BOOL)selftest:(NSError **)error {
  samara_error said = {0};
  return SMRCheck(samara_model_selftest(_handle, &said), said.text, error);
}

@end

#endif
