// SPDX-License-Identifier: Apache-2.0
// Faces in frames, as boxes on the screen.
package dev.samara.samples.faces;

import dev.samara.Detection;
import dev.samara.Detections;
import dev.samara.Image;
import dev.samara.Model;
import dev.samara.Session;
import java.util.ArrayList;
import java.util.List;

/** For one thread at a time. */
final class FaceFinder implements AutoCloseable {
  private final Session session;

  /** Closes the model, of which the session keeps what it needs. */
  FaceFinder(Model model) {
    try (Model opened = model) {
      session = new Session(opened);
    }
  }

  /** Boxes in pixels of a view, x0, y0, x1 and y1 each. The model sees the frame upright. */
  List<float[]> find(Image frame, Placement placement, int viewWidth, int viewHeight) {
    List<float[]> boxes = new ArrayList<>();
    // The answer's boxes lie in the frame as it is in memory.
    for (Detection face : (Detections) session.predict(frame.rotated(placement.rotation()))) {
      boxes.add(placement.onView(face.getBox(), viewWidth, viewHeight));
    }
    return boxes;
  }

  @Override
  public void close() {
    session.close();
  }
}
