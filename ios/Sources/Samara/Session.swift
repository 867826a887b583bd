// SPDX-License-Identifier: Apache-2.0
// A session: runs one function of a model.
import CSamara

/// Runs one function of a model. Holds the activations and the state.
///
///     let session = try Session(Model(named: "digits"))
///     let scores = try session.run(["image": image])["scores"]!
///
/// One call at a time: a concurrent call from another thread throws. Give every thread its own
/// session; sessions of one model share its weights. Only cancel() may be called at any time.
public final class Session: @unchecked Sendable {
  /// The function that it runs.
  public let function: FunctionInfo
  /// The model, also after it was closed.
  public let model: Model

  private let flag = Flag()
  private var opened: OpenedSession?
  /// For cancel(), which does not take the flag.
  private let cancelling = CancelTarget()

  /// Create a session of `function`, the first of the model for nil.
  ///
  /// threads: nil for as many as there are cores, at most 4. backend: "cpu", the only one of this
  /// package. keep: names of intermediate tensors that `kept` reads after a run. Errors:
  /// .unknownName for names that the model does not have, .limit where memory is short.
  public init(
    _ model: Model, function: String? = nil, threads: Int? = nil, backend: String = "cpu",
    keep: [String] = [], options: SessionOptions = SessionOptions()
  ) throws {
    guard backend == "cpu" else {
      throw SamaraError(
        .unsupported, .unsupported, "there is no backend '\(backend)' in this package",
        fix: "leave backend out: the session runs on the CPU")
    }
    self.model = model
    self.function = try model.function(function)
    let opened = try OpenedSession(
      model.used(), function: self.function.name, threads: threads, keep: keep, options: options)
    self.opened = opened
    cancelling.set(opened)
  }

  public var inputs: [TensorInfo] { function.inputs }
  public var outputs: [TensorInfo] { function.outputs }

  /// Release the memory; the session can no longer run. May be called twice. Throws during another
  /// call. A session without references closes automatically.
  public func close() throws {
    guard flag.take() else { throw SamaraError.sessionBusy }
    let closing = opened
    opened = nil
    cancelling.set(nil)
    flag.give()
    withExtendedLifetime(closing) {}
  }

  /// Stop a run in another thread or task, which throws .cancelled at its next node. Does nothing
  /// without one.
  public func cancel() { cancelling.cancel() }

  /// Set the shapes of inputs by name; others are unchanged. On failure all shapes are unchanged.
  public func resize(_ shapes: [String: [Int]]) throws {
    for name in shapes.keys { _ = try inputIndex(name) }
    let wanted = inputs.map { shapes[$0.name] }
    try use { try Self.resize($0, wanted, inputs) }
  }

  // ---- internals

  /// Call `body` with the session of the C runtime, with exclusive access.
  @inline(__always)
  func use<R>(_ body: (OpaquePointer) throws -> R) throws -> R {
    let handle = try enter()
    defer { leave() }
    return try body(handle)
  }

  /// Acquire the session; `leave` releases it, in any thread.
  @inline(__always)
  func enter() throws -> OpaquePointer {
    guard flag.take() else { throw SamaraError.sessionBusy }
    guard let opened else {
      flag.give()
      throw SamaraError.sessionClosed
    }
    return opened.handle
  }

  @inline(__always)
  func leave() { flag.give() }

  func inputIndex(_ name: String) throws -> Int {
    try Self.index(of: name, in: inputs, "input")
  }

  func outputIndex(_ name: String) throws -> Int {
    try Self.index(of: name, in: outputs, "output")
  }

  private static func index(of name: String, in infos: [TensorInfo], _ what: String) throws -> Int {
    for index in infos.indices where infos[index].name == name { return index }
    throw SamaraError(
      .unknownName, .notFound, "the model has no \(what) '\(name)'",
      fix: "it has \(infos.map(\.name).joined(separator: ", "))")
  }

  /// Throw the error of a session's status.
  @inline(__always)
  static func check(_ status: samara_status, _ handle: OpaquePointer) throws {
    if status != SAMARA_OK { throw failure(status, handle) }
  }

  static func failure(_ status: samara_status, _ handle: OpaquePointer) -> SamaraError {
    SamaraError(status, String(cString: samara_session_error(handle)))
  }

  /// Resize to `shapes`, in the order of the inputs; nil: unchanged.
  static func resize(_ handle: OpaquePointer, _ shapes: [[Int]?], _ infos: [TensorInfo]) throws {
    for (shape, info) in zip(shapes, infos) {
      guard let shape, shape.count != info.shape.count || shape.contains(where: { $0 < 0 })
      else { continue }
      throw SamaraError(
        .shape, .badShape, "input '\(info.name)' has shape \(info.shape), not \(shape)",
        fix: "give a size of 0 or more for each dim")
    }
    let dims = shapes.map { $0.map { $0.map { Int64($0) } } }
    let places = dims.map { shape -> UnsafeMutableBufferPointer<Int64>? in
      guard let shape else { return nil }
      // One extra element, so that rank 0 also has an address.
      let place = UnsafeMutableBufferPointer<Int64>.allocate(capacity: shape.count + 1)
      _ = place.initialize(from: shape + [0])
      return place
    }
    defer { for place in places { place?.deallocate() } }
    let pointers = places.map { $0.map { UnsafePointer($0.baseAddress!) } }
    try check(samara_session_resize(handle, pointers, pointers.count), handle)
  }
}

extension Session: CustomStringConvertible {
  public var description: String {
    func list(_ infos: [TensorInfo]) -> String {
      infos.map { "\($0.name): \($0.dtype) \($0.shape)" }.joined(separator: ", ")
    }
    return "Session(\(function.name)(\(list(inputs))) -> (\(list(outputs))))"
  }
}
