// SPDX-License-Identifier: Apache-2.0
// The class of every pixel.
package dev.samara;

import androidx.annotation.NonNull;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/** The class of every pixel of a picture. */
public final class Mask implements Answer {
  private final int width;
  private final int height;
  private final int elementBytes;
  private final ByteBuffer classes;
  private final List<String> labels;

  Mask(int width, int height, int elementBytes, byte[] classes, List<String> labels) {
    this.width = width;
    this.height = height;
    this.elementBytes = elementBytes;
    this.classes = ByteBuffer.wrap(classes).order(ByteOrder.nativeOrder());
    this.labels = labels;
  }

  public int getWidth() {
    return width;
  }

  public int getHeight() {
    return height;
  }

  /** The value of pixels outside the model's view: 255, or 65535 in masks of two bytes. */
  public int getUnseen() {
    return elementBytes == 1 ? 0xff : 0xffff;
  }

  /** The labels of all classes, by number; empty if there are none. */
  @NonNull
  public List<String> getLabels() {
    return labels;
  }

  /** The class of a pixel. */
  public int classAt(int x, int y) {
    if (x < 0 || y < 0 || x >= width || y >= height) {
      throw new RangeException(
          Status.BAD_ARGUMENT, "pixel " + x + "," + y + " of a mask of " + width + "x" + height, null);
    }
    int at = y * width + x;
    return elementBytes == 1 ? classes.get(at) & 0xff : classes.getShort(2 * at) & 0xffff;
  }

  /** Copies the classes of all pixels, row by row, to the first width * height elements. */
  public void copyTo(@NonNull int[] to) {
    int count = width * height;
    if (SamaraException.given(to, "the array").length < count) {
      throw new ShapeException(
          Status.BAD_SHAPE, "an array of " + to.length + " for " + count + " pixels",
          "give width * height places");
    }
    for (int i = 0; i < count; i++) {
      to[i] = elementBytes == 1 ? classes.get(i) & 0xff : classes.getShort(2 * i) & 0xffff;
    }
  }

  @NonNull
  @Override
  public String toString() {
    return "Mask(" + width + "x" + height + ")";
  }
}
