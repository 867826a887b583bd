// SPDX-License-Identifier: Apache-2.0
// The linked runtime.
import CSamara

/// The C runtime beneath this package.
public enum Runtime {
  /// Its version, such as "0.9.0".
  public static var version: String { String(cString: samara_version()) }

  /// The instruction sets that this process uses, such as "neon,neon-dot".
  public static var isa: String {
    var text = [UInt8](repeating: 0, count: samara_isa(nil, 0) + 1)
    _ = text.withUnsafeMutableBytes { place in
      samara_isa(place.bindMemory(to: CChar.self).baseAddress, place.count)
    }
    return String(decoding: text.dropLast(), as: UTF8.self)
  }
}
