// SPDX-License-Identifier: Apache-2.0
// Pictures from a camera, a decoder or the screen.
package dev.samara;

import android.graphics.Bitmap;
import android.hardware.HardwareBuffer;
import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.nio.ByteBuffer;

/**
 * A picture of 8 bits per channel. It borrows the memory of its planes, which must not change
 * during the call that takes it. Direct buffers are read in place, arrays may be copied.
 *
 * <pre>{@code
 * session.setImage(Image.fromBitmap(bitmap));
 * session.setImage(Image.fromMediaImage(frame).rotated(90).mirrored(true));
 * }</pre>
 */
public final class Image {
  /** Pixel formats. */
  public enum Format {
    RGB(1, 1),
    BGR(2, 1),
    /** Alpha is ignored. */
    RGBA(3, 1),
    BGRA(4, 1),
    GRAY(5, 1),
    /** A plane of Y, then pairs of V and U. */
    NV21(6, 2),
    /** A plane of Y, then pairs of U and V. */
    NV12(7, 2),
    /** Planes of Y, U and V, of any strides. */
    I420(8, 3);

    final int code;
    final int planes;

    Format(int code, int planes) {
      this.code = code;
      this.planes = planes;
    }
  }

  /** Conversion from YUV to RGB. */
  public enum Matrix {
    BT601,
    BT709
  }

  /** Range of YUV: Y 16..235 and U, V 16..240, or 0..255. */
  public enum Range {
    LIMITED,
    FULL
  }

  /** A plane: the bytes from the buffer's position to its limit, and strides. */
  public static final class Plane {
    private final Object data;
    private final long at;
    private final long size;
    private final int rowStride;
    private final int pixelStride;

    /** Strides are in bytes; 0: contiguous. */
    public Plane(@NonNull ByteBuffer data, int rowStride, int pixelStride) {
      this(buffer(data), data.position() + (data.isDirect() ? 0 : data.arrayOffset()),
          data.remaining(), rowStride, pixelStride);
    }

    public Plane(@NonNull byte[] data, int rowStride, int pixelStride) {
      this(SamaraException.given(data, "the plane"), 0, data.length, rowStride, pixelStride);
    }

    private Plane(Object data, long at, long size, int rowStride, int pixelStride) {
      if (rowStride < 0 || pixelStride < 0) {
        throw new ShapeException(
            Status.BAD_SHAPE, "strides are " + rowStride + " and " + pixelStride,
            "give bytes, or 0 where they follow each other");
      }
      this.data = data;
      this.at = at;
      this.size = size;
      this.rowStride = rowStride;
      this.pixelStride = pixelStride;
    }

    private static Object buffer(ByteBuffer data) {
      SamaraException.given(data, "the plane");
      if (data.isDirect()) return data;
      if (data.hasArray()) return data.array();
      throw new ArgumentException(
          Status.BAD_ARGUMENT, "the plane is read-only and not direct", "give a direct buffer");
    }
  }

  // Indices into `numbers`, as in libsamara_jni.
  private static final int WIDTH = 1;
  private static final int HEIGHT = 2;
  private static final int CROP = 3;
  private static final int ROTATION = 7;
  private static final int MIRROR = 8;
  private static final int MATRIX = 9;
  private static final int COUNT = 11;

  private final int[] numbers;
  private final Object[] planes;
  private final long[] places;
  @Nullable private final Object bitmap;
  @Nullable private final Object hardware;
  // Throws if the system has released the picture.
  @Nullable private final Runnable check;

  private Image(
      int[] numbers, Object[] planes, long[] places,
      @Nullable Object bitmap, @Nullable Object hardware, @Nullable Runnable check) {
    this.numbers = numbers;
    this.planes = planes;
    this.places = places;
    this.bitmap = bitmap;
    this.hardware = hardware;
    this.check = check;
  }

  /** A picture in 2 planes for NV21 and NV12, 3 for I420, else 1. */
  @NonNull
  public static Image of(
      @NonNull Format format, int width, int height, @NonNull Plane... planes) {
    SamaraException.given(format, "the format");
    if (SamaraException.given(planes, "the planes").length != format.planes) {
      throw new ShapeException(
          Status.BAD_SHAPE,
          planes.length + " planes are given for a picture in " + format,
          "give " + format.planes);
    }
    Object[] data = new Object[planes.length];
    long[] places = new long[4 * planes.length];
    for (int i = 0; i < planes.length; i++) {
      Plane plane = SamaraException.given(planes[i], "a plane");
      data[i] = plane.data;
      places[4 * i] = plane.at;
      places[4 * i + 1] = plane.size;
      places[4 * i + 2] = plane.rowStride;
      places[4 * i + 3] = plane.pixelStride;
    }
    return new Image(numbers(format, width, height), data, places, null, null, null);
  }

  /** A picture with contiguous rows and pixels. */
  @NonNull
  public static Image of(@NonNull Format format, int width, int height, @NonNull byte[] pixels) {
    return of(format, width, height, new Plane(pixels, 0, 0));
  }

  /** An Android bitmap in ARGB_8888. It is read in place when it is set. */
  @NonNull
  public static Image fromBitmap(@NonNull Bitmap bitmap) {
    return AndroidImages.of(SamaraException.given(bitmap, "the bitmap"));
  }

  /** A frame of a camera or decoder in YUV_420_888, with its crop. It must be open when it is set. */
  @NonNull
  public static Image fromMediaImage(@NonNull android.media.Image frame) {
    return AndroidImages.of(SamaraException.given(frame, "the frame"));
  }

  /** A buffer that the CPU may read: RGBA_8888, RGBX_8888, or, from API 29 on, YCBCR_420_888. */
  @NonNull
  public static Image fromHardwareBuffer(@NonNull HardwareBuffer buffer) {
    return AndroidImages.of(SamaraException.given(buffer, "the hardware buffer"));
  }

  /** From Android's classes: size, and the object from which C reads pixels. */
  @NonNull
  static Image ofSystem(
      int width, int height,
      @Nullable Object bitmap, @Nullable Object hardware, @NonNull Runnable check) {
    int[] numbers = numbers(Format.RGBA, width, height);
    return new Image(numbers, new Object[0], new long[0], bitmap, hardware, check);
  }

  /** The same picture; its memory is valid as long as {@code gone} does not throw. */
  @NonNull
  Image checked(@NonNull Runnable gone) {
    return new Image(numbers, planes, places, bitmap, hardware, gone);
  }

  private static int[] numbers(Format format, int width, int height) {
    int[] numbers = new int[COUNT];
    numbers[0] = format.code;
    numbers[WIDTH] = width;
    numbers[HEIGHT] = height;
    return numbers;
  }

  private Image with(int at, int... values) {
    int[] changed = numbers.clone();
    System.arraycopy(values, 0, changed, at, values.length);
    return new Image(changed, planes, places, bitmap, hardware, check);
  }

  /** The same picture, cropped before the rotation. */
  @NonNull
  public Image cropped(int x, int y, int width, int height) {
    int w = numbers[WIDTH];
    int h = numbers[HEIGHT];
    if (x < 0 || y < 0 || width < 1 || height < 1 || x > w - width || y > h - height) {
      throw new ShapeException(
          Status.BAD_SHAPE,
          "crop is (" + x + ", " + y + ", " + width + ", " + height + "), outside the picture of "
              + w + "x" + h,
          "give x, y, width and height inside it");
    }
    return with(CROP, x, y, width, height);
  }

  /** The same picture, rotated clockwise to be upright: 0, 90, 180 or 270 degrees. */
  @NonNull
  public Image rotated(int degrees) {
    if (degrees == 0 || degrees == 90 || degrees == 180 || degrees == 270) {
      return with(ROTATION, degrees);
    }
    throw new ArgumentException(
        Status.BAD_ARGUMENT, "rotation is " + degrees, "give 0, 90, 180 or 270 degrees clockwise");
  }

  /** The same picture, flipped horizontally after the rotation. */
  @NonNull
  public Image mirrored(boolean mirror) {
    return with(MIRROR, mirror ? 1 : 0);
  }

  /** How YUV becomes RGB; default: that of the file's record, else BT.601 limited. */
  @NonNull
  public Image yuv(@Nullable Matrix matrix, @Nullable Range range) {
    return with(
        MATRIX, matrix == null ? 0 : matrix.ordinal() + 1, range == null ? 0 : range.ordinal() + 1);
  }

  public int getWidth() {
    return numbers[WIDTH];
  }

  public int getHeight() {
    return numbers[HEIGHT];
  }

  /** Sets input `index` of an entered session to this picture. */
  void set(long session, int index) {
    if (check != null) check.run();
    if (bitmap != null) Native.setBitmap(session, index, numbers, bitmap);
    else if (hardware != null) Native.setHardwareBuffer(session, index, numbers, hardware);
    else Native.setImage(session, index, numbers, planes, places);
  }

  @NonNull
  @Override
  public String toString() {
    String turned = numbers[ROTATION] == 0 ? "" : ", rotation=" + numbers[ROTATION];
    return "Image(" + getWidth() + "x" + getHeight() + turned + ")";
  }
}
