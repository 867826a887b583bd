// SPDX-License-Identifier: Apache-2.0
// Tests SamaraObjC on GNUstep against the results of Python that tests/e2e/swift_cases.py wrote.
//
//   main FOLDER ROUNDS
#import <Foundation/Foundation.h>
#import <SamaraObjC/SamaraObjC.h>

static NSString *folder;
static int failures;

#define EXPECT(...)                                                                            \
  do {                                                                                         \
    if (!(__VA_ARGS__)) failures++, printf("main.m:%d: not so: %s\n", __LINE__, #__VA_ARGS__); \
  } while (0)

static NSString *in_folder(NSString *name) { return [folder stringByAppendingPathComponent:name]; }

// GNUstep's old runtime does not support subscripts.
static id get(NSDictionary *from, NSString *name) { return [from objectForKey:name]; }

static NSData *file(NSString *name) { return [NSData dataWithContentsOfFile:in_folder(name)]; }

static id json(NSString *name) {
  return [NSJSONSerialization JSONObjectWithData:file(name) options:0 error:NULL];
}

static SMRModel *model_of(NSString *name) {
  NSError *error = nil;
  SMRModel *model = [[SMRModel alloc] initWithPath:in_folder(name) error:&error];
  if (model == nil) NSLog(@"%@: %@", name, error);
  return [model autorelease];
}

static SMRElementType type_of(NSString *name) {
  NSArray *names = @[
    @"", @"float32", @"float16", @"int8", @"qint8", @"uint8", @"int32", @"int64", @"bool",
    @"float64", @"bfloat16", @"int16", @"uint16", @"uint32", @"uint64", @"int4", @"uint4"
  ];
  return (SMRElementType)[names indexOfObject:name];
}

static SMRTensor *tensor_of(NSDictionary *stored) {
  NSError *error = nil;
  SMRTensor *made = [[SMRTensor alloc] initWithData:file(get(stored, @"file"))
                                        elementType:type_of(get(stored, @"dtype"))
                                              shape:get(stored, @"shape")
                                              error:&error];
  if (made == nil) NSLog(@"%@: %@", stored, error);
  return [made autorelease];
}

static NSDictionary *tensors_of(NSDictionary *stored) {
  NSMutableDictionary *made = [NSMutableDictionary dictionary];
  for (NSString *name in stored) [made setObject:tensor_of(get(stored, name)) forKey:name];
  return made;
}

// Every run of every model returns the same bytes as in Python.
static void golden(void) {
  int runs = 0;
  for (NSDictionary *each in json(@"cases.json")) {
    if ([get(each, @"runs") count] == 0) continue;
    NSAutoreleasePool *pool = [[NSAutoreleasePool alloc] init];
    NSError *error = nil;
    id function = get(each, @"function") == [NSNull null] ? nil : get(each, @"function");
    SMRSession *session = [[[SMRSession alloc] initWithModel:model_of(get(each, @"model"))
                                                    function:function
                                                     threads:0
                                                       error:&error] autorelease];
    for (NSDictionary *run in get(each, @"runs")) {
      NSDictionary *made = [session runWithInputs:tensors_of(get(run, @"inputs")) error:&error];
      NSDictionary *expected = tensors_of(get(run, @"outputs"));
      EXPECT(made.count == expected.count && made.count > 0);
      for (NSString *name in expected) {
        SMRTensor *right = get(expected, name), *tensor = get(made, name);
        EXPECT(tensor.elementType == right.elementType);
        EXPECT([tensor.shape isEqual:right.shape]);
        if (![tensor.data isEqual:right.data]) {
          failures++, NSLog(@"%@ %@ differs: %@", get(each, @"name"), name, error);
        }
      }
      runs++;
    }
    [pool release];
  }
  EXPECT(runs > 10);
  printf("measured: %d runs as in Python\n", runs);
}

// Models and their descriptions.
static void models(void) {
  NSError *error = nil;
  SMRModel *dense = model_of(@"dense.samara");
  EXPECT([dense.functions isEqual:@[ @"main" ]]);
  EXPECT([get(dense.metadata, @"note") isEqual:@"hello"]);
  EXPECT(([dense.labels isEqual:@[ @"a", @"b", @"c" ]]));
  EXPECT([dense selftest:&error]);
  SMRSession *session = [[[SMRSession alloc] initWithModel:dense error:&error] autorelease];
  EXPECT(([[session.inputs objectAtIndex:0].shape isEqual:@[ @-1, @4 ]]));
  EXPECT([[session.outputs objectAtIndex:0].name isEqual:@"y"] && session.model == dense);
  NSMutableData *shifted = [NSMutableData dataWithLength:1];
  [shifted appendData:file(@"dense.samara")];
  NSData *part = [NSData dataWithBytesNoCopy:(char *)shifted.mutableBytes + 1
                                      length:shifted.length - 1
                                freeWhenDone:NO];
  EXPECT([[[[SMRModel alloc] initWithData:part error:&error] autorelease] selftest:&error]);
}

// Answers about a picture.
static void pictures(void) {
  NSError *error = nil;
  SMRSession *session = [[[SMRSession alloc] initWithModel:model_of(@"digits.samara")
                                                     error:&error] autorelease];
  NSMutableData *pixels = [NSMutableData dataWithLength:64];
  SMRImage *gray = [[[SMRImage alloc] initWithData:pixels
                                            format:SMRImageFormatGray
                                             width:8
                                            height:8
                                             error:&error] autorelease];
  SMRAnswer *answer = [session predictImage:gray error:&error];
  EXPECT(answer.kind == SMRAnswerKindClasses && answer.findings.count == 3 && answer.mask == nil);
  EXPECT([answer.findings objectAtIndex:0].score >= [answer.findings objectAtIndex:1].score);
  EXPECT([@[ @"zero", @"one", @"two", @"three" ]
             containsObject:[answer.findings objectAtIndex:0].label] ||
         [answer.findings objectAtIndex:0].index > 3);
  NSDictionary *faces = [NSFileManager.defaultManager fileExistsAtPath:in_folder(@"faces.json")]
                            ? json(@"faces.json")
                            : nil;
  if (faces == nil) return;
  session = [[[SMRSession alloc] initWithModel:model_of(@"faces.samara") error:&error] autorelease];
  NSArray *sides = get(get(faces, @"picture"), @"shape");
  SMRImage *picture = [[[SMRImage alloc] initWithData:file(get(get(faces, @"picture"), @"file"))
                                               format:SMRImageFormatRGB
                                                width:[[sides objectAtIndex:1] unsignedIntegerValue]
                                               height:[[sides objectAtIndex:0] unsignedIntegerValue]
                                                error:&error] autorelease];
  answer = [session predictImage:picture error:&error];
  EXPECT(answer.kind == SMRAnswerKindBoxes && answer.findings.count > 0);
  NSData *boxes = file(get(get(faces, @"boxes"), @"file")),
         *scores = file(get(get(faces, @"scores"), @"file"));
  EXPECT(boxes.length == answer.findings.count * 16);
  for (NSUInteger i = 0; i < answer.findings.count; i++) {
    SMRFinding *face = [answer.findings objectAtIndex:i];
    const float box[4] = {face.x0, face.y0, face.x1, face.y1};
    EXPECT(memcmp(box, (const float *)boxes.bytes + 4 * i, sizeof box) == 0);
    EXPECT(face.score == ((const float *)scores.bytes)[i] && [face.label isEqual:@"face"]);
  }
}

// Whether a call failed with that code and a message.
static BOOL failed(BOOL done, NSError *error, NSInteger code) {
  const BOOL right = !done && [error.domain isEqual:SMRErrorDomain] && error.code == code &&
                     error.localizedDescription.length > 0;
  if (!right) NSLog(@"expected %ld, got %@ %@", (long)code, error, error.userInfo);
  return right;
}

static void misuse(void) {
  NSError *e = nil;
  // Hide the misuse from the compiler.
  id nothing = nil, number = @1;
  EXPECT(failed([[SMRModel alloc] initWithPath:@"/nowhere" error:&e] != nil, e, SMRErrorFile));
  EXPECT(failed([[SMRModel alloc] initWithPath:nothing error:&e] != nil, e, SMRErrorBadArgument));
  EXPECT(failed([[SMRModel alloc] initWithName:@"no" bundle:nil error:&e] != nil, e, SMRErrorFile));
  EXPECT([e.localizedRecoverySuggestion containsString:@"Copy Bundle Resources"]);
  NSData *wrong = [@"no model" dataUsingEncoding:NSUTF8StringEncoding];
  EXPECT(failed([[SMRModel alloc] initWithData:wrong error:&e] != nil, e, SMRErrorBadModel));
  EXPECT(failed([[SMRModel alloc] initWithData:nothing error:&e] != nil, e, SMRErrorBadModel));
  EXPECT([[SMRModel alloc] initWithData:wrong error:NULL] == nil);
  EXPECT(
      failed([[SMRSession alloc] initWithModel:nothing error:&e] != nil, e, SMRErrorBadArgument));
  SMRModel *dense = model_of(@"dense.samara");
  SMRSession *session = [[SMRSession alloc] initWithModel:dense
                                                 function:@"none"
                                                  threads:1
                                                    error:&e];
  EXPECT(failed(session != nil, e, SMRErrorNotFound));
  session = [[SMRSession alloc] initWithModel:dense function:nil threads:-1 error:&e];
  EXPECT(failed(session != nil, e, SMRErrorBadArgument));
  session = [[[SMRSession alloc] initWithModel:dense error:&e] autorelease];
  EXPECT(failed([session runWithInputs:@{} error:&e] != nil, e, SMRErrorBadShape));
  EXPECT(failed([session runWithInputs:@{@"z" : number} error:&e] != nil, e, SMRErrorNotFound));
  EXPECT(failed([session runWithInputs:@{@"x" : number} error:&e] != nil, e, SMRErrorBadArgument));
  NSData *four = [NSMutableData dataWithLength:16];
  SMRTensor *t = [[SMRTensor alloc] initWithData:four elementType:99 shape:@[ @4 ] error:&e];
  EXPECT(failed(t != nil, e, SMRErrorBadShape));
  t = [[SMRTensor alloc] initWithData:four elementType:1 shape:(id) @[ @-4, @"a" ] error:&e];
  EXPECT(failed(t != nil, e, SMRErrorBadShape));
  for (NSArray *shape in @[ @[ @4 ], @[ @2, @2 ] ]) {
    t = [[[SMRTensor alloc] initWithData:four elementType:1 shape:shape error:&e] autorelease];
    EXPECT(failed([session runWithInputs:@{@"x" : t} error:&e] != nil, e, SMRErrorBadShape));
  }
  t = [[[SMRTensor alloc] initWithData:four elementType:6 shape:@[ @1, @4 ] error:&e] autorelease];
  EXPECT(failed([session runWithInputs:@{@"x" : t} error:&e] != nil, e, SMRErrorBadShape));
  SMRImage *image = [[SMRImage alloc] initWithData:four format:1 width:0 height:9 error:&e];
  EXPECT(failed(image != nil, e, SMRErrorBadShape));
  image = [[SMRImage alloc] initWithData:four format:77 width:4 height:4 error:&e];
  EXPECT(failed(image != nil, e, SMRErrorBadShape));
  image = [[[SMRImage alloc] initWithData:four format:5 width:4 height:4 error:&e] autorelease];
  EXPECT(failed([session predictImage:image error:&e] != nil, e, SMRErrorNotFound));
  EXPECT(failed([session predictImage:nothing error:&e] != nil, e, SMRErrorBadArgument));
  EXPECT([session close:&e] && [session close:&e]);
  [session cancel];
  EXPECT(failed([session reset:&e], e, SMRErrorBadState));
  // The cast hides from the compiler that `new` is unavailable.
  SMRSession *made = [[(id)[SMRSession class] new] autorelease];
  EXPECT(failed([made runWithInputs:@{} error:&e] != nil, e, SMRErrorBadState));
  [made cancel];
  EXPECT(failed([[(id)[SMRModel class] new] selftest:&e], e, SMRErrorBadArgument));
}

// ---- threads ----

@interface Work : NSObject {
 @public
  SMRSession *session;
  NSDictionary *inputs;
  NSData *expected;
  int rounds;
  NSInteger code;
  NSString *node;
  volatile int *left;
}
- (void)endless;
- (void)lives;
@end

@implementation Work

// A run that ends only when it is cancelled.
- (void)endless {
  NSAutoreleasePool *pool = [[NSAutoreleasePool alloc] init];
  NSError *error = nil;
  do {
    [session runWithInputs:inputs error:&error];
  } while (error.code == SMRErrorBadState);
  code = error.code;
  [pool release];
  __sync_fetch_and_sub(left, 1);
}

- (void)lives {
  for (int i = 0; i < rounds; i++) {
    NSAutoreleasePool *pool = [[NSAutoreleasePool alloc] init];
    SMRModel *dense = model_of(@"dense.samara");
    SMRSession *own = [[SMRSession alloc] initWithModel:dense
                                               function:nil
                                                threads:1 + i % 2
                                                  error:NULL];
    SMRTensor *made = get([own runWithInputs:inputs error:NULL], @"y");
    if (![made.data isEqual:expected]) __sync_fetch_and_add(&failures, 1);
    if (i % 3 == 0) [own close:NULL];
    [own runWithInputs:@{} error:NULL];
    [own release];
    [pool release];
  }
  __sync_fetch_and_sub(left, 1);
}

@end

static void other_thread(void) {
  volatile int left = 1;
  NSError *error = nil;
  Work *work = [[[Work alloc] init] autorelease];
  work->session = [[[SMRSession alloc] initWithModel:model_of(@"loop.samara")
                                            function:nil
                                             threads:1
                                               error:&error] autorelease];
  int64_t trips = INT64_MAX;
  NSData *count = [NSData dataWithBytes:&trips length:8], *x = [NSMutableData dataWithLength:256];
  work->inputs = @{
    @"trips" : [[[SMRTensor alloc] initWithData:count
                                    elementType:SMRElementTypeInt64
                                          shape:@[]
                                          error:&error] autorelease],
    @"x" : [[[SMRTensor alloc] initWithData:x
                                elementType:SMRElementTypeFloat32
                                      shape:@[ @64 ]
                                      error:&error] autorelease]
  };
  work->left = &left;
  [NSThread detachNewThreadSelector:@selector(endless) toTarget:work withObject:nil];
  BOOL refused = NO;
  for (int i = 0; i < 30000 && !refused; i++) {
    refused = ![work->session reset:&error] && error.code == SMRErrorBadState;
    [NSThread sleepForTimeInterval:0.001];
  }
  EXPECT(refused);
  EXPECT(failed([work->session close:&error], error, SMRErrorBadState));
  for (int i = 0; i < 30000 && left > 0; i++) {
    [work->session cancel];
    [NSThread sleepForTimeInterval:0.001];
  }
  EXPECT(left == 0 && work->code == SMRErrorCancelled);
}

static long resident_bytes(void) {
  NSString *text = [NSString stringWithContentsOfFile:@"/proc/self/statm"
                                             encoding:NSASCIIStringEncoding
                                                error:NULL];
  return [[[text componentsSeparatedByString:@" "] objectAtIndex:1] integerValue] * 4096;
}

static void lives(int rounds) {
  for (NSDictionary *each in json(@"cases.json")) {
    if (![get(each, @"name") isEqual:@"dense"]) continue;
    NSDictionary *run = [get(each, @"runs") objectAtIndex:0];
    long before = 0;
    for (int pass = 0; pass < 2; pass++) {
      volatile int left = 8;
      before = resident_bytes();
      for (int i = 0; i < 8; i++) {
        Work *work = [[[Work alloc] init] autorelease];
        work->inputs = tensors_of(get(run, @"inputs"));
        work->expected = file(get(get(get(run, @"outputs"), @"y"), @"file"));
        work->rounds = (pass == 0 ? rounds / 10 : rounds) / 8;
        work->left = &left;
        [NSThread detachNewThreadSelector:@selector(lives) toTarget:work withObject:nil];
      }
      while (left > 0) [NSThread sleepForTimeInterval:0.01];
    }
    const long grown = resident_bytes() - before;
    printf("measured: %d rounds grew by %ld bytes\n", rounds, grown);
    EXPECT(grown < 4 << 20);
    return;
  }
  EXPECT(NO);
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  NSAutoreleasePool *pool = [[NSAutoreleasePool alloc] init];
  folder = [[NSString alloc] initWithUTF8String:argv[1]];
  golden();
  models();
  pictures();
  misuse();
  other_thread();
  lives(atoi(argv[2]));
  [pool release];
  printf("%d failures\n", failures);
  return failures != 0;
}
