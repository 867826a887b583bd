// SPDX-License-Identifier: Apache-2.0
// Description of a model's function.
package dev.samara;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** One function of a model with its inputs and outputs. */
public final class FunctionInfo {
  private static final String[] ANSWERS = {null, "classes", "mask", "boxes", "keypoints"};

  private final String name;
  private final List<TensorInfo> inputs;
  private final List<TensorInfo> outputs;
  private final boolean growing;
  private final String answer;

  FunctionInfo(Blob blob) {
    name = blob.text();
    int kind = blob.number();
    answer = kind >= 0 && kind < ANSWERS.length ? ANSWERS[kind] : null;
    growing = blob.number() != 0;
    inputs = infos(blob);
    outputs = infos(blob);
  }

  private static List<TensorInfo> infos(Blob blob) {
    int count = blob.number();
    List<TensorInfo> found = new ArrayList<>(count);
    for (int i = 0; i < count; i++) found.add(new TensorInfo(blob));
    return Collections.unmodifiableList(found);
  }

  @NonNull
  public String getName() {
    return name;
  }

  @NonNull
  public List<TensorInfo> getInputs() {
    return inputs;
  }

  @NonNull
  public List<TensorInfo> getOutputs() {
    return outputs;
  }

  /** Whether a run may allocate memory, because some dim has no bound. */
  public boolean isGrowing() {
    return growing;
  }

  /**
   * The kind of answer of {@link Session#predict}: "classes", "mask", "boxes" or "keypoints"; null
   * if the file has no record for the outputs.
   */
  @Nullable
  public String getAnswer() {
    return answer;
  }

  @NonNull
  @Override
  public String toString() {
    return name + "(" + Words.joined(inputs) + ") -> (" + Words.joined(outputs) + ")";
  }
}
