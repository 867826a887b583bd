// SPDX-License-Identifier: Apache-2.0
// Reads the files of tests/e2e/text_cases.py: text models, and Python's texts.
import Foundation
import Samara
import XCTest

/// The content of text.json.
struct TextFiles: Decodable {
  struct Options: Decodable {
    let maxTokens: Int
    let ignoreEnd: Bool?
    let stop: [String]?
    let endTokens: [Int]?
    let temperature: Double?
    let topK: Int?
    let topP: Double?
    let minP: Double?
    let repetitionPenalty: Double?
    let repetitionWindow: Int?
    let seed: UInt64?
    let parseSpecial: Bool?
    let addSpecial: Bool?

    var made: TextOptions {
      TextOptions(
        maxTokens: maxTokens, stop: stop ?? [], endTokens: endTokens,
        ignoreEnd: ignoreEnd ?? false, temperature: temperature ?? 0, topK: topK ?? 0,
        topP: topP ?? 1, minP: minP ?? 0, repetitionPenalty: repetitionPenalty ?? 1,
        repetitionWindow: repetitionWindow ?? 0, seed: seed ?? 0,
        parseSpecial: parseSpecial ?? true, addSpecialTokens: addSpecial ?? true)
    }
  }

  struct Run: Decodable, Sendable {
    let prompt: String?
    let ids: [Int]?
    let options: Options
    let parts: [String]
    let tokens: [Int]
    let end: String
    let promptTokens: Int
    let reusedTokens: Int
    let all: [Int]

    func stream(_ model: TextModel, _ options: TextOptions) throws -> TextRun {
      if let prompt { return try model.stream(prompt, options: options) }
      return try model.stream(XCTUnwrap(ids), options: options)
    }
  }

  struct Row: Decodable {
    let text: String?
    let ids: [Int]
    let plain: [Int]?
    let decoded: String
    let whole: String?
  }

  struct Table: Decodable {
    let table: String
    let vocabSize: Int
    let rows: [Row]
    let tokens: [String: String?]
    let normal: String
    let asText: [Int]
  }

  let prompt: String
  let promptIds: [Int]
  let runs: [Run]
  let tokenizers: [Table]

  /// As in text_cases.py.
  static let maple = "Ahornsamen fliegen weit: \u{1F341} \u{E9} e\u{301} \u{6953}\0."

  static func read() throws -> TextFiles {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    return try decoder.decode(TextFiles.self, from: Files.data("text.json"))
  }
}

/// A value that threads share.
final class Box<Value>: @unchecked Sendable {
  private let lock = NSLock()
  private var held: Value
  init(_ value: Value) { held = value }
  var value: Value {
    get {
      lock.lock()
      defer { lock.unlock() }
      return held
    }
    set { change { $0 = newValue } }
  }
  func change(_ body: (inout Value) -> Void) {
    lock.lock()
    body(&held)
    lock.unlock()
  }
}

/// Compare strings by their bytes: == takes an accent and its composed form for equal.
func same(
  _ made: String, _ expected: String, file: StaticString = #filePath, line: UInt = #line
) {
  XCTAssertEqual(Array(made.utf8), Array(expected.utf8), file: file, line: line)
}

/// A text model of a file.
func textModel(_ name: String = "text", threads: Int? = 1) throws -> TextModel {
  try TextModel(Files.model(name), threads: threads)
}
