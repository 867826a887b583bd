// SPDX-License-Identifier: Apache-2.0
// Texts of language models, to be compared with Python's, and what is refused.
package dev.samara;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Prints every text as its tokens and the bytes of its UTF-8. */
public final class Texts {
  static final String PROMPT = "A maple's winged seed flies far.";
  private static final String LEAF = "Ahorn \ud83c\udf41 \u00e4";
  private static final int CONTEXT = 1000;

  private Texts() {}

  public static void main(String[] arguments) throws Exception {
    String folder = arguments[0];
    try (TextModel model = open(folder, "text", 1);
        TextModel halves = open(folder, "halves", 2)) {
      values(model);
      characters(halves, text(new File(folder, "stop.txt")));
      System.out.println("template=" + hex(model.getChatTemplate()));
      tokens(model.getTokenizer());
      longTexts(folder);
      sampler();
      facts(model);
      files(folder, model);
      misuse(folder, model);
    }
    closed(folder);
  }

  static TextModel open(String folder, String name, int threads) {
    File file = new File(folder, name + ".samara");
    return TextModel.fromFile(file, new SessionOptions().threads(threads));
  }

  private static String text(File file) throws IOException {
    return new String(Files.readAllBytes(file.toPath()), StandardCharsets.UTF_8);
  }

  private static String hex(String text) {
    StringBuilder hex = new StringBuilder();
    for (byte each : text.getBytes(StandardCharsets.UTF_8)) hex.append(String.format("%02x", each));
    return hex.toString();
  }

  private static String joined(int[] numbers) {
    return Arrays.toString(numbers).replaceAll("[\\[\\],]", "");
  }

  private static void print(String name, GeneratedText made) {
    String end = Words.lower(made.getEnd()).replace('_', ' ');
    String rest = end + "|" + made.getPromptTokens() + "|" + made.getReusedTokens();
    System.out.println(name + "=" + joined(made.getTokens()) + "|" + hex(made.getText()) + "|" + rest);
  }

  static TextOptions sampled() {
    return new TextOptions().temperature(0.9).topK(40).seed(4);
  }

  private static TextOptions most(int tokens) {
    return new TextOptions().maxTokens(tokens);
  }

  // ---- compared ----

  private static void values(TextModel model) {
    print("likeliest", model.generate(PROMPT, most(40).ignoreEnd(true)));
    print("sampled", model.generate(PROMPT, sampled().maxTokens(40)));
    TextOptions all =
        most(60).ignoreEnd(true).temperature(0.8).topK(200).topP(0.9).minP(0.01)
            .repetitionPenalty(1.3).repetitionWindow(20).seed(Long.MIN_VALUE + 5);
    print("everything", model.generate(PROMPT + "!", all));
    print("defaults", model.generate(LEAF));
    int[] ends = new int[103];
    for (int i = 0; i < ends.length; i++) ends[i] = i < 3 ? i + 1 : 97 + i;
    print("ends", model.generate(PROMPT, most(40).endTokens(ends)));
    print("stranger", model.generate("a<|end|>b", most(3).parseSpecial(false)));
    print("special", model.generate("a<|end|>b", most(3)));
    int[] prompt = new int[PROMPT.length()];
    for (int i = 0; i < prompt.length; i++) prompt[i] = PROMPT.charAt(i);
    print("tokens", model.generate(prompt, most(5).temperature(1e-40)));
    String full = String.join("", java.util.Collections.nCopies(CONTEXT - 10, "x"));
    print("full", model.generate(full, most(100).ignoreEnd(true)));
    model.put(LEAF);
    Check.print("logits", model.logits());
    System.out.println("kept=" + joined(model.getTokens()));
  }

  private static TextOptions halfOptions() {
    return most(400).ignoreEnd(true).temperature(1).seed(6);
  }

  /** Tokens that are halves of characters, which Java keeps in two of its own. */
  private static void characters(TextModel model, String stop) {
    int[] prompt = {1, 2, 3};
    Check.equal(stop.codePointCount(0, stop.length()) * 2, stop.length());
    GeneratedText whole = model.generate(prompt, halfOptions());
    print("halves", whole);
    print("stopped", model.generate(prompt, halfOptions().stop("never", stop)));
    List<String> parts = new ArrayList<>();
    GeneratedText heard = model.generate(prompt, halfOptions(), parts::add);
    Check.equal(heard.getText(), String.join("", parts));
    Check.equal(heard.toString(), whole.getText());
    TextRun run = model.follow(prompt, halfOptions());
    Check.that(run.getEnd() == null && run.getTokens().length == 0, "not begun");
    List<String> followed = new ArrayList<>();
    for (String part : run) {
      followed.add(part);
      Check.that(!part.isEmpty(), "a part");
      Words.utf8(part, "a part"); // no half of a pair
    }
    Check.equal(followed, parts);
    Check.equal(run.getEnd(), TextEnd.MOST_TOKENS);
    Check.that(Arrays.equals(run.getTokens(), whole.getTokens()), "the tokens");
    Check.equal(run.getPromptTokens(), 3);
    StringBuilder hex = new StringBuilder();
    for (String part : parts) hex.append(hex.length() > 0 ? " " : "").append(hex(part));
    System.out.println("parts=" + hex);
  }

  private static void tokens(Tokenizer tokenizer) {
    for (String text : new String[] {"", PROMPT, LEAF, "a<|end|>b", "\0zero"}) {
      int[] ids = tokenizer.encode(text);
      String plain = Arrays.toString(tokenizer.encode(text, false, false));
      System.out.println("ids=" + Arrays.toString(ids) + plain + hex(tokenizer.decode(ids)));
      System.out.println(hex(tokenizer.decode(ids, false)));
    }
    System.out.println("normal=" + hex(tokenizer.normalize(LEAF)));
    int[] broken = {0xF0, 0x9F, 65, 256, 0x8D, 0xF0, 0x9F, 0x8D, 0x81, 999, 0xC3};
    System.out.println("broken=" + hex(tokenizer.decode(broken)));
    try (TextStream stream = tokenizer.stream()) {
      for (int round = 0; round < 2; round++) { // a stream begins again
        StringBuilder pushed = new StringBuilder("pushed=");
        for (int id : broken) pushed.append(hex(stream.push(id))).append(',');
        pushed.append(hex(stream.finish()));
        if (round == 1) System.out.println(pushed);
      }
    }
    System.out.print("named=");
    for (int id : new int[] {0, 65}) System.out.print(hex(tokenizer.idToToken(id)) + " ");
    System.out.println(hex(tokenizer.idToToken(256)));
    System.out.println("found=" + tokenizer.tokenToId("<|user|>") + " " + tokenizer.getVocabSize());
    for (int id : new int[] {260, -1, Integer.MAX_VALUE, Integer.MIN_VALUE}) {
      Check.that(tokenizer.idToToken(id) == null, "no token " + id);
    }
    Check.equal(tokenizer.tokenToId("none"), -1);
    Check.equal(tokenizer.decode(new int[] {-1, Integer.MIN_VALUE, 97}), "a");
    try (TextStream stream = tokenizer.stream(false)) {
      Check.equal(stream.push(256) + stream.finish(), "<|end|>");
    }
  }

  /** More ids, and more text, than there are bytes or ids. */
  private static void longTexts(String folder) {
    try (TextModel model = open(folder, "endless", 1)) {
      Tokenizer tokenizer = model.getTokenizer();
      String folded = String.join("", java.util.Collections.nCopies(100, "\ufdfa"));
      System.out.println("many=" + joined(tokenizer.encode(folded)));
      System.out.println("unfolded=" + hex(tokenizer.normalize(folded)));
      System.out.println("long=" + hex(tokenizer.decode(new int[] {259}, false)));
    }
  }

  private static float[] logits(int round) {
    float[] values = new float[300];
    for (int i = 0; i < values.length; i++) values[i] = (i * 7919 + round * 104729) % 1009 / 64f;
    return values;
  }

  private static void sampler() {
    TextOptions options =
        new TextOptions().temperature(0.8).topK(100).topP(0.95).minP(0.001)
            .repetitionPenalty(1.2).repetitionWindow(9).seed(-3);
    try (Sampler sampler = new Sampler(300, options)) {
      options.seed(1); // what was asked for stays
      Check.equal(sampler.getVocabSize(), 300);
      for (int again = 0; again < 2; again++) {
        StringBuilder chosen = new StringBuilder("chosen=");
        sampler.accept(1, 2, 299);
        for (int i = 0; i < 50; i++) chosen.append(sampler.next(logits(i))).append(' ');
        System.out.println(chosen);
        sampler.reset();
      }
      float[] wrong = logits(0);
      wrong[7] = Float.NaN;
      Check.fails(SamaraException.class, Status.BAD_DATA, "", () -> sampler.next(wrong));
      Class<ShapeException> type = ShapeException.class;
      Check.fails(type, Status.BAD_ARGUMENT, "", () -> sampler.next(new float[299]));
      Check.fails(type, Status.BAD_ARGUMENT, "", () -> sampler.accept(1, 300));
      Check.fails(type, Status.BAD_ARGUMENT, "", () -> sampler.accept(-1));
      Check.fails(
          ArgumentException.class, Status.BAD_ARGUMENT, "null", () -> sampler.next(null));
      Check.fails(
          ArgumentException.class, Status.BAD_ARGUMENT, "null", () -> sampler.accept((int[]) null));
    }
    Sampler closed = new Sampler(3, new TextOptions());
    Check.equal(closed.next(new float[] {1, 3, 2}), 1);
    closed.close();
    closed.close();
    Check.fails(
        SamaraException.class, Status.BAD_STATE, "sampler is closed", () -> closed.next(new float[3]));
    Check.fails(
        ArgumentException.class, Status.BAD_ARGUMENT, "vocabSize is 0",
        () -> new Sampler(0, new TextOptions()));
    Check.fails(
        ShapeException.class, Status.BAD_ARGUMENT, "",
        () -> new Sampler(Integer.MAX_VALUE, new TextOptions()));
    Check.fails(
        ArgumentException.class, Status.BAD_ARGUMENT, "null", () -> new Sampler(3, null));
  }

  // ---- one text, however it is asked for ----

  private static void facts(TextModel model) {
    Check.equal(model.getContextLength(), (long) CONTEXT);
    Check.that(model.getTotalBytes() > 0, "memory");
    Check.equal(model.put(PROMPT), 1); // LEAF begins with an A, too
    Check.equal(model.put(PROMPT), PROMPT.length());
    Check.equal(model.put(PROMPT + "!"), PROMPT.length());
    Check.equal(model.put("a<|end|>", true, false), 0);
    Check.equal(model.getTokens().length, 8);
    Check.equal(model.put("a<|end|>", false, true), 1);
    Check.equal(model.getTokens().length, 2);
    TextOptions options = sampled().maxTokens(20);
    TextRun first = model.follow(PROMPT, options);
    options.seed(99).maxTokens(1); // what was asked for stays
    String begun = first.next();
    TextRun second = model.follow("two", sampled());
    second.next();
    Check.fails(
        SamaraException.class, Status.BAD_STATE, "begun another text",
        () -> {
          while (first.hasNext()) first.next();
        });
    Check.equal(begun + rest(model, begun), model.generate(PROMPT, sampled().maxTokens(20)).getText());
  }

  /** The text of a run that was left, by another one of the same options. */
  private static String rest(TextModel model, String begun) {
    TextRun run = model.follow(PROMPT, sampled().maxTokens(20));
    Check.equal(run.next(), begun);
    return run.whole().getText();
  }

  private static void files(String folder, TextModel model) throws Exception {
    File file = new File(folder, "java.text");
    String prompt = String.join("", java.util.Collections.nCopies(20, PROMPT));
    model.put(prompt);
    model.save(file);
    byte[] bytes = Files.readAllBytes(file.toPath());
    Check.that(bytes.length > 1 << 17, "several chunks");
    Check.that(
        Arrays.equals(bytes, Files.readAllBytes(new File(folder, "python.text").toPath())),
        "Python's bytes");
    String wanted = model.generate(prompt, sampled()).getText();
    try (TextModel other = open(folder, "text", 1)) {
      other.load(file);
      Check.equal(other.getTokens().length, prompt.length());
      GeneratedText made = other.generate(prompt, sampled());
      Check.equal(made.getText(), wanted);
      Check.equal(made.getReusedTokens(), prompt.length() - 1);
      other.put("kept");
      damaged(folder, other, bytes);
      Check.fails(FileException.class, Status.IO, "none.text", () -> other.load(new File(folder, "none.text")));
      Check.that(Arrays.equals(other.getTokens(), new int[] {'k', 'e', 'p', 't'}), "as before");
      failing(other, file, bytes.length);
      other.load(new File(folder, "python.text"));
      Check.equal(other.generate(prompt, sampled()).getText(), wanted);
    }
    try (TextModel stranger = open(folder, "bare", 1)) {
      Check.fails(
          ShapeException.class, Status.BAD_ARGUMENT, "another model", () -> stranger.load(file));
    }
    File nowhere = new File(new File(folder, "none"), "text");
    Check.fails(FileException.class, Status.IO, "cannot be written", () -> model.save(nowhere));
    Check.that(!new File(file.getPath() + ".tmp").exists(), "no other file is left");
  }

  private static void damaged(String folder, TextModel model, byte[] bytes) throws Exception {
    File wrong = new File(folder, "wrong.text");
    byte[] changed = bytes.clone();
    changed[200] ^= 1;
    for (byte[] each :
        Arrays.asList(
            new byte[0], Arrays.copyOf(bytes, 70), Arrays.copyOf(bytes, bytes.length - 1),
            Arrays.copyOf(bytes, bytes.length + 1), changed)) {
      Files.write(wrong.toPath(), each);
      Status status = each == changed ? Status.BAD_CHECKSUM : Status.BAD_MODEL;
      Check.fails(ModelFormatException.class, status, "", () -> model.load(wrong));
    }
  }

  /** Files of Java that throw while C uses them. */
  private static void failing(TextModel model, File file, long size) throws Exception {
    for (int most : new int[] {0, 1 << 16, 1 << 17}) {
      IOException full = new IOException("full");
      OutputStream to =
          new OutputStream() {
            private int written;

            @Override
            public void write(int one) {}

            @Override
            public void write(byte[] from, int at, int count) throws IOException {
              written += count;
              if (written > most) throw full;
            }
          };
      model.put(String.join("", java.util.Collections.nCopies(20, PROMPT)));
      Check.that(thrown(() -> model.handle.call(o -> Check.unchecked(() -> saved(o, to)))) == full, "Java's");
    }
    model.put("kept");
    try (RandomAccessFile from = new RandomAccessFile(file, "r")) {
      Throwable other = thrown(() -> model.handle.call(o -> Check.unchecked(() -> loaded(o, from, size + 8))));
      Check.that(other instanceof ModelFormatException, "" + other);
    }
    RandomAccessFile gone = new RandomAccessFile(file, "r");
    gone.close();
    Throwable end = thrown(() -> model.handle.call(o -> Check.unchecked(() -> loaded(o, gone, size))));
    Check.that(end instanceof IOException, "" + end);
    Check.that(Arrays.equals(model.getTokens(), new int[] {'k', 'e', 'p', 't'}), "as before");
  }

  private static Object saved(long model, OutputStream to) throws IOException {
    Native.saveText(model, to);
    return to;
  }

  private static Object loaded(long model, RandomAccessFile from, long size) throws IOException {
    Native.loadText(model, from, size);
    return from;
  }

  private static Throwable thrown(Runnable call) {
    try {
      call.run();
    } catch (AssertionError failure) {
      return failure.getCause();
    }
    throw new AssertionError("nothing thrown");
  }

  // ---- refused ----

  private static void misuse(String folder, TextModel model) {
    Class<ArgumentException> type = ArgumentException.class;
    Status status = Status.BAD_ARGUMENT;
    TextOptions options = new TextOptions();
    for (int wrong : new int[] {0, -1, Integer.MIN_VALUE}) {
      Check.fails(type, status, "maxTokens is " + wrong, () -> options.maxTokens(wrong));
    }
    for (double wrong : new double[] {-1, Double.NaN, Double.POSITIVE_INFINITY, 1e39}) {
      Check.fails(type, status, "temperature is", () -> options.temperature(wrong));
      Check.fails(type, status, "repetitionPenalty is", () -> options.repetitionPenalty(wrong));
      Check.fails(type, status, "at most 1", () -> options.topP(wrong));
      Check.fails(type, status, "at most 1", () -> options.minP(wrong));
    }
    Check.fails(type, status, "above 0", () -> options.topP(0));
    Check.fails(type, status, "topK is -1", () -> options.topK(-1));
    Check.fails(type, status, "repetitionWindow is -1", () -> options.repetitionWindow(-1));
    Check.fails(type, status, "a stop is the empty text", () -> options.stop("a", ""));
    Check.fails(type, status, "zero", () -> options.stop("a\0b"));
    Check.fails(type, status, "null", () -> options.stop((String[]) null));
    Check.fails(type, status, "null", () -> options.stop("a", null));
    for (String half : new String[] {"\ud83c", "ab\ud83c", "\udf41", "\ud83c\ud83c\udf41"}) {
      Check.fails(type, status, "half of a surrogate pair", () -> options.stop(half));
      Check.fails(type, status, "half of a surrogate pair", () -> model.put(half));
      Check.fails(type, status, "half of a surrogate pair", () -> model.generate(half));
      Check.fails(type, status, "half of a", () -> model.getTokenizer().encode(half));
    }
    Check.fails(type, status, "null", () -> new TextModel(null));
    Check.fails(type, status, "null", () -> new Tokenizer(null));
    Check.fails(type, status, "null", () -> TextModel.fromFile((File) null));
    Check.fails(type, status, "null", () -> TextModel.fromFile((String) null));
    Check.fails(type, status, "null", () -> model.put((String) null));
    Check.fails(type, status, "null", () -> model.put((int[]) null));
    Check.fails(type, status, "null", () -> model.generate((String) null));
    Check.fails(type, status, "null", () -> model.generate("a", null));
    Check.fails(type, status, "null", () -> model.generate("a", options, null));
    Check.fails(type, status, "null", () -> model.generateAsync("a", options, null, null));
    Check.fails(type, status, "null", () -> model.save(null));
    Check.fails(type, status, "null", () -> model.load(null));
    Check.fails(type, status, "null", () -> model.getTokenizer().encode(null));
    Check.fails(type, status, "null", () -> model.getTokenizer().decode(null));
    Check.fails(type, status, "null", () -> model.getTokenizer().tokenToId(null));
    tokensOutOfRange(model);
    others(folder);
  }

  private static void tokensOutOfRange(TextModel model) {
    Class<ShapeException> type = ShapeException.class;
    Status status = Status.BAD_ARGUMENT;
    model.put(new int[] {7, 3});
    for (int wrong : new int[] {-1, 260, Integer.MAX_VALUE, Integer.MIN_VALUE}) {
      Check.fails(type, status, "token 1 is " + wrong, () -> model.put(new int[] {1, wrong}));
      Check.fails(
          type, status, "token 0 is " + wrong,
          () -> model.generate("a", new TextOptions().endTokens(wrong)));
    }
    Check.fails(
        LimitException.class, Status.LIMIT, "the model takes 1000", () -> model.put(new int[CONTEXT + 1]));
    Check.equal(model.put(new int[0]), 0);
    Check.fails(SamaraException.class, Status.BAD_STATE, "no text to continue", () -> model.generate(""));
    Check.fails(SamaraException.class, Status.BAD_STATE, "put a text", model::logits);
    Check.that(model.generate("a", new TextOptions().endTokens()).getTokens().length == 256, "no end");
  }

  private static void others(String folder) {
    try (TextModel bare = open(folder, "bare", 1)) {
      Check.equal(bare.generate(new int[] {1, 2}, most(3)).getText(), "");
      Class<UnknownNameException> type = UnknownNameException.class;
      Check.fails(type, Status.NOT_FOUND, "no tokenizer", () -> bare.put("a"));
      Check.fails(type, Status.NOT_FOUND, "no tokenizer", bare::getTokenizer);
      Check.fails(type, Status.NOT_FOUND, "no tokenizer", () -> tokenizer(folder));
      Check.fails(
          ShapeException.class, Status.BAD_ARGUMENT, "no tokenizer",
          () -> bare.generate(new int[] {1}, new TextOptions().stop("a")));
    }
    try (Model model = Check.model(folder, "static")) {
      Check.fails(
          UnsupportedException.class, Status.UNSUPPORTED, "no text model", () -> new TextModel(model));
      for (SessionOptions wrong :
          Arrays.asList(
              new SessionOptions().function("main"), new SessionOptions().keep("h"),
              new SessionOptions().keepAll(true), new SessionOptions().backend("cpu"),
              new SessionOptions().profiling(true))) {
        Check.fails(
            ArgumentException.class, Status.BAD_ARGUMENT, "threads", () -> new TextModel(model, wrong));
      }
    }
    File text = new File(folder, "text.samara");
    Check.fails(
        LimitException.class, Status.LIMIT, "",
        () -> TextModel.fromFile(text, new SessionOptions().maxArenaBytes(1)).put("a"));
    Check.fails(FileException.class, Status.IO, "none", () -> TextModel.fromFile("none.samara"));
  }

  private static void tokenizer(String folder) {
    try (Model model = Check.model(folder, "bare")) {
      new Tokenizer(model).close();
    }
  }

  private static void closed(String folder) throws Exception {
    Class<SamaraException> type = SamaraException.class;
    Status status = Status.BAD_STATE;
    Model model = Check.model(folder, "text");
    TextModel text = new TextModel(model);
    Tokenizer alone = new Tokenizer(model);
    model.close(); // they go on
    Tokenizer own = text.getTokenizer();
    Check.that(own == text.getTokenizer(), "one of its own");
    TextStream stream = alone.stream();
    alone.close(); // the stream goes on
    Check.equal(stream.push(97), "a");
    Check.equal(text.generate(PROMPT, most(2)).getTokens().length, 2);
    Check.equal(text.toString().startsWith("TextModel("), true);
    Check.fails(type, status, "model is closed", () -> new Tokenizer(model));
    Check.fails(type, status, "model is closed", () -> new TextModel(model));
    TextRun run = text.follow(PROMPT, most(9));
    run.next();
    for (int i = 0; i < 2; i++) {
      text.close();
      stream.close();
      alone.close();
    }
    String says = "text model is closed";
    Check.fails(type, status, says, run::next);
    Check.fails(type, status, says, () -> text.generate("a"));
    Check.fails(type, status, says, () -> text.put("a"));
    Check.fails(type, status, says, text::logits);
    Check.fails(type, status, says, text::getTokens);
    Check.fails(type, status, says, () -> text.save(new File(folder, "closed.text")));
    Check.that(!new File(folder, "closed.text").exists(), "no file");
    Check.fails(type, status, says, () -> text.load(new File(folder, "python.text")));
    text.cancel();
    Check.fails(type, status, "tokenizer is closed", () -> own.encode("a"));
    Check.fails(type, status, "tokenizer is closed", () -> alone.decode(new int[1]));
    Check.fails(type, status, "tokenizer is closed", alone::stream);
    Check.fails(type, status, "stream is closed", () -> stream.push(97));
    Check.fails(type, status, "stream is closed", stream::finish);
    Check.equal(text.getContextLength(), (long) CONTEXT);
    TextModel early = open(folder, "text", 1);
    early.close();
    Check.fails(type, status, says, early::getTokenizer);
  }
}
