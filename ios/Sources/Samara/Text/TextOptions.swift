// SPDX-License-Identifier: Apache-2.0
// How a text is made, and what comes of it.
import CSamara

/// How a text is made. Names and meanings are those of Python's samara.TextModel.
///
///     let options = TextOptions(maxTokens: 100, stop: ["\n"], temperature: 0.8, seed: 7)
///
/// The same options and prompt give the same text on every machine, if the model is exact.
public struct TextOptions: Hashable, Sendable {
  /// The most tokens to make; above 0.
  public var maxTokens: Int
  /// Texts that end it, and are not part of it.
  public var stop: [String]
  /// Tokens that end it, in place of those that the file names; nil: those.
  public var endTokens: [Int]?
  /// Continue behind tokens that end a text.
  public var ignoreEnd: Bool
  /// Logits are divided by it; 0: always the likeliest token.
  public var temperature: Double
  /// Choose among so many of the most likely tokens; 0: all.
  public var topK: Int
  /// Choose among the most likely tokens whose probabilities add up to this; 1: all.
  public var topP: Double
  /// Choose among tokens with at least this share of the highest probability; 0: all.
  public var minP: Double
  /// Logits of tokens that were there before are divided by it, those below 0 multiplied; 1: off.
  public var repetitionPenalty: Double
  /// The penalty is for the last so many tokens; 0: all.
  public var repetitionWindow: Int
  /// Of the random numbers.
  public var seed: UInt64
  /// Special tokens in a prompt of text become their ids; false: they are plain text.
  public var parseSpecial: Bool
  /// Add to a prompt of text what the tokenizer's file says; false for text of a chat template,
  /// which writes special tokens itself.
  public var addSpecialTokens: Bool

  public init(
    maxTokens: Int = 256, stop: [String] = [], endTokens: [Int]? = nil, ignoreEnd: Bool = false,
    temperature: Double = 0, topK: Int = 0, topP: Double = 1, minP: Double = 0,
    repetitionPenalty: Double = 1, repetitionWindow: Int = 0, seed: UInt64 = 0,
    parseSpecial: Bool = true, addSpecialTokens: Bool = true
  ) {
    self.maxTokens = maxTokens
    self.stop = stop
    self.endTokens = endTokens
    self.ignoreEnd = ignoreEnd
    self.temperature = temperature
    self.topK = topK
    self.topP = topP
    self.minP = minP
    self.repetitionPenalty = repetitionPenalty
    self.repetitionWindow = repetitionWindow
    self.seed = seed
    self.parseSpecial = parseSpecial
    self.addSpecialTokens = addSpecialTokens
  }
}

/// Why a text ended. The raw values are Python's words.
public enum TextEnd: String, Hashable, Sendable {
  /// The model made a token that ends a text.
  case endToken = "end token"
  /// One of the texts in `stop` came.
  case stop
  /// maxTokens were made.
  case mostTokens = "most tokens"
  /// The model takes no more tokens.
  case full
}

/// A text that a model made.
public struct GeneratedText: Hashable, Sendable, CustomStringConvertible {
  public let text: String
  /// The tokens that were made, the one that ended the text included.
  public let tokens: [Int]
  public let end: TextEnd
  /// The number of the prompt's tokens, of which `reusedTokens` were in the cache.
  public let promptTokens: Int
  public let reusedTokens: Int

  public var description: String { text }
}

// ---- for the runtime ----

/// What a text follows.
enum TextPrompt: Sendable {
  case text(String)
  case tokens([Int])
}

extension TextOptions {
  /// Throws .argument for values out of range. vocabulary: the number of the model's tokens.
  func check(vocabulary: Int) throws {
    func require(_ holds: Bool, _ what: String, _ fix: String) throws {
      if !holds { throw SamaraError(.argument, .badArgument, what, fix: fix) }
    }
    func above(_ name: String, _ value: Double, zero: Bool = false, most: Double = 3.4e38) throws {
      let least = zero ? "at least 0" : "above 0"
      try require(
        (zero ? value >= 0 : value > 0) && value <= most, "\(name) is \(value)",
        "give a number \(least)" + (most == 1 ? " and at most 1" : ""))
    }
    try require(maxTokens > 0, "maxTokens is \(maxTokens)", "give a number above 0")
    try require(
      !stop.contains { $0.isEmpty || $0.utf8.contains(0) },
      "a stop is empty or has a NUL character", "give texts that may occur")
    try above("temperature", temperature, zero: true)
    try above("topP", topP, most: 1)
    try above("minP", minP, zero: true, most: 1)
    try above("repetitionPenalty", repetitionPenalty)
    try require(topK >= 0, "topK is \(topK)", "give 0 or more")
    try require(
      repetitionWindow >= 0, "repetitionWindow is \(repetitionWindow)", "give 0 or more")
    _ = try tokenNumbers(endTokens ?? [], vocabulary)
  }

  /// Call `body` with the options of the C interface, which live as long as the call.
  func withNative(_ body: (UnsafePointer<samara_text_options>) throws -> Void) throws {
    var sampler = nativeSampler
    var native = samara_text_options()
    native.struct_size = MemoryLayout<samara_text_options>.size
    native.max_tokens = maxTokens
    native.ignore_end_tokens = ignoreEnd || endTokens == []
    let ends = (endTokens ?? []).map { Int32($0) }
    try withCStrings(stop) { stops in
      try stops.withUnsafeBufferPointer { stops in
        try ends.withUnsafeBufferPointer { ends in
          try withUnsafePointer(to: &sampler) { sampler in
            native.sampler = sampler
            native.stops = stops.baseAddress
            native.stop_count = stops.count
            native.end_tokens = ends.baseAddress
            native.end_token_count = ends.count
            try body(&native)
          }
        }
      }
    }
  }

  private var nativeSampler: samara_sampler_options {
    // A value that float32 would make 0 is the smallest that it holds: 0 turns an option off.
    func float(_ value: Double) -> Float { value > 0 ? max(Float(value), 1e-37) : 0 }
    var native = samara_sampler_options()
    native.struct_size = MemoryLayout<samara_sampler_options>.size
    native.repetition_penalty = float(repetitionPenalty)
    native.temperature = float(temperature)
    native.top_p = float(topP)
    native.min_p = float(minP)
    native.top_k = topK
    native.repetition_window = repetitionWindow
    native.seed = seed
    return native
  }
}

/// Tokens as the runtime takes them; .argument for one that the model does not have.
func tokenNumbers(_ tokens: [Int], _ vocabulary: Int) throws -> [Int32] {
  if let wrong = tokens.firstIndex(where: { $0 < 0 || $0 >= vocabulary }) {
    throw SamaraError(
      .argument, .badArgument,
      "token \(wrong) is \(tokens[wrong]), the model has 0 to \(vocabulary - 1)",
      fix: "give tokens of the model's tokenizer")
  }
  return tokens.map { Int32($0) }
}

extension TextEnd {
  /// nil while the text continues.
  init?(_ native: samara_text_end) {
    switch native {
    case SAMARA_TEXT_END_TOKEN: self = .endToken
    case SAMARA_TEXT_STOP: self = .stop
    case SAMARA_TEXT_MOST_TOKENS: self = .mostTokens
    case SAMARA_TEXT_FULL: self = .full
    default: return nil
    }
  }
}

extension SamaraError {
  static let noTokenizer = SamaraError(
    .unknownName, .notFound, "the file has no tokenizer",
    fix: "export the model with a tokenizer, or give tokens instead of text")
  static let textBusy = SamaraError(
    .other, .badState, "the text is in use by another call",
    fix: "give every thread a text of its own; text models of one model share its weights")
  static let textClosed = SamaraError(
    .other, .badState, "the text model is closed", fix: "create another one, or close it later")
  static let otherText = SamaraError(
    .other, .badState, "the model has begun another text since", fix: "use a model for each text")
}
