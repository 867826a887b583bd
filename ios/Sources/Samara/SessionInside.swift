// SPDX-License-Identifier: Apache-2.0
// Inspection: kept tensors, time of every node, memory of a session.
import CSamara
import Foundation

/// Time of one node in the last run. Iterations of a loop add up over `count` executions.
public struct ProfileRow: Hashable, Sendable {
  public let node: String
  public let op: String
  public let kernel: String
  public let function: String
  public let startMicroseconds: Double
  public let totalMicroseconds: Double
  public let count: UInt64
}

extension Session {
  /// A copy of an intermediate tensor of the last run that is listed in `keep`. If a node absorbed
  /// it by fusion, the error names that node.
  public func kept(_ name: String) throws -> Tensor {
    try use { try Self.keptTensor($0, name) }
  }

  static func keptTensor(_ handle: OpaquePointer, _ name: String) throws -> Tensor {
    var tensor = samara_tensor()
    let status = samara_session_kept(handle, name, &tensor)
    if status != SAMARA_OK {
      let error = failure(status, handle)
      throw SamaraError(
        error.kind, error.status, error.message, fix: "name it in keep: when making the session",
        node: error.node, operator: error.operator)
    }
    return try Tensor(tensor)
  }

  /// Switch timing of every node on or off for the following runs.
  public func setProfiling(_ on: Bool) throws {
    try use { try Self.check(samara_session_set_profiling($0, on), $0) }
  }

  /// Time per node of the last run, which was timed: setProfiling(true) before it.
  public func profile() throws -> [ProfileRow] {
    try use { handle in
      var count = 0
      try Self.check(samara_session_profile(handle, nil, 0, &count), handle)
      var rows = [samara_profile_row](repeating: samara_profile_row(), count: count)
      try Self.check(samara_session_profile(handle, &rows, rows.count, &count), handle)
      return rows.map(ProfileRow.init)
    }
  }

  /// The same as Chrome trace JSON, which Perfetto reads.
  public func trace() throws -> String {
    try use { handle in
      var needed = 0
      // The first call returns the needed size and an error for the empty buffer.
      _ = samara_session_profile_trace(handle, nil, 0, &needed)
      var text = [UInt8](repeating: 0, count: max(1, needed))
      let status = text.withUnsafeMutableBytes {
        samara_session_profile_trace(
          handle, $0.bindMemory(to: CChar.self).baseAddress, $0.count, &needed)
      }
      try Self.check(status, handle)
      return String(decoding: text.prefix { $0 != 0 }, as: UTF8.self)
    }
  }

  /// Write `trace` to a file atomically.
  public func writeTrace(to url: URL) throws {
    try writing(Data(try trace().utf8), to: url)
  }

  /// Bytes of activations and scratch that the session holds.
  public var arenaBytes: Int { (try? use { samara_session_arena_bytes($0) }) ?? 0 }
  /// All bytes held by the session, including the arena.
  public var totalBytes: Int { (try? use { samara_session_total_bytes($0) }) ?? 0 }
}

extension ProfileRow {
  init(_ native: samara_profile_row) {
    func text(_ pointer: UnsafePointer<CChar>?) -> String {
      pointer.map { String(cString: $0) } ?? ""
    }
    node = text(native.node)
    op = text(native.op)
    kernel = text(native.kernel)
    function = text(native.function)
    startMicroseconds = Double(native.start_ns) / 1e3
    totalMicroseconds = Double(native.total_ns) / 1e3
    count = native.count
  }
}

/// Write a file atomically. SamaraError.Kind.file if the system refuses.
func writing(_ data: Data, to url: URL) throws {
  do {
    try data.write(to: url, options: .atomic)
  } catch {
    throw SamaraError(
      .file, .io, "\(url.path) cannot be written: \(error.localizedDescription)",
      fix: "check the folder and its permissions")
  }
}
