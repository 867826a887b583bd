// SPDX-License-Identifier: Apache-2.0
// Texts must be those of Python's TextModel and Tokenizer: tests/e2e/text_cases.py writes both.
import Foundation
import Samara
import XCTest

final class TextTests: XCTestCase {
  // ---- tokenizers ----

  /// Ids and texts of every recorded tokenizer.
  func testTokenizers() throws {
    let all = try TextFiles.read().tokenizers
    XCTAssertEqual(all.count, 18)
    for each in all {
      let table = try Files.data(each.table)
      let tokenizer = try Tokenizer(table: table)
      XCTAssertEqual(tokenizer.table, table)
      XCTAssertEqual(tokenizer.vocabularySize, each.vocabSize)
      for row in each.rows {
        if let text = row.text {
          XCTAssertEqual(try tokenizer.encode(text), row.ids, each.table)
          XCTAssertEqual(
            try tokenizer.encode(text, addSpecialTokens: false), row.plain ?? row.ids, each.table)
        }
        same(try tokenizer.decode(row.ids), row.decoded)
        if let whole = row.whole {
          same(try tokenizer.decode(row.ids, skipSpecialTokens: false), whole)
        }
        let stream = try tokenizer.stream()
        let parts = try row.ids.map { try stream.push($0) }
        same(parts.joined() + (try stream.finish()), row.decoded)
      }
      for (id, token) in each.tokens {
        let found = tokenizer.token(of: Int(id)!)
        XCTAssertEqual(found.map { Array($0.utf8) }, token.map { Array($0.utf8) })
        if let found { XCTAssertEqual(tokenizer.id(of: found), Int(id)) }
      }
      same(try tokenizer.normalize(TextFiles.maple), each.normal)
      XCTAssertEqual(
        try tokenizer.encode("a<s>[SEP]<|endoftext|>", parseSpecial: false), each.asText)
    }
  }

  func testTokenizerOfAModel() throws {
    let model = try Files.model("text")
    let tokenizer = try Tokenizer(model)
    model.close()
    XCTAssertEqual(tokenizer.vocabularySize, 260)
    XCTAssertEqual(try tokenizer.encode("a<|end|>"), [259, 97, 256])
    XCTAssertEqual(try tokenizer.encode("<|end|>", parseSpecial: false).count, 1 + 7)
    XCTAssertEqual(try tokenizer.decode([97, 256, 98, 9999, -1, .max]), "ab")
    XCTAssertEqual(try tokenizer.decode([97, 256], skipSpecialTokens: false), "a<|end|>")
    XCTAssertEqual(try tokenizer.encode("", addSpecialTokens: false), [])
    XCTAssertEqual(try tokenizer.decode([]), "")
    same(try tokenizer.decode(try tokenizer.encode(TextFiles.maple)), TextFiles.maple)
    XCTAssertEqual(tokenizer.id(of: "<|end|>"), 256)
    XCTAssertNil(tokenizer.id(of: "none"))
    XCTAssertNil(tokenizer.token(of: 9999))
    XCTAssertNil(tokenizer.token(of: -5))
    // A character of four bytes comes when its last byte is there.
    let stream = try tokenizer.stream()
    let leaf = try [0xF0, 0x9F, 0x8D, 0x81].map { try stream.push($0) }
    XCTAssertEqual(leaf, ["", "", "", "\u{1F341}"])
    XCTAssertEqual(try stream.push(0xF0), "")
    XCTAssertEqual(try stream.finish(), "\u{FFFD}")
  }

  // ---- texts ----

  /// The same texts in every way to make them, one after the other in one model.
  func testTexts() async throws {
    let said = try TextFiles.read()
    let inPlace = try textModel()
    let waiting = try textModel(threads: 2)
    let parted = try textModel()
    XCTAssertGreaterThan(said.runs.count, 15)
    for each in said.runs {
      let options = each.options.made
      let run = try each.stream(parted, options)
      XCTAssertNil(run.end)
      var parts: [String] = []
      for try await part in run { parts.append(part) }
      XCTAssertEqual(parts.map { Array($0.utf8) }, each.parts.map { Array($0.utf8) })
      XCTAssertNil(try run.next())
      let once = try each.stream(inPlace, options).whole()
      let waited = try await each.stream(waiting, options).wholeAsync()
      for made in [once, waited] { same(made.text, each.parts.joined()) }
      // All of its text was handed out.
      let rest = try run.whole()
      XCTAssertEqual(rest.text, "")
      for made in [once, waited, rest] {
        XCTAssertEqual(made.tokens, each.tokens)
        XCTAssertEqual(made.end.rawValue, each.end)
        XCTAssertEqual(made.promptTokens, each.promptTokens)
        XCTAssertEqual(made.reusedTokens, each.reusedTokens)
      }
      for model in [inPlace, waiting, parted] { XCTAssertEqual(try model.tokens, each.all) }
    }
  }

  func testOneCall() async throws {
    let said = try TextFiles.read()
    let first = try XCTUnwrap(said.runs.first)
    let model = try textModel()
    let made = try model.generate(said.prompt, options: first.options.made)
    XCTAssertEqual(made.tokens, first.tokens)
    XCTAssertEqual("\(made)", made.text)
    var again = try await model.generateAsync(said.prompt, options: first.options.made)
    XCTAssertEqual(again.tokens, first.tokens)
    again = try await model.generateAsync(said.promptIds, options: first.options.made)
    XCTAssertEqual(again.tokens, first.tokens)
    // Without options: the likeliest tokens, at most 256, and here at most what the model takes.
    XCTAssertEqual(try model.generate(said.promptIds).tokens.prefix(60), first.tokens[...])
  }

  func testPromptsAndLogits() async throws {
    let said = try TextFiles.read()
    let model = try textModel()
    XCTAssertEqual(model.contextLength, 200)
    XCTAssertNil(try textModel("endless").contextLength)
    XCTAssertEqual(model.vocabularySize, 260)
    XCTAssertEqual(try model.tokenizer.vocabularySize, 260)
    XCTAssertTrue(try XCTUnwrap(model.chatTemplate).contains("<|{{ m.role }}|>"))
    XCTAssertGreaterThan(model.memoryBytes, 1000)
    XCTAssertEqual(try model.tokens, [])
    XCTAssertEqual(try model.put(said.prompt), 0)
    XCTAssertEqual(try model.tokens, said.promptIds)
    let logits = try model.logits()
    XCTAssertTrue(logits.withUnsafeBytes { Data($0) } == (try Files.data("text.logits")))
    XCTAssertEqual(try model.put(said.prompt), said.promptIds.count)
    XCTAssertEqual(try model.put(said.prompt + "!"), said.promptIds.count)
    let reused = try await model.putAsync(said.promptIds)
    XCTAssertEqual(reused, said.promptIds.count - 1)
    XCTAssertEqual(try model.logits(), logits)
    try await model.putAsync("a<|end|>", parseSpecial: false)
    XCTAssertEqual(try model.tokens, [259] + Array("a<|end|>".utf8).map { Int($0) })
    try model.put("a<|end|>", addSpecialTokens: false)
    XCTAssertEqual(try model.tokens, [97, 256])
  }

  // ---- files ----

  /// Files are those of Python, in both directions.
  func testStates() throws {
    let said = try TextFiles.read()
    let file = Files.folder.appendingPathComponent("made.state")
    defer { try? FileManager.default.removeItem(at: file) }
    let sampled = try XCTUnwrap(said.runs.first { $0.options.seed == 4 })
    let first = try textModel()
    try first.put(said.prompt)
    try first.save(to: file)
    try first.save(to: file)
    XCTAssertTrue(try Data(contentsOf: file) == (try Files.data("text.state")))
    let second = try textModel()
    try second.load(from: Files.folder.appendingPathComponent("text.state"))
    XCTAssertEqual(try second.tokens, said.promptIds)
    let made = try second.generate(said.prompt, options: sampled.options.made)
    XCTAssertEqual(made.tokens, sampled.tokens)
    XCTAssertEqual(made.reusedTokens, said.promptIds.count - 1)

    let whole = try Data(contentsOf: file)
    var changed = whole
    changed[200] ^= 1
    for wrong in [whole.dropLast(), whole.prefix(70), Data(), changed, whole + Data([0])] {
      try wrong.write(to: file)
      XCTAssertEqual(thrown(try second.load(from: file)).kind, .modelFormat)
    }
    try whole.write(to: file)
    let stranger = thrown(try textModel("short").load(from: file))
    XCTAssertEqual(stranger.kind, .argument)
    XCTAssertTrue(stranger.message.contains("another model"), stranger.message)
    let none = Files.folder.appendingPathComponent("none/there.state")
    XCTAssertEqual(thrown(try second.load(from: none)).kind, .file)
    XCTAssertEqual(thrown(try second.load(from: Files.folder)).kind, .file)
    XCTAssertEqual(thrown(try second.save(to: none)).kind, .file)
    // A folder cannot be replaced, and nothing is left beside it.
    let folder = Files.folder.appendingPathComponent("text.folder")
    XCTAssertEqual(thrown(try second.save(to: folder)).kind, .file)
    let left = try FileManager.default.contentsOfDirectory(atPath: Files.folder.path)
    XCTAssertEqual(left.filter { $0.hasPrefix("made.state") }, ["made.state"])
    XCTAssertEqual(left.filter { $0.hasPrefix("text.folder") }, ["text.folder"])
  }

  // ---- misuse ----

  func testRefusals() throws {
    let model = try textModel()
    func refused(_ change: (inout TextOptions) -> Void) -> SamaraError {
      var options = TextOptions()
      change(&options)
      let error = thrown(try model.generate("a", options: options))
      XCTAssertEqual(error.kind, .argument)
      XCTAssertNotNil(error.fix)
      return error
    }
    XCTAssertEqual(refused { $0.maxTokens = 0 }.message, "maxTokens is 0")
    XCTAssertEqual(refused { $0.temperature = -1 }.message, "temperature is -1.0")
    XCTAssertEqual(refused { $0.temperature = .nan }.fix, "give a number at least 0")
    XCTAssertEqual(refused { $0.topP = 1.5 }.fix, "give a number above 0 and at most 1")
    _ = refused { $0.topP = 0 }
    _ = refused { $0.minP = -0.1 }
    _ = refused { $0.topK = -1 }
    _ = refused { $0.repetitionPenalty = 0 }
    _ = refused { $0.repetitionWindow = -1 }
    _ = refused { $0.stop = ["a", ""] }
    _ = refused { $0.stop = ["a\0b"] }
    XCTAssertEqual(
      refused { $0.endTokens = [3, 260] }.message, "token 1 is 260, the model has 0 to 259")
    XCTAssertEqual(thrown(try model.put([3, -5])).message, "token 1 is -5, the model has 0 to 259")
    XCTAssertEqual(thrown(try model.put([.max])).kind, .argument)
    XCTAssertEqual(thrown(try model.generate([Int]())).status, .badState)
    XCTAssertEqual(thrown(try model.put([Int](repeating: 1, count: 201))).kind, .limit)
    XCTAssertEqual(thrown(try model.put(String(repeating: "x", count: 200))).kind, .limit)
    XCTAssertEqual(thrown(try textModel("text").logits()).status, .badState)

    let bare = try textModel("bare")
    XCTAssertEqual(try bare.generate([1, 2], options: TextOptions(maxTokens: 3)).text, "")
    XCTAssertEqual(thrown(try bare.put("a")).kind, .unknownName)
    XCTAssertEqual(thrown(try bare.tokenizer).kind, .unknownName)
    XCTAssertEqual(thrown(try Tokenizer(bare.model)).message, "the file has no tokenizer")
    XCTAssertEqual(
      thrown(try bare.generate([1], options: TextOptions(stop: ["a"]))).kind, .argument)

    let other = thrown(try TextModel(Files.model("dense")))
    XCTAssertEqual(other.kind, .unsupported)
    XCTAssertTrue(other.message.contains("samara.export_text"), other.message)
    XCTAssertEqual(thrown(try TextModel(model.model, threads: 0)).kind, .argument)
    XCTAssertEqual(thrown(try TextModel(path: "/none/there.samara")).kind, .file)
    XCTAssertNotNil(try TextModel(path: Files.path("text.samara")))
    XCTAssertNotNil(
      try TextModel(url: Files.folder.appendingPathComponent("text.samara"), threads: 1))

    let table = try Tokenizer(model.model).table
    XCTAssertEqual(try Tokenizer(table: (Data([0]) + table).dropFirst()).table, table)
    XCTAssertEqual(thrown(try Tokenizer(table: Data())).kind, .modelFormat)
    for size in stride(from: 1, to: table.count, by: 997) {
      XCTAssertEqual(thrown(try Tokenizer(table: table.prefix(size))).kind, .modelFormat)
    }
  }

  func testLimits() throws {
    var options = SessionOptions()
    options.maxSteps = 1
    let model = try TextModel(Files.model("text"), threads: 1, options: options)
    let error = thrown(try model.put("a"))
    XCTAssertEqual(error.kind, .limit)
    XCTAssertNotNil(error.node)
    XCTAssertNotNil(error.operator)
  }

  func testClosed() async throws {
    let model = try textModel()
    let run = try model.stream("a")
    XCTAssertNotNil(try run.next())
    let tokenizer = try model.tokenizer
    try model.close()
    try model.close()
    model.cancel()
    XCTAssertEqual(model.memoryBytes, 0)
    XCTAssertEqual(try tokenizer.decode([97]), "a")
    for error in [
      thrown(try model.put("a")), thrown(try model.tokens), thrown(try model.logits()),
      thrown(try model.generate("a")), thrown(try run.next()), thrown(try run.whole()),
      thrown(try model.tokenizer), thrown(try model.save(to: Files.folder)),
    ] {
      XCTAssertEqual(error.message, "the text model is closed")
    }
    do {
      _ = try await model.putAsync("a")
      XCTFail("ran")
    } catch SamaraError.Kind.other {
    }
    let shared = try Files.model("text")
    shared.close()
    XCTAssertEqual(thrown(try TextModel(shared)).message, "the model is closed")
    XCTAssertEqual(thrown(try Tokenizer(shared)).message, "the model is closed")
  }
}
