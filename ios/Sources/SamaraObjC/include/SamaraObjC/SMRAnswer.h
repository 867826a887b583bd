// SPDX-License-Identifier: Apache-2.0
// Answers: the meaning of a run's outputs.
#import <Foundation/Foundation.h>

NS_ASSUME_NONNULL_BEGIN

typedef NS_ENUM(NSInteger, SMRAnswerKind) {
  SMRAnswerKindClasses = 1,
  SMRAnswerKindMask,
  SMRAnswerKindBoxes,
  SMRAnswerKindKeypoints
};

// A class, a detected object in a box, or a named point.
@interface SMRFinding : NSObject {
 @private
  NSString *_label;
  NSInteger _index;
  float _score, _x0, _y0, _x1, _y1;
  NSArray<NSNumber *> *_points;
}

// The label; the number if the file has none.
@property(nonatomic, readonly, copy) NSString *label;
@property(nonatomic, readonly) NSInteger index;
@property(nonatomic, readonly) float score;
// The box in pixels of the picture, whose upper left corner is (0, 0). A point is a box without
// size; a class has none, all zeros.
@property(nonatomic, readonly) float x0;
@property(nonatomic, readonly) float y0;
@property(nonatomic, readonly) float x1;
@property(nonatomic, readonly) float y1;
// Points of a box, as pairs of x and y; empty if the model has none.
@property(nonatomic, readonly, copy) NSArray<NSNumber *> *points;

@end

// The answer for a picture.
@interface SMRAnswer : NSObject {
 @private
  SMRAnswerKind _kind;
  NSArray<SMRFinding *> *_findings;
  NSData *_mask;
  NSUInteger _maskElementBytes, _maskWidth, _maskHeight;
}

@property(nonatomic, readonly) SMRAnswerKind kind;
// Classes and boxes best first, points in the model's order; empty for a mask.
@property(nonatomic, readonly, copy) NSArray<SMRFinding *> *findings;
// For SMRAnswerKindMask the class of every pixel, row by row, `maskElementBytes` each. The largest
// value marks pixels outside the model's view.
@property(nonatomic, readonly, copy, nullable) NSData *mask;
@property(nonatomic, readonly) NSUInteger maskElementBytes;
@property(nonatomic, readonly) NSUInteger maskWidth;
@property(nonatomic, readonly) NSUInteger maskHeight;

@end

NS_ASSUME_NONNULL_END
