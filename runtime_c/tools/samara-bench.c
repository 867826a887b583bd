// SPDX-License-Identifier: Apache-2.0
// Measure the latency of a model and print it as JSON; see usage below. Exit 0 done, 1 failed, 2
// usage.
#if defined(__APPLE__)
#define _DARWIN_C_SOURCE  // ru_maxrss
#elif !defined(_XOPEN_SOURCE)
#define _XOPEN_SOURCE 700  // POSIX of 2008, and realpath
#endif

#include "device.h"
#include "roof.h"
#include "tool.h"

#if SAMARA_WITH_CHOICES
#include <samara/samara_experimental.h>
#endif

#if defined(__linux__) || defined(__APPLE__)
#include <sys/resource.h>
#endif

static const char usage[] =
    "usage: samara-bench MODEL.samara [options]\n"
    "  --input NAME=FILE     a .npy file, or raw bytes; inputs without one are random\n"
    "  --shape NAME=1x3x8x8  dims of an input that the model leaves free\n"
    "  --function NAME       another function than the first\n"
    "  --threads 1,2,4       one line of JSON for each\n"
    "  --runs N  --warmup N  --isa LIST  --seed N\n"
    "  --cold                opens the model again for every run and counts that too\n"
    "  --nodes               adds every node, slowest first, of the fastest of a few more runs\n"
    "  --tuned FILE          choices of samara tune; default: the file that SAMARA_TUNED names\n"
    "  --verify WHEN         when load compares the data with its checksums: small (up to 64 MiB; "
    "the\n"
    "                        default), always, never\n" TOOL_DEVICE_USAGE
    "  --roof                adds what one core can do at most; without MODEL: only that\n";

struct options {
  const char *model, *function, *isa, *threads, *tuned;
  struct tool_list shapes;
  struct tool_inputs inputs;
  struct tool_device device;
  unsigned long runs, warmup, seed;
  size_t verify;
  int cold, nodes, roof;
};

enum { BENCH_NODE_RUNS = 9 };

// What is measured.
struct bench {
  samara_pool *pool;
  samara_model *model;
  samara_session *session;
  struct tool_array image;  // bytes of the model, if the library cannot open files
  char *tuned;
  struct tool_device device;
  uint64_t load_ns, create_ns, first_ns;
};

static int parse_options(int argc, char **argv, struct options *o) {
  *o = (struct options){.threads = "1", .runs = 50, .warmup = 5};
  for (int i = 1; i < argc; i++) {
    const char *v;
    int ok = 1;
    if (tool_device_option(argc, argv, &i, &o->device)) continue;
    if ((v = tool_option(argc, argv, &i, "--input")) != NULL)
      ok = tool_add(&o->inputs.list, v);
    else if ((v = tool_option(argc, argv, &i, "--shape")) != NULL)
      ok = tool_add(&o->shapes, v);
    else if ((v = tool_option(argc, argv, &i, "--function")) != NULL)
      o->function = v;
    else if ((v = tool_option(argc, argv, &i, "--isa")) != NULL)
      o->isa = v;
    else if ((v = tool_option(argc, argv, &i, "--threads")) != NULL)
      o->threads = v;
    else if ((v = tool_option(argc, argv, &i, "--runs")) != NULL)
      ok = (o->runs = tool_number(v, 0)) > 0;
    else if ((v = tool_option(argc, argv, &i, "--warmup")) != NULL)
      o->warmup = tool_number(v, 0);
    else if ((v = tool_option(argc, argv, &i, "--seed")) != NULL)
      o->seed = tool_number(v, 0);
    else if ((v = tool_option(argc, argv, &i, "--verify")) != NULL)
      ok = tool_verify(v, &o->verify);
    else if ((v = tool_option(argc, argv, &i, "--tuned")) != NULL)
      o->tuned = v;
    else if (strcmp(argv[i], "--roof") == 0)
      o->roof = 1;
    else if (strcmp(argv[i], "--cold") == 0)
      o->cold = 1;
    else if (strcmp(argv[i], "--nodes") == 0)
      o->nodes = 1;
    else if (argv[i][0] != '-' && o->model == NULL)
      o->model = argv[i];
    else
      ok = 0;
    if (!ok) {
      fprintf(stderr, "%s: cannot use '%s'\n%s", argv[0], argv[i], usage);
      return TOOL_USAGE;
    }
  }
  if (o->model != NULL || o->roof) return 0;
  fputs(usage, stderr);
  return TOOL_USAGE;
}

static int resize(samara_session *session, const samara_model *model, const struct options *o) {
  const size_t count = samara_model_input_count(model, o->function);
  int64_t (*shapes)[SAMARA_MAX_RANK] = calloc(count + 1, sizeof *shapes);
  const int64_t **pointers = calloc(count + 1, sizeof *pointers);
  int result = shapes != NULL && pointers != NULL ? 0 : tool_error("no memory");
  for (size_t i = 0; result == 0 && i < count; i++) {
    samara_tensor_info info;
    (void)samara_model_input_info(model, o->function, i, &info);
    result = tool_input_shape(model, o->function, i, &o->shapes,
                              tool_input_array(&o->inputs, info.name), shapes[i]);
    pointers[i] = shapes[i];
  }
  if (result == 0 && samara_session_resize(session, pointers, count) != SAMARA_OK)
    result = tool_error("%s", samara_session_error(session));
  free((void *)pointers);
  free(shapes);
  return result;
}

static int fill(samara_session *session, const samara_model *model, const struct options *o) {
  const size_t count = samara_model_input_count(model, o->function);
  uint64_t seed = o->seed * 2 + 1;
  for (size_t i = 0; i < count; i++) {
    samara_tensor_info info;
    samara_tensor t;
    (void)samara_model_input_info(model, o->function, i, &info);
    const struct tool_array *array = tool_input_array(&o->inputs, info.name);
    if (array != NULL) {
      if (samara_session_set_input(session, i, array->data, array->size_bytes) != SAMARA_OK)
        return tool_error("input %s: %s", info.name, samara_session_error(session));
    } else if (samara_session_input(session, i, &t) == SAMARA_OK) {
      tool_fill_random(&t, &seed);
    }
  }
  return 0;
}

// From a path to a ready session. Filling inputs is not timed.
static int open_session(const struct options *o, struct bench *b) {
  samara_error error = {.text = ""};
  const samara_custom_op custom[] = {SAMARA_CUSTOM_OPS};
  samara_session_options options = {.struct_size = sizeof options,
                                    .function = o->function,
                                    .pool = b->pool,
                                    .isa = o->isa,
                                    .tuned = b->tuned,
                                    .log = tool_log,
                                    .custom_ops = custom,
                                    .custom_op_count = TOOL_CUSTOM_COUNT(custom)};
  const samara_model_options file = {.struct_size = sizeof file, .verify = o->verify};
  tool_device_set(&b->device, &options);
  const uint64_t start = tool_now_ns();
  if (tool_open_model(o->model, &file, &b->image, &b->model) != 0) return TOOL_FAILED;
  const uint64_t opened = tool_now_ns();
  if (tool_check_names(b->model, o->function, &o->inputs.list) != 0 ||
      tool_check_names(b->model, o->function, &o->shapes) != 0)
    return TOOL_FAILED;
  if (samara_session_create(b->model, &options, &b->session, &error) != SAMARA_OK)
    return tool_error("%s: %s", o->model, error.text);
  if (resize(b->session, b->model, o) != 0) return TOOL_FAILED;
  b->load_ns = opened - start;
  b->create_ns = tool_now_ns() - opened;
  return fill(b->session, b->model, o);
}

static void close_session(struct bench *b) {
  samara_session_destroy(b->session);
  tool_close_model(b->model, &b->image);
  b->session = NULL;
  b->model = NULL;
}

static int compare_ns(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static int measure(const struct options *o, struct bench *b, uint64_t *ns) {
  if (open_session(o, b) != 0) return TOOL_FAILED;
  const uint64_t first = tool_now_ns();
  if (samara_session_run(b->session) != SAMARA_OK)
    return tool_error("%s", samara_session_error(b->session));
  b->first_ns = tool_now_ns() - first;
  while (!o->cold && !tool_device_settled(b->session))
    if (samara_session_run(b->session) != SAMARA_OK)
      return tool_error("%s", samara_session_error(b->session));
  for (unsigned long i = 0; i < o->warmup + o->runs; i++) {
    const uint64_t start = tool_now_ns();
    if (o->cold) {
      close_session(b);
      if (open_session(o, b) != 0) return TOOL_FAILED;
    }
    if (samara_session_run(b->session) != SAMARA_OK)
      return tool_error("%s", samara_session_error(b->session));
    if (i >= o->warmup) ns[i - o->warmup] = tool_now_ns() - start;
  }
  return 0;
}

static void print_text(const char *text) {
  putchar('"');
  for (; *text != '\0'; text++) {
    if (*text == '"' || *text == '\\') putchar('\\');
    if ((unsigned char)*text >= 0x20) putchar(*text);
  }
  putchar('"');
}

// Peak memory of the process so far; 0 if unknown.
static unsigned long long peak_bytes(void) {
#if defined(__linux__) || defined(__APPLE__)
  struct rusage used;
  if (getrusage(RUSAGE_SELF, &used) != 0) return 0;
#if defined(__APPLE__)
  return (unsigned long long)used.ru_maxrss;
#else
  return (unsigned long long)used.ru_maxrss * 1024;
#endif
#else
  return 0;
#endif
}

// ---- what nodes could have taken: empty where the library does not tell ----

#if SAMARA_WITH_CHOICES
struct choices {
  samara_algorithm_row *rows;
  size_t count;
};

static int read_choices(const samara_session *session, struct choices *out) {
  size_t count = 0;
  out->count = 0;
  if (samara_session_algorithms(session, NULL, 0, &count) != SAMARA_OK)
    return tool_error("%s", samara_session_error(session));
  out->rows = calloc(count + 1, sizeof *out->rows);
  if (out->rows == NULL) return tool_error("no memory");
  return samara_session_algorithms(session, out->rows, count, &out->count) == SAMARA_OK
             ? 0
             : tool_error("%s", samara_session_error(session));
}

static void free_choices(struct choices *choices) { free(choices->rows); }

// The algorithm in use and the one after it.
static void print_choice(const struct choices *choices, const samara_profile_row *node) {
  for (size_t i = 0; i < choices->count; i++) {
    const samara_algorithm_row *row = &choices->rows[i];
    if (row->rank > 1 || row->algorithm == NULL || strcmp(row->node, node->node) != 0 ||
        strcmp(row->function, node->function) != 0)
      continue;
    const char *key = row->rank == 0 ? "algorithm" : "runner_up";
    printf(", \"%s\": \"%s\", \"%s_us\": %.6g", key, row->algorithm, key, row->estimate_us);
    if (row->rank == 0 && row->tuned) printf(", \"tuned\": true");
  }
}
#else
struct choices {
  size_t count;
};
static int read_choices(const samara_session *session, struct choices *out) {
  (void)session, (void)out;
  return 0;
}
static void free_choices(struct choices *choices) { (void)choices; }
static void print_choice(const struct choices *choices, const samara_profile_row *node) {
  (void)choices, (void)node;
}
#endif

#if SAMARA_WITH_PROFILE
static int compare_rows(const void *a, const void *b) {
  const samara_profile_row *x = a, *y = b;
  return (x->total_ns < y->total_ns) - (x->total_ns > y->total_ns);
}

// The rows and the time of the fastest of a few runs.
static int time_nodes(samara_session *session, samara_profile_row *rows, samara_profile_row *now,
                      size_t count, uint64_t *total_ns) {
  *total_ns = UINT64_MAX;
  for (size_t r = 0; r < BENCH_NODE_RUNS; r++) {
    size_t found = 0;
    const uint64_t start = tool_now_ns();
    if (samara_session_run(session) != SAMARA_OK)
      return tool_error("%s", samara_session_error(session));
    const uint64_t ns = tool_now_ns() - start;
    if (samara_session_profile(session, now, count, &found) != SAMARA_OK || found != count)
      return tool_error("the nodes that run change from run to run");
    if (ns >= *total_ns) continue;
    *total_ns = ns;
    memcpy(rows, now, count * sizeof *rows);
  }
  return 0;
}

static int print_nodes(samara_session *session) {
  size_t count = 0;
  uint64_t total_ns = 0;
  samara_session_set_profiling(session, true);
  if (samara_session_run(session) != SAMARA_OK ||
      samara_session_profile(session, NULL, 0, &count) != SAMARA_OK)
    return tool_error("%s", samara_session_error(session));
  samara_profile_row *rows = calloc(count + 1, sizeof *rows);
  samara_profile_row *now = calloc(count + 1, sizeof *now);
  struct choices choices = {.count = 0};
  int result = rows != NULL && now != NULL ? 0 : tool_error("no memory");
  if (result == 0) result = read_choices(session, &choices);
  if (result == 0) result = time_nodes(session, rows, now, count, &total_ns);
  if (result == 0) {
    qsort(rows, count, sizeof *rows, compare_rows);
    printf(", \"profiled_us\": %.3f, \"nodes\": [", (double)total_ns / 1e3);
  }
  for (size_t i = 0; result == 0 && i < count; i++) {
    printf("%s{\"node\": ", i ? ", " : "");
    print_text(rows[i].node);
    printf(", \"function\": ");
    print_text(rows[i].function);
    printf(", \"op\": \"%s\", \"kernel\": \"%s\", \"us\": %.3f, \"count\": %" PRIu64, rows[i].op,
           rows[i].kernel, (double)rows[i].total_ns / 1e3, rows[i].count);
    print_choice(&choices, &rows[i]);
    putchar('}');
  }
  if (result == 0) putchar(']');
  free_choices(&choices);
  free(now);
  free(rows);
  return result;
}

#else
static int print_nodes(samara_session *session) {
  (void)session;
  (void)read_choices;
  (void)print_choice;
  return tool_lacks("profile");
}
#endif

// The peak of one core, as fields.
static void print_roof(const char *isa, const char *before) {
  const struct roof roof = roof_measure(isa);
  printf(
      "%s\"peak_gflops\": %.2f, \"peak_int8_gops\": %.2f, \"cache_gbs\": %.2f, "
      "\"memory_gbs\": %.2f",
      before, roof.gflops, roof.int8_gops, roof.cache_gbs, roof.memory_gbs);
}

static int bench(const struct options *o, unsigned long threads) {
  struct bench b = {.device = o->device};
  if (tool_device_open(&b.device) != 0) return TOOL_FAILED;
  if (tool_create_pool(threads, &b.pool) != 0) {
    tool_device_close(&b.device);
    return TOOL_FAILED;
  }
  uint64_t *ns = calloc(o->runs, sizeof *ns);
  int result = ns != NULL ? tool_tuned(o->tuned, &b.tuned) : tool_error("no memory");
  if (result == 0) result = measure(o, &b, ns);
  if (result == 0) {
    double sum = 0;
    for (unsigned long i = 0; i < o->runs; i++) sum += (double)ns[i];
    qsort(ns, o->runs, sizeof *ns, compare_ns);
    char isa[128];
    samara_isa(isa, sizeof isa);
    printf("{\"model\": ");
    print_text(o->model);
    printf(
        ", \"threads\": %lu, \"isa\": \"%s\", \"cold\": %s, \"runs\": %lu, \"median_us\": %.3f, "
        "\"min_us\": %.3f, \"p90_us\": %.3f, \"mean_us\": %.3f, \"load_us\": %.3f, "
        "\"create_us\": %.3f, \"first_run_us\": %.3f, \"arena_bytes\": %zu, \"peak_bytes\": %llu",
        threads, o->isa != NULL ? o->isa : isa, o->cold ? "true" : "false", o->runs,
        (double)ns[o->runs / 2] / 1e3, (double)ns[0] / 1e3, (double)ns[o->runs * 9 / 10] / 1e3,
        sum / (double)o->runs / 1e3, (double)b.load_ns / 1e3, (double)b.create_ns / 1e3,
        (double)b.first_ns / 1e3, samara_session_arena_bytes(b.session), peak_bytes());
    tool_device_print(&b.device, b.session);
    if (o->roof) print_roof(o->isa != NULL ? o->isa : isa, ", ");
    if (o->nodes) result = print_nodes(b.session);
    puts("}");
  }
  free(ns);
  close_session(&b);
  free(b.tuned);
  tool_destroy_pool(b.pool);
  tool_device_close(&b.device);
  return result;
}

int main(int argc, char **argv) {
  struct options o;
  if (tool_help(argc, argv, usage)) return 0;
  const int usage_error = parse_options(argc, argv, &o);
  if (usage_error != 0) return usage_error;
  if (o.model == NULL) {
    char isa[128];
    samara_isa(isa, sizeof isa);
    print_roof(o.isa != NULL ? o.isa : isa, "{");
    puts("}");
    return 0;
  }
  int result = tool_read_inputs(&o.inputs) != 0 ? TOOL_FAILED : 0;
  for (const char *at = o.threads; result == 0 && *at != '\0';) {
    char *end;
    const unsigned long threads = strtoul(at, &end, 10);
    if (end == at || threads == 0 || (*end != '\0' && *end != ',')) {
      fprintf(stderr, "--threads %s: expected numbers such as 1,2\n", o.threads);
      result = TOOL_USAGE;
      break;
    }
    result = bench(&o, threads) != 0 ? TOOL_FAILED : 0;
    at = *end == ',' ? end + 1 : end;
  }
  tool_free_inputs(&o.inputs);
  return result;
}
