// SPDX-License-Identifier: Apache-2.0
// Turns the runtime's statuses and texts into NSError.
#if __has_include(<Foundation/Foundation.h>)  // else compile nothing
#import "SMRInternal.h"

NSString *const SMRErrorDomain = @"dev.samara";
NSString *const SMRErrorNodeKey = @"SMRErrorNode";
NSString *const SMRErrorOperatorKey = @"SMRErrorOperator";

// Extract node and operator from a text that begins with "function 'f', node 'n' (op".
static void find_place(NSString *text, NSMutableDictionary<NSString *, id> *into) {
  const NSRange start = [text rangeOfString:@"node '"];
  if (start.location == NSNotFound) return;
  NSString *rest = [text substringFromIndex:NSMaxRange(start)];
  const NSRange middle = [rest rangeOfString:@"' ("];
  if (middle.location == NSNotFound) return;
  NSString *name = [rest substringFromIndex:NSMaxRange(middle)];
  NSCharacterSet *ends = [NSCharacterSet characterSetWithCharactersInString:@"),"];
  const NSRange end = [name rangeOfCharacterFromSet:ends];
  [into setObject:[rest substringToIndex:middle.location] forKey:SMRErrorNodeKey];
  if (end.location != NSNotFound) name = [name substringToIndex:end.location];
  [into setObject:name forKey:SMRErrorOperatorKey];
}

BOOL SMRFail(NSError **error, NSInteger code, NSString *fix, NSString *message) {
  if (error == NULL) return NO;
  NSMutableDictionary<NSString *, id> *info = [NSMutableDictionary dictionary];
  [info setObject:message forKey:NSLocalizedDescriptionKey];
  if (fix != nil) [info setObject:fix forKey:NSLocalizedRecoverySuggestionErrorKey];
  find_place(message, info);
  *error = [NSError errorWithDomain:SMRErrorDomain code:code userInfo:info];
  return NO;
}

BOOL SMRCheck(samara_status status, const char *text, NSError **error) {
  if (status == SAMARA_OK) return YES;
  const BOOL says = text != NULL && *text != 0;
  NSString *message = SMRText(says ? text : samara_status_text(status), @"an error without a text");
  return SMRFail(error, (NSInteger)status, nil, message);
}

NSString *SMRText(const char *text, NSString *other) {
  NSString *made = text == NULL ? nil : [NSString stringWithUTF8String:text];
  return made == nil ? other : made;
}

#endif
