// SPDX-License-Identifier: Apache-2.0
// A text while it is made.
import CSamara
import Foundation

/// A text while it is made, part by part: whole characters, and nothing that may begin a stop.
///
///     let run = try model.stream("A maple", options: TextOptions(maxTokens: 100))
///     for try await part in run { print(part, terminator: "") }
///     print(run.end!, run.tokens.count)
///
/// In `for try await` each token is made in a thread of the model's own, when it is asked for;
/// cancelling the task stops it with .cancelled. next() makes it in the caller's thread. Leaving early
/// keeps the text so far in the model's cache; another text may then begin, and this one ends with an
/// error. After .cancelled it continues where it was.
public final class TextRun: AsyncSequence, @unchecked Sendable {
  public typealias Element = String

  private struct Made {
    /// The number of its text in the model; nil before the prompt has run.
    var number: Int?
    var tokens: [Int] = []
    /// Text that was not handed out yet.
    var text = ""
    var end: TextEnd?
    var promptTokens = 0
    var reusedTokens = 0
  }

  private let model: TextModel
  private let prompt: TextPrompt
  private let options: TextOptions
  private let lock = NSLock()
  private var made = Made()

  init(_ model: TextModel, _ prompt: TextPrompt, _ options: TextOptions) throws {
    try options.check(vocabulary: model.vocabularySize)
    self.model = model
    self.prompt = prompt
    self.options = options
  }

  /// The tokens made so far.
  public var tokens: [Int] { locked { $0.tokens } }
  /// Why it ended; nil while it continues.
  public var end: TextEnd? { locked { $0.end } }
  /// The number of the prompt's tokens, of which `reusedTokens` were in the cache. Known with the
  /// first part.
  public var promptTokens: Int { locked { $0.promptTokens } }
  public var reusedTokens: Int { locked { $0.reusedTokens } }

  /// The next part; nil at the end. Errors: those of TextModel.generate.
  public func next() throws -> String? {
    if isDone { return nil }
    return try model.use { try part($0) }
  }

  /// All that is still to come, at once.
  public func whole() throws -> GeneratedText {
    isDone ? result() : try model.use { try rest($0) }
  }

  /// All that is still to come, in a thread of the model's own. Cancelling the task stops it; then
  /// this throws .cancelled.
  public func wholeAsync() async throws -> GeneratedText {
    isDone ? result() : try await model.useAsync { try self.rest($0) }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(run: self) }

  public struct AsyncIterator: AsyncIteratorProtocol {
    let run: TextRun

    public func next() async throws -> String? {
      if run.isDone { return nil }
      return try await run.model.useAsync { [run] in try run.part($0) }
    }
  }

  // ---- internals

  private func locked<R>(_ body: (inout Made) -> R) -> R {
    lock.lock()
    defer { lock.unlock() }
    return body(&made)
  }

  /// Whether all text was handed out.
  private var isDone: Bool { locked { $0.end != nil && $0.text.isEmpty } }

  private func part(_ call: TextCall) throws -> String? {
    while true {
      let (text, end) = locked { made in
        defer { made.text = "" }
        return (made.text, made.end)
      }
      if !text.isEmpty { return text }
      if end != nil { return nil }
      try step(call)
    }
  }

  private func rest(_ call: TextCall) throws -> GeneratedText {
    while end == nil { try step(call) }
    return result()
  }

  private func result() -> GeneratedText {
    locked { made in
      defer { made.text = "" }
      return GeneratedText(
        text: made.text, tokens: made.tokens, end: made.end!, promptTokens: made.promptTokens,
        reusedTokens: made.reusedTokens)
    }
  }

  /// Make a token. Text that it completes is added to what was not handed out.
  private func step(_ call: TextCall) throws {
    try call.goOn()
    try begin(call)
    var token: Int32 = -1
    var part: UnsafePointer<CChar>?
    var size = 0
    var end = SAMARA_TEXT_GOING
    try call.check(samara_text_model_step(call.handle, &token, &part, &size, &end))
    locked { made in
      if token >= 0 { made.tokens.append(Int(token)) }
      made.text += text(part, size)
      made.end = TextEnd(end)
    }
  }

  /// Run the prompt, unless it has run.
  private func begin(_ call: TextCall) throws {
    if let number = locked({ $0.number }) {
      if number != model.textNumber { throw SamaraError.otherText }
      return
    }
    let reused = try model.put(call, prompt, options.addSpecialTokens, options.parseSpecial)
    try options.withNative { try call.check(samara_text_model_begin(call.handle, $0)) }
    var count = 0
    _ = samara_text_model_tokens(call.handle, &count)
    locked { made in
      made.number = model.textNumber
      made.promptTokens = count
      made.reusedTokens = reused
    }
  }
}
