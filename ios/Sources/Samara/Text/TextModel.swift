// SPDX-License-Identifier: Apache-2.0
// Text by a language model: prompts, and tokens one at a time.
import CSamara
import Foundation

/// A language model with its tokenizer and one text in its cache.
///
///     let model = try TextModel(Model(named: "smollm2"))
///     for try await part in try model.stream("A maple's winged seed") { print(part) }
///
/// A prompt that begins like the text in the cache runs only what differs, so the next turn of a
/// chat costs its own tokens. One call at a time: a concurrent call from another thread throws. Only
/// cancel() may be called at any time. Text models of one Model share its weights.
///
/// Chat templates are not rendered here: write the text of the messages in the form that
/// `chatTemplate` has, and give it with TextOptions.addSpecialTokens false.
public final class TextModel: @unchecked Sendable {
  /// The model, also after it was closed.
  public let model: Model
  /// How many tokens the model knows, which is the number of logits.
  public let vocabularySize: Int
  /// The most tokens of a text; nil: any number, because every layer has a window.
  public let contextLength: Int?

  /// The number of the text in the cache. A TextRun continues only its own.
  var textNumber = 0
  private let flag = Flag()
  private let queue = DispatchQueue(label: "samara.TextModel")
  private let lock = NSLock()
  // Guarded by `lock`.
  private var opened: OpenedTextModel?
  private var call: TextCall?
  private var madeTokenizer: Tokenizer?

  /// Create a text model, with an empty text. threads: nil for as many as there are cores, at most
  /// 4. Errors: .unsupported for a model that samara.export_text did not make, .limit where memory
  /// is short.
  public init(_ model: Model, threads: Int? = nil, options: SessionOptions = SessionOptions())
    throws
  {
    let opened = try OpenedTextModel(model.used(), threads: threads, options: options)
    let context = samara_text_model_context(opened.handle)
    self.model = model
    self.opened = opened
    contextLength = context == 0 ? nil : context
    vocabularySize = model.outputs.first?.shape.last?.size ?? 0
  }

  /// Open a file, and create a text model of it.
  public convenience init(path: String, threads: Int? = nil) throws {
    try self.init(Model(path: path), threads: threads)
  }

  /// Open a file, and create a text model of it.
  public convenience init(url: URL, threads: Int? = nil) throws {
    try self.init(Model(url: url), threads: threads)
  }

  /// Release the memory; the text is gone. May be called twice. Throws during another call. A text
  /// model without references closes automatically.
  public func close() throws {
    guard flag.take() else { throw SamaraError.textBusy }
    lock.lock()
    let closing = (opened, madeTokenizer)
    opened = nil
    madeTokenizer = nil
    lock.unlock()
    flag.give()
    withExtendedLifetime(closing) {}
  }

  /// Stop the call of another thread or task, which throws .cancelled and can be repeated. Does
  /// nothing without one.
  public func cancel() {
    lock.lock()
    let going = call
    lock.unlock()
    going?.cancel()
  }

  // ---- what it is

  /// The tokenizer of the file. Error: .unknownName if it has none.
  public var tokenizer: Tokenizer {
    get throws {
      lock.lock()
      defer { lock.unlock() }
      guard let opened else { throw SamaraError.textClosed }
      let tokenizer = try madeTokenizer ?? Tokenizer(opened.model)
      madeTokenizer = tokenizer
      return tokenizer
    }
  }

  /// The template of chats in the file, a Jinja template in the form of Hugging Face's; nil if it has
  /// none. It is for a renderer of the app's: the package has none.
  public var chatTemplate: String? {
    model.metadata["text.chat_template"].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// The tokens of the text in the cache, and of what was made behind it.
  public var tokens: [Int] { get throws { try use { $0.tokens } } }

  /// All bytes that the model's session holds. Those of the cache are taken as it fills. 0 during
  /// another call.
  public var memoryBytes: Int {
    (try? use { samara_session_total_bytes(samara_text_model_session($0.handle)) }) ?? 0
  }

  // ---- tokens and logits

  /// Make the text exactly this one, and run what is not in the cache. addSpecialTokens,
  /// parseSpecial: as for Tokenizer.encode. Returns how many tokens at its beginning were in the
  /// cache. Errors: .limit if the model takes fewer tokens, .cancelled after cancel().
  @discardableResult
  public func put(_ text: String, addSpecialTokens: Bool = true, parseSpecial: Bool = true) throws
    -> Int
  {
    try use { try put($0, .text(text), addSpecialTokens, parseSpecial) }
  }

  /// Make the text exactly these tokens.
  @discardableResult
  public func put(_ tokens: [Int]) throws -> Int { try use { try put($0, .tokens(tokens)) } }

  /// Like put, in a thread of the model's own. Cancelling the task stops it; then this throws
  /// .cancelled.
  @discardableResult
  public func putAsync(_ text: String, addSpecialTokens: Bool = true, parseSpecial: Bool = true)
    async throws -> Int
  {
    try await useAsync { try self.put($0, .text(text), addSpecialTokens, parseSpecial) }
  }

  /// Like put, in a thread of the model's own.
  @discardableResult
  public func putAsync(_ tokens: [Int]) async throws -> Int {
    try await useAsync { try self.put($0, .tokens(tokens)) }
  }

  /// The logits of the token after the text, [vocabularySize]. Error: .other if there is no text.
  public func logits() throws -> [Float] {
    try use { call in
      var logits: UnsafePointer<Float>?
      var count = 0
      try call.check(samara_text_model_logits(call.handle, &logits, &count))
      return [Float](UnsafeBufferPointer(start: logits, count: count))
    }
  }

  // ---- texts

  /// The text that follows a prompt. Errors: .argument for options out of range, and those of put.
  public func generate(_ prompt: String, options: TextOptions = TextOptions()) throws
    -> GeneratedText
  {
    try stream(prompt, options: options).whole()
  }

  /// The text that follows tokens.
  public func generate(_ prompt: [Int], options: TextOptions = TextOptions()) throws
    -> GeneratedText
  {
    try stream(prompt, options: options).whole()
  }

  /// Like generate, in a thread of the model's own. Cancelling the task stops it; then this throws
  /// .cancelled, and the tokens that were made are in the cache.
  public func generateAsync(_ prompt: String, options: TextOptions = TextOptions()) async throws
    -> GeneratedText
  {
    try await stream(prompt, options: options).wholeAsync()
  }

  /// The text that follows tokens, in a thread of the model's own.
  public func generateAsync(_ prompt: [Int], options: TextOptions = TextOptions()) async throws
    -> GeneratedText
  {
    try await stream(prompt, options: options).wholeAsync()
  }

  /// The text that follows a prompt, part by part as it is certain. Nothing runs before the first
  /// part is asked for. Error: .argument for options out of range.
  public func stream(_ prompt: String, options: TextOptions = TextOptions()) throws -> TextRun {
    try TextRun(self, .text(prompt), options)
  }

  /// The text that follows tokens, part by part.
  public func stream(_ prompt: [Int], options: TextOptions = TextOptions()) throws -> TextRun {
    try TextRun(self, .tokens(prompt), options)
  }

  // ---- internals

  /// Call `body` with exclusive access.
  func use<R>(_ body: (TextCall) throws -> R) throws -> R {
    let call = try enter()
    defer { leave(call) }
    return try body(call)
  }

  /// Call `body` in the model's own thread. Cancelling the task cancels the call.
  func useAsync<R: Sendable>(_ body: @escaping @Sendable (TextCall) throws -> R) async throws -> R {
    let call = try enter()
    defer { leave(call) }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { waiting in
        queue.async {
          waiting.resume(
            with: Result {
              try call.goOn()
              return try body(call)
            })
        }
      }
    } onCancel: {
      call.cancel()
    }
  }

  private func enter() throws -> TextCall {
    guard flag.take() else { throw SamaraError.textBusy }
    lock.lock()
    defer { lock.unlock() }
    guard let opened else {
      flag.give()
      throw SamaraError.textClosed
    }
    let going = TextCall(opened)
    call = going
    return going
  }

  private func leave(_ going: TextCall) {
    lock.lock()
    call = nil
    lock.unlock()
    going.end()
    flag.give()
  }

  func put(
    _ call: TextCall, _ prompt: TextPrompt, _ addSpecial: Bool = true, _ parseSpecial: Bool = true
  ) throws -> Int {
    var reused = 0
    textNumber += 1
    switch prompt {
    case .text(var text):
      let flags = textFlags(addSpecial: addSpecial, parseSpecial: parseSpecial)
      let status = text.withUTF8 { bytes in
        bytes.withMemoryRebound(to: CChar.self) {
          samara_text_model_prompt(call.handle, $0.baseAddress, $0.count, flags, &reused)
        }
      }
      try call.check(status)
    case .tokens(let tokens):
      let ids = try tokenNumbers(tokens, vocabularySize)
      try call.check(samara_text_model_put(call.handle, ids, ids.count, &reused))
    }
    return reused
  }
}

extension TextModel: CustomStringConvertible {
  public var description: String {
    "TextModel(\(vocabularySize) tokens, \(contextLength.map { "at most \($0)" } ?? "any number"))"
  }
}

/// A text model of the C runtime with what it borrows; destroyed with its last reference.
final class OpenedTextModel: @unchecked Sendable {
  let handle: OpaquePointer
  let model: OpenedModel
  private let pool: OpaquePointer?

  init(_ model: OpenedModel, threads: Int?, options: SessionOptions) throws {
    self.model = model
    pool = try OpenedSession.pool(threads)
    var native = samara_session_options()
    native.struct_size = MemoryLayout<samara_session_options>.size
    native.pool = pool
    var made: OpaquePointer?
    do {
      try OpenedSession.fill(&native, options)
      try check { samara_text_model_create(model.handle, &native, &made, $0) }
    } catch {
      samara_pool_destroy(pool)
      throw error
    }
    handle = made!
  }

  deinit {
    samara_text_model_destroy(handle)
    samara_pool_destroy(pool)
  }
}
