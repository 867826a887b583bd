// SPDX-License-Identifier: Apache-2.0
// The camera app under Robolectric, whose cameras open but give no frames: one comes from a file.
package dev.samara.samples.faces;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;
import static org.robolectric.Shadows.shadowOf;

import android.Manifest;
import android.content.Context;
import android.graphics.Canvas;
import android.graphics.ImageFormat;
import android.graphics.Matrix;
import android.graphics.SurfaceTexture;
import android.hardware.camera2.CameraCharacteristics;
import android.hardware.camera2.CameraManager;
import android.media.Image;
import android.os.Looper;
import android.util.Size;
import android.view.TextureView;
import android.view.ViewGroup;
import android.widget.TextView;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BooleanSupplier;
import org.junit.Before;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.Robolectric;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.RuntimeEnvironment;
import org.robolectric.android.controller.ActivityController;
import org.robolectric.annotation.Config;
import org.robolectric.annotation.GraphicsMode;
import org.robolectric.shadows.ShadowCameraCharacteristics;
import org.robolectric.shadows.ShadowCanvas;
import org.robolectric.shadows.StreamConfigurationMapBuilder;

@RunWith(RobolectricTestRunner.class)
@Config(sdk = 35)
@GraphicsMode(GraphicsMode.Mode.LEGACY) // remembers what is drawn
public final class FacesActivityTest {
  private static final long NANOS = 60_000_000_000L; // that something may take
  private static final int WIDTH = 1080; // of the view
  private static final int HEIGHT = 1920;

  private Context context;

  @Before
  public void setUp() {
    context = RuntimeEnvironment.getApplication();
    camera("0", CameraCharacteristics.LENS_FACING_BACK, 90);
    camera("1", CameraCharacteristics.LENS_FACING_FRONT, 270);
  }

  private CameraManager manager() {
    return context.getSystemService(CameraManager.class);
  }

  private void camera(String id, int facing, int sensor) {
    CameraCharacteristics traits = ShadowCameraCharacteristics.newCameraCharacteristics();
    StreamConfigurationMapBuilder sizes = StreamConfigurationMapBuilder.newBuilder();
    for (Size size : new Size[] {new Size(1280, 720), new Size(640, 480), new Size(320, 240)}) {
      sizes.addOutputSize(size).addOutputSize(ImageFormat.YUV_420_888, size);
    }
    shadowOf(traits).set(CameraCharacteristics.LENS_FACING, facing);
    shadowOf(traits).set(CameraCharacteristics.SENSOR_ORIENTATION, sensor);
    shadowOf(traits).set(CameraCharacteristics.SCALER_STREAM_CONFIGURATION_MAP, sizes.build());
    shadowOf(manager()).addCamera(id, traits);
  }

  /** Runs what was posted to the main thread until something is so. */
  private static void until(BooleanSupplier right) {
    long end = System.nanoTime() + NANOS;
    while (!right.getAsBoolean()) {
      assertTrue("it did not come in time", System.nanoTime() < end);
      shadowOf(Looper.getMainLooper()).runOneTask();
      Thread.yield();
    }
  }

  /** Notes what the camera says. */
  private static final class Notes implements Camera.Watcher {
    final List<String> said = new CopyOnWriteArrayList<>();

    @Override
    public void begin() {
      said.add("begin");
    }

    @Override
    public void see(Image frame, Placement placement) {
      said.add("see");
    }

    @Override
    public void fail(String why) {
      said.add(why);
    }

    @Override
    public void end() {
      said.add("end");
    }

    boolean ends(String what) {
      return !said.isEmpty() && said.get(said.size() - 1).equals(what);
    }
  }

  private static boolean runs() {
    for (Thread thread : Thread.getAllStackTraces().keySet()) {
      if (thread.getName().equals("camera")) return true;
    }
    return false;
  }

  @Test
  public void cameraIsLostAndComesBack() {
    Notes notes = new Notes();
    Camera camera = new Camera(context, notes);
    SurfaceTexture texture = new SurfaceTexture(0);
    String lost = "Another app took the camera.";
    for (int round = 1; round <= 2; round++) {
      int wanted = 1 + round;
      camera.start(texture);
      until(
          () -> {
            shadowOf(manager()).triggerDisconnect(); // of a camera that is open
            return notes.said.size() >= wanted;
          });
      assertTrue(notes.said.toString(), notes.ends(lost));
    }
    camera.end();
    until(() -> notes.ends("end") && !runs());
    assertEquals("begin", notes.said.get(0));
  }

  @Test
  public void cameraEndsWhileItOpens() {
    for (int round = 0; round < 20; round++) {
      Notes notes = new Notes();
      Camera camera = new Camera(context, notes);
      camera.start(new SurfaceTexture(0));
      if (round % 2 == 0) camera.stop();
      camera.end();
      until(() -> notes.ends("end") && !runs());
      assertEquals("[begin, end]", notes.said.toString());
    }
  }

  @Test
  public void noCamera() {
    shadowOf(manager()).removeCamera("0");
    shadowOf(manager()).removeCamera("1");
    Notes notes = new Notes();
    Camera camera = new Camera(context, notes);
    camera.start(new SurfaceTexture(0));
    until(() -> notes.ends("The camera cannot be opened: there is none"));
    camera.end();
    until(() -> notes.ends("end"));
  }

  @Test
  public void showsBoxes() throws IOException {
    shadowOf(RuntimeEnvironment.getApplication()).grantPermissions(Manifest.permission.CAMERA);
    try (ActivityController<FacesActivity> app = Robolectric.buildActivity(FacesActivity.class)) {
      FacesActivity activity = app.setup().get();
      ViewGroup layers =
          (ViewGroup) ((ViewGroup) activity.findViewById(android.R.id.content)).getChildAt(0);
      activity.onSurfaceTextureSizeChanged(new SurfaceTexture(0), WIDTH, HEIGHT);
      FileFrame frame = FileFrame.read();
      Placement placement = new Placement(frame.getWidth(), frame.getHeight(), 270, true);
      BoxesView boxes = (BoxesView) layers.getChildAt(1);
      boxes.layout(0, 0, WIDTH, HEIGHT);
      ShadowCanvas[] drawn = new ShadowCanvas[1];
      until( // the model is opened
          () -> {
            activity.see(frame, placement);
            shadowOf(Looper.getMainLooper()).idle();
            Canvas canvas = new Canvas();
            boxes.onDraw(canvas);
            drawn[0] = shadowOf(canvas);
            return drawn[0].getRectPaintHistoryCount() > 0;
          });
      assertEquals(1, drawn[0].getRectPaintHistoryCount());
      String[] wanted = System.getProperty("box").split("_");
      assertEquals(Float.parseFloat(wanted[0]), drawn[0].getDrawnRect(0).left, 0.01f);
      assertEquals(Float.parseFloat(wanted[3]), drawn[0].getDrawnRect(0).bottom, 0.01f);
      float[] shown = new float[9];
      ((TextureView) layers.getChildAt(0)).getTransform(new Matrix()).getValues(shown);
      assertEquals(placement.previewMatrix(WIDTH, HEIGHT)[0], shown[Matrix.MSCALE_X], 1e-5f);
      assertEquals("", ((TextView) layers.getChildAt(2)).getText().toString());
    }
    until(() -> !runs());
  }
}
