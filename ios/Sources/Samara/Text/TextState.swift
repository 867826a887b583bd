// SPDX-License-Identifier: Apache-2.0
// Texts in files.
import CSamara
import Foundation

extension TextModel {
  /// Write the tokens that have run and the cache to a file, which load(from:) of the same model
  /// reads, on other machines too. The file is replaced atomically: a process that is killed leaves
  /// the old file or the new one. Error: .file if the system refuses.
  public func save(to url: URL) throws {
    try use { call in
      try TextFile.replacing(url) { file in
        var writer = samara_writer()
        writer.struct_size = MemoryLayout<samara_writer>.size
        writer.user = Unmanaged.passUnretained(file).toOpaque()
        writer.write = { user, data, size in
          let file = Unmanaged<TextFile>.fromOpaque(user!).takeUnretainedValue()
          return file.append(UnsafeRawBufferPointer(start: data, count: size)) ? 0 : 1
        }
        let status = samara_text_state_save(call.handle, &writer)
        try file.check()
        try call.check(status)
      }
    }
  }

  /// Make the text that of a file. On an error it stays as it is, or is empty if the file contradicts
  /// itself. Errors: .file if it cannot be read, .modelFormat if it is damaged, .argument if another
  /// model made it.
  public func load(from url: URL) throws {
    try use { call in
      let file = try TextFile(reading: url)
      textNumber += 1
      var reader = samara_reader()
      reader.size_bytes = UInt64(try file.size())
      reader.user = Unmanaged.passUnretained(file).toOpaque()
      reader.read = { user, offset, buffer, size in
        let file = Unmanaged<TextFile>.fromOpaque(user!).takeUnretainedValue()
        let place = UnsafeMutableRawBufferPointer(start: buffer, count: size)
        return file.fill(place, at: offset) ? 0 : 1
      }
      let status = samara_text_state_load(call.handle, &reader)
      try file.check()
      try call.check(status)
    }
  }
}

/// An open file. A failure is kept: `check` throws it behind the runtime's call.
private final class TextFile {
  private let path: String
  private let descriptor: Int32
  private var failure: Int32 = 0

  init(reading url: URL) throws {
    path = url.path
    descriptor = open(path, O_RDONLY | O_CLOEXEC)
    if descriptor < 0 { throw Self.error("\(path) cannot be read", errno, "check the path") }
  }

  private init(creating path: String, for url: URL) throws {
    self.path = path
    descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    if descriptor < 0 { throw Self.refused(url, errno) }
  }

  deinit { close(descriptor) }

  /// Call `body` with a new file, which then takes the place of the one at `url`.
  static func replacing(_ url: URL, _ body: (TextFile) throws -> Void) throws {
    let name = "\(url.path).\(UUID().uuidString)"
    do {
      let file = try TextFile(creating: name, for: url)
      try body(file)
      if fsync(file.descriptor) != 0 || rename(name, url.path) != 0 { throw refused(url, errno) }
    } catch {
      unlink(name)
      throw error
    }
  }

  func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var left = bytes[...]
    while !left.isEmpty {
      let part = UnsafeRawBufferPointer(rebasing: left)
      let count = write(descriptor, part.baseAddress!, part.count)
      if count < 0 && errno != EINTR { return fail(errno) }
      left = left.dropFirst(max(0, count))
    }
    return true
  }

  func fill(_ place: UnsafeMutableRawBufferPointer, at offset: UInt64) -> Bool {
    var done = 0
    while done < place.count {
      let count = pread(
        descriptor, place.baseAddress! + done, place.count - done, off_t(offset) + off_t(done))
      if count == 0 { return fail(EIO) }
      if count < 0 && errno != EINTR { return fail(errno) }
      done += max(0, count)
    }
    return true
  }

  func size() throws -> Int {
    let size = lseek(descriptor, 0, SEEK_END)
    if size < 0 { throw Self.error("\(path) cannot be read", errno, "give the path of a file") }
    return Int(size)
  }

  func check() throws {
    if failure != 0 {
      throw Self.error(
        "\(path) cannot be read or written", failure, "check the file and the free space")
    }
  }

  private func fail(_ number: Int32) -> Bool {
    failure = number
    return false
  }

  private static func refused(_ url: URL, _ number: Int32) -> SamaraError {
    error("\(url.path) cannot be written", number, "check the folder and its permissions")
  }

  private static func error(_ what: String, _ number: Int32, _ fix: String) -> SamaraError {
    SamaraError(.file, .io, "\(what): \(String(cString: strerror(number)))", fix: fix)
  }
}
