// SPDX-License-Identifier: Apache-2.0
// The sample's finder on frames in files, as a camera gives them.
package dev.samara.samples.faces;

import android.graphics.Rect;
import android.media.Image;
import dev.samara.Model;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.List;

/** Prints the boxes of each frame on a view, and how the preview is laid there. */
public final class FacesMain {
  private static final int WIDTH = 1080; // of the view
  private static final int HEIGHT = 1920;

  private FacesMain() {}

  /** Arguments: the model; then of each frame file, width, height, row stride, sensor, display, front. */
  public static void main(String[] given) throws IOException {
    try (FaceFinder finder = new FaceFinder(Model.fromFile(given[0]))) {
      for (int i = 1; i < given.length; i += 7) {
        int[] n = new int[6];
        for (int k = 0; k < 6; k++) n[k] = Integer.parseInt(given[i + 1 + k]);
        Placement placement = new Placement(n[0], n[1], n[3], n[5] == 1).turned(n[4]);
        print("rotation", new float[] {placement.rotation()});
        print("matrix", placement.previewMatrix(WIDTH, HEIGHT));
        print("mark", placement.onView(new float[] {20, 30, 21, 31}, WIDTH, HEIGHT));
        try (Image frame = frame(Paths.get(given[i]), n[0], n[1], n[2])) {
          dev.samara.Image seen = dev.samara.Image.fromMediaImage(frame);
          List<float[]> boxes = finder.find(seen, placement, WIDTH, HEIGHT);
          for (float[] box : boxes) print("box", box);
        }
      }
    }
  }

  private static void print(String name, float[] values) {
    System.out.println(name + " " + Arrays.toString(values).replaceAll("[\\[\\],]", ""));
  }

  /** Y, then pairs of V and U in rows of the same stride, as most cameras give them. */
  private static Image frame(Path file, int width, int height, int stride) throws IOException {
    byte[] bytes = Files.readAllBytes(file);
    ByteBuffer whole = ByteBuffer.allocateDirect(bytes.length);
    whole.put(bytes);
    int chroma = stride * height;
    return new Image(
        0x23, width, height, new Rect(0, 0, width, height),
        new Image.Plane(part(whole, 0, chroma), stride, 1),
        new Image.Plane(part(whole, chroma + 1, bytes.length), stride, 2),
        new Image.Plane(part(whole, chroma, bytes.length - 1), stride, 2));
  }

  private static ByteBuffer part(ByteBuffer whole, int from, int to) {
    ByteBuffer part = whole.duplicate();
    part.position(from).limit(to);
    return part.slice();
  }
}
