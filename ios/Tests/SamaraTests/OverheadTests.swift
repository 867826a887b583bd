// SPDX-License-Identifier: Apache-2.0
// Time and allocations of a run compared with the C interface.
import CSamara
import Foundation
import Samara
import XCTest

final class OverheadTests: XCTestCase {
  private let runs = 20_000

  /// Fill an input, run, read an output: at most one microsecond slower than in C.
  func testTime() throws {
    let session = try Session(Files.model("counter"), threads: 1)
    let c = try CSession("counter")
    var best = (swift: Double.infinity, c: Double.infinity)
    for _ in 0..<20 {
      best.swift = min(best.swift, try seconds { try swift(session) })
      best.c = min(best.c, seconds { c.run() })
    }
    let over = (best.swift - best.c) / Double(runs) * 1e9
    print("measured: \(best.c / Double(runs) * 1e9) ns in C, \(over) ns more in Swift")
    #if !DEBUG  // debug builds are not optimised
      XCTAssertLessThan(over, 1000)
    #endif
  }

  /// After the first run nothing is allocated. Needs tests/e2e/allocations.c preloaded: it counts.
  func testAllocations() throws {
    let session = try Session(Files.model("counter"), threads: 1)
    try swift(session)
    let inPlace = try allocations { try self.swift(session) }
    XCTAssertEqual(inPlace, 0)
    let x = try Tensor([Float](arrayLiteral: 1, 2))
    let byName = try allocations { _ = try session.run(["x": x]) }
    XCTAssertGreaterThan(byName, 0)
    print("measured: \(inPlace) allocations in \(runs) runs in place, \(byName) in one by name")
  }

  /// The number of allocations that `body` makes.
  private func allocations(_ body: @escaping () throws -> Void) throws -> Int {
    typealias Function = @convention(c) (UnsafeMutableRawPointer?) -> Int32
    typealias Counted = @convention(c) (
      Function, UnsafeMutableRawPointer?, Int, UnsafeMutablePointer<Int>, UnsafeMutablePointer<Int>
    ) -> Int32
    guard let found = dlsym(nil, "counted_call1") else {
      throw XCTSkip("NOT RUN: nothing counts allocations")
    }
    final class Call {
      let body: () throws -> Void
      init(_ body: @escaping () throws -> Void) { self.body = body }
    }
    let call: Function = { raw in
      let call = Unmanaged<Call>.fromOpaque(raw!).takeUnretainedValue()
      return (try? call.body()) == nil ? 1 : 0
    }
    var (count, live) = (0, 0)
    let given = Call(body)
    let status = unsafeBitCast(found, to: Counted.self)(
      call, Unmanaged.passUnretained(given).toOpaque(), 0, &count, &live)
    withExtendedLifetime(given) {}
    XCTAssertEqual(status, 0)
    return count
  }

  private func swift(_ session: Session) throws {
    for index in 0..<runs {
      try session.withInput(0, as: Float.self) { $0[0] = Float(index) }
      try session.run()
      let y = try session.withOutput("y", as: Float.self) { $0[0] }
      if y < 0 { XCTFail("\(y)") }
    }
  }

  private func seconds(_ body: () throws -> Void) rethrows -> Double {
    let start = DispatchTime.now().uptimeNanoseconds
    try body()
    return Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
  }

  /// The same steps through the C interface alone.
  private final class CSession {
    private var model: OpaquePointer?
    private var session: OpaquePointer?

    init(_ name: String) throws {
      samara_model_open_path(Files.path(name + ".samara"), nil, &model, nil)
      samara_session_create(model, nil, &session, nil)
    }

    deinit {
      samara_session_destroy(session)
      samara_model_close(model)
    }

    func run() {
      for index in 0..<20_000 {
        var tensor = samara_tensor()
        samara_session_input(session, 0, &tensor)
        tensor.data.assumingMemoryBound(to: Float.self)[0] = Float(index)
        samara_session_run(session)
        samara_session_output(session, 0, &tensor)
        if tensor.data.assumingMemoryBound(to: Float.self)[0] < 0 { XCTFail("negative") }
      }
    }
  }
}
