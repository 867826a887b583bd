// SPDX-License-Identifier: Apache-2.0
// Runs on tensors by name, and on the session's own memory without allocations.
import CSamara

extension Session {
  /// Run on named inputs, all of them, and return named outputs.
  ///
  /// New shapes resize the session. outputs: names wanted, kept tensors too; nil for all outputs.
  /// Errors: .unknownName for a wrong name, .shape for a wrong element type or shape.
  public func run(_ feeds: [String: Tensor], outputs names: [String]? = nil) throws
    -> [String: Tensor]
  {
    try checkNames(feeds)
    return try use { handle in
      try feed(handle, feeds)
      try Self.check(samara_session_run(handle), handle)
      return try results(handle, names)
    }
  }

  /// Run on the current inputs, set by `withInput`, `setInput` or `setImage` or kept from the
  /// previous run. Allocates nothing unless the function is growing.
  public func run() throws {
    try use { handle in try Self.check(samara_session_run(handle), handle) }
  }

  // ---- without garbage

  /// Fill input `index` in place: `body` gets its memory, of its current shape, for the call.
  public func withInput<T: TensorElement, R>(
    _ index: Int, as type: T.Type = T.self,
    _ body: (UnsafeMutableBufferPointer<T>) throws -> R
  ) throws -> R {
    try use { handle in
      var tensor = samara_tensor()
      try Self.check(samara_session_input(handle, try Self.whole(index), &tensor), handle)
      return try Self.with(tensor, "input", body)
    }
  }

  /// Fill the input of that name in place.
  public func withInput<T: TensorElement, R>(
    _ name: String, as type: T.Type = T.self,
    _ body: (UnsafeMutableBufferPointer<T>) throws -> R
  ) throws -> R {
    try withInput(try inputIndex(name), as: type, body)
  }

  /// Read output `index` of the last run in place: `body` gets its memory for the call.
  public func withOutput<T: TensorElement, R>(
    _ index: Int, as type: T.Type = T.self,
    _ body: (UnsafeBufferPointer<T>) throws -> R
  ) throws -> R {
    try use { handle in
      var tensor = samara_tensor()
      try Self.check(samara_session_output(handle, try Self.whole(index), &tensor), handle)
      return try Self.with(tensor, "output") { (all: UnsafeMutableBufferPointer<T>) in
        try body(UnsafeBufferPointer(all))
      }
    }
  }

  /// Read the output of that name in place.
  public func withOutput<T: TensorElement, R>(
    _ name: String, as type: T.Type = T.self,
    _ body: (UnsafeBufferPointer<T>) throws -> R
  ) throws -> R {
    try withOutput(try outputIndex(name), as: type, body)
  }

  /// Copy a tensor into an input; a new shape resizes the session.
  public func setInput(_ name: String, _ tensor: Tensor) throws {
    let index = try inputIndex(name)
    try use { handle in try set(handle, index, tensor) }
  }

  /// Output `name` of the last run, copied.
  public func output(_ name: String) throws -> Tensor {
    let index = try outputIndex(name)
    return try use { handle in try Self.result(handle, index) }
  }

  /// Have all following runs read an input from the caller's memory, until `setInput`, `withInput`
  /// or a resize. It must stay valid until then, and its size must match the input's shape.
  public func bindInput(_ name: String, to memory: UnsafeRawBufferPointer) throws {
    let index = try inputIndex(name)
    try use { handle in
      let status = samara_session_bind_input(handle, index, memory.baseAddress, memory.count)
      try Self.check(status, handle)
    }
  }

  /// Have all following runs compute an output into the caller's memory, until it is bound to other
  /// memory, unbound with nil, or a resize. The memory must stay valid until then, be aligned to
  /// the output's elements and have the output's size.
  public func bindOutput(_ name: String, to memory: UnsafeMutableRawBufferPointer?) throws {
    let index = try outputIndex(name)
    try use { handle in
      let status = samara_session_bind_output(
        handle, index, memory?.baseAddress, memory?.count ?? 0)
      try Self.check(status, handle)
    }
  }

  // ---- internals

  /// Throw unless `feeds` has exactly the inputs that are not in `others`.
  func checkNames(_ feeds: [String: Tensor], but others: Set<String> = []) throws {
    for name in feeds.keys { _ = try inputIndex(name) }
    if feeds.count + others.count == inputs.count { return }
    let missing = inputs.map(\.name).filter { feeds[$0] == nil && !others.contains($0) }
    if missing.isEmpty { return }
    throw SamaraError(
      .shape, .badShape, "no value for \(missing.joined(separator: ", "))",
      fix: "the function takes \(inputs.map(\.name).joined(separator: ", "))")
  }

  /// Copy tensors into the inputs.
  func feed(_ handle: OpaquePointer, _ feeds: [String: Tensor]) throws {
    for (name, tensor) in feeds { try checkType(try inputIndex(name), tensor) }
    var resizes = false
    for (index, info) in inputs.enumerated() {
      guard let tensor = feeds[info.name] else { continue }
      resizes = try resizes || Self.shape(handle, index) != tensor.shape
    }
    if resizes { try Self.resize(handle, inputs.map { feeds[$0.name]?.shape }, inputs) }
    for (index, info) in inputs.enumerated() {
      if let tensor = feeds[info.name] { try Self.copy(handle, index, tensor) }
    }
  }

  /// Outputs of the last run, and kept tensors if they are named.
  func results(_ handle: OpaquePointer, _ names: [String]?) throws -> [String: Tensor] {
    var made: [String: Tensor] = [:]
    for (index, info) in outputs.enumerated() where names?.contains(info.name) ?? true {
      made[info.name] = try Self.result(handle, index)
    }
    for name in names ?? [] where made[name] == nil {
      made[name] = try Self.keptTensor(handle, name)
    }
    return made
  }

  private func set(_ handle: OpaquePointer, _ index: Int, _ tensor: Tensor) throws {
    try checkType(index, tensor)
    if try Self.shape(handle, index) != tensor.shape {
      try Self.resize(handle, inputs.indices.map { $0 == index ? tensor.shape : nil }, inputs)
    }
    try Self.copy(handle, index, tensor)
  }

  private func checkType(_ index: Int, _ tensor: Tensor) throws {
    let info = inputs[index]
    if tensor.dtype == info.dtype { return }
    // A Swift array does not determine which of the element types with its memory layout is meant.
    if let same = Self.sameMemory[tensor.dtype], same.contains(info.dtype) { return }
    throw SamaraError(
      .shape, .badShape, "input '\(info.name)' is \(info.dtype), not \(tensor.dtype)",
      fix: "make the tensor of \(info.dtype)")
  }

  private static let sameMemory: [DType: Set<DType>] = [
    .int8: [.qint8], .uint8: [.bool], .uint16: [.float16, .bfloat16],
  ]

  private static func copy(_ handle: OpaquePointer, _ index: Int, _ tensor: Tensor) throws {
    let status = tensor.bytes.withUnsafeBytes {
      samara_session_set_input(handle, index, $0.baseAddress, $0.count)
    }
    try check(status, handle)
  }

  /// The current shape of an input; nil while it has none.
  private static func shape(_ handle: OpaquePointer, _ index: Int) throws -> [Int]? {
    var tensor = samara_tensor()
    return samara_session_input(handle, index, &tensor) == SAMARA_OK ? tensor.dims : nil
  }

  private static func result(_ handle: OpaquePointer, _ index: Int) throws -> Tensor {
    var tensor = samara_tensor()
    try check(samara_session_output(handle, index, &tensor), handle)
    return try Tensor(tensor)
  }

  @inline(__always)
  private static func whole(_ index: Int) throws -> Int {
    if index >= 0 { return index }
    throw SamaraError(.range, .badArgument, "index \(index)", fix: "give 0 or more")
  }

  @inline(__always)
  private static func with<T: TensorElement, R>(
    _ tensor: samara_tensor, _ what: StaticString,
    _ body: (UnsafeMutableBufferPointer<T>) throws -> R
  ) throws -> R {
    let dtype = DType(rawValue: UInt32(tensor.dtype.rawValue))
    guard let dtype, dtype.fits(T.self) else {
      try DType(tensor.dtype).check(T.self, "the \(what)")
      throw SamaraError.sessionClosed  // unreachable: one of the two lines above threw
    }
    let count = tensor.size_bytes / MemoryLayout<T>.stride
    let data = tensor.data?.bindMemory(to: T.self, capacity: count)
    return try body(UnsafeMutableBufferPointer(start: data, count: data == nil ? 0 : count))
  }
}
