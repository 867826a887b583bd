// SPDX-License-Identifier: Apache-2.0
// Finds faces in the front camera's picture and draws boxes over it.
import Samara
import SwiftUI

@main
struct FacesApp: App {
  var body: some Scene {
    WindowGroup { FacesView() }
  }
}

struct FacesView: View {
  @StateObject private var faces = Faces()

  var body: some View {
    ZStack {
      CameraPreview(session: faces.camera.session)
      Canvas { context, size in
        for box in faces.boxes {
          let shown = CGRect(
            x: box.minX * size.width, y: box.minY * size.height,
            width: box.width * size.width, height: box.height * size.height)
          context.stroke(Path(shown), with: .color(.green), lineWidth: 3)
        }
      }
      if let problem = faces.problem { Text(problem) }
    }
    .aspectRatio(CGFloat(Camera.width) / CGFloat(Camera.height), contentMode: .fit)
    .task { await faces.look() }
  }
}

/// Boxes of the faces that the camera sees.
@MainActor
final class Faces: ObservableObject {
  /// Relative to the picture's width and height: 0 to 1.
  @Published private(set) var boxes: [CGRect] = []
  @Published private(set) var problem: String?
  let camera = Camera()

  /// Run the model on the newest frame, again and again, until the view disappears.
  func look() async {
    do {
      let session = try Session(Model(named: "faces"))
      for await frame in try await camera.frames() {
        let found = try await session.predictAsync(frame).detections!
        boxes = found.map { Self.share($0.box, of: frame) }
      }
    } catch {
      problem = "\(error)"
    }
  }

  private static func share(_ box: Samara.Box, of frame: Samara.Image) -> CGRect {
    let (width, height) = (CGFloat(frame.width), CGFloat(frame.height))
    return CGRect(
      x: CGFloat(box.x0) / width, y: CGFloat(box.y0) / height,
      width: CGFloat(box.width) / width, height: CGFloat(box.height) / height)
  }
}
