// SPDX-License-Identifier: Apache-2.0
// Finds faces in the front camera's picture and draws boxes over it.
package dev.samara.samples.faces;

import android.Manifest;
import android.app.Activity;
import android.content.pm.PackageManager;
import android.graphics.Color;
import android.graphics.Matrix;
import android.graphics.SurfaceTexture;
import android.media.Image;
import android.os.Bundle;
import android.view.Display;
import android.view.TextureView;
import android.widget.FrameLayout;
import android.widget.TextView;
import dev.samara.Model;
import dev.samara.SamaraException;
import java.util.List;

public final class FacesActivity extends Activity
    implements TextureView.SurfaceTextureListener, Camera.Watcher {
  private TextureView preview;
  private BoxesView boxes;
  private TextView problem;
  private Camera camera;
  private boolean resumed;
  // Written by the main thread, read by the camera's.
  private volatile int display;
  private volatile int width;
  private volatile int height;
  // Used by the camera's thread only.
  private FaceFinder finder;

  // ---- the main thread ----

  @Override
  protected void onCreate(Bundle state) {
    super.onCreate(state);
    preview = new TextureView(this);
    preview.setSurfaceTextureListener(this);
    boxes = new BoxesView(this);
    problem = new TextView(this);
    problem.setTextColor(Color.RED);
    FrameLayout layers = new FrameLayout(this);
    layers.setFitsSystemWindows(true);
    layers.addView(preview);
    layers.addView(boxes);
    layers.addView(problem);
    setContentView(layers);
    camera = new Camera(this, this);
    if (!mayLook()) requestPermissions(new String[] {Manifest.permission.CAMERA}, 0);
  }

  private boolean mayLook() {
    return checkSelfPermission(Manifest.permission.CAMERA) == PackageManager.PERMISSION_GRANTED;
  }

  @Override
  public void onRequestPermissionsResult(int code, String[] names, int[] results) {
    if (!mayLook()) problem.setText("The app may not use the camera: see Settings.");
  }

  @Override
  protected void onResume() { // also after the permission dialog
    super.onResume();
    resumed = true;
    look();
  }

  private void look() {
    if (!resumed || !mayLook() || !preview.isAvailable()) return;
    turn();
    camera.start(preview.getSurfaceTexture());
  }

  @Override
  protected void onPause() {
    resumed = false;
    camera.stop();
    super.onPause();
  }

  @Override
  protected void onDestroy() {
    camera.end();
    super.onDestroy();
  }

  @Override
  public void onSurfaceTextureAvailable(SurfaceTexture texture, int width, int height) {
    onSurfaceTextureSizeChanged(texture, width, height);
    look();
  }

  @Override
  public void onSurfaceTextureSizeChanged(SurfaceTexture texture, int width, int height) {
    this.width = width;
    this.height = height;
  }

  @Override
  public boolean onSurfaceTextureDestroyed(SurfaceTexture texture) {
    camera.stop();
    return true;
  }

  @Override
  public void onSurfaceTextureUpdated(SurfaceTexture texture) {}

  private void show(List<float[]> found, Placement placement) {
    Matrix matrix = new Matrix();
    matrix.setValues(placement.previewMatrix(width, height));
    preview.setTransform(matrix);
    boxes.show(found);
    problem.setText("");
    turn(); // a turn by 180 degrees does not recreate the activity
  }

  /** Notes how the device is held. */
  private void turn() {
    Display shown = preview.getDisplay();
    if (shown != null) display = 90 * shown.getRotation();
  }

  // ---- the camera's thread ----

  @Override
  public void begin() {
    try {
      finder = new FaceFinder(Model.fromAsset(this, "faces.samara"));
    } catch (SamaraException why) {
      fail(why.getMessage());
    }
  }

  @Override
  public void see(Image frame, Placement natural) {
    if (finder == null || width == 0 || height == 0) return;
    Placement placement = natural.turned(display);
    try {
      List<float[]> found =
          finder.find(dev.samara.Image.fromMediaImage(frame), placement, width, height);
      runOnUiThread(() -> show(found, placement));
    } catch (SamaraException why) {
      fail(why.getMessage());
    }
  }

  @Override
  public void fail(String why) {
    runOnUiThread(() -> problem.setText(why));
  }

  @Override
  public void end() {
    if (finder != null) finder.close();
  }
}
