// SPDX-License-Identifier: Apache-2.0
// Answers as objects.
#if __has_include(<Foundation/Foundation.h>)  // else compile nothing
#import "SMRInternal.h"

@interface SMRFinding ()
- (instancetype)initWithLabel:(const char *)label index:(NSInteger)index score:(float)score;
@end

@implementation SMRFinding

@synthesize label = _label;
@synthesize index = _index;
@synthesize score = _score;
@synthesize x0 = _x0;
@synthesize y0 = _y0;
@synthesize x1 = _x1;
@synthesize y1 = _y1;
@synthesize points = _points;

- (instancetype)initWithLabel:(const char *)label index:(NSInteger)index score:(float)score {
  self = [super init];
  if (self == nil) return nil;
  NSString *number = [NSString stringWithFormat:@"%ld", (long)index];
  _label = [SMRText(label, number) copy];
  _index = index;
  _score = score;
  _points = [[NSArray alloc] init];
  return self;
}

- (void)dealloc {
  SMR_RELEASE(_label);
  SMR_RELEASE(_points);
  SMR_DEALLOC_SUPER;
}

+ (SMRFinding *)findingWithClass:(const samara_class *)native {
  SMRFinding *made = [[SMRFinding alloc] initWithLabel:native->label
                                                 index:(NSInteger)native->index
                                                 score:native->score];
  return SMR_AUTORELEASE(made);
}

+ (SMRFinding *)findingWithBox:(const samara_box *)native points:(size_t)count {
  SMRFinding *made = [[SMRFinding alloc] initWithLabel:native->label
                                                 index:(NSInteger)native->class_index
                                                 score:native->score];
  made->_x0 = native->x0, made->_y0 = native->y0;
  made->_x1 = native->x1, made->_y1 = native->y1;
  NSMutableArray<NSNumber *> *points = [NSMutableArray array];
  for (size_t i = 0; native->points != NULL && i < 2 * count; i++) {
    [points addObject:[NSNumber numberWithFloat:native->points[i]]];
  }
  SMR_RELEASE(made->_points);
  made->_points = [points copy];
  return SMR_AUTORELEASE(made);
}

+ (SMRFinding *)findingWithPoint:(const samara_point *)native index:(NSInteger)index {
  SMRFinding *made = [[SMRFinding alloc] initWithLabel:native->label
                                                 index:index
                                                 score:native->score];
  made->_x0 = made->_x1 = native->x;
  made->_y0 = made->_y1 = native->y;
  return SMR_AUTORELEASE(made);
}

@end

@implementation SMRAnswer

@synthesize kind = _kind;
@synthesize findings = _findings;
@synthesize mask = _mask;
@synthesize maskElementBytes = _maskElementBytes;
@synthesize maskWidth = _maskWidth;
@synthesize maskHeight = _maskHeight;

+ (SMRAnswer *)answerWithNative:(const samara_answer *)native {
  SMRAnswer *made = SMR_AUTORELEASE([[SMRAnswer alloc] init]);
  made->_kind = (SMRAnswerKind)native->kind;
  NSMutableArray<SMRFinding *> *all = [NSMutableArray array];
  for (size_t i = 0; native->kind != SAMARA_MASK && i < native->count; i++) {
    SMRFinding *each = nil;
    if (native->kind == SAMARA_CLASSES) {
      each = [SMRFinding findingWithClass:&native->classes[i]];
    } else if (native->kind == SAMARA_BOXES) {
      each = [SMRFinding findingWithBox:&native->boxes[i] points:native->points_per_box];
    } else {
      each = [SMRFinding findingWithPoint:&native->points[i] index:(NSInteger)i];
    }
    [all addObject:each];
  }
  made->_findings = [all copy];
  if (native->kind == SAMARA_MASK) {
    made->_maskElementBytes = native->mask_element_bytes;
    made->_maskWidth = native->width;
    made->_maskHeight = native->height;
    const size_t bytes = native->mask_element_bytes * native->width * native->height;
    made->_mask = [[NSData alloc] initWithBytes:native->mask length:bytes];
  }
  return made;
}

- (void)dealloc {
  SMR_RELEASE(_findings);
  SMR_RELEASE(_mask);
  SMR_DEALLOC_SUPER;
}

@end

#endif
