// SPDX-License-Identifier: Apache-2.0
// The microphone app under Robolectric, whose microphone plays a recording.
package dev.samara.samples.words;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;
import static org.robolectric.Shadows.shadowOf;

import android.Manifest;
import android.os.Looper;
import android.text.Editable;
import android.text.TextWatcher;
import android.view.ViewGroup;
import android.widget.TextView;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.ShortBuffer;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.junit.After;
import org.junit.Before;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.Robolectric;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.RuntimeEnvironment;
import org.robolectric.android.controller.ActivityController;
import org.robolectric.annotation.Config;
import org.robolectric.shadows.ShadowAudioRecord;

@RunWith(RobolectricTestRunner.class)
@Config(sdk = 35)
public final class WordsActivityTest {
  private static final long NANOS = 60_000_000_000L; // that something may take

  private ShortBuffer sound;

  @Before
  public void setUp() throws IOException {
    byte[] bytes = Files.readAllBytes(Paths.get(System.getProperty("sound")));
    sound = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asShortBuffer();
    ShadowAudioRecord.setSource(
        new ShadowAudioRecord.AudioRecordSource() {
          @Override
          public int readInShortArray(short[] to, int at, int size, boolean blocking) {
            int count = Math.min(size, sound.remaining());
            sound.get(to, at, count);
            return count;
          }
        });
  }

  @After
  public void tearDown() {
    ShadowAudioRecord.clearSource();
  }

  private static TextView text(WordsActivity activity) {
    ViewGroup content = activity.findViewById(android.R.id.content);
    return (TextView) content.getChildAt(0);
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

  private static boolean listens() {
    for (Thread thread : Thread.getAllStackTraces().keySet()) {
      if (thread.getName().equals("words")) return true;
    }
    return false;
  }

  private static void allow() {
    shadowOf(RuntimeEnvironment.getApplication())
        .grantPermissions(Manifest.permission.RECORD_AUDIO);
  }

  @Test
  public void showsTheWords() {
    allow();
    try (ActivityController<WordsActivity> app = Robolectric.buildActivity(WordsActivity.class)) {
      TextView text = text(app.create().get());
      assertEquals("Say yes, no or stop.", text.getText().toString());
      List<String> shown = new ArrayList<>();
      text.addTextChangedListener(
          new TextWatcher() {
            @Override
            public void beforeTextChanged(CharSequence text, int at, int count, int after) {}

            @Override
            public void onTextChanged(CharSequence text, int at, int before, int count) {}

            @Override
            public void afterTextChanged(Editable now) {
              shown.add(now.toString());
            }
          });
      app.start().resume().visible();
      until(() -> text.getText().toString().startsWith("The microphone"));
      assertEquals(
          Arrays.asList("stop", "yes", "no", "The microphone gives no more sound."), shown);
      until(() -> !listens());
    }
  }

  @Test
  public void pauseEndsTheThreadAndResumeListensAgain() {
    allow();
    ShadowAudioRecord.clearSource(); // silence without an end
    try (ActivityController<WordsActivity> app = Robolectric.buildActivity(WordsActivity.class)) {
      app.setup();
      until(WordsActivityTest::listens);
      app.pause();
      until(() -> !listens());
      app.resume();
      until(WordsActivityTest::listens);
      app.pause();
      until(() -> !listens());
      assertEquals("Say yes, no or stop.", text(app.get()).getText().toString());
    }
  }

  @Test
  public void saysWhatIsMissingWithoutPermission() {
    try (ActivityController<WordsActivity> app = Robolectric.buildActivity(WordsActivity.class)) {
      WordsActivity activity = app.setup().get();
      assertEquals(
          Manifest.permission.RECORD_AUDIO,
          shadowOf(activity).getLastRequestedPermission().requestedPermissions[0]);
      activity.onRequestPermissionsResult(0, new String[0], new int[0]);
      assertTrue(text(activity).getText().toString().contains("may not use the microphone"));
      assertTrue(!listens());
    }
  }
}
