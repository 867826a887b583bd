// SPDX-License-Identifier: Apache-2.0
// Threads, tasks and cancelling; memory that stays flat.
import Dispatch
import Foundation
import Samara
import XCTest

final class ThreadTests: XCTestCase {
  private let long = Tensor(Int64.max)
  private func feeds(_ trips: Tensor) throws -> [String: Tensor] {
    ["trips": trips, "x": try Tensor([Float](repeating: 0, count: 64))]
  }

  /// A second thread is refused, and cancels.
  func testOtherThread() throws {
    let session = try Session(Files.model("loop"), threads: 1)
    let endless = try feeds(long)
    let ended = expectation(description: "ended")
    Thread.detachNewThread {
      var error: SamaraError?
      repeat {
        // The other thread may be inside when this one comes.
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

  /// A task that is cancelled ends its run, whenever that comes.
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
    // While a task waits, the session is taken.
    let task = Task { try await session.runAsync(endless) }
    try await Task.sleep(nanoseconds: 20_000_000)
    XCTAssertEqual(thrown(try session.run()).status, .badState)
    session.cancel()
    task.cancel()
    _ = await task.result
  }

  /// Many tasks, each with a session of its own, of one model.
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

  /// Open, run, close from eight threads: memory stays as it was.
  func testFlatMemory() throws {
    let rounds = Int(ProcessInfo.processInfo.environment["SAMARA_SWIFT_ROUNDS"] ?? "") ?? 400
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
    XCTAssertLessThan(grown, 4 << 20)
  }

  /// Bytes of memory that the process has; 0 where the system does not say.
  private func residentBytes() -> Int {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .ascii) else {
      return 0
    }
    return Int(text.split(separator: " ")[1])! * 4096
  }
}
