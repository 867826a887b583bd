// SPDX-License-Identifier: Apache-2.0
// Every way to run a model must return the same bytes as Python's sessions.
import Samara
import XCTest

final class GoldenTests: XCTestCase {
  /// Runs on named inputs.
  func testRunsByName() throws {
    var ran = 0
    for each in try Files.cases() where !each.runs.isEmpty {
      let session = try Session(Model(path: Files.path(each.model)), function: each.function)
      for run in each.runs {
        let made = try session.run(try run.inputs.mapValues { try $0.tensor() })
        XCTAssertEqual(Set(made.keys), Set(run.outputs.keys), each.name)
        for (name, expected) in run.outputs {
          let tensor = try XCTUnwrap(made[name])
          XCTAssertEqual(tensor.shape, expected.shape, "\(each.name) \(name)")
          XCTAssertEqual("\(tensor.dtype)", expected.dtype, "\(each.name) \(name)")
          XCTAssertTrue(tensor.bytes == (try expected.bytes()), "\(each.name) \(name) differs")
        }
        ran += 1
      }
    }
    XCTAssertGreaterThan(ran, 10)
  }

  /// Runs in place, in bound memory, and asynchronously.
  func testOtherWays() async throws {
    for each in try Files.cases() where !each.runs.isEmpty {
      let model = try Model(path: Files.path(each.model))
      let inPlace = try Session(model, function: each.function, threads: 1)
      let waiting = try Session(model, function: each.function)
      for run in each.runs {
        try inPlace.resize(run.inputs.mapValues { $0.shape })
        for (name, stored) in run.inputs { try inPlace.setInput(name, stored.tensor()) }
        try inPlace.run()
        let made = try await waiting.runAsync(run.inputs.mapValues { try $0.tensor() })
        for (name, expected) in run.outputs {
          let bytes = try expected.bytes()
          XCTAssertTrue(try inPlace.output(name).bytes == bytes, "\(each.name) \(name) differs")
          XCTAssertTrue(made[name]?.bytes == bytes, "\(each.name) \(name) differs")
        }
      }
    }
  }

  /// Models from memory, with and without a copy, and from a URL.
  func testSources() throws {
    let run = try XCTUnwrap(try Files.case("dense").runs.first)
    let data = try Files.data("dense.samara")
    let released = expectation(description: "released")
    let place = UnsafeMutableRawBufferPointer.allocate(byteCount: data.count, alignment: 64)
    data.copyBytes(to: place)
    let memory = UnsafeRawBufferPointer(place)
    for make in [
      { try Model(data: data) },
      { try Model(data: (Data([0]) + data).dropFirst()) },
      { try Model(url: Files.folder.appendingPathComponent("dense.samara")) },
      { try Model(bytesNoCopy: memory) { released.fulfill() } },
      { try Model(path: Files.path("dense.samara"), copy: true, verify: true) },
    ] {
      let model = try make()
      XCTAssertTrue(model.isVerified)
      try model.selftest()
      try model.verify()
      let session = try Session(model)
      model.close()
      let made = try session.run(run.inputs.mapValues { try $0.tensor() })
      XCTAssertEqual(made["y"]?.bytes, try run.outputs["y"]?.bytes())
    }
    wait(for: [released], timeout: 5)
    place.deallocate()
  }

  /// A model's description.
  func testInfo() throws {
    let model = try Files.model("dense")
    XCTAssertEqual(model.labels, ["a", "b", "c"])
    XCTAssertEqual(model.metadata["note"], "hello")
    XCTAssertEqual(model.functions.map(\.name), ["main"])
    XCTAssertEqual(model.inputs[0].shape, [.symbolic("n"), 4])
    XCTAssertEqual(model.outputs[0].dtype, .float32)
    let q = try XCTUnwrap(try Files.model("dtypes").inputs.first { $0.name == "q" })
    XCTAssertEqual(q.dtype, .qint8)
    XCTAssertEqual(q.scale, 0.5)
    XCTAssertEqual(q.zeroPoint, -3)
    XCTAssertEqual(try Files.model("digits").inputs[0].record, .picture)
    XCTAssertEqual(try Files.model("words").inputs[0].record, .sound(rate: 16000))
    XCTAssertNil(model.inputs[0].record)
    XCTAssertEqual(try Files.model("functions").functions.map(\.name), ["double", "sum", "where"])
  }

  func testRuntime() throws {
    XCTAssertEqual(Runtime.version.split(separator: ".").count, 3)
    XCTAssertFalse(Runtime.isa.isEmpty)
    XCTAssertTrue(Runtime.isa.allSatisfy { $0.isASCII && $0 != "\0" })
  }

  /// Kept tensors, profile, trace, memory.
  func testInside() throws {
    let session = try Session(Files.model("dense"), keep: ["h"])
    try session.setProfiling(true)
    let x = try Tensor([Float](repeating: 1, count: 8), shape: [2, 4])
    let made = try session.run(["x": x], outputs: ["y", "h"])
    XCTAssertEqual(made["h"], try session.kept("h"))
    XCTAssertEqual(
      try made["y"]?.values(as: Float.self), try made["h"]?.values().map { max($0, 0) })
    let rows = try session.profile()
    XCTAssertTrue(rows.contains { $0.op == "matmul" && $0.count == 1 })
    XCTAssertTrue(try session.trace().contains("traceEvents"))
    XCTAssertGreaterThan(session.totalBytes, session.arenaBytes)
  }

  /// State is read, written, saved, loaded and reset.
  func testState() throws {
    let session = try Session(Files.model("counter"))
    let x = try Tensor([Float](arrayLiteral: 1, 2))
    XCTAssertEqual(session.stateNames, ["total"])
    _ = try session.run(["x": x])
    let saved = try session.saveState()
    _ = try session.run(["x": x])
    XCTAssertEqual(try session.state("total").values(), [12, 24] as [Float])
    try session.loadState(saved)
    XCTAssertEqual(try session.state("total").values(), [11, 22] as [Float])
    try session.setState("total", x)
    XCTAssertEqual(try session.run(["x": x])["y"]?.values(), [4, 8] as [Float])
    try session.reset()
    XCTAssertEqual(try session.state("total").values(), [10, 20] as [Float])
    let url = FileManager.default.temporaryDirectory.appendingPathComponent(
      "samara.\(getpid()).state")
    defer { try? FileManager.default.removeItem(at: url) }
    try session.saveState(to: url)
    try session.loadState(from: url)
    XCTAssertEqual(thrown(try session.loadState(Data([1, 2, 3]))).kind, .modelFormat)
    XCTAssertEqual(try session.state("total").values(), [10, 20] as [Float])
  }
}
