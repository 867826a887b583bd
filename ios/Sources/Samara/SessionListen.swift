// SPDX-License-Identifier: Apache-2.0
// Runs on sound, one per tensor.
import CSamara

extension Session {
  /// Run on each tensor that the record of an input makes of sound, and call `body` with the
  /// outputs.
  ///
  /// feeds: the other inputs, the same in every run; state goes from run to run. end: whether the
  /// sound ends here. With false what does not fill a tensor is kept for the next call, so that
  /// portions of a microphone give what one recording gives. The session is in use while `body`
  /// runs. It may throw; what it has not heard is left out, and the next call begins again.
  public func listen(
    _ sound: Audio, feeds: [String: Tensor] = [:], end: Bool = true,
    _ body: ([String: Tensor]) throws -> Void
  ) throws {
    try hear(sound, feeds, end) { handle in try body(try results(handle, nil)) }
  }

  /// Like listen, but with answers instead of outputs.
  public func predictEach(
    _ sound: Audio, feeds: [String: Tensor] = [:], end: Bool = true,
    _ body: (Answer) throws -> Void
  ) throws {
    try hear(sound, feeds, end) { handle in try body(try answer(handle)) }
  }

  /// The outputs of each run on portions of sound as they come, such as those of a microphone. The
  /// session is in use while a portion is heard, not between them.
  ///
  ///     for try await outputs in session.listen(microphone) { … }
  public func listen<Portions: AsyncSequence>(
    _ portions: Portions, feeds: [String: Tensor] = [:]
  ) -> Listening<Portions, [String: Tensor]> where Portions.Element == Audio {
    Listening(self, portions, feeds) { session, handle in try session.results(handle, nil) }
  }

  /// The answer of each run.
  public func predictEach<Portions: AsyncSequence>(
    _ portions: Portions, feeds: [String: Tensor] = [:]
  ) -> Listening<Portions, Answer> where Portions.Element == Audio {
    Listening(self, portions, feeds) { session, handle in try session.answer(handle) }
  }

  // ---- internals

  /// Process a chunk, or the end of the sound after the last one.
  func hear(
    _ sound: Audio, _ feeds: [String: Tensor], _ end: Bool, _ each: (OpaquePointer) throws -> Void
  ) throws {
    let index = try soundInput()
    try checkNames(feeds, but: [inputs[index].name])
    try use { handle in
      try feed(handle, feeds)
      do {
        try push(handle, index, sound, each)
        if end { try finish(handle, index, each) }
      } catch {
        drop(handle, index)
        throw error
      }
    }
  }

  /// Flush the stream after the last chunk.
  func hearEnd(_ each: (OpaquePointer) throws -> Void) throws {
    let index = try soundInput()
    try use { handle in try finish(handle, index, each) }
  }

  private func push(
    _ handle: OpaquePointer, _ index: Int, _ sound: Audio, _ each: (OpaquePointer) throws -> Void
  ) throws {
    var heard = 0
    while true {
      var taken = 0
      var ready = false
      let status = sound.withNative(from: heard) {
        samara_session_push_audio(handle, index, $0, &taken, &ready)
      }
      try Self.check(status, handle)
      heard += taken
      if !ready { return }
      try Self.check(samara_session_run(handle), handle)
      try each(handle)
    }
  }

  private func finish(
    _ handle: OpaquePointer, _ index: Int, _ each: (OpaquePointer) throws -> Void
  ) throws {
    while true {
      var ready = false
      try Self.check(samara_session_end_audio(handle, index, &ready), handle)
      if !ready { return }
      try Self.check(samara_session_run(handle), handle)
      try each(handle)
    }
  }

  /// End the stream and drop what it still holds back.
  private func drop(_ handle: OpaquePointer, _ index: Int) {
    var ready = true
    while ready && samara_session_end_audio(handle, index, &ready) == SAMARA_OK {}
  }

  private func soundInput() throws -> Int {
    for (index, input) in inputs.enumerated() {
      if case .sound = input.record { return index }
    }
    throw SamaraError(
      .unsupported, .notFound, "the file does not say how sound becomes an input",
      fix: "export it with a record of sound, or give tensors")
  }
}

/// The results of a session for chunks of sound as they arrive.
public struct Listening<Portions: AsyncSequence, Element>: AsyncSequence
where Portions.Element == Audio {
  let session: Session
  let portions: Portions
  let feeds: [String: Tensor]
  let read: (Session, OpaquePointer) throws -> Element

  init(
    _ session: Session, _ portions: Portions, _ feeds: [String: Tensor],
    _ read: @escaping (Session, OpaquePointer) throws -> Element
  ) {
    self.session = session
    self.portions = portions
    self.feeds = feeds
    self.read = read
  }

  public func makeAsyncIterator() -> Iterator { Iterator(self, portions.makeAsyncIterator()) }

  public struct Iterator: AsyncIteratorProtocol {
    private let listening: Listening
    private var portions: Portions.AsyncIterator
    /// Results of the last chunk that were not returned yet, in reverse order.
    private var made: [Element] = []
    private var ended = false

    init(_ listening: Listening, _ portions: Portions.AsyncIterator) {
      self.listening = listening
      self.portions = portions
    }

    public mutating func next() async throws -> Element? {
      while made.isEmpty && !ended {
        var all: [Element] = []
        let session = listening.session
        let read = listening.read
        if let portion = try await portions.next() {
          try session.hear(portion, listening.feeds, false) { all.append(try read(session, $0)) }
        } else {
          ended = true
          try session.hearEnd { all.append(try read(session, $0)) }
        }
        made = all.reversed()
      }
      return made.popLast()
    }
  }
}
