// SPDX-License-Identifier: Apache-2.0
// Reads the files of tests/e2e/swift_cases.py: models, inputs, and Python's outputs.
import Foundation
import Samara
import XCTest

/// A tensor in a file.
struct Stored: Decodable {
  let file: String
  let shape: [Int]
  let dtype: String

  func tensor() throws -> Tensor {
    let dtype = try XCTUnwrap(DType.allCases.first { "\($0)" == self.dtype }, self.dtype)
    return try Tensor(dtype: dtype, shape: shape, bytes: bytes())
  }

  func bytes() throws -> [UInt8] { try [UInt8](Files.data(file)) }

  func array<T: TensorElement>(of type: T.Type) throws -> [T] { try tensor().values(as: type) }
}

/// Runs of one model.
struct Case: Decodable {
  struct Run: Decodable {
    let inputs: [String: Stored]
    let outputs: [String: Stored]
  }
  struct Sound: Decodable {
    let file: String
    let rate: Int
    let channels: Int
  }
  let name: String
  let model: String
  let function: String?
  let runs: [Run]
  let sound: Sound?
  let heard: Stored?
}

enum Files {
  static let folder = URL(
    fileURLWithPath: ProcessInfo.processInfo.environment["SAMARA_SWIFT_CASES"] ?? "cases")

  static func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

  static func data(_ name: String) throws -> Data {
    try Data(contentsOf: folder.appendingPathComponent(name))
  }

  static func has(_ name: String) -> Bool { FileManager.default.fileExists(atPath: path(name)) }

  static func model(_ name: String) throws -> Model { try Model(path: path(name + ".samara")) }

  static func cases() throws -> [Case] {
    try JSONDecoder().decode([Case].self, from: data("cases.json"))
  }

  static func `case`(_ name: String) throws -> Case {
    try XCTUnwrap(try cases().first { $0.name == name })
  }
}

/// The SamaraError that `call` throws.
func thrown<R>(
  _ call: @autoclosure () throws -> R, file: StaticString = #filePath, line: UInt = #line
) -> SamaraError {
  do {
    _ = try call()
  } catch let error as SamaraError {
    XCTAssertFalse(error.message.isEmpty, file: file, line: line)
    return error
  } catch {
    XCTFail("\(error) is no SamaraError", file: file, line: line)
    return SamaraError(.other, .badState, "")
  }
  XCTFail("nothing was thrown", file: file, line: line)
  return SamaraError(.other, .badState, "")
}
