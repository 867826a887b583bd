// SPDX-License-Identifier: Apache-2.0
// Pictures and sound must give the same answers as in Python.
import Samara
import XCTest

final class MediaTests: XCTestCase {
  /// Boxes of faces in a photo, compared as bytes.
  func testFaces() throws {
    struct Faces: Decodable { let picture: Stored, boxes: Stored, scores: Stored }
    try XCTSkipUnless(Files.has("faces.json"), "NOT RUN: the recorded networks are not there")
    let faces = try JSONDecoder().decode(Faces.self, from: Files.data("faces.json"))
    let session = try Session(Files.model("faces"))
    let size = faces.picture.shape
    let picture = try Image(faces.picture.bytes(), format: .rgb, width: size[1], height: size[0])
    let found = try XCTUnwrap(session.predict(picture).detections)
    let boxes = found.flatMap { [$0.box.x0, $0.box.y0, $0.box.x1, $0.box.y1] }
    XCTAssertEqual(boxes, try faces.boxes.array(of: Float.self))
    XCTAssertEqual(found.map(\.score), try faces.scores.array(of: Float.self))
    XCTAssertEqual(found.map(\.label), [String](repeating: "face", count: found.count))
    XCTAssertGreaterThan(found.count, 0)
  }

  /// Classes, also of the same picture in other formats.
  func testClasses() async throws {
    let session = try Session(Files.model("digits"))
    let gray = (0..<64).map { UInt8($0 * 4) }
    let one = try Image(gray, format: .gray, width: 8, height: 8)
    let answer = try session.predict(one)
    let classes = try XCTUnwrap(answer.classification)
    XCTAssertEqual(classes.count, 3)
    XCTAssertEqual(classes.index, classes[0].index)
    XCTAssertTrue(classes[0].score >= classes[1].score)
    let waited = try await session.predictAsync(one)
    XCTAssertEqual(waited, answer)
    for format in [Image.Format.rgb, .bgr] {
      let same = try Image(gray.flatMap { [$0, $0, $0] }, format: format, width: 8, height: 8)
      XCTAssertEqual(try session.predict(same), answer)
    }
    var rows = Data()
    for row in 0..<8 { rows += gray[row * 8..<row * 8 + 8] + [255, 255] }
    var strided = try Image(
      planes: [.init(rows, rowStride: 10)], format: .gray, width: 8, height: 8)
    XCTAssertEqual(try session.predict(strided), answer)
    strided.rotation = .half
    strided.mirror = true
    XCTAssertNotEqual(try session.predict(strided), answer)
    try session.setImage(one)
    try session.run()
    XCTAssertEqual(try session.answer(), answer)
  }

  /// Preprocessing without a session: it must return the tensors that a session runs on.
  func testPreprocess() throws {
    let model = try Files.model("digits")
    let picture = try Image((0..<64).map { UInt8($0 * 4) }, format: .gray, width: 8, height: 8)
    let tensor = try model.preprocess(picture)
    XCTAssertEqual(tensor.shape, [1, 1, 8, 8])
    XCTAssertEqual(try tensor.values(as: Float.self)[3], 12 / 255, accuracy: 1e-7)
    let session = try Session(model)
    XCTAssertEqual(try session.predict(["image": tensor]), try session.predict(picture))
    let other = try Files.model("dense")
    XCTAssertEqual(thrown(try other.preprocess(picture)).kind, .unsupported)
    XCTAssertEqual(thrown(try model.preprocess(picture, input: "none")).kind, .unknownName)
    XCTAssertEqual(thrown(try model.preprocess(picture, function: "none")).kind, .unknownName)
    var outside = picture
    outside.crop = .init(x: 4, y: 4, width: 8, height: 8)
    XCTAssertEqual(thrown(try model.preprocess(outside)).kind, .shape)
    model.close()
    XCTAssertEqual(thrown(try model.preprocess(picture)).status, .badState)
  }

  /// The same for sound: as many tensors as a session runs on, with the same outputs.
  func testPreprocessSound() throws {
    let (sound, _, _) = try words()
    let model = try Files.model("words")
    let tensors = try model.preprocess(sound)
    XCTAssertGreaterThan(tensors.count, 1)
    let listening = try Session(model)
    let running = try Session(model)
    let name = model.inputs[0].name
    var heard = 0
    try listening.listen(sound) { outputs in
      XCTAssertEqual(outputs, try running.run([name: tensors[heard]]))
      heard += 1
    }
    XCTAssertEqual(heard, tensors.count)
    let silence = try Audio([Int16](), rate: 16000)
    XCTAssertEqual(try model.preprocess(silence), [])
    XCTAssertEqual(thrown(try Files.model("digits").preprocess(sound)).kind, .unsupported)
  }

  /// The planes of a camera frame.
  func testCamera() throws {
    let session = try Session(Files.model("digits"))
    let luma = (0..<256).map { UInt8($0) }
    let grey = [UInt8](repeating: 128, count: 128)
    let answers = try [Image.Format.nv12, .nv21, .i420].map {
      try session.predict(Image(luma + grey, format: $0, width: 16, height: 16))
    }
    XCTAssertEqual(answers[0], answers[1])
    XCTAssertEqual(answers[0], answers[2])
  }

  /// A recording of words, its samples, and the scores that Python computed.
  private func words() throws -> (Audio, [Int16], [UInt8]) {
    let given = try Files.case("words")
    let sound = try XCTUnwrap(given.sound)
    let samples = try Tensor(
      dtype: .int16, shape: [Files.data(sound.file).count / 2],
      bytes: [UInt8](Files.data(sound.file))
    ).values(as: Int16.self)
    let whole = try Audio(samples, rate: sound.rate, channels: sound.channels)
    return (whole, samples, try XCTUnwrap(given.heard).bytes())
  }

  /// Words in a recording: at once, in chunks, and as a stream.
  func testWords() async throws {
    let (whole, samples, expected) = try words()
    let session = try Session(Files.model("words"))
    var made: [UInt8] = []
    try session.listen(whole) { made += $0["scores"]!.bytes }
    XCTAssertTrue(made == expected)

    let step = 160 * whole.channels
    let portions = try stride(from: 0, to: samples.count, by: step).map {
      let part = Array(samples[$0..<min($0 + step, samples.count)])
      return try Audio(part, rate: whole.rate, channels: whole.channels)
    }
    made = []
    for (index, portion) in portions.enumerated() {
      try session.listen(portion, end: index == portions.count - 1) { made += $0["scores"]!.bytes }
    }
    XCTAssertTrue(made == expected)

    made = []
    let microphone = AsyncStream<Audio> { stream in
      for portion in portions { stream.yield(portion) }
      stream.finish()
    }
    for try await outputs in session.listen(microphone) { made += outputs["scores"]!.bytes }
    XCTAssertTrue(made == expected)

    // Stopping early must leave no sound in the session.
    struct Enough: Error {}
    XCTAssertThrowsError(try session.listen(whole) { _ in throw Enough() }) {
      XCTAssertTrue($0 is Enough)
    }
    var words: [String] = []
    try session.predictEach(whole) { words.append($0.classification!.label) }
    XCTAssertEqual(words.count, try Files.case("words").heard?.shape[0])
  }

  /// Pictures and sound with inconsistent fields.
  func testWrong() throws {
    let session = try Session(Files.model("digits"))
    let bytes = [UInt8](repeating: 0, count: 64)
    XCTAssertEqual(thrown(try Image(bytes, format: .gray, width: 8, height: 9)).kind, .shape)
    XCTAssertEqual(thrown(try Image([UInt8](), format: .gray, width: 0, height: 8)).kind, .shape)
    XCTAssertEqual(thrown(try Image(bytes, format: .rgb, width: .max, height: .max)).kind, .shape)
    XCTAssertEqual(thrown(try Image(bytes, format: .rgb, width: -1, height: -1)).kind, .shape)
    XCTAssertEqual(thrown(try Image(planes: [], format: .nv12, width: 8, height: 8)).kind, .shape)
    let short = try Image(
      planes: [.init(Data(bytes), rowStride: 64)], format: .gray, width: 8, height: 8)
    XCTAssertEqual(thrown(try session.predict(short)).status, .badArgument)
    let none = try Image(planes: [.init(Data())], format: .gray, width: 8, height: 8)
    XCTAssertEqual(thrown(try session.predict(none)).status, .badArgument)
    var cut = try Image(bytes, format: .gray, width: 8, height: 8)
    cut.crop = .init(x: 4, y: 4, width: 8, height: 8)
    XCTAssertEqual(thrown(try session.predict(cut)).status, .badArgument)
    cut.crop = .init(x: -1, y: 0, width: .max, height: 1)
    XCTAssertEqual(thrown(try session.predict(cut)).kind, .shape)

    XCTAssertEqual(thrown(try Audio([Int16](), rate: 1)).kind, .argument)
    XCTAssertEqual(
      thrown(try Audio([Float](arrayLiteral: 0), rate: 16000, channels: 2)).kind, .shape)
    let sound = try Audio([Int16](repeating: 0, count: 16), rate: 16000)
    XCTAssertEqual(thrown(try session.listen(sound) { _ in }).kind, .unsupported)
    let dense = try Session(Files.model("dense"))
    let picture = try Image(bytes, format: .gray, width: 8, height: 8)
    XCTAssertEqual(thrown(try dense.predict(picture)).kind, .unsupported)
    XCTAssertEqual(thrown(try dense.answer()).kind, .unsupported)
    XCTAssertEqual(thrown(try session.answer()).status, .badState)
  }
}
