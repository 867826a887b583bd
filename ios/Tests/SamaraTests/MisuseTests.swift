// SPDX-License-Identifier: Apache-2.0
// Every misuse must throw an error that says what to do.
import Samara
import XCTest

final class MisuseTests: XCTestCase {
  private func dense(_ rows: Int = 2) throws -> Tensor {
    try Tensor([Float](repeating: 1, count: 4 * rows), shape: [rows, 4])
  }

  func testFilesThatAreNoModel() throws {
    XCTAssertEqual(thrown(try Model(path: "/none/there.samara")).kind, .file)
    XCTAssertEqual(thrown(try Model(path: "/")).kind, .file)
    XCTAssertEqual(thrown(try Model(named: "none")).kind, .file)
    XCTAssertEqual(thrown(try Model(data: Data())).kind, .modelFormat)
    XCTAssertEqual(thrown(try Model(data: Data(count: 100_000))).kind, .modelFormat)
    let remote = URL(string: "https://example.com/m.samara")!
    XCTAssertEqual(thrown(try Model(url: remote)).kind, .argument)
    let whole = try Files.data("dense.samara")
    for size in stride(from: 0, to: whole.count, by: 97) {
      XCTAssertEqual(thrown(try Model(data: whole.prefix(size))).kind, .modelFormat)
    }
    var damaged = whole
    damaged[damaged.count - 20] ^= 1
    XCTAssertEqual(thrown(try Model(data: damaged, verify: true)).kind, .modelFormat)
    let released = expectation(description: "released")
    let none = UnsafeRawBufferPointer(start: nil, count: 0)
    XCTAssertEqual(thrown(try Model(bytesNoCopy: none) { released.fulfill() }).status, .badArgument)
    wait(for: [released], timeout: 5)
  }

  func testNamesAndShapes() throws {
    let model = try Files.model("dense")
    XCTAssertEqual(thrown(try Session(model, function: "none")).kind, .unknownName)
    XCTAssertEqual(thrown(try Session(model, backend: "opencl")).kind, .unsupported)
    XCTAssertEqual(thrown(try Session(model, threads: 0)).kind, .argument)
    XCTAssertEqual(thrown(try Session(model, threads: .max)).status, .badArgument)
    XCTAssertEqual(thrown(try Session(model, keep: ["none"])).kind, .unknownName)
    let session = try Session(model)
    XCTAssertEqual(thrown(try session.run()).status, .badState)
    XCTAssertEqual(thrown(try session.output("y")).status, .badState)
    XCTAssertEqual(thrown(try session.run([:])).kind, .shape)
    XCTAssertEqual(thrown(try session.run(["z": dense()])).kind, .unknownName)
    XCTAssertEqual(thrown(try session.run(["x": dense(), "z": dense()])).kind, .unknownName)
    XCTAssertEqual(thrown(try session.run(["x": dense()], outputs: ["none"])).kind, .unknownName)
    let flat = try Tensor([Float](repeating: 1, count: 4))
    XCTAssertEqual(thrown(try session.run(["x": flat])).kind, .shape)
    let wide = try Tensor([Float](repeating: 1, count: 10), shape: [2, 5])
    XCTAssertEqual(thrown(try session.run(["x": wide])).kind, .shape)
    let ints = try Tensor([Int32](repeating: 1, count: 8), shape: [2, 4])
    let wrong = thrown(try session.run(["x": ints]))
    XCTAssertEqual(wrong.message, "input 'x' is float32, not int32")
    XCTAssertEqual(wrong.fix, "make the tensor of float32")
    XCTAssertEqual(thrown(try session.resize(["x": [2, -4]])).kind, .shape)
    XCTAssertEqual(thrown(try session.resize(["x": [.max, 4]])).kind, .shape)
    let words = try Session(Files.model("loop"))
    XCTAssertEqual(thrown(try words.setInput("x", Tensor(Float(1)))).kind, .shape)
    XCTAssertEqual(try session.run(["x": dense()]).count, 1)
  }

  func testTensors() throws {
    XCTAssertEqual(thrown(try Tensor([Float](), shape: [2])).kind, .shape)
    XCTAssertEqual(thrown(try Tensor([Float](), shape: [-1])).kind, .shape)
    XCTAssertEqual(thrown(try Tensor([Float](), shape: [.max, .max])).kind, .shape)
    XCTAssertEqual(thrown(try Tensor(dtype: .float64, shape: [.max], bytes: [])).kind, .shape)
    XCTAssertEqual(thrown(try Tensor([Float](arrayLiteral: 1)).values(as: Int8.self)).kind, .shape)
    XCTAssertEqual(try Tensor([Float]()).values(as: Float.self), [])
    XCTAssertEqual(try Tensor(Int64(7)).values(as: Int.self), [7])
    XCTAssertEqual(try Tensor(dtype: .uint4, shape: [3], bytes: [0x21, 3]).count, 3)
  }

  func testMemoryInPlace() throws {
    let session = try Session(Files.model("dense"))
    try session.resize(["x": [2, 4]])
    XCTAssertEqual(thrown(try session.withInput("x", as: Int8.self) { _ in }).kind, .shape)
    XCTAssertEqual(thrown(try session.withInput("z", as: Float.self) { _ in }).kind, .unknownName)
    XCTAssertEqual(thrown(try session.withInput(7, as: Float.self) { _ in }).status, .badArgument)
    XCTAssertEqual(thrown(try session.withInput(-1, as: Float.self) { _ in }).kind, .range)
    XCTAssertEqual(thrown(try session.withOutput(0, as: Float.self) { _ in }).status, .badState)
    try session.withInput("x", as: Float.self) { x in
      XCTAssertEqual(x.count, 8)
      x.update(repeating: 1)
      // The session is in use, so calls on it from inside must fail.
      XCTAssertEqual(thrown(try session.run()).status, .badState)
      XCTAssertEqual(thrown(try session.close()).status, .badState)
    }
    try session.run()
    let sum = try session.withOutput("y", as: Float.self) { $0.reduce(0, +) }
    XCTAssertEqual(sum, try session.output("y").values(as: Float.self).reduce(0, +))
    let small = UnsafeMutableRawBufferPointer.allocate(byteCount: 4, alignment: 64)
    defer { small.deallocate() }
    XCTAssertEqual(thrown(try session.bindInput("x", to: .init(small))).status, .badShape)
    XCTAssertEqual(thrown(try session.bindOutput("y", to: small)).status, .badShape)
    let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
    XCTAssertEqual(thrown(try session.bindInput("x", to: nothing)).kind, .shape)
  }

  func testBound() throws {
    let session = try Session(Files.model("dense"))
    try session.resize(["x": [2, 4]])
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 128, alignment: 64)
    defer { memory.deallocate() }
    let x = UnsafeMutableRawBufferPointer(rebasing: memory[0..<32])
    let y = UnsafeMutableRawBufferPointer(rebasing: memory[64..<88])
    for index in 0..<8 { x.storeBytes(of: Float(index), toByteOffset: 4 * index, as: Float.self) }
    try session.bindInput("x", to: UnsafeRawBufferPointer(x))
    try session.bindOutput("y", to: y)
    try session.run()
    let expected = try Session(session.model).run(
      ["x": Tensor((0..<8).map { Float($0) }, shape: [2, 4])])
    XCTAssertEqual([UInt8](y), expected["y"]?.bytes)
    try session.bindOutput("y", to: nil)
    try session.run()
    XCTAssertEqual(try session.output("y"), expected["y"])
  }

  func testClosed() async throws {
    let model = try Files.model("dense")
    let session = try Session(model)
    model.close()
    model.close()
    XCTAssertEqual(thrown(try Session(model)).message, "the model is closed")
    XCTAssertEqual(thrown(try model.selftest()).message, "the model is closed")
    XCTAssertFalse(model.isVerified)
    XCTAssertEqual(model.inputs.count, 1)
    XCTAssertEqual(try session.run(["x": dense()]).count, 1)
    try session.close()
    try session.close()
    session.cancel()
    for error in [
      thrown(try session.run(["x": dense()])), thrown(try session.run()),
      thrown(try session.withInput(0, as: Float.self) { _ in }), thrown(try session.output("y")),
      thrown(try session.resize(["x": [1, 4]])), thrown(try session.profile()),
      thrown(try session.reset()), thrown(try session.saveState()), thrown(try session.kept("h")),
    ] {
      XCTAssertEqual(error.message, "the session is closed")
      XCTAssertEqual(error.fix, "create another one, or close it later")
    }
    XCTAssertEqual(session.totalBytes, 0)
    XCTAssertEqual(session.stateNames, [])
    do {
      try await session.runAsync()
      XCTFail("ran")
    } catch SamaraError.Kind.other {
    }
  }

  func testPlaceOfAFailure() throws {
    let loop = try Session(Files.model("loop"), options: limited { $0.maxSteps = 10 })
    let feeds = ["trips": Tensor(Int64(1000)), "x": try Tensor([Float](repeating: 0, count: 64))]
    let error = thrown(try loop.run(feeds))
    XCTAssertEqual(error.kind, .limit)
    XCTAssertNotNil(error.node)
    XCTAssertNotNil(error.operator)
    XCTAssertTrue("\(error)".contains(error.message))
    let late = try Session(loop.model, options: limited { $0.deadline = 1e-3 })
    let long = ["trips": Tensor(Int64.max), "x": try Tensor([Float](repeating: 0, count: 64))]
    XCTAssertEqual(thrown(try late.run(long)).kind, .limit)
    XCTAssertEqual(
      thrown(try Session(loop.model, options: limited { $0.deadline = -1 })).kind, .argument)
  }

  private func limited(_ change: (inout SessionOptions) -> Void) -> SessionOptions {
    var options = SessionOptions()
    change(&options)
    return options
  }
}
