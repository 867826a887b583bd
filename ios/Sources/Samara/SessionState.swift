// SPDX-License-Identifier: Apache-2.0
// State: the variables that live in a session.
import CSamara
import Foundation

extension Session {
  /// Names of the session's variables.
  public var stateNames: [String] {
    let names = try? use { handle in
      (0..<samara_session_state_count(handle)).map {
        String(cString: samara_session_state_name(handle, $0))
      }
    }
    return names ?? []
  }

  /// A copy of a variable.
  public func state(_ name: String) throws -> Tensor {
    try use { handle in
      var info = samara_tensor()
      try Self.check(samara_session_state_info(handle, name, &info), handle)
      var bytes = [UInt8](repeating: 0, count: info.size_bytes)
      let status = samara_session_state_read(handle, name, &bytes, bytes.count)
      try Self.check(status, handle)
      return try Tensor(dtype: DType(info.dtype), shape: info.dims, bytes: bytes)
    }
  }

  /// Set a variable.
  public func setState(_ name: String, _ tensor: Tensor) throws {
    try use { handle in
      var info = samara_tensor()
      try Self.check(samara_session_state_info(handle, name, &info), handle)
      let dtype = try DType(info.dtype)
      guard dtype == tensor.dtype, info.dims == tensor.shape else {
        throw SamaraError(
          .shape, .badShape, "variable '\(name)' is \(dtype) \(info.dims), not \(tensor)",
          fix: "give a tensor of its type and shape")
      }
      let status = samara_session_state_write(handle, name, tensor.bytes, tensor.bytes.count)
      try Self.check(status, handle)
    }
  }

  /// Set every variable to its initial value.
  public func reset() throws {
    try use { try Self.check(samara_session_reset($0), $0) }
  }

  /// All variables as a safetensors file, which Python's samara.load reads.
  public func saveState() throws -> Data {
    try use { handle in
      var needed = 0
      let size = samara_session_state_save_memory(handle, nil, 0, &needed)
      try Self.check(size, handle)
      var data = Data(count: needed)
      let status = data.withUnsafeMutableBytes {
        samara_session_state_save_memory(handle, $0.baseAddress, $0.count, &needed)
      }
      try Self.check(status, handle)
      return data
    }
  }

  /// Write all variables to a file atomically.
  public func saveState(to url: URL) throws { try writing(try saveState(), to: url) }

  /// Set all variables from such a file: all or none.
  public func loadState(_ data: Data) throws {
    try use { handle in
      let status = data.withUnsafeBytes {
        samara_session_state_load_memory(handle, $0.baseAddress, $0.count)
      }
      try Self.check(status, handle)
    }
  }

  /// Set all variables from a file: all or none.
  public func loadState(from url: URL) throws {
    let data: Data
    do {
      data = try Data(contentsOf: url)
    } catch {
      throw SamaraError(
        .file, .io, "\(url.path) cannot be read: \(error.localizedDescription)",
        fix: "check the path")
    }
    try loadState(data)
  }
}
