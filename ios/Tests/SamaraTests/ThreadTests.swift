// SPDX-License-Identifier: Apache-2.0
// Threads, tasks and cancelling; memory must not grow.
import Dispatch
import Foundation
import Samara
import XCTest

final class ThreadTests: XCTestCase {
  private let long = Tensor(Int64.max)
  private func feeds(_ trips: Tensor) throws -> [String: Tensor] {
    ["trips": trips, "x": try Tensor([Float](repeating: 0, count: 64))]
  }

  /// A second thread may cancel a run but not use the session.
  func testOtherThread() throws {
    let session = try Session(Files.model("loop"), threads: 1)
    let endless = try feeds(long)
    let ended = expectation(description: "ended")
    Thread.detachNewThread {
      var error: SamaraError?
      repeat {
        // The other thread may be using the session at this moment.
        do { _ = try session.run(endless) } catch let failure { error = failure as? SamaraError }
      } while error?.status == .badState
      XCTAssertEqual(error?.kind, .cancelled)
      ended.fulfill()
    }
    let late = Date().addingTimeInterval(30)
    var refused = false
    while !refused && Date() < late {
      do { try session.reset() } catch { refused = (error as? SamaraError)?.status == .badState }
      usleep(100)
    }
    XCTAssertTrue(refused)
    XCTAssertEqual(thrown(try session.close()).status, .badState)
    for _ in 0..<1000 {
      session.cancel()
      usleep(1000)
      if (try? session.reset()) != nil { break }
    }
    wait(for: [ended], timeout: 30)
    XCTAssertEqual(
      try session.run(feeds(Tensor(Int64(3))))["y"]?.values(), [Float](repeating: 3, count: 64))
  }

  /// Cancelling a task ends its run, at whatever moment.
  func testCancelledTasks() async throws {
    let session = try Session(Files.model("loop"), threads: 1)
    let endless = try feeds(long)
    for delay in [0, 0, 1_000, 100_000, 5_000_000] as [UInt64] {
      let task = Task { try await session.runAsync(endless) }
      if delay > 0 { try await Task.sleep(nanoseconds: delay) }
      task.cancel()
      do {
        _ = try await task.value
        XCTFail("an endless run ended")
      } catch SamaraError.Kind.cancelled {
      }
    }
    let made = try await session.runAsync(try feeds(Tensor(Int64(5))))
    XCTAssertEqual(try made["y"]?.values(), [Float](repeating: 5, count: 64))
    // While a task waits, its session is in use.
    let task = Task { try await session.runAsync(endless) }
    try await Task.sleep(nanoseconds: 20_000_000)
    XCTAssertEqual(thrown(try session.run()).status, .badState)
    session.cancel()
    task.cancel()
    _ = await task.result
  }

  /// Many tasks share one model; each has its own session.
  func testManyTasks() async throws {
    let model = try Files.model("dense")
    let run = try XCTUnwrap(try Files.case("dense").runs.first)
    let inputs = try run.inputs.mapValues { try $0.tensor() }
    let expected = try run.outputs["y"]!.bytes()
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for _ in 0..<16 {
        group.addTask {
          let session = try Session(model, threads: 1)
          for _ in 0..<20 where try await session.runAsync(inputs)["y"]!.bytes != expected {
            return false
          }
          return true
        }
      }
      for try await same in group { XCTAssertTrue(same) }
    }
  }

  /// Eight threads call anything on one session and one model: each call works or throws.
  func testAnythingFromAnywhere() throws {
    let run = try XCTUnwrap(try Files.case("counter").runs.first)
    let inputs = try run.inputs.mapValues { try $0.tensor() }
    let model = try Files.model("counter")
    let session = try Session(model)
    let saved = try session.saveState()
    let calls: [(Session, Model) throws -> Void] = [
      { session, _ in _ = try session.run(inputs) },
      { session, _ in try session.run() },
      { session, _ in try session.withInput(0, as: Float.self) { $0.update(repeating: 1) } },
      { session, _ in _ = try session.withOutput(0, as: Float.self) { $0[0] } },
      { session, _ in try session.reset() },
      { session, _ in _ = try session.state("total") },
      { session, _ in try session.loadState(saved) },
      { session, _ in session.cancel() },
      { session, _ in _ = session.totalBytes },
      { session, _ in _ = try session.profile() },
      { session, _ in try session.resize(["x": [2]]) },
      { session, model in _ = try Session(model, threads: 1).run(inputs) },
      { _, model in try model.verify() },
    ]
    let counts = Counts()
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      var random = SystemRandomNumberGenerator()
      for round in 0..<500 {
        let closes = round == 400 && thread < 2
        do {
          if closes && thread == 0 { model.close() }
          if closes && thread == 1 { try session.close() }
          try calls.randomElement(using: &random)!(session, model)
          counts.add(0)
        } catch let error as SamaraError {
          if error.status != .badState && error.kind != .cancelled { XCTFail("\(error)") }
          counts.add(1)
        } catch {
          XCTFail("\(error)")
        }
      }
    }
    XCTAssertGreaterThan(counts.all[0], 100)
    XCTAssertGreaterThan(counts.all[1], 100)
  }

  /// A session that only its task refers to is freed when the task ends, cancelled or not.
  func testAbandonedTasks() async throws {
    let model = try Files.model("loop")
    let endless = try feeds(long)
    weak var last: Session?
    for round in 0..<50 {
      let trips = round % 2 == 0 ? endless : try feeds(Tensor(Int64(round)))
      let session = try Session(model, threads: 1)
      last = session
      let task = Task { [session] in try await session.runAsync(trips) }
      if round % 2 == 0 { task.cancel() }
      _ = await task.result
    }
    for _ in 0..<100 where last != nil { try await Task.sleep(nanoseconds: 10_000_000) }
    XCTAssertNil(last)
  }

  /// Opening, running and closing from eight threads must not grow memory.
  func testFlatMemory() throws {
    let given = ProcessInfo.processInfo.environment
    let rounds = Int(given["SAMARA_SWIFT_ROUNDS"] ?? "") ?? 400
    // Sanitizers delay the reuse of freed memory, so their limit is higher.
    let most = Int(given["SAMARA_SWIFT_GROWTH"] ?? "") ?? 4 << 20
    let run = try XCTUnwrap(try Files.case("dense").runs.first)
    let inputs = try run.inputs.mapValues { try $0.tensor() }
    let expected = try run.outputs["y"]!.bytes()
    func all(_ count: Int) {
      DispatchQueue.concurrentPerform(iterations: 8) { thread in
        for round in 0..<count / 8 {
          do {
            let model = try Files.model("dense")
            let session = try Session(model, threads: 1 + (thread + round) % 2)
            XCTAssertTrue(try session.run(inputs)["y"]!.bytes == expected)
            if round % 2 == 0 { try session.close() }
            if round % 3 == 0 { model.close() }
          } catch {
            XCTFail("\(error)")
          }
        }
      }
    }
    all(max(80, rounds / 10))
    let before = residentBytes()
    all(rounds)
    let grown = residentBytes() - before
    print("measured: \(rounds) rounds grew by \(grown) bytes")
    XCTAssertLessThan(grown, most)
  }

  /// Two counters shared by threads.
  private final class Counts: @unchecked Sendable {
    private let lock = NSLock()
    private(set) var all = [0, 0]
    func add(_ index: Int) {
      lock.lock()
      all[index] += 1
      lock.unlock()
    }
  }

  /// Resident memory of the process in bytes; 0 if the system does not tell.
  private func residentBytes() -> Int {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .ascii) else {
      return 0
    }
    return Int(text.split(separator: " ")[1])! * 4096
  }
}
