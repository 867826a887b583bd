// SPDX-License-Identifier: Apache-2.0
// Texts in threads and tasks: cancelling, several at once, misuse.
import Dispatch
import Foundation
import Samara
import XCTest

final class TextThreadTests: XCTestCase {
  private let many = [Int](repeating: 1, count: 4_000_000)
  private let endless = TextOptions(maxTokens: .max, ignoreEnd: true)

  /// Cancelling a task ends its call, at whatever moment; the model then works.
  func testCancelledTasks() async throws {
    let model = try textModel("endless")
    let many = self.many
    let endless = self.endless
    let calls: [@Sendable () async throws -> Void] = [
      { _ = try await model.putAsync(many) },
      { _ = try await model.generateAsync("A maple", options: endless) },
      { for try await _ in try model.stream([1, 2], options: endless) {} },
    ]
    for call in calls {
      for delay in [0, 0, 1_000, 100_000, 5_000_000, 40_000_000] as [UInt64] {
        let task = Task { try await call() }
        if delay > 0 { try await Task.sleep(nanoseconds: delay) }
        task.cancel()
        do {
          _ = try await task.value
          XCTFail("an endless call ended")
        } catch SamaraError.Kind.cancelled {
        }
      }
      try await isAsNew(model)
    }
  }

  /// cancel() ends a call in another thread. The call can be repeated.
  func testCancelFromAnotherThread() async throws {
    let model = try textModel("endless")
    let many = self.many
    let endless = self.endless
    model.cancel()
    let calls: [@Sendable () throws -> Void] = [
      { try model.put(many) },
      { _ = try model.generate([1, 2], options: endless) },
    ]
    for call in calls {
      for pause in [2_000, 30_000] as [UInt32] {
        let ended = expectation(description: "ended")
        Thread.detachNewThread { [self] in
          XCTAssertEqual(failure(call)?.kind, .cancelled)
          ended.fulfill()
        }
        var refused = false
        while !refused {
          do {
            _ = try model.tokens
          } catch {
            refused = (error as? SamaraError)?.status == .badState
          }
        }
        usleep(pause)
        XCTAssertEqual(thrown(try model.put("a")).status, .badState)
        XCTAssertEqual(thrown(try model.close()).status, .badState)
        model.cancel()
        await fulfillment(of: [ended], timeout: 30)
      }
      try await isAsNew(model)
    }
  }

  /// A text that was cancelled continues where it was, without a gap.
  func testCancelledTextGoesOn() throws {
    let said = try TextFiles.read()
    let first = try XCTUnwrap(said.runs.first)
    let model = try textModel()
    let done = Box(false)
    Thread.detachNewThread {
      while !done.value {
        model.cancel()
        usleep(50)
      }
    }
    var cancelled = 0
    let late = Date().addingTimeInterval(60)
    while cancelled < 20 && Date() < late {
      let run = try model.stream(said.prompt, options: first.options.made)
      var text = ""
      while true {
        do {
          guard let part = try run.next() else { break }
          text += part
        } catch SamaraError.Kind.cancelled {
          cancelled += 1
        }
      }
      same(text, first.parts.joined())
      XCTAssertEqual(run.tokens, first.tokens)
    }
    done.value = true
    XCTAssertGreaterThanOrEqual(cancelled, 20)
  }

  /// What a call throws, made again while another thread uses the model.
  private func failure(_ call: () throws -> Void) -> SamaraError? {
    while true {
      do {
        try call()
        return nil
      } catch let error {
        let failed = error as? SamaraError
        if failed?.status != .badState { return failed }
      }
    }
  }

  /// The model has not kept anything of a cancelled call.
  private func isAsNew(_ model: TextModel) async throws {
    let options = TextOptions(maxTokens: 20, ignoreEnd: true, temperature: 1, seed: 3)
    let made = try model.generate("A maple", options: options)
    let fresh = try TextModel(model.model, threads: 1).generate("A maple", options: options)
    XCTAssertEqual(made.tokens, fresh.tokens)
    let waited = try await model.generateAsync("A maple", options: options)
    XCTAssertEqual(waited.tokens, fresh.tokens)
  }

  // ---- several texts ----

  /// Text models of one Model have texts of their own.
  func testTwoModels() throws {
    let said = try TextFiles.read()
    let shared = try Files.model("text")
    let some = said.runs.filter { $0.prompt == said.prompt }.prefix(2)
    let models = try some.map { _ in try TextModel(shared, threads: 1) }
    let runs = try zip(some, models).map { try $0.stream($1, $0.options.made) }
    shared.close()
    var going = true
    while going {
      going = false
      for run in runs { going = try run.next() != nil || going }
    }
    for (run, each) in zip(runs, some) { XCTAssertEqual(run.tokens, each.tokens) }
  }

  func testManyTasks() async throws {
    let said = try TextFiles.read()
    let shared = try Files.model("text")
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for index in 0..<12 {
        group.addTask {
          let each = said.runs[index]
          let model = try TextModel(shared, threads: 1)
          var text = ""
          for try await part in try each.stream(model, each.options.made) { text += part }
          return Array(text.utf8) == Array(each.parts.joined().utf8)
        }
      }
      for try await same in group { XCTAssertTrue(same) }
    }
  }

  func testTwoTextsInOneModel() throws {
    let model = try textModel()
    let first = try model.stream("one")
    let second = try model.stream("two")
    XCTAssertNotNil(try first.next())
    XCTAssertNotNil(try second.next())
    XCTAssertTrue(thrown(try first.next()).message.contains("begun another text"))
    XCTAssertNotNil(try second.next())
    try model.put("three")
    XCTAssertTrue(thrown(try second.next()).message.contains("begun another text"))
  }

  /// Eight threads call anything on one text model: each call works or throws.
  func testAnythingFromAnywhere() throws {
    let model = try textModel()
    let file = Files.folder.appendingPathComponent("text.state")
    let short = TextOptions(maxTokens: 3)
    let run = try model.stream("a", options: endless)
    let calls: [(TextModel) throws -> Void] = [
      { try $0.put("A maple") },
      { _ = try $0.generate("A seed", options: short) },
      { _ = try $0.logits() },
      { _ = try $0.tokens },
      { _ = try $0.tokenizer.encode("a") },
      { try $0.load(from: file) },
      { $0.cancel() },
      { _ = $0.memoryBytes },
      { _ in _ = try run.next() },
      { _ in _ = run.tokens.count + run.promptTokens },
    ]
    let counts = [Box(0), Box(0)]
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      var random = SystemRandomNumberGenerator()
      for round in 0..<300 {
        do {
          if round == 250 && thread == 0 { try model.close() }
          try calls.randomElement(using: &random)!(model)
          counts[0].change { $0 += 1 }
        } catch let error as SamaraError {
          if error.status != .badState && error.kind != .cancelled { XCTFail("\(error)") }
          counts[1].change { $0 += 1 }
        } catch {
          XCTFail("\(error)")
        }
      }
    }
    for count in counts { XCTAssertGreaterThan(count.value, 20) }
  }

  /// A model that only its task refers to is freed when the task ends.
  func testAbandonedTasks() async throws {
    let shared = try Files.model("endless")
    let endless = self.endless
    weak var last: TextModel?
    for round in 0..<20 {
      let model = try TextModel(shared, threads: 1)
      last = model
      let task = Task { [model] in try await model.generateAsync("a", options: endless) }
      if round % 2 == 0 { await Task.yield() }
      task.cancel()
      _ = await task.result
    }
    for _ in 0..<200 where last != nil { try await Task.sleep(nanoseconds: 10_000_000) }
    XCTAssertNil(last)
  }
}
