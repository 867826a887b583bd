// SPDX-License-Identifier: Apache-2.0
// Finds faces in frames and returns their boxes on the screen.
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

  /** Closes the model; the session keeps what it needs. */
  FaceFinder(Model model) {
    try (Model opened = model) {
      session = new Session(opened);
    }
  }

  /** Returns boxes, each x0, y0, x1 and y1 in pixels of a view. The model gets the frame upright. */
  List<float[]> find(Image frame, Placement placement, int viewWidth, int viewHeight) {
    List<float[]> boxes = new ArrayList<>();
    // The answer's boxes are in coordinates of the frame in memory, not of the upright one.
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
