// SPDX-License-Identifier: Apache-2.0
// Sound from a microphone or a file.
package dev.samara;

import androidx.annotation.NonNull;

/**
 * A chunk of sound and the session's position in it. It borrows the caller's array.
 *
 * <pre>{@code
 * Audio audio = Audio.of(samples, 16000);
 * while (recorder.read(samples, 0, samples.length) > 0) {
 *   for (audio.rewind(samples.length); session.pushAudio(audio); ) {
 *     session.run();
 *   }
 * }
 * }</pre>
 */
public final class Audio {
  private static final int MOST_CHANNELS = 32;

  private final Object samples;
  private final int length; // of the array
  private final int rate;
  private final int channels;
  private int position; // samples of each channel
  private int limit;

  private Audio(Object samples, int length, int rate, int channels) {
    if (channels < 1 || channels > MOST_CHANNELS || length % channels != 0) {
      throw new ShapeException(
          Status.BAD_SHAPE,
          length + " samples are given for " + channels + " channels",
          "give 1 to 32 channels, and as many samples of each");
    }
    if (rate < 0) {
      throw new ShapeException(
          Status.BAD_SHAPE, "the rate is " + rate, "give samples per second, as in 16000");
    }
    this.samples = samples;
    this.length = length;
    this.rate = rate;
    this.channels = channels;
    this.limit = length / channels;
  }

  /** Samples of 16 bits; rate: per second, 0 for that of the record. */
  @NonNull
  public static Audio of(@NonNull short[] samples, int rate) {
    return of(samples, rate, 1);
  }

  /** Interleaved samples of several channels, which are averaged. */
  @NonNull
  public static Audio of(@NonNull short[] samples, int rate, int channels) {
    SamaraException.given(samples, "the samples");
    return new Audio(samples, samples.length, rate, channels);
  }

  /** Float samples with full scale 1.0. */
  @NonNull
  public static Audio of(@NonNull float[] samples, int rate) {
    return of(samples, rate, 1);
  }

  @NonNull
  public static Audio of(@NonNull float[] samples, int rate, int channels) {
    SamaraException.given(samples, "the samples");
    return new Audio(samples, samples.length, rate, channels);
  }

  public int getRate() {
    return rate;
  }

  public int getChannels() {
    return channels;
  }

  /** Samples per channel that no session has read yet. */
  public int remaining() {
    return limit - position;
  }

  /** Starts again with the array's first {@code count} samples per channel. */
  public void rewind(int count) {
    if (count < 0 || count > length / channels) {
      throw new ShapeException(
          Status.BAD_SHAPE,
          count + " samples, and the array holds " + length / channels + " of each channel",
          "give what was read into it");
    }
    position = 0;
    limit = count;
  }

  /** Pushes samples into input `index` of an entered session; returns whether it is ready to
   * run. */
  boolean push(long session, int index) {
    long said =
        Native.pushAudio(session, index, samples, position, limit - position, rate, channels);
    position += (int) (said >> 1);
    return (said & 1) != 0;
  }

  @NonNull
  @Override
  public String toString() {
    return "Audio(" + limit + " samples, " + rate + " Hz, " + channels + " channels)";
  }
}
