// swift-tools-version:5.9
// SPDX-License-Identifier: Apache-2.0
// samara as a Swift package: the C runtime and its Swift API.
import PackageDescription

let package = Package(
  name: "Samara",
  platforms: [.iOS(.v15), .macOS(.v12), .tvOS(.v15), .watchOS(.v8)],
  products: [
    .library(name: "Samara", targets: ["Samara"]),
    .library(name: "SamaraObjC", targets: ["SamaraObjC"]),
    // The C interface alone.
    .library(name: "CSamara", targets: ["CSamara"]),
  ],
  targets: [
    .target(
      name: "CSamara", resources: [.copy("PrivacyInfo.xcprivacy")],
      // The C code's assertions are meant for its tests only.
      cSettings: [.define("NDEBUG")]),
    .target(name: "Samara", dependencies: ["CSamara"]),
    .target(name: "SamaraObjC", dependencies: ["CSamara"]),
    .testTarget(name: "SamaraTests", dependencies: ["Samara", "CSamara"]),
  ]
)
