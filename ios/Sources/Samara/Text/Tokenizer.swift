// SPDX-License-Identifier: Apache-2.0
// Text to ids and back.
import CSamara
import Foundation

/// The tokenizer of a language model: makes ids of text, and text of ids.
///
///     let tokenizer = try Tokenizer(Model(named: "smollm2"))
///     let ids = try tokenizer.encode("A maple's winged seed")
///     let text = try tokenizer.decode(ids)
///
/// Immutable: any number of threads may use it. Gives the ids of Python's samara.Tokenizer.
public final class Tokenizer: @unchecked Sendable {
  private let handle: OpaquePointer
  private let model: OpenedModel?
  private let memory: UnsafeMutableRawBufferPointer?

  /// The tokenizer in a model's file, read where it lies. It may be used after the model is closed.
  /// Errors: .unknownName if the file has none, .modelFormat if it is damaged.
  public convenience init(_ model: Model) throws { try self.init(model.used()) }

  init(_ model: OpenedModel) throws {
    var made: OpaquePointer?
    do {
      try check { samara_tokenizer_of_model(model.handle, &made, $0) }
    } catch let error as SamaraError where error.status == .notFound {
      throw SamaraError.noTokenizer
    }
    handle = made!
    self.model = model
    memory = nil
  }

  /// A table, as Python's Tokenizer.table has it; copied. Errors: .modelFormat if it is damaged.
  public init(table: Data) throws {
    let place = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(1, table.count), alignment: 16)
    table.copyBytes(to: place)
    var made: OpaquePointer?
    do {
      try check { samara_tokenizer_open(place.baseAddress, table.count, nil, &made, $0) }
    } catch {
      place.deallocate()
      throw error
    }
    handle = made!
    model = nil
    memory = place
  }

  deinit {
    samara_tokenizer_close(handle)
    memory?.deallocate()
  }

  /// The bytes that init(table:) takes.
  public var table: Data {
    var size = 0
    guard let bytes = samara_tokenizer_table(handle, &size) else { return Data() }
    return Data(bytes: bytes, count: size)
  }

  /// All ids are below this number; some may have no token.
  public var vocabularySize: Int { samara_tokenizer_vocabulary(handle) }

  /// The ids of a text.
  ///
  /// addSpecialTokens: with the ids that the file's post-processor adds, such as those of [CLS].
  /// parseSpecial: special tokens in the text become their ids; false: they are plain text, as text
  /// of a stranger should be. Errors: .other if the tokenizer has no token for a character, .limit
  /// if its expressions take too long.
  public func encode(
    _ text: String, addSpecialTokens: Bool = true, parseSpecial: Bool = true
  ) throws -> [Int] {
    var text = text
    let flags = textFlags(addSpecial: addSpecialTokens, parseSpecial: parseSpecial)
    let ids = try text.withUTF8 { bytes in
      try filled(bytes.count + 16, with: Int32(0)) { ids, count, error in
        bytes.withMemoryRebound(to: CChar.self) {
          samara_tokenizer_encode(
            handle, $0.baseAddress, $0.count, flags, ids.baseAddress, ids.count, &count, error)
        }
      }
    }
    return ids.map { Int($0) }
  }

  /// The text of ids. Ids without a token are left out; bytes that are no UTF-8 become U+FFFD.
  /// skipSpecialTokens: leave out special tokens.
  public func decode(_ ids: [Int], skipSpecialTokens: Bool = true) throws -> String {
    let given = ids.map(tokenNumber)
    let flags = textFlags(skipSpecial: skipSpecialTokens)
    let bytes = try filled(8 * ids.count + 64, with: UInt8(0)) { text, count, error in
      text.withMemoryRebound(to: CChar.self) {
        samara_tokenizer_decode(
          handle, given, given.count, flags, $0.baseAddress, $0.count, &count, error)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The text behind the file's normalizer.
  public func normalize(_ text: String) throws -> String {
    var text = text
    let bytes = try text.withUTF8 { bytes in
      try filled(2 * bytes.count + 64, with: UInt8(0)) { normal, count, error in
        bytes.withMemoryRebound(to: CChar.self) { from in
          normal.withMemoryRebound(to: CChar.self) {
            samara_tokenizer_normalize(
              handle, from.baseAddress, from.count, $0.baseAddress, $0.count, &count, error)
          }
        }
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The id of a token as the file spells it; nil if there is none.
  public func id(of token: String) -> Int? {
    var token = token
    let id = token.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) {
        samara_tokenizer_id(handle, $0.baseAddress, $0.count)
      }
    }
    return id < 0 ? nil : Int(id)
  }

  /// The token of an id as the file spells it; nil if it has none.
  public func token(of id: Int) -> String? {
    var size = 0
    guard let token = samara_tokenizer_token(handle, tokenNumber(id), &size) else { return nil }
    return text(token, size)
  }

  /// Begin a text that comes one token at a time.
  public func stream(skipSpecialTokens: Bool = true) throws -> TextStream {
    try TextStream(self, handle, skipSpecialTokens)
  }
}

/// Text of tokens while they come. One call at a time: a concurrent one throws.
///
///     let stream = try tokenizer.stream()
///     for id in ids { print(try stream.push(id), terminator: "") }
///     print(try stream.finish())
///
/// All parts together are what Tokenizer.decode makes of all ids.
public final class TextStream: @unchecked Sendable {
  private let handle: OpaquePointer
  private let tokenizer: Tokenizer
  private let flag = Flag()

  fileprivate init(
    _ tokenizer: Tokenizer, _ borrowed: OpaquePointer, _ skipSpecialTokens: Bool
  ) throws {
    var made: OpaquePointer?
    let flags = textFlags(skipSpecial: skipSpecialTokens)
    try check { samara_text_stream_create(borrowed, flags, &made, $0) }
    handle = made!
    self.tokenizer = tokenizer
  }

  deinit { samara_text_stream_destroy(handle) }

  /// Add a token. Returns the text that no later token can change: whole characters, often none.
  public func push(_ id: Int) throws -> String {
    try part { samara_text_stream_push(handle, tokenNumber(id), &$0, &$1, $2) }
  }

  /// The rest of the text. The stream then begins the next one.
  public func finish() throws -> String {
    try part { samara_text_stream_finish(handle, &$0, &$1, $2) }
  }

  private func part(
    _ call: (inout UnsafePointer<CChar>?, inout Int, UnsafeMutablePointer<samara_error>) ->
      samara_status
  ) throws -> String {
    guard flag.take() else { throw SamaraError.textBusy }
    defer { flag.give() }
    var made: UnsafePointer<CChar>?
    var size = 0
    try check { call(&made, &size, $0) }
    return text(made, size)
  }
}

// ---- internals ----

/// The flags of samara_text.h.
func textFlags(
  addSpecial: Bool = false, skipSpecial: Bool = false, parseSpecial: Bool = true
) -> UInt32 {
  (addSpecial ? SAMARA_TEXT_ADD_SPECIAL.rawValue : 0)
    | (skipSpecial ? SAMARA_TEXT_SKIP_SPECIAL.rawValue : 0)
    | (parseSpecial ? 0 : SAMARA_TEXT_NO_SPECIAL.rawValue)
}

/// A string of `size` bytes of UTF-8, not NUL-terminated.
func text(_ bytes: UnsafePointer<CChar>?, _ size: Int) -> String {
  String(decoding: UnsafeRawBufferPointer(start: bytes, count: size), as: UTF8.self)
}

/// An id as the runtime takes it: -1, which has no token, for those out of its range.
private func tokenNumber(_ id: Int) -> Int32 { id < 0 ? -1 : Int32(exactly: id) ?? -1 }

/// What `call` writes to an array and says the length of. Called again where `room` is too small.
private func filled<T>(
  _ room: Int, with zero: T,
  _ call: (UnsafeMutableBufferPointer<T>, inout Int, UnsafeMutablePointer<samara_error>) ->
    samara_status
) throws -> [T] {
  var room = room
  while true {
    var needed = 0
    let made = try [T](unsafeUninitializedCapacity: room) { place, count in
      let whole = UnsafeMutableBufferPointer(start: place.baseAddress, count: room)
      whole.initialize(repeating: zero)
      try check { call(whole, &needed, $0) }
      count = min(needed, room)
    }
    if needed <= room { return made }
    room = needed
  }
}
