// SPDX-License-Identifier: Apache-2.0
// The microphone.
package dev.samara.samples.words;

import android.media.AudioFormat;
import android.media.AudioRecord;
import android.media.MediaRecorder;

/** Use it from one thread. Needs the permission to record audio. */
final class Microphone implements WordListener.Sound, AutoCloseable {
  static final int RATE = 16000; // samples per second, as the model expects

  private static final int CHANNEL = AudioFormat.CHANNEL_IN_MONO;
  private static final int FORMAT = AudioFormat.ENCODING_PCM_16BIT;

  private final AudioRecord recorder;

  /** Throws IllegalStateException if the microphone cannot be opened. */
  Microphone() {
    int least = AudioRecord.getMinBufferSize(RATE, CHANNEL, FORMAT);
    if (least <= 0) throw new IllegalStateException("no microphone gives " + RATE + " Hz");
    int second = 2 * RATE; // bytes of one second, which may wait while the model runs
    recorder =
        new AudioRecord(
            MediaRecorder.AudioSource.VOICE_RECOGNITION,
            RATE, CHANNEL, FORMAT, Math.max(least, second));
    if (recorder.getState() != AudioRecord.STATE_INITIALIZED) {
      recorder.release();
      throw new IllegalStateException("the microphone cannot be opened");
    }
    recorder.startRecording();
  }

  @Override
  public int read(short[] samples) {
    return recorder.read(samples, 0, samples.length);
  }

  @Override
  public void close() {
    recorder.release();
  }
}
