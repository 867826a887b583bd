// SPDX-License-Identifier: Apache-2.0
// Pictures in, answers out.
import CSamara

extension Session {
  /// Run on a picture, and return the answer in pixels of that picture.
  ///
  /// input: the one that the picture is for; nil: the first with a record of pictures. feeds: the
  /// other inputs. Errors: .unsupported where the file does not say what its outputs mean,
  /// .unknownName where it does not say how a picture becomes an input, .shape where sizes do not
  /// fit.
  ///
  ///     for face in try session.predict(picture).detections! { … }
  public func predict(_ image: Image, input: String? = nil, feeds: [String: Tensor] = [:]) throws
    -> Answer
  {
    let index = try pictureInput(input)
    try checkNames(feeds, but: [inputs[index].name])
    try checkAnswer()
    return try use { handle in
      try feed(handle, feeds)
      try Self.set(handle, index, image)
      try Self.check(samara_session_run(handle), handle)
      return try answer(handle)
    }
  }

  /// Run on tensors, and return the answer in pixels of the input.
  public func predict(_ feeds: [String: Tensor]) throws -> Answer {
    try checkNames(feeds)
    try checkAnswer()
    return try use { handle in
      try feed(handle, feeds)
      try Self.check(samara_session_run(handle), handle)
      return try answer(handle)
    }
  }

  /// The same as predict(_:input:feeds:) in the session's own thread; cancelling the task stops it.
  public func predictAsync(
    _ image: Image, input: String? = nil, feeds: [String: Tensor] = [:]
  ) async throws -> Answer {
    let index = try pictureInput(input)
    try checkNames(feeds, but: [inputs[index].name])
    try checkAnswer()
    let handle = try enter()
    defer { leave() }
    try feed(handle, feeds)
    try Self.set(handle, index, image)
    try await run(handle)
    return try answer(handle)
  }

  /// Set an input to a picture, by the record of the file: the pixels are computed directly into
  /// the input. Then call run().
  public func setImage(_ image: Image, input: String? = nil) throws {
    let index = try pictureInput(input)
    try use { try Self.set($0, index, image) }
  }

  /// The answer of the last run.
  public func answer() throws -> Answer {
    try checkAnswer()
    return try use { try answer($0) }
  }

  // ---- internals

  /// The input for a picture.
  private func pictureInput(_ name: String?) throws -> Int {
    if let name { return try inputIndex(name) }
    if let first = inputs.firstIndex(where: { $0.record == .picture }) { return first }
    throw SamaraError(
      .unsupported, .notFound, "the file does not say how a picture becomes an input",
      fix: "export it with preprocess=, or give tensors")
  }

  private func checkAnswer() throws {
    if function.answer != nil { return }
    throw SamaraError(
      .unsupported, .notFound, "the file does not say what the outputs of '\(function.name)' mean",
      fix: "export it with postprocess=, or use run")
  }

  private static func set(_ handle: OpaquePointer, _ index: Int, _ image: Image) throws {
    try image.withNative { native in
      try check(samara_session_set_image(handle, index, native), handle)
    }
  }

  func answer(_ handle: OpaquePointer) throws -> Answer {
    var native = samara_answer()
    native.struct_size = MemoryLayout<samara_answer>.size
    try Self.check(samara_session_answer(handle, &native), handle)
    return try Answer(native, labels: model.labels)
  }
}
