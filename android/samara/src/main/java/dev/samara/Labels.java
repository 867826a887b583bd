// SPDX-License-Identifier: Apache-2.0
// The labels of a file: a list of texts in JSON.
package dev.samara;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Reads {@code ["cat", "dog"]}; the JSON classes of Android are not on a desktop. */
final class Labels {
  private static final String ESCAPES = "\"\\/bfnrt";
  private static final String MEANT = "\"\\/\b\f\n\r\t";

  private final String text;
  private int at;

  private Labels(String text) {
    this.text = text;
  }

  /** The texts of the list; empty if it is not a list of texts. */
  @NonNull
  static List<String> read(@Nullable String json) {
    if (json == null) return Collections.emptyList();
    List<String> labels = new ArrayList<>();
    boolean right = new Labels(json).list(labels);
    return right ? Collections.unmodifiableList(labels) : Collections.<String>emptyList();
  }

  private boolean list(List<String> labels) {
    if (!takes('[')) return false;
    if (takes(']')) return ends();
    do {
      String label = string();
      if (label == null) return false;
      labels.add(label);
    } while (takes(','));
    return takes(']') && ends();
  }

  private boolean ends() {
    skip();
    return at == text.length();
  }

  private void skip() {
    while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) at++;
  }

  private boolean takes(char wanted) {
    skip();
    if (at == text.length() || text.charAt(at) != wanted) return false;
    at++;
    return true;
  }

  @Nullable
  private String string() {
    if (!takes('"')) return null;
    StringBuilder found = new StringBuilder();
    while (at < text.length()) {
      char c = text.charAt(at++);
      if (c == '"') return found.toString();
      if (c != '\\') {
        found.append(c);
      } else if (!escaped(found)) {
        return null;
      }
    }
    return null;
  }

  /** The character after a backslash. */
  private boolean escaped(StringBuilder found) {
    if (at == text.length()) return false;
    char c = text.charAt(at++);
    int known = ESCAPES.indexOf(c);
    if (known >= 0) {
      found.append(MEANT.charAt(known));
      return true;
    }
    if (c != 'u' || at + 4 > text.length()) return false;
    int unit = 0;
    for (int end = at + 4; at < end; at++) {
      int digit = Character.digit(text.charAt(at), 16);
      if (digit < 0) return false;
      unit = 16 * unit + digit;
    }
    found.append((char) unit);
    return true;
  }
}
