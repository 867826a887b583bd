// SPDX-License-Identifier: Apache-2.0
// Declarations of SwiftUI and Combine that the samples use, after Apple's documentation, to check
// their types on machines without them. Nothing runs.
@_exported import CoreGraphics
@_exported import Foundation
@_exported import UIKit

// ---- Combine ----

public protocol ObservableObject: AnyObject {}

@propertyWrapper
public struct Published<Value> {
  public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
  public var wrappedValue: Value
}

@MainActor @propertyWrapper
public struct StateObject<Object: ObservableObject> {
  public nonisolated init(wrappedValue: @autoclosure @escaping () -> Object) {}
  public var wrappedValue: Object { fatalError() }
}

// ---- apps and views ----

@MainActor @preconcurrency
public protocol App {
  associatedtype Body: Scene
  @SceneBuilder var body: Body { get }
  init()
}

extension App {
  public static func main() { fatalError() }
}

@MainActor @preconcurrency
public protocol Scene {}

@resultBuilder
public struct SceneBuilder {
  public static func buildBlock<Content: Scene>(_ content: Content) -> Content { content }
}

public struct WindowGroup<Content: View>: Scene {
  public init(@ViewBuilder content: () -> Content) {}
}

@MainActor @preconcurrency
public protocol View {
  associatedtype Body: View
  @ViewBuilder var body: Body { get }
}

extension Never: View {
  public var body: Never { fatalError() }
}

public protocol Primitive: View where Body == Never {}
extension Primitive {
  public var body: Never { fatalError() }
}

public struct Several<each Content: View>: Primitive {}
extension Optional: View where Wrapped: View {
  public var body: Never { fatalError() }
}

@resultBuilder
public struct ViewBuilder {
  public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
  public static func buildBlock<each Content: View>(_ content: repeat each Content) -> Several<
    repeat each Content
  > { fatalError() }
  public static func buildIf<Content: View>(_ content: Content?) -> Content? { content }
}

public struct Text: Primitive {
  public init(_ content: String) {}
}

public struct ZStack<Content: View>: Primitive {
  public init(@ViewBuilder content: () -> Content) {}
}

public struct Image: Primitive {}  // has the same name as Samara.Image
public struct Font: Sendable { public static let largeTitle = Font() }
public struct Color: Sendable { public static let green = Color() }
public struct Path { public init(_ rect: CGRect) {} }
public enum ContentMode { case fit, fill }

public struct GraphicsContext {
  public struct Shading { public static func color(_ color: Color) -> Shading { fatalError() } }
  public func stroke(_ path: Path, with shading: Shading, lineWidth: CGFloat = 1) { fatalError() }
}

public struct Canvas: Primitive {
  public init(renderer: @escaping (inout GraphicsContext, CGSize) -> Void) {}
}

extension View {
  public func font(_ font: Font?) -> some View { self }
  public func aspectRatio(_ aspectRatio: CGFloat?, contentMode: ContentMode) -> some View { self }
  public func task(_ action: @escaping @Sendable @MainActor () async -> Void) -> some View { self }
}

// ---- UIKit views in SwiftUI ----

public struct UIViewRepresentableContext<Representable> {}

@MainActor @preconcurrency
public protocol UIViewRepresentable: View where Body == Never {
  associatedtype UIViewType: UIView
  typealias Context = UIViewRepresentableContext<Self>
  func makeUIView(context: Context) -> UIViewType
  func updateUIView(_ uiView: UIViewType, context: Context)
}

extension UIViewRepresentable {
  public var body: Never { fatalError() }
}
