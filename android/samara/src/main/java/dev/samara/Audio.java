// SPDX-License-Identifier: Apache-2.0
// Sound as a microphone or a file has it.
package dev.samara;

import androidx.annotation.NonNull;

/**
 * A portion of sound, and how much of it a session has taken. It borrows the caller's array.
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

  /** The same of several channels, by turns; models hear their mean. */
  @NonNull
  public static Audio of(@NonNull short[] samples, int rate, int channels) {
    SamaraException.given(samples, "the samples");
    return new Audio(samples, samples.length, rate, channels);
  }

  /** Samples whose full scale is 1.0. */
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

  /** Samples of each channel that no session has taken. */
  public int remaining() {
    return limit - position;
  }

  /** Begins anew with the first {@code count} samples of each channel that the array holds now. */
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

  /** Into input `index` of a session that was entered; whether that is due to run. */
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
