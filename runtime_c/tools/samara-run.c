// SPDX-License-Identifier: Apache-2.0
// Run a model once (or often) from the command line; see usage below. Exit 0 done, 1 failed, 2
// usage.
#if !defined(_XOPEN_SOURCE)
#define _XOPEN_SOURCE 700  // POSIX of 2008, and realpath
#endif

#include "device.h"
#include "tool.h"

static const char usage[] =
    "usage: samara-run MODEL.samara [options]\n"
    "  --input NAME=FILE     a .npy file, or raw bytes; inputs without one are random\n"
    "  --shape NAME=1x3x8x8  dims of an input that the model leaves free\n"
    "  --function NAME       another function than the first\n"
    "  --state NAME=FILE     value of a variable before the first run\n"
    "  --load-state FILE     all variables before the first run, from a safetensors file\n"
    "  --save-state FILE     write all variables to such a file after the last run\n"
    "  --output DIR          write every output (and variable) to DIR/NAME.npy\n"
    "  --top K               print the K largest elements of every output, with labels\n"
    "  --threads N  --isa LIST  --repeat N  --seed N\n"
    "  --tuned FILE          choices of samara tune; default: the file that SAMARA_TUNED "
    "names\n" TOOL_DEVICE_USAGE
    "  --profile FILE        write a Chrome trace of the last run\n"
    "  --verify WHEN         compare the data with its checksums: small (up to 64 MiB; the "
    "default),\n"
    "                        always, never\n"
    "  --copy                read the file into memory instead of mapping it\n"
    "  --selftest            run the golden inputs of the file instead\n";

struct options {
  const char *model, *function, *output, *isa, *profile, *load, *save, *tuned;
  struct tool_list inputs, shapes, states;
  struct tool_device device;
  unsigned long threads, repeat, seed, top;
  size_t verify;
  int selftest, copy;
};

static int parse_options(int argc, char **argv, struct options *o) {
  *o = (struct options){.threads = 1, .repeat = 1};
  for (int i = 1; i < argc; i++) {
    const char *v;
    int ok = 1;
    if (tool_device_option(argc, argv, &i, &o->device)) continue;
    if ((v = tool_option(argc, argv, &i, "--input")) != NULL)
      ok = tool_add(&o->inputs, v);
    else if ((v = tool_option(argc, argv, &i, "--shape")) != NULL)
      ok = tool_add(&o->shapes, v);
    else if ((v = tool_option(argc, argv, &i, "--state")) != NULL)
      ok = tool_add(&o->states, v);
    else if ((v = tool_option(argc, argv, &i, "--load-state")) != NULL)
      o->load = v;
    else if ((v = tool_option(argc, argv, &i, "--save-state")) != NULL)
      o->save = v;
    else if ((v = tool_option(argc, argv, &i, "--function")) != NULL)
      o->function = v;
    else if ((v = tool_option(argc, argv, &i, "--output")) != NULL)
      o->output = v;
    else if ((v = tool_option(argc, argv, &i, "--isa")) != NULL)
      o->isa = v;
    else if ((v = tool_option(argc, argv, &i, "--tuned")) != NULL)
      o->tuned = v;
    else if ((v = tool_option(argc, argv, &i, "--profile")) != NULL)
      o->profile = v;
    else if ((v = tool_option(argc, argv, &i, "--threads")) != NULL)
      ok = (o->threads = tool_number(v, 0)) > 0;
    else if ((v = tool_option(argc, argv, &i, "--repeat")) != NULL)
      ok = (o->repeat = tool_number(v, 0)) > 0;
    else if ((v = tool_option(argc, argv, &i, "--seed")) != NULL)
      o->seed = tool_number(v, 0);
    else if ((v = tool_option(argc, argv, &i, "--top")) != NULL)
      ok = (o->top = tool_number(v, 0)) > 0;
    else if ((v = tool_option(argc, argv, &i, "--verify")) != NULL)
      ok = tool_verify(v, &o->verify);
    else if (strcmp(argv[i], "--copy") == 0)
      o->copy = 1;
    else if (strcmp(argv[i], "--selftest") == 0)
      o->selftest = 1;
    else if (argv[i][0] != '-' && o->model == NULL)
      o->model = argv[i];
    else
      ok = 0;
    if (!ok) {
      fprintf(stderr, "%s: cannot use '%s'\n%s", argv[0], argv[i], usage);
      return TOOL_USAGE;
    }
  }
  if (o->model != NULL) return 0;
  fputs(usage, stderr);
  return TOOL_USAGE;
}

static int session_error(const samara_session *session, const char *what) {
  return tool_error("%s: %s", what, samara_session_error(session));
}

// Resize to the given shapes, and fill all inputs.
static int feed(samara_session *session, const samara_model *model, const struct options *o) {
  struct tool_inputs inputs = {.list = o->inputs};
  const size_t count = samara_model_input_count(model, o->function);
  int64_t (*shapes)[SAMARA_MAX_RANK] = calloc(count + 1, sizeof *shapes);
  const int64_t **pointers = calloc(count + 1, sizeof *pointers);
  uint64_t seed = o->seed * 2 + 1;
  int result = shapes != NULL && pointers != NULL ? 0 : tool_error("no memory");
  if (result == 0) result = tool_read_inputs(&inputs);
  for (size_t i = 0; result == 0 && i < count; i++) {
    samara_tensor_info info;
    (void)samara_model_input_info(model, o->function, i, &info);
    result = tool_input_shape(model, o->function, i, &o->shapes,
                              tool_input_array(&inputs, info.name), shapes[i]);
    pointers[i] = shapes[i];
  }
  if (result == 0 && samara_session_resize(session, pointers, count) != SAMARA_OK)
    result = session_error(session, "shapes");
  for (size_t i = 0; result == 0 && i < count; i++) {
    samara_tensor_info info;
    samara_tensor t;
    (void)samara_model_input_info(model, o->function, i, &info);
    const struct tool_array *array = tool_input_array(&inputs, info.name);
    if (array != NULL) {
      if (samara_session_set_input(session, i, array->data, array->size_bytes) != SAMARA_OK)
        result = session_error(session, "input");
    } else if (samara_session_input(session, i, &t) == SAMARA_OK) {
      tool_fill_random(&t, &seed);
    }
  }
  tool_free_inputs(&inputs);
  free((void *)pointers);
  free(shapes);
  return result;
}

// DIR/NAME.npy; characters that a file name cannot hold become '_'.
static int write_tensor(const char *folder, const char *name, const samara_tensor *t) {
  char path[TOOL_MAX_PATH];
  const int start = snprintf(path, sizeof path, "%s/", folder);
  if (start < 0 || (size_t)start + strlen(name) + 5 > sizeof path)
    return tool_error("the path of %s is too long", name);
  char *at = path + start;
  for (; *name != '\0'; name++) *at++ = strchr("/\\:*?\"<>|", *name) != NULL ? '_' : *name;
  memcpy(at, ".npy", 5);
  return tool_write_npy(path, t);
}

#if SAMARA_WITH_CHECKPOINTS
static int load_state(samara_session *session, const char *path) {
  struct tool_array file = {0};
  int result = tool_read_file(path, &file);
  if (result == 0 &&
      samara_session_state_load_memory(session, file.memory, file.size_bytes) != SAMARA_OK)
    result = session_error(session, path);
  free(file.memory);
  return result;
}

static int save_piece(void *user, const void *data, size_t size_bytes) {
  return fwrite(data, 1, size_bytes, (FILE *)user) == size_bytes ? 0 : 1;
}

static int save_state(const samara_session *session, const char *path) {
  struct tool_output out;
  if (tool_begin_output(path, &out) != 0) return TOOL_FAILED;
  const samara_writer writer = {sizeof writer, save_piece, out.file};
  const int ok = samara_session_state_save(session, &writer) == SAMARA_OK;
  if (!ok) (void)session_error(session, path);
  return tool_end_output(&out, ok);
}
#else
static int load_state(samara_session *session, const char *path) {
  (void)session, (void)path;
  return tool_lacks("checkpoints");
}

static int save_state(const samara_session *session, const char *path) {
  (void)session, (void)path;
  return tool_lacks("checkpoints");
}
#endif

#if SAMARA_WITH_STATE
static int set_states(samara_session *session, const struct options *o) {
  for (size_t i = 0; i < o->states.count; i++) {
    char name[256];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(o->states.items[i], "="), o->states.items[i]);
    struct tool_array array;
    if (tool_read_array(strchr(o->states.items[i], '=') + 1, &array) != 0) {
      free(array.memory);
      return TOOL_FAILED;
    }
    const samara_status status =
        samara_session_state_write(session, name, array.data, array.size_bytes);
    free(array.memory);
    if (status != SAMARA_OK) return session_error(session, "--state");
  }
  return 0;
}

static int write_states(samara_session *session, const struct options *o) {
  for (size_t i = 0; o->output != NULL && i < samara_session_state_count(session); i++) {
    samara_tensor t;
    const char *name = samara_session_state_name(session, i);
    if (samara_session_state_info(session, name, &t) != SAMARA_OK ||
        write_tensor(o->output, name, &t) != 0)
      return TOOL_FAILED;
  }
  return 0;
}
#else
static int set_states(samara_session *session, const struct options *o) {
  (void)session;
  return o->states.count > 0 ? tool_lacks("state") : 0;
}

static int write_states(samara_session *session, const struct options *o) {
  (void)session, (void)o;
  return 0;
}
#endif

// ---- results ----

static double element(const samara_tensor *t, size_t i) {
  const size_t place = tool_is_packed(t->dtype) ? i / 2 : i * tool_dtype_bytes(t->dtype);
  const unsigned char *at = (const unsigned char *)t->data + place;
  const int nibble = *at >> i % 2 * 4 & 15;
  double d;
  float f;
  uint32_t bits;
  uint64_t u64;
  int16_t i16;
  int32_t i32;
  int64_t i64;
  uint16_t h;
  switch (t->dtype) {
    case SAMARA_FLOAT32:
      memcpy(&f, at, sizeof f);
      return (double)f;
    case SAMARA_INT32:
      memcpy(&i32, at, sizeof i32);
      return i32;
    case SAMARA_INT64:
      memcpy(&i64, at, sizeof i64);
      return (double)i64;
    case SAMARA_FLOAT16: {
      memcpy(&h, at, sizeof h);
      const int exponent = h >> 10 & 31;
      double value = exponent != 0 ? 1 + (h & 1023) / 1024.0 : (h & 1023) / 512.0;
      for (int e = exponent; e < 15; e++) value /= 2;
      for (int e = 15; e < exponent; e++) value *= 2;
      return (h & 0x8000) != 0 ? -value : value;
    }
    case SAMARA_FLOAT64:
      memcpy(&d, at, sizeof d);
      return d;
    case SAMARA_BFLOAT16:
      memcpy(&h, at, sizeof h);
      bits = (uint32_t)h << 16;
      memcpy(&f, &bits, sizeof f);
      return (double)f;
    case SAMARA_INT16:
      memcpy(&i16, at, sizeof i16);
      return i16;
    case SAMARA_UINT16:
      memcpy(&h, at, sizeof h);
      return h;
    case SAMARA_UINT32:
      memcpy(&bits, at, sizeof bits);
      return bits;
    case SAMARA_UINT64:
      memcpy(&u64, at, sizeof u64);
      return (double)u64;
    case SAMARA_INT4:
      return (nibble ^ 8) - 8;
    case SAMARA_UINT4:
      return nibble;
    case SAMARA_INT8:
    case SAMARA_QINT8:
      i32 = *at < 128 ? *at : *at - 256;
      return t->scale != 0 ? (double)t->scale * (i32 - t->zero_point) : i32;
    default:
      return *at;
  }
}

// One character of a JSON string at *at, which moves on: its UTF-8 in out[0..3], NUL-terminated.
static void json_character(const char **at, char *out) {
  const char *s = *at;
  memset(out, 0, 4);
  out[0] = *s;
  if (s[0] == '\\' && s[1] == 'u' && strlen(s) >= 6) {
    char hex[5] = {s[2], s[3], s[4], s[5], '\0'};
    const unsigned long code = strtoul(hex, NULL, 16);
    if (code < 0x80) {
      out[0] = (char)code;
    } else if (code < 0x800) {
      out[0] = (char)(0xc0 | code >> 6);
      out[1] = (char)(0x80 | (code & 63));
    } else {
      out[0] = (char)(0xe0 | code >> 12);
      out[1] = (char)(0x80 | (code >> 6 & 63));
      out[2] = (char)(0x80 | (code & 63));
    }
    *at += 6;
  } else if (s[0] == '\\' && s[1] != '\0') {
    out[0] = s[1];
    *at += 2;
  } else {
    *at += 1;
  }
}

// Label `index` of the metadata entry "labels": a JSON array of strings, or one label per line.
static const char *label(const samara_model *model, size_t index, char *out, size_t size) {
  const char *at = NULL;
  out[0] = '\0';
#if SAMARA_WITH_METADATA
  for (size_t i = 0; i < samara_model_metadata_count(model); i++) {
    const char *key, *value;
    if (samara_model_metadata(model, i, &key, &value) == SAMARA_OK && strcmp(key, "labels") == 0)
      at = value;
  }
#else
  (void)model;
#endif
  if (at == NULL) return out;
  const int json = *at == '[';
  size_t used = 0;
  for (size_t i = 0; *at != '\0' && i <= index; i++) {
    if (json) {
      at += strcspn(at, "\"");
      if (*at != '\0') at++;
    }
    while (*at != '\0' && *at != (json ? '"' : '\n')) {
      char text[4] = {*at, 0, 0, 0};
      if (json)
        json_character(&at, text);
      else
        at++;
      for (size_t k = 0; text[k] != '\0' && i == index && used + 1 < size; k++)
        out[used++] = text[k];
    }
    if (*at != '\0') at++;
  }
  out[used] = '\0';
  return out;
}

static void print_top(const samara_model *model, const samara_tensor *t, size_t top) {
  const size_t count = tool_elements(t);
  char *used = calloc(count + 1, 1);
  for (size_t k = 0; used != NULL && k < top && k < count; k++) {
    size_t best = count;
    char text[128];
    for (size_t i = 0; i < count; i++)
      if (!used[i] && (best == count || element(t, i) > element(t, best))) best = i;
    used[best] = 1;
    printf("    %6zu  %-12.6g %s\n", best, element(t, best), label(model, best, text, sizeof text));
  }
  free(used);
}

static void print_tensor(const char *name, const samara_tensor *t) {
  printf("  %s: %s [", name, tool_dtype_name(t->dtype));
  for (int32_t i = 0; i < t->rank; i++) printf("%s%" PRId64, i ? ", " : "", t->shape[i]);
  const size_t count = tool_elements(t);
  printf("]");
  for (size_t i = 0; i < count && i < 5; i++) printf(" %.6g", element(t, i));
  printf("%s\n", count > 5 ? " ..." : "");
}

static int report(samara_session *session, const samara_model *model, const struct options *o) {
  for (size_t i = 0; i < samara_model_output_count(model, o->function); i++) {
    samara_tensor t;
    samara_tensor_info info;
    if (samara_session_output(session, i, &t) != SAMARA_OK ||
        samara_model_output_info(model, o->function, i, &info) != SAMARA_OK)
      return session_error(session, "output");
    print_tensor(info.name, &t);
    if (o->top > 0) print_top(model, &t, o->top);
    if (o->output != NULL && write_tensor(o->output, info.name, &t) != 0) return TOOL_FAILED;
  }
  return 0;
}

static int write_profile(samara_session *session, const char *path) {
#if SAMARA_WITH_PROFILE
  size_t needed = 0;
  if (samara_session_profile_trace(session, NULL, 0, &needed) != SAMARA_OK)
    return session_error(session, "profile");
  char *text = malloc(needed);
  if (text == NULL) return tool_error("no memory");
  (void)samara_session_profile_trace(session, text, needed, &needed);
  struct tool_output out;
  int result = tool_begin_output(path, &out);
  if (result == 0)
    result = tool_end_output(&out, fwrite(text, 1, needed - 1, out.file) == needed - 1);
  free(text);
  return result;
#else
  (void)session, (void)path;
  return tool_lacks("profile");
#endif
}

static int selftest(const samara_model *model) {
#if SAMARA_WITH_SELFTEST
  samara_error error = {.text = ""};
  char isa[128];
  if (samara_model_selftest(model, &error) != SAMARA_OK) return tool_error("%s", error.text);
  samara_isa(isa, sizeof isa);
  printf("selftest passed on %s\n", isa);
  return 0;
#else
  (void)model;
  return tool_lacks("selftest");
#endif
}

static int run_session(samara_session *session, const samara_model *model,
                       const struct options *o) {
  if (feed(session, model, o) != 0) return TOOL_FAILED;
  if (o->load != NULL && load_state(session, o->load) != 0) return TOOL_FAILED;
  if (set_states(session, o) != 0) return TOOL_FAILED;
  uint64_t best = UINT64_MAX;
  for (unsigned long i = 0; i < o->repeat; i++) {
    const uint64_t start = tool_now_ns();
    if (samara_session_run(session) != SAMARA_OK) return session_error(session, "run");
    const uint64_t ns = tool_now_ns() - start;
    if (ns < best) best = ns;
  }
  printf("%lu run%s, fastest %.3f ms, %zu arena bytes\n", o->repeat, o->repeat == 1 ? "" : "s",
         (double)best / 1e6, samara_session_arena_bytes(session));
  if (report(session, model, o) != 0 || write_states(session, o) != 0) return TOOL_FAILED;
  if (o->save != NULL && save_state(session, o->save) != 0) return TOOL_FAILED;
  return o->profile != NULL ? write_profile(session, o->profile) : 0;
}

static int run_model(const samara_model *model, const struct options *o) {
  samara_error error = {.text = ""};
  samara_pool *pool = NULL;
  samara_session *session = NULL;
  if (o->selftest) return selftest(model);
  char *tuned;
  if (tool_check_names(model, o->function, &o->inputs) != 0 ||
      tool_check_names(model, o->function, &o->shapes) != 0 || tool_tuned(o->tuned, &tuned) != 0)
    return TOOL_FAILED;
  struct tool_device device = o->device;
  if (tool_create_pool(o->threads, &pool) != 0 || tool_device_open(&device) != 0) {
    tool_destroy_pool(pool);
    free(tuned);
    return TOOL_FAILED;
  }
  const samara_custom_op custom[] = {SAMARA_CUSTOM_OPS};
  samara_session_options options = {.struct_size = sizeof options,
                                    .function = o->function,
                                    .pool = pool,
                                    .isa = o->isa,
                                    .profile = o->profile != NULL,
                                    .tuned = tuned,
                                    .log = tool_log,
                                    .custom_ops = custom,
                                    .custom_op_count = TOOL_CUSTOM_COUNT(custom)};
  int result = 0;
  tool_device_set(&device, &options);
  if (samara_session_create(model, &options, &session, &error) != SAMARA_OK)
    result = tool_error("%s", error.text);
  else
    result = run_session(session, model, o);
  samara_session_destroy(session);
  free(tuned);
  tool_destroy_pool(pool);
  tool_device_close(&device);
  return result;
}

int main(int argc, char **argv) {
  struct options o;
  if (tool_help(argc, argv, usage)) return 0;
  const int usage_error = parse_options(argc, argv, &o);
  if (usage_error != 0) return usage_error;
  samara_model *model = NULL;
  struct tool_array image;
  const samara_model_options options = {
      .struct_size = sizeof options, .verify = o.verify, .copy = o.copy != 0};
  int result = tool_open_model(o.model, &options, &image, &model);
  if (result == 0) result = run_model(model, &o);
  tool_close_model(model, &image);
  return result;
}
