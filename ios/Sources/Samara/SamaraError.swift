// SPDX-License-Identifier: Apache-2.0
// Errors: what happened, where, and what to do.
import CSamara
import Foundation

/// Every error that samara throws.
///
/// `message` says what happened, what was found and what was expected. `operator` is the operator's
/// name, `node` the node's name in the author's model, `fix` one sentence saying what to try; each
/// is nil where it does not apply. `description` joins them.
///
///     do { _ = try session.run(feeds) }
///     catch SamaraError.Kind.shape { … }
///     catch let error as SamaraError { print(error.status, error.message) }
public struct SamaraError: Error, Hashable, Sendable {
  /// The kind of error, by the names of Python's classes.
  ///
  /// A struct, not an enum: `catch` takes its constants as patterns, and more may come.
  public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }

    /// A model file is malformed: truncated, corrupt, or not what its header claims.
    public static let modelFormat = Kind(rawValue: "modelFormat")
    /// The model or the request is valid, but this version of samara cannot do it.
    public static let unsupported = Kind(rawValue: "unsupported")
    /// A name, shape or dtype does not fit what the model expects.
    public static let shape = Kind(rawValue: "shape")
    /// An argument is of an unsupported kind.
    public static let argument = Kind(rawValue: "argument")
    /// An index is out of range.
    public static let range = Kind(rawValue: "range")
    /// Nothing has that name.
    public static let unknownName = Kind(rawValue: "unknownName")
    /// A file cannot be read or written.
    public static let file = Kind(rawValue: "file")
    /// A limit was reached: memory, steps, or the deadline.
    public static let limit = Kind(rawValue: "limit")
    /// The run was cancelled.
    public static let cancelled = Kind(rawValue: "cancelled")
    /// A device or the native library failed.
    public static let backend = Kind(rawValue: "backend")
    /// Anything else: a closed object, a session that is in use, a test that failed.
    public static let other = Kind(rawValue: "other")

    /// Lets `catch SamaraError.Kind.shape` stand for all errors of that kind.
    public static func ~= (kind: Kind, error: Error) -> Bool {
      (error as? SamaraError)?.kind == kind
    }
  }

  public let kind: Kind
  /// The runtime's status; its numbers are those of samara.h and never change.
  public let status: Status
  public let message: String
  public let fix: String?
  public let node: String?
  public let `operator`: String?

  public init(
    _ kind: Kind, _ status: Status, _ message: String, fix: String? = nil, node: String? = nil,
    operator: String? = nil
  ) {
    self.kind = kind
    self.status = status
    self.message = message
    self.fix = fix
    self.node = node
    self.operator = `operator`
  }
}

extension SamaraError {
  /// The runtime's status codes, by their pinned numbers.
  public struct Status: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int32
    public init(rawValue: Int32) { self.rawValue = rawValue }

    public static let badArgument = Status(rawValue: 10)
    public static let badShape = Status(rawValue: 11)
    public static let notFound = Status(rawValue: 12)
    public static let badState = Status(rawValue: 13)
    public static let badModel = Status(rawValue: 20)
    public static let badVersion = Status(rawValue: 21)
    public static let badChecksum = Status(rawValue: 22)
    public static let selftestFailed = Status(rawValue: 23)
    public static let unsupported = Status(rawValue: 30)
    public static let outOfMemory = Status(rawValue: 40)
    public static let limit = Status(rawValue: 41)
    public static let cancelled = Status(rawValue: 42)
    public static let io = Status(rawValue: 50)
    public static let badData = Status(rawValue: 60)
    public static let trap = Status(rawValue: 61)
    public static let customOp = Status(rawValue: 62)
    public static let backend = Status(rawValue: 70)

    init(_ status: samara_status) { self.init(rawValue: Int32(status.rawValue)) }
  }
}

extension SamaraError: CustomStringConvertible, LocalizedError {
  public var description: String { fix.map { "\(message)\n  fix: \($0)" } ?? message }
  public var errorDescription: String? { description }
}

// ---- from the runtime ----

extension SamaraError {
  /// The error for a status and its message; the status text if there is none.
  init(_ status: samara_status, _ text: String) {
    let place = Self.place(in: text)
    let message = text.isEmpty ? String(cString: samara_status_text(status)) : text
    self.init(
      Self.kind(of: status, text), Status(status), message, node: place?.node,
      operator: place?.operator)
  }

  private static func kind(of status: samara_status, _ text: String) -> Kind {
    switch status {
    case SAMARA_BAD_ARGUMENT, SAMARA_BAD_SHAPE: return .shape
    case SAMARA_NOT_FOUND: return .unknownName
    case SAMARA_BAD_MODEL, SAMARA_BAD_VERSION, SAMARA_BAD_CHECKSUM: return .modelFormat
    case SAMARA_UNSUPPORTED: return .unsupported
    case SAMARA_OUT_OF_MEMORY, SAMARA_LIMIT: return .limit
    case SAMARA_CANCELLED: return .cancelled
    case SAMARA_IO: return .file
    case SAMARA_BACKEND: return .backend
    case SAMARA_BAD_DATA: return text.contains("at position") ? .range : .other
    default: return .other
    }
  }

  /// Node and operator of a message that begins with "function 'f', node 'n' (op".
  private static func place(in text: String) -> (node: String, operator: String)? {
    guard let start = text.range(of: "node '"),
      let end = text.range(of: "' (", range: start.upperBound..<text.endIndex)
    else { return nil }
    let name = text[end.upperBound...].prefix { $0 != ")" && $0 != "," }
    return (String(text[start.upperBound..<end.lowerBound]), String(name))
  }

  static let modelClosed = SamaraError(
    .other, .badState, "the model is closed", fix: "open it again, or close it later")
  static let sessionClosed = SamaraError(
    .other, .badState, "the session is closed", fix: "create another one, or close it later")
  static let sessionBusy = SamaraError(
    .other, .badState, "the session is in use by another call",
    fix: "give every thread a session of its own; sessions of one model share its weights")
}

/// Call a function that writes failures to a `samara_error`, and throw these.
func check(_ call: (UnsafeMutablePointer<samara_error>) -> samara_status) throws {
  var error = samara_error()
  let status = call(&error)
  if status != SAMARA_OK {
    let text = withUnsafeBytes(of: &error.text) {
      String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
    }
    throw SamaraError(status, text)
  }
}

/// Call `body` with a C string, or with nil.
func withCString<R>(_ text: String?, _ body: (UnsafePointer<CChar>?) throws -> R) rethrows -> R {
  guard let text else { return try body(nil) }
  return try text.withCString(body)
}
