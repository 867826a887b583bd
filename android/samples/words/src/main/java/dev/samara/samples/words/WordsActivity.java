// SPDX-License-Identifier: Apache-2.0
// Listens for words and shows the last one.
package dev.samara.samples.words;

import android.Manifest;
import android.app.Activity;
import android.content.pm.PackageManager;
import android.os.Bundle;
import android.view.Gravity;
import android.widget.TextView;
import dev.samara.Model;

public final class WordsActivity extends Activity {
  private TextView text;
  private Listening listening; // null while the app is not visible

  @Override
  protected void onCreate(Bundle state) {
    super.onCreate(state);
    text = new TextView(this);
    text.setGravity(Gravity.CENTER);
    text.setTextSize(40);
    text.setText("Say yes, no or stop.");
    setContentView(text);
    if (!mayListen()) requestPermissions(new String[] {Manifest.permission.RECORD_AUDIO}, 0);
  }

  private boolean mayListen() {
    return checkSelfPermission(Manifest.permission.RECORD_AUDIO)
        == PackageManager.PERMISSION_GRANTED;
  }

  @Override
  public void onRequestPermissionsResult(int code, String[] names, int[] results) {
    if (!mayListen()) text.setText("The app may not use the microphone: see Settings.");
  }

  @Override
  protected void onResume() { // also after the permission dialog
    super.onResume();
    if (!mayListen()) return;
    listening = new Listening();
    listening.start();
  }

  @Override
  protected void onPause() {
    if (listening != null) listening.stopped = true;
    listening = null;
    super.onPause();
  }

  private void show(String what) {
    runOnUiThread(() -> text.setText(what));
  }

  /** Opens the model and the microphone, listens until it is stopped, and closes both. */
  private final class Listening extends Thread {
    private volatile boolean stopped;

    Listening() {
      super("words");
    }

    @Override
    public void run() {
      try (WordListener words = new WordListener(Model.fromAsset(WordsActivity.this, "words.samara"));
          Microphone microphone = new Microphone()) {
        words.listen(
            samples -> stopped ? 0 : microphone.read(samples),
            Microphone.RATE,
            WordsActivity.this::show);
        if (!stopped) show("The microphone gives no more sound.");
      } catch (RuntimeException why) { // of samara or of the microphone
        show(why.getMessage());
      }
    }
  }
}
