// SPDX-License-Identifier: Apache-2.0
// Answers with meaning: classes, boxes, masks and points, as values.
import CSamara

/// The meaning of a run's outputs, by the record of the file.
public enum Answer: Hashable, Sendable {
  case classification(Classification)
  case mask(Mask)
  case detections(Detections)
  case keypoints(Keypoints)

  /// The classes of an answer of that kind; nil for another.
  public var classification: Classification? {
    if case .classification(let found) = self { return found }
    return nil
  }
  /// The mask of an answer of that kind; nil for another.
  public var mask: Mask? {
    if case .mask(let found) = self { return found }
    return nil
  }
  /// The boxes of an answer of that kind; nil for another.
  public var detections: Detections? {
    if case .detections(let found) = self { return found }
    return nil
  }
  /// The points of an answer of that kind; nil for another.
  public var keypoints: Keypoints? {
    if case .keypoints(let found) = self { return found }
    return nil
  }
}

/// A class and its score.
public struct Guess: Hashable, Sendable {
  public let label: String
  public let index: Int
  public let score: Float
}

/// The best classes of a picture, best first; empty if no score is above the threshold.
public struct Classification: Hashable, Sendable, RandomAccessCollection {
  public let top: [Guess]

  /// The best class's label; empty if there is none.
  public var label: String { top.first?.label ?? "" }
  /// The best class's number; -1 if there is none.
  public var index: Int { top.first?.index ?? -1 }
  /// The best class's score; 0 if there is none.
  public var score: Float { top.first?.score ?? 0 }

  public var startIndex: Int { 0 }
  public var endIndex: Int { top.count }
  public subscript(position: Int) -> Guess { top[position] }
}

/// A point in pixels of the picture; (0, 0) is the upper left corner of its first pixel.
public struct Point: Hashable, Sendable {
  public let x: Float
  public let y: Float
}

/// A box in pixels of the picture.
public struct Box: Hashable, Sendable {
  public let x0: Float, y0: Float, x1: Float, y1: Float
  public var width: Float { x1 - x0 }
  public var height: Float { y1 - y0 }
}

/// One detected object.
public struct Detection: Hashable, Sendable {
  public let label: String
  public let index: Int
  public let score: Float
  public let box: Box
  /// Its points, such as eyes and mouth; empty if the model has none.
  public let points: [Point]
}

/// Detected objects, best first.
public struct Detections: Hashable, Sendable, RandomAccessCollection {
  public let all: [Detection]
  public var startIndex: Int { 0 }
  public var endIndex: Int { all.count }
  public subscript(position: Int) -> Detection { all[position] }
}

/// The class of every pixel of a picture, row by row.
public struct Mask: Hashable, Sendable {
  public let width: Int
  public let height: Int
  /// `width * height` classes; `unseen` for pixels outside the model's view.
  public let classes: [UInt16]
  /// The value of pixels outside the model's view: 255 or 65535.
  public let unseen: UInt16
  /// Labels of all classes by number, or empty.
  public let labels: [String]

  public subscript(x: Int, y: Int) -> Int { Int(classes[y * width + x]) }
}

/// A named point and its score.
public struct Keypoint: Hashable, Sendable {
  public let label: String
  public let point: Point
  public let score: Float
}

/// Points of a picture, in the model's order.
public struct Keypoints: Hashable, Sendable, RandomAccessCollection {
  public let all: [Keypoint]
  public var startIndex: Int { 0 }
  public var endIndex: Int { all.count }
  public subscript(position: Int) -> Keypoint { all[position] }
}

// ---- from the runtime ----

extension Answer {
  /// Copy an answer out of the session's memory.
  init(_ native: samara_answer, labels: [String]) throws {
    switch native.kind {
    case SAMARA_CLASSES:
      let all = UnsafeBufferPointer(start: native.classes, count: native.count)
      self = .classification(Classification(top: all.map(Guess.init)))
    case SAMARA_BOXES:
      let all = UnsafeBufferPointer(start: native.boxes, count: native.count)
      let points = native.points_per_box
      self = .detections(Detections(all: all.map { Detection($0, points: points) }))
    case SAMARA_KEYPOINTS:
      let all = UnsafeBufferPointer(start: native.points, count: native.count)
      let named = all.enumerated().map { Keypoint($1, index: $0) }
      self = .keypoints(Keypoints(all: named))
    case SAMARA_MASK:
      self = .mask(Mask(native, labels: labels))
    default:
      throw SamaraError(
        .unsupported, .unsupported, "an answer of kind \(native.kind.rawValue) is not known",
        fix: "the library is newer than this Swift code: take both from one version")
    }
  }
}

/// A label, or the number if there is none.
private func label(_ text: UnsafePointer<CChar>?, _ index: Int) -> String {
  text.map { String(cString: $0) } ?? "\(index)"
}

extension Guess {
  init(_ native: samara_class) {
    index = Int(native.index)
    label = Samara.label(native.label, index)
    score = native.score
  }
}

extension Detection {
  init(_ native: samara_box, points count: Int) {
    index = Int(native.class_index)
    label = Samara.label(native.label, index)
    score = native.score
    box = Box(x0: native.x0, y0: native.y0, x1: native.x1, y1: native.y1)
    let numbers = UnsafeBufferPointer(
      start: native.points, count: native.points == nil ? 0 : 2 * count)
    points = stride(from: 0, to: numbers.count, by: 2).map {
      Point(x: numbers[$0], y: numbers[$0 + 1])
    }
  }
}

extension Keypoint {
  init(_ native: samara_point, index: Int) {
    label = Samara.label(native.label, index)
    point = Point(x: native.x, y: native.y)
    score = native.score
  }
}

extension Mask {
  init(_ native: samara_answer, labels: [String]) {
    width = Int(native.width)
    height = Int(native.height)
    self.labels = labels
    let wide = native.mask_element_bytes == 2
    unseen = wide ? .max : 255
    let raw = UnsafeRawBufferPointer(
      start: native.mask, count: width * height * native.mask_element_bytes)
    classes = wide ? Array(raw.bindMemory(to: UInt16.self)) : raw.map { UInt16($0) }
  }
}
