// SPDX-License-Identifier: Apache-2.0
// Shows the front camera's picture on a texture and passes its newest frame to a watcher.
package dev.samara.samples.faces;

import android.content.Context;
import android.graphics.ImageFormat;
import android.graphics.SurfaceTexture;
import android.hardware.camera2.CameraAccessException;
import android.hardware.camera2.CameraCaptureSession;
import android.hardware.camera2.CameraCharacteristics;
import android.hardware.camera2.CameraDevice;
import android.hardware.camera2.CameraManager;
import android.hardware.camera2.CaptureRequest;
import android.hardware.camera2.params.StreamConfigurationMap;
import android.media.Image;
import android.media.ImageReader;
import android.os.Handler;
import android.os.HandlerThread;
import android.util.Size;
import android.view.Surface;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * Works on a thread that it owns, so no frame is closed while the watcher reads it. Frames that arrive
 * meanwhile are dropped.
 */
final class Camera extends CameraDevice.StateCallback {
  /** Called on the camera's thread. */
  interface Watcher {
    /** Called once, before the others. */
    void begin();

    /** Receives a frame in YUV_420_888. The frame is closed when this returns. */
    void see(Image frame, Placement placement);

    void fail(String why);

    /** Called once, after the others. */
    void end();
  }

  private static final int PIXELS = 640 * 480; // wanted pixels per frame

  private final CameraManager manager;
  private final Watcher watcher;
  private final HandlerThread thread = new HandlerThread("camera");
  private final Handler handler;

  // The fields below are used on the camera's thread only.
  private SurfaceTexture screen; // null while stopped
  private boolean opening; // openCamera was called, its callback has not come
  private boolean ending;
  private Placement placement;
  private CameraDevice device;
  private Surface preview;
  private ImageReader reader;

  Camera(Context context, Watcher watcher) {
    this.manager = context.getSystemService(CameraManager.class);
    this.watcher = watcher;
    thread.start();
    handler = new Handler(thread.getLooper());
    handler.post(watcher::begin);
  }

  /** Shows the picture on a texture. Needs the camera permission. */
  void start(SurfaceTexture texture) {
    handler.post(
        () -> {
          screen = texture;
          if (!opening && device == null) open();
        });
  }

  void stop() {
    handler.post(this::leave);
  }

  /** Stops and ends the thread. No method may be called afterwards. */
  void end() {
    handler.post(
        () -> {
          ending = true;
          leave();
        });
  }

  private void leave() {
    screen = null;
    if (!opening) release(); // else onOpened does
  }

  private void open() {
    try {
      String id = choose();
      CameraCharacteristics traits = manager.getCameraCharacteristics(id);
      Size size = size(traits);
      placement =
          new Placement(
              size.getWidth(), size.getHeight(),
              traits.get(CameraCharacteristics.SENSOR_ORIENTATION), isFront(traits));
      manager.openCamera(id, this, handler);
      opening = true;
    } catch (CameraAccessException | SecurityException | IllegalArgumentException why) {
      fail("The camera cannot be opened: " + why.getMessage());
    }
  }

  /** The front camera, else the first one. */
  private String choose() throws CameraAccessException {
    String[] ids = manager.getCameraIdList();
    for (String id : ids) {
      if (isFront(manager.getCameraCharacteristics(id))) return id;
    }
    if (ids.length == 0) throw new IllegalArgumentException("there is none");
    return ids[0];
  }

  private static boolean isFront(CameraCharacteristics traits) {
    Integer facing = traits.get(CameraCharacteristics.LENS_FACING);
    return facing != null && facing == CameraCharacteristics.LENS_FACING_FRONT;
  }

  /** The size nearest to PIXELS that preview and frames both support, so that they show the same area. */
  private static Size size(CameraCharacteristics traits) {
    StreamConfigurationMap map = traits.get(CameraCharacteristics.SCALER_STREAM_CONFIGURATION_MAP);
    List<Size> both = new ArrayList<>(Arrays.asList(map.getOutputSizes(SurfaceTexture.class)));
    both.retainAll(Arrays.asList(map.getOutputSizes(ImageFormat.YUV_420_888)));
    if (both.isEmpty()) throw new IllegalArgumentException("it has no size for both");
    return Collections.min(both, (a, b) -> Integer.compare(distance(a), distance(b)));
  }

  private static int distance(Size size) {
    return Math.abs(size.getWidth() * size.getHeight() - PIXELS);
  }

  @Override
  public void onOpened(CameraDevice opened) {
    opening = false;
    device = opened;
    if (screen == null) release();
    else stream();
  }

  @Override
  public void onDisconnected(CameraDevice lost) {
    onError(lost, 0);
  }

  @Override
  public void onError(CameraDevice lost, int code) {
    opening = false;
    lost.close();
    fail(code == 0 ? "Another app took the camera." : "The camera failed, code " + code + ".");
  }

  private void stream() {
    screen.setDefaultBufferSize(placement.getWidth(), placement.getHeight());
    preview = new Surface(screen);
    reader =
        ImageReader.newInstance(
            placement.getWidth(), placement.getHeight(), ImageFormat.YUV_420_888, 2);
    reader.setOnImageAvailableListener(this::look, handler);
    try {
      configure();
    } catch (CameraAccessException | IllegalArgumentException | IllegalStateException why) {
      fail("The camera cannot be used: " + why.getMessage()); // e.g. the texture is gone
    }
  }

  @SuppressWarnings("deprecation") // the replacement of createCaptureSession needs API level 28
  private void configure() throws CameraAccessException {
    CaptureRequest.Builder request = device.createCaptureRequest(CameraDevice.TEMPLATE_PREVIEW);
    request.addTarget(preview);
    request.addTarget(reader.getSurface());
    device.createCaptureSession(
        Arrays.asList(preview, reader.getSurface()), new Configured(request.build()), handler);
  }

  /** Starts the repeating request once the session is configured. */
  private final class Configured extends CameraCaptureSession.StateCallback {
    private final CaptureRequest request;

    Configured(CaptureRequest request) {
      this.request = request;
    }

    @Override
    public void onConfigured(CameraCaptureSession session) {
      if (session.getDevice() != device) return; // stopped meanwhile
      try {
        session.setRepeatingRequest(request, null, handler);
      } catch (CameraAccessException | IllegalStateException why) {
        fail("The camera gives no pictures: " + why.getMessage());
      }
    }

    @Override
    public void onConfigureFailed(CameraCaptureSession session) {
      fail("The camera cannot give pictures of this size.");
    }
  }

  private void look(ImageReader from) {
    try (Image frame = from.acquireLatestImage()) {
      if (frame != null) watcher.see(frame, placement);
    }
  }

  private void fail(String why) {
    release();
    watcher.fail(why);
  }

  private void release() {
    if (device != null) device.close();
    if (reader != null) reader.close();
    if (preview != null) preview.release();
    device = null;
    reader = null;
    preview = null;
    if (!ending) return;
    ending = false; // report the end once
    watcher.end();
    thread.quitSafely();
  }
}
