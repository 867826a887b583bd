// SPDX-License-Identifier: Apache-2.0
// Options of sessions.
import CSamara

/// Limits and accuracy of a session.
public struct SessionOptions: Hashable, Sendable {
  public enum Accuracy: Hashable, Sendable {
    case standard
    /// No transformed or reduced-precision algorithms.
    case strict
    /// Float32 products with constant weights may round both operands to bfloat16, if the CPU has
    /// instructions for that.
    case bfloat16
  }

  public var accuracy = Accuracy.standard
  /// Most bytes of activations and scratch; nil: no limit. A run or resize that needs more throws
  /// .limit.
  public var maxArenaBytes: UInt64?
  /// Node executions of a run; nil: no limit.
  public var maxSteps: UInt64?
  /// Seconds of a run from its start; nil: no limit.
  public var deadline: Double?
  /// Time every node of every run.
  public var profile = false

  public init() {}
}

/// A session of the C runtime with what it borrows; destroyed with its last reference.
final class OpenedSession: @unchecked Sendable {
  let handle: OpaquePointer
  private let model: OpenedModel
  private let pool: OpaquePointer?

  init(
    _ model: OpenedModel, function: String, threads: Int?, keep: [String], options: SessionOptions
  ) throws {
    self.model = model
    pool = try Self.pool(threads)
    var native = samara_session_options()
    native.struct_size = MemoryLayout<samara_session_options>.size
    native.pool = pool
    try Self.fill(&native, options)
    var made: OpaquePointer?
    do {
      try withCStrings([function] + keep) { names in
        native.function = names[0]
        native.keep_count = keep.count
        try Array(names.dropFirst()).withUnsafeBufferPointer { kept in
          native.keep = kept.baseAddress
          try check { samara_session_create(model.handle, &native, &made, $0) }
        }
      }
    } catch {
      samara_pool_destroy(pool)
      throw error
    }
    handle = made!
  }

  deinit {
    samara_session_destroy(handle)
    samara_pool_destroy(pool)
  }

  /// A pool of threads; nil for one thread.
  static func pool(_ threads: Int?) throws -> OpaquePointer? {
    if threads == 1 { return nil }
    if let threads, threads < 1 {
      throw SamaraError(
        .argument, .badArgument, "threads is \(threads)", fix: "give 1 or more, or nil for up to 4")
    }
    var options = samara_pool_options()
    options.struct_size = MemoryLayout<samara_pool_options>.size
    options.threads = threads ?? 0
    var pool: OpaquePointer?
    try check { samara_pool_create(&options, &pool, $0) }
    return pool
  }

  static func fill(_ native: inout samara_session_options, _ options: SessionOptions) throws {
    native.strict_accuracy = options.accuracy == .strict
    native.bfloat16 = options.accuracy == .bfloat16
    native.profile = options.profile
    native.max_arena_bytes = options.maxArenaBytes ?? 0
    native.max_steps = options.maxSteps ?? 0
    if let deadline = options.deadline {
      guard deadline > 0, deadline < 1e12 else {
        throw SamaraError(
          .argument, .badArgument, "the deadline is \(deadline) s", fix: "give seconds above 0")
      }
      native.deadline_us = max(1, UInt64(deadline * 1e6))
    }
  }
}

/// Call `body` with C strings, which live as long as the call.
func withCStrings(
  _ texts: [String], _ body: ([UnsafePointer<CChar>?]) throws -> Void
) throws {
  let copies = texts.map { text in
    text.utf8CString.withUnsafeBufferPointer { from in
      let copy = UnsafeMutableBufferPointer<CChar>.allocate(capacity: from.count)
      _ = copy.initialize(from: from)
      return copy
    }
  }
  defer { for copy in copies { copy.deallocate() } }
  try body(copies.map { UnsafePointer($0.baseAddress) })
}
