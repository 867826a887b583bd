// SPDX-License-Identifier: Apache-2.0
// Variables of a session.
package dev.samara;

import androidx.annotation.NonNull;
import java.io.File;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * The variables of a session, by name. One thread at a time, like the session.
 *
 * <pre>{@code
 * Tensor h = session.getState().get("h");
 * session.getState().save(new File(context.getFilesDir(), "state"));
 * }</pre>
 */
public final class State {
  private final SessionHandle handle;

  State(SessionHandle handle) {
    this.handle = handle;
  }

  /** The names of all variables. */
  @NonNull
  public List<String> getNames() {
    Blob blob = new Blob(handle.get(Native::stateNames));
    List<String> names = new ArrayList<>();
    for (int count = blob.number(); count > 0; count--) names.add(blob.text());
    return Collections.unmodifiableList(names);
  }

  /** A copy of a variable. */
  @NonNull
  public Tensor get(@NonNull String name) {
    byte[] text = name(name);
    return Feeds.tensor(handle.get(session -> Native.getState(session, text)));
  }

  /** Sets a variable to values with its type and shape. */
  public void set(@NonNull String name, @NonNull Tensor values) {
    byte[] text = name(name);
    Object array = SamaraException.given(values, "the tensor").getArray();
    int kind = Tensor.kind(array);
    handle.call(session -> Native.setState(session, text, array, kind, values.getShape()));
  }

  private static byte[] name(String name) {
    return Words.c(SamaraException.given(name, "the name of the variable"), "the name");
  }

  /** All variables as a safetensors file, which {@code samara.load} of Python reads. */
  @NonNull
  public byte[] save() {
    return handle.get(Native::saveState);
  }

  /** The same to a file, atomically: it is written under another name, and renamed. */
  public void save(@NonNull File file) {
    Files.replace(SamaraException.given(file, "the file"), save());
  }

  /** Sets all variables from such a file, or none if it throws. */
  public void load(@NonNull byte[] bytes) {
    SamaraException.given(bytes, "the bytes of the state");
    handle.call(session -> Native.loadState(session, bytes));
  }

  /** The same from a file. */
  public void load(@NonNull File file) {
    load(Files.read(SamaraException.given(file, "the file")));
  }

  @NonNull
  @Override
  public String toString() {
    return "State(" + (handle.isClosed() ? "closed" : Words.joined(getNames())) + ")";
  }
}
