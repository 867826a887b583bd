// SPDX-License-Identifier: Apache-2.0
// Recorded runs give the same bytes as in Python, by every way to run.
package dev.samara;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/** Prints the name of every model, and how many of its runs were compared. */
public final class Golden {
  private Golden() {}

  public static void main(String[] arguments) throws Exception {
    for (GoldenCases each : GoldenCases.read(arguments[0])) {
      try (Model model = Model.fromFile(each.model)) {
        byName(each, model);
        inPlace(each, model);
        bound(each, model);
        async(each, model);
      }
      System.out.println(each.name + "=" + each.runs.size());
    }
  }

  private static void byName(GoldenCases each, Model model) {
    try (Session session = each.session(model)) {
      for (GoldenCases.Run run : each.runs) run.check(each.name, session.run(run.tensors()));
    }
  }

  private static void resize(Session session, GoldenCases.Run run) {
    Map<String, long[]> shapes = new HashMap<>();
    run.inputs.forEach((name, values) -> shapes.put(name, values.shape));
    session.resize(shapes);
  }

  private static void inPlace(GoldenCases each, Model model) {
    try (Session session = each.session(model)) {
      for (GoldenCases.Run run : each.runs) {
        resize(session, run);
        run.inputs.forEach((name, values) -> session.setInput(name, values.array()));
        session.run();
        run.outputs.forEach(
            (name, values) -> {
              Object array = values.array();
              session.getOutput(name, array);
              values.check(each.name + " in place " + name, array);
              ByteBuffer buffer = Check.direct(values.bytes.length);
              session.getOutput(name, buffer);
              values.check(each.name + " in a buffer " + name, buffer);
            });
      }
    }
  }

  private static boolean known(Session session, GoldenCases.Run run) {
    for (String name : run.outputs.keySet()) {
      for (long dim : session.getOutputShape(name)) {
        if (dim < 0) return false;
      }
    }
    return true;
  }

  private static void bound(GoldenCases each, Model model) {
    try (Session session = each.session(model)) {
      for (GoldenCases.Run run : each.runs) {
        resize(session, run);
        run.inputs.forEach((name, values) -> session.bindInput(name, values.direct()));
        Map<String, ByteBuffer> made = new LinkedHashMap<>();
        if (known(session, run)) {
          run.outputs.forEach((name, v) -> made.put(name, Check.direct(v.bytes.length)));
        }
        made.forEach(session::bindOutput);
        session.run();
        run.outputs.forEach(
            (name, values) -> {
              ByteBuffer place = made.get(name);
              if (place == null) values.check(each.name + " " + name, session.getOutput(name));
              else values.check(each.name + " bound " + name, place);
            });
      }
    }
  }

  private static void async(GoldenCases each, Model model) throws Exception {
    try (Session session = each.session(model)) {
      for (GoldenCases.Run run : each.runs) {
        run.check(
            each.name + " async", session.runAsync(run.tensors(), work -> new Thread(work).start()).get());
      }
    }
  }
}
