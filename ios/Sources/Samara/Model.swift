// SPDX-License-Identifier: Apache-2.0
// A model: a .samara file, opened and verified.
import CSamara
import Foundation

/// An immutable model, shared by any number of sessions and threads.
///
///     let model = try Model(path: "digits.samara")
///     let session = try Session(model)
///
/// A file is mapped and must not change while the model is open. To replace it, rename another file
/// to its name, or open it with `copy: true`.
///
/// Errors: .file if the file cannot be read, .modelFormat if it is not a valid model, .unsupported
/// for an operator that this build of the runtime lacks.
public final class Model: @unchecked Sendable {
  /// The functions that a session can run; the first is the default.
  public let functions: [FunctionInfo]
  /// Keys and values stored in the file.
  public let metadata: [String: String]
  /// The names of classes by number; empty if the file has none.
  public let labels: [String]

  private let lock = NSLock()
  private var opened: OpenedModel?

  /// Open a file. `copy` reads the whole file into memory. `verify` compares every byte with the
  /// checksums in the file; nil: only in files of at most 64 MiB.
  public convenience init(path: String, copy: Bool = false, verify: Bool? = nil) throws {
    try self.init(
      OpenedModel(copy: copy, verify: verify) { options, out, error in
        samara_model_open_path(path, options, out, error)
      })
  }

  /// Open a file.
  public convenience init(url: URL, copy: Bool = false, verify: Bool? = nil) throws {
    guard url.isFileURL else {
      throw SamaraError(
        .argument, .badArgument, "\(url) is not the URL of a file",
        fix: "download it, and open the file")
    }
    try self.init(path: url.path, copy: copy, verify: verify)
  }

  /// Open `name`.samara of a bundle: an app's own, unless another is named.
  public convenience init(
    named name: String, in bundle: Bundle = .main, verify: Bool? = nil
  ) throws {
    guard let path = bundle.path(forResource: name, ofType: "samara") else {
      throw SamaraError(
        .file, .io, "\(name).samara is not in the bundle \(bundle.bundlePath)",
        fix: "add the file to the target's \"Copy Bundle Resources\"")
    }
    try self.init(path: path, verify: verify)
  }

  /// Open the bytes of a file, which are copied.
  public convenience init(data: Data, verify: Bool? = nil) throws {
    guard !data.isEmpty else {
      throw SamaraError(
        .modelFormat, .badModel, "the data is empty", fix: "give the bytes of a .samara file")
    }
    try self.init(
      OpenedModel(copy: true, verify: verify) { options, out, error in
        data.withUnsafeBytes { bytes in
          Self.aligned(bytes) { samara_model_open_memory($0, $1, options, out, error) }
        }
      })
  }

  /// Open the bytes of a file in place, aligned to at least 4 bytes. They must not change until
  /// `release` is called: after the model and its last session are closed, or at once if opening
  /// fails.
  public convenience init(
    bytesNoCopy bytes: UnsafeRawBufferPointer, verify: Bool? = nil,
    release: @escaping @Sendable () -> Void = {}
  ) throws {
    try self.init(
      OpenedModel(copy: false, verify: verify, release: release) { options, out, error in
        samara_model_open_memory(bytes.baseAddress, bytes.count, options, out, error)
      })
  }

  private init(_ opened: OpenedModel) throws {
    self.opened = opened
    let handle = opened.handle
    functions = try (0..<samara_model_function_count(handle)).map {
      try FunctionInfo(handle, String(cString: samara_model_function_name(handle, $0)))
    }
    metadata = Self.metadata(of: handle)
    labels = Self.labels(in: metadata)
  }

  /// Inputs of the first function.
  public var inputs: [TensorInfo] { functions.first?.inputs ?? [] }
  /// Outputs of the first function.
  public var outputs: [TensorInfo] { functions.first?.outputs ?? [] }

  /// The function of that name, the first for nil. The message of .unknownName lists all names.
  public func function(_ name: String? = nil) throws -> FunctionInfo {
    guard let found = functions.first(where: { name == nil || $0.name == name }) else {
      throw SamaraError(
        .unknownName, .notFound, "the model has no function '\(name ?? "")'",
        fix: "it has \(functions.map(\.name).joined(separator: ", "))")
    }
    return found
  }

  /// Run the golden inputs stored in the file. The error names the output that differs, or says
  /// that there are no golden inputs.
  public func selftest() throws {
    let model = try used()
    try check { samara_model_selftest(model.handle, $0) }
  }

  /// Compare every byte with its checksum now, whatever the size.
  public func verify() throws {
    let model = try used()
    try check { samara_model_verify(model.handle, $0) }
  }

  /// Whether every byte matched its checksum in the last comparison.
  public var isVerified: Bool {
    (try? used()).map { samara_model_verified($0.handle) == SAMARA_VERIFIED } ?? false
  }

  /// Close the model: no further session can be created, and the file closes with the last session.
  /// May be called twice. A model without references closes automatically.
  public func close() {
    lock.lock()
    let closing = opened
    opened = nil
    lock.unlock()
    withExtendedLifetime(closing) {}
  }

  /// The opened file, which stays open as long as the result is referenced.
  func used() throws -> OpenedModel {
    lock.lock()
    defer { lock.unlock() }
    guard let opened else { throw SamaraError.modelClosed }
    return opened
  }

  /// Call `body` with the bytes at an address that is a multiple of 4, as the runtime requires; a
  /// slice of Data may be misaligned.
  private static func aligned<R>(
    _ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawPointer?, Int) -> R
  ) -> R {
    if Int(bitPattern: bytes.baseAddress) % 4 == 0 { return body(bytes.baseAddress, bytes.count) }
    let place = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
    defer { place.deallocate() }
    place.copyMemory(from: bytes)
    return body(UnsafeRawPointer(place.baseAddress), bytes.count)
  }

  private static func metadata(of handle: OpaquePointer) -> [String: String] {
    var pairs: [String: String] = [:]
    for index in 0..<samara_model_metadata_count(handle) {
      var key: UnsafePointer<CChar>?
      var value: UnsafePointer<CChar>?
      guard samara_model_metadata(handle, index, &key, &value) == SAMARA_OK, let key, let value
      else { continue }
      pairs[String(cString: key)] = String(cString: value)
    }
    return pairs
  }

  private static func labels(in metadata: [String: String]) -> [String] {
    guard let text = metadata["labels"],
      let list = try? JSONDecoder().decode([String].self, from: Data(text.utf8))
    else { return [] }
    return list
  }
}

extension Model: CustomStringConvertible {
  public var description: String {
    "Model(\(functions.map(\.name).joined(separator: ", ")))"
  }
}

/// A model of the C runtime, closed with the last reference to it.
final class OpenedModel: @unchecked Sendable {
  let handle: OpaquePointer
  private let release: () -> Void

  init(
    copy: Bool, verify: Bool?, release: @escaping @Sendable () -> Void = {},
    open: (
      UnsafePointer<samara_model_options>, UnsafeMutablePointer<OpaquePointer?>,
      UnsafeMutablePointer<samara_error>
    ) -> samara_status
  ) throws {
    var options = samara_model_options()
    options.struct_size = MemoryLayout<samara_model_options>.size
    options.copy = copy
    let wanted = verify.map { $0 ? SAMARA_VERIFY_ALWAYS : SAMARA_VERIFY_NEVER }
    options.verify = Int((wanted ?? SAMARA_VERIFY_SMALL).rawValue)
    var made: OpaquePointer?
    do {
      try check { open(&options, &made, $0) }
    } catch {
      release()
      throw error
    }
    handle = made!
    self.release = release
  }

  deinit {
    samara_model_close(handle)
    release()
  }
}
