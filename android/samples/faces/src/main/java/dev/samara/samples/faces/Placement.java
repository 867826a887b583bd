// SPDX-License-Identifier: Apache-2.0
// Maps positions in a camera frame to positions on the screen.
package dev.samara.samples.faces;

/**
 * A frame lies in memory as the sensor reads it. The screen shows it upright, mirrored if the camera faces
 * the user, and enlarged until it fills the view; the overhang is cut off.
 */
final class Placement {
  private final int width; // of a frame
  private final int height;
  private final int sensor;
  private final boolean front;
  private final int display;

  /** sensor: degrees clockwise that make a frame upright on a device in its natural position. */
  Placement(int width, int height, int sensor, boolean front) {
    this(width, height, sensor, front, 0);
  }

  private Placement(int width, int height, int sensor, boolean front, int display) {
    this.width = width;
    this.height = height;
    this.sensor = sensor;
    this.front = front;
    this.display = display;
  }

  /** The same placement on a device turned counterclockwise by 0, 90, 180 or 270 degrees. */
  Placement turned(int degrees) {
    return new Placement(width, height, sensor, front, degrees);
  }

  int getWidth() {
    return width;
  }

  int getHeight() {
    return height;
  }

  int getDisplay() {
    return display;
  }

  /** Degrees clockwise that make a frame upright on the screen. */
  int rotation() {
    return (sensor + (front ? display : 360 - display)) % 360;
  }

  /** Converts a box (x0, y0, x1, y1) from pixels of the frame to pixels of a view. */
  float[] onView(float[] box, int viewWidth, int viewHeight) {
    float[] a = upright(box[0], box[1]);
    float[] b = upright(box[2], box[3]);
    float scale = scale(viewWidth, viewHeight);
    float left = (viewWidth - scale * across()) / 2;
    float top = (viewHeight - scale * down()) / 2;
    return new float[] {
      left + scale * Math.min(a[0], b[0]), top + scale * Math.min(a[1], b[1]),
      left + scale * Math.max(a[0], b[0]), top + scale * Math.max(a[1], b[1])
    };
  }

  /**
   * Returns the transform of a TextureView, for Matrix.setValues. The system has already turned the picture
   * by the sensor's angle, mirrored it, and stretched it to the view.
   */
  float[] previewMatrix(int viewWidth, int viewHeight) {
    boolean swapped = sensor % 180 != 0;
    float scale = scale(viewWidth, viewHeight);
    // Undo the stretching: scale from the view's shape to the picture's, about the middle.
    float x = scale * (swapped ? height : width) / viewWidth;
    float y = scale * (swapped ? width : height) / viewHeight;
    // Turn against the device, so that the picture stays upright.
    int quarter = display / 90;
    float cos = quarter == 0 ? 1 : quarter == 2 ? -1 : 0;
    float sin = quarter == 1 ? -1 : quarter == 3 ? 1 : 0;
    float middleX = viewWidth / 2f;
    float middleY = viewHeight / 2f;
    return new float[] {
      cos * x, -sin * y, middleX - cos * x * middleX + sin * y * middleY,
      sin * x, cos * y, middleY - sin * x * middleX - cos * y * middleY,
      0, 0, 1
    };
  }

  private float[] upright(float x, float y) {
    float[] point;
    switch (rotation()) {
      case 90:
        point = new float[] {height - y, x};
        break;
      case 180:
        point = new float[] {width - x, height - y};
        break;
      case 270:
        point = new float[] {y, width - x};
        break;
      default:
        point = new float[] {x, y};
    }
    if (front) point[0] = across() - point[0];
    return point;
  }

  /** Width of the upright frame in pixels. */
  private int across() {
    return rotation() % 180 == 0 ? width : height;
  }

  private int down() {
    return rotation() % 180 == 0 ? height : width;
  }

  private float scale(int viewWidth, int viewHeight) {
    return Math.max((float) viewWidth / across(), (float) viewHeight / down());
  }
}
