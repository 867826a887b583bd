// SPDX-License-Identifier: Apache-2.0
// The base of all errors of samara, and the conversion of failures in C.
package dev.samara;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Base of all errors of samara. The message says what happened, what was found and what was
 * expected; {@link #getFix} says what to try.
 */
public class SamaraException extends RuntimeException {
  private static final long serialVersionUID = 1;

  // How the runtime names the failed node: node 'conv1' (conv2d, net.py:12).
  private static final Pattern PLACE = Pattern.compile("node '([^']*)' \\(([^,)]+)");
  private static final Pattern INDEX = Pattern.compile("\\b(index|target) -?\\d+ at position \\d+");

  private final Status status;
  private final String fix;
  private final String node;
  private final String operator;

  SamaraException(@NonNull Status status, @NonNull String message, @Nullable String fix) {
    super(message);
    this.status = status;
    this.fix = fix;
    Matcher place = PLACE.matcher(message);
    boolean placed = place.find();
    this.node = placed ? place.group(1) : null;
    this.operator = placed ? place.group(2) : null;
  }

  /** The status code of the C interface. */
  @NonNull
  public Status getStatus() {
    return status;
  }

  /** One sentence that says what to try, or null. */
  @Nullable
  public String getFix() {
    return fix;
  }

  /** The name of the node in the author's model where a run failed, or null. */
  @Nullable
  public String getNode() {
    return node;
  }

  /** The operator of that node, or null. */
  @Nullable
  public String getOperator() {
    return operator;
  }

  /** The class, the message, and the fix on a line of its own. */
  @NonNull
  @Override
  public String toString() {
    return fix == null ? super.toString() : super.toString() + "\n  fix: " + fix;
  }

  /** The exception for a failure in C. Called by libsamara_jni. */
  static SamaraException of(int code, byte[] text, @Nullable byte[] fix) {
    String why = fix == null ? null : new String(fix, StandardCharsets.UTF_8);
    return of(Status.of(code), new String(text, StandardCharsets.UTF_8), why);
  }

  private static SamaraException of(Status status, String message, @Nullable String fix) {
    switch (status) {
      case BAD_ARGUMENT:
      case BAD_SHAPE:
        return new ShapeException(status, message, fix);
      case NOT_FOUND:
        return new UnknownNameException(status, message, fix);
      case BAD_MODEL:
      case BAD_VERSION:
      case BAD_CHECKSUM:
        return new ModelFormatException(status, message, fix);
      case UNSUPPORTED:
        return new UnsupportedException(status, message, fix);
      case OUT_OF_MEMORY:
      case LIMIT:
        return new LimitException(status, message, fix);
      case CANCELLED:
        return new CancelledException(status, message, fix);
      case IO:
        return new FileException(status, message, fix);
      case BACKEND:
        return new BackendException(status, message, fix);
      default:
        break;
    }
    if (status == Status.BAD_DATA && INDEX.matcher(message).find()) {
      return new RangeException(status, message, fix);
    }
    return new SamaraException(status, message, fix);
  }

  /** For a required argument that is null. */
  static <T> T given(@Nullable T value, @NonNull String what) {
    if (value != null) return value;
    throw new ArgumentException(Status.BAD_ARGUMENT, what + " is null", "give a value");
  }
}
