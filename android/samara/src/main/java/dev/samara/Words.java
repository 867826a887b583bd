// SPDX-License-Identifier: Apache-2.0
// Text helpers, and conversion of names for C.
package dev.samara;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;

/** Text of messages, and names for C. */
final class Words {
  private Words() {}

  /** A name for C: zero-terminated UTF-8. */
  @Nullable
  static byte[] c(@Nullable String text, @NonNull String what) {
    if (text == null) return null;
    if (text.indexOf('\0') >= 0) {
      throw new ArgumentException(
          Status.BAD_ARGUMENT, what + " holds a zero character", "leave it out");
    }
    return (text + '\0').getBytes(StandardCharsets.UTF_8);
  }

  /** A text for C, which takes its length too: UTF-8. Half of a surrogate pair is refused. */
  @NonNull
  static byte[] utf8(@Nullable String text, @NonNull String what) {
    SamaraException.given(text, what);
    for (int i = 0; i < text.length(); i++) {
      char each = text.charAt(i);
      if (!Character.isSurrogate(each)) continue;
      boolean pair =
          Character.isHighSurrogate(each)
              && i + 1 < text.length()
              && Character.isLowSurrogate(text.charAt(++i));
      if (pair) continue;
      throw new ArgumentException(
          Status.BAD_ARGUMENT,
          what + " has half of a surrogate pair at character " + i,
          "give whole characters: cut texts where String.codePoints does");
    }
    return text.getBytes(StandardCharsets.UTF_8);
  }

  @NonNull
  static String of(@NonNull byte[] utf8) {
    return new String(utf8, StandardCharsets.UTF_8);
  }

  @NonNull
  static String lower(@NonNull Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }

  @NonNull
  static String joined(@NonNull List<?> parts) {
    StringBuilder text = new StringBuilder();
    for (Iterator<?> each = parts.iterator(); each.hasNext(); ) {
      text.append(each.next());
      if (each.hasNext()) text.append(", ");
    }
    return text.toString();
  }

  /** The name for C of the tensor at that index; null if there is none. */
  @Nullable
  static byte[] text(@NonNull List<TensorInfo> infos, int index) {
    return index >= 0 && index < infos.size() ? infos.get(index).text : null;
  }

  /** The index of the tensor of that name. */
  static int index(@NonNull List<TensorInfo> infos, @Nullable String name, @NonNull String what) {
    SamaraException.given(name, "the name"); // no string concatenation here, which allocates
    for (int i = 0; i < infos.size(); i++) {
      if (infos.get(i).getName().equals(name)) return i;
    }
    StringBuilder names = new StringBuilder();
    for (TensorInfo info : infos) names.append(names.length() > 0 ? ", " : "").append(info.getName());
    throw new UnknownNameException(
        Status.NOT_FOUND, "there is no " + what + " '" + name + "'", "there are: " + names);
  }
}
