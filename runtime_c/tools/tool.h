// SPDX-License-Identifier: Apache-2.0
// Shared by the command line programs: arguments, files, .npy, shapes, random inputs.
#ifndef SAMARA_TOOLS_TOOL_H
#define SAMARA_TOOLS_TOOL_H

#include <samara/samara.h>

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__linux__) || defined(__APPLE__)
#include <sys/stat.h>
#include <unistd.h>
#define TOOL_POSIX_FILES 1
#else
#define TOOL_POSIX_FILES 0
#endif

// The header of a selective build says which features it has; the full library has them all.
#if !defined(SAMARA_SELECTIVE)
#define SAMARA_WITH_FILES 1
#define SAMARA_WITH_THREADS 1
#define SAMARA_WITH_PROFILE 1
#define SAMARA_WITH_METADATA 1
#define SAMARA_WITH_STATE 1
#define SAMARA_WITH_CHECKPOINTS 1
#define SAMARA_WITH_SELFTEST 1
#define SAMARA_WITH_CHOICES 1
#define SAMARA_WITH_BACKENDS 1
#endif

#if defined(TOOL_CUSTOM_OPS)
#include <samara/samara_custom_ops.h>
#define TOOL_CUSTOM_COUNT(ops) (sizeof(ops) / sizeof *(ops))
#else
#define SAMARA_CUSTOM_OPS {0}
#define TOOL_CUSTOM_COUNT(ops) 0
#endif

enum { TOOL_FAILED = 1, TOOL_USAGE = 2, TOOL_MAX_ITEMS = 64, TOOL_MAX_PATH = 4096 };

/// NAME=VALUE arguments of one kind.
struct tool_list {
  const char *items[TOOL_MAX_ITEMS];
  size_t count;
};

/// A tensor read from a .npy file; a raw file has rank -1.
struct tool_array {
  unsigned char *memory;
  const void *data;
  size_t size_bytes;
  int32_t rank;
  int64_t shape[SAMARA_MAX_RANK];
  int dtype;  // samara_dtype; 0: raw
};

static inline int tool_error(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fputs("error: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  return TOOL_FAILED;
}

/// Fail because a selective build lacks a feature.
static inline int tool_lacks(const char *feature) {
  return tool_error("this build has no %s: samara build --features %s", feature, feature);
}

/// The value of option `name` at argv[*i] ("--name value" or "--name=value"), moving *i; NULL if
/// argv[*i] is another argument.
static inline const char *tool_option(int argc, char **argv, int *i, const char *name) {
  const size_t length = strlen(name);
  if (strncmp(argv[*i], name, length) != 0) return NULL;
  if (argv[*i][length] == '=') return argv[*i] + length + 1;
  if (argv[*i][length] != '\0' || *i + 1 >= argc) return NULL;
  return argv[++*i];
}

/// Whether the usage was requested; prints it.
static inline int tool_help(int argc, char **argv, const char *usage) {
  if (argc != 2 || strcmp(argv[1], "--help") != 0) return 0;
  fputs(usage, stdout);
  return 1;
}

static inline int tool_add(struct tool_list *list, const char *item) {
  if (list->count == TOOL_MAX_ITEMS || strchr(item, '=') == NULL) return 0;
  list->items[list->count++] = item;
  return 1;
}

/// The VALUE of NAME=VALUE for `name`, or NULL.
static inline const char *tool_find(const struct tool_list *list, const char *name) {
  const size_t length = strlen(name);
  for (size_t i = 0; i < list->count; i++)
    if (strncmp(list->items[i], name, length) == 0 && list->items[i][length] == '=')
      return list->items[i] + length + 1;
  return NULL;
}

static inline unsigned long tool_number(const char *text, unsigned long otherwise) {
  char *end = NULL;
  const unsigned long value = text != NULL ? strtoul(text, &end, 10) : otherwise;
  return end == NULL || *end == '\0' ? value : otherwise;
}

static inline uint64_t tool_now_ns(void) {
  struct timespec now;
#if defined(CLOCK_MONOTONIC)
  clock_gettime(CLOCK_MONOTONIC, &now);
#else
  timespec_get(&now, TIME_UTC);
#endif
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/// A file as text, which the caller frees; NULL if it cannot be read.
static inline char *tool_read_text(const char *path) {
  enum { STEP = 1 << 16 };
  FILE *file = fopen(path, "rb");
  char *text = NULL;
  size_t used = 0, read = 1;
  while (file != NULL && read != 0) {
    char *more = realloc(text, used + STEP + 1);
    if (more == NULL) break;
    text = more;
    read = fread(text + used, 1, STEP, file);
    used += read;
    text[used] = '\0';
  }
  if (file != NULL) (void)fclose(file);
  return text;
}

/// The choices of `samara tune` in file `path`, or if that is NULL in the file named by
/// SAMARA_TUNED; *text is NULL if neither is given. The caller frees it.
static inline int tool_tuned(const char *path, char **text) {
  *text = NULL;
  if (path == NULL) path = getenv("SAMARA_TUNED");
  if (path == NULL || *path == '\0') return 0;
  *text = tool_read_text(path);
  return *text != NULL ? 0 : tool_error("%s: cannot be read", path);
}

/// Print log messages of the runtime to stderr.
static inline void tool_log(void *user, samara_log_level level, const char *text) {
  (void)user;
  if (level <= SAMARA_LOG_WARNING) fprintf(stderr, "warning: %s\n", text);
}

// ---- dtypes ----

/// Name, .npy `descr` and size of a dtype. numpy lacks bfloat16, whose bits are written as uint16,
/// and 4-bit types, which are written as bytes of two elements.
struct tool_dtype {
  const char *name, *descr;
  size_t bytes;
};

static inline struct tool_dtype tool_dtype(samara_dtype dtype) {
  static const struct tool_dtype known[] = {
      [SAMARA_FLOAT32] = {"float32", "<f4", 4}, [SAMARA_FLOAT16] = {"float16", "<f2", 2},
      [SAMARA_INT8] = {"int8", "|i1", 1},       [SAMARA_QINT8] = {"int8", "|i1", 1},
      [SAMARA_UINT8] = {"uint8", "|u1", 1},     [SAMARA_INT32] = {"int32", "<i4", 4},
      [SAMARA_INT64] = {"int64", "<i8", 8},     [SAMARA_BOOL] = {"bool", "|b1", 1},
      [SAMARA_FLOAT64] = {"float64", "<f8", 8}, [SAMARA_BFLOAT16] = {"bfloat16", "<u2", 2},
      [SAMARA_INT16] = {"int16", "<i2", 2},     [SAMARA_UINT16] = {"uint16", "<u2", 2},
      [SAMARA_UINT32] = {"uint32", "<u4", 4},   [SAMARA_UINT64] = {"uint64", "<u8", 8},
      [SAMARA_INT4] = {"int4", "|u1", 1},       [SAMARA_UINT4] = {"uint4", "|u1", 1},
  };
  const size_t code = (size_t)dtype;
  if (code == 0 || code >= sizeof known / sizeof known[0])
    return (struct tool_dtype){"?", "|u1", 1};
  return known[code];
}

static inline size_t tool_dtype_bytes(samara_dtype dtype) { return tool_dtype(dtype).bytes; }
static inline const char *tool_dtype_name(samara_dtype dtype) { return tool_dtype(dtype).name; }
static inline int tool_is_packed(samara_dtype dtype) {
  return dtype == SAMARA_INT4 || dtype == SAMARA_UINT4;
}

/// Number of elements of a tensor.
static inline size_t tool_elements(const samara_tensor *t) {
  size_t n = 1;
  if (!tool_is_packed(t->dtype)) return t->size_bytes / tool_dtype_bytes(t->dtype);
  for (int32_t i = 0; i < t->rank; i++) n *= (size_t)t->shape[i];
  return n;
}

// ---- files ----

static inline int tool_read_file(const char *path, struct tool_array *out) {
  FILE *file = fopen(path, "rb");
  long size = -1;
  memset(out, 0, sizeof *out);
  out->rank = -1;
  if (file != NULL && fseek(file, 0, SEEK_END) == 0) size = ftell(file);
  int ok = size >= 0 && fseek(file, 0, SEEK_SET) == 0;
  if (ok) out->memory = malloc((size_t)size + 1);
  ok = ok && out->memory != NULL && fread(out->memory, 1, (size_t)size, file) == (size_t)size;
  if (file != NULL) fclose(file);
  if (!ok) {
    free(out->memory);
    out->memory = NULL;
    return tool_error("cannot read %s", path);
  }
  out->memory[size] = '\0';
  out->data = out->memory;
  out->size_bytes = (size_t)size;
  return 0;
}

static inline int tool_npy_dtype(const char *descr) {
  static const int dtypes[] = {SAMARA_FLOAT32, SAMARA_FLOAT16, SAMARA_UINT8,  SAMARA_INT32,
                               SAMARA_INT64,   SAMARA_BOOL,    SAMARA_INT8,   SAMARA_FLOAT64,
                               SAMARA_INT16,   SAMARA_UINT16,  SAMARA_UINT32, SAMARA_UINT64};
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
    if (strncmp(descr, tool_dtype((samara_dtype)dtypes[i]).descr, 3) == 0) return dtypes[i];
  return 0;
}

/// Read a .npy file (version 1 to 3, little-endian, C order), or any other file as raw bytes.
static inline int tool_read_array(const char *path, struct tool_array *out) {
  if (tool_read_file(path, out) != 0) return TOOL_FAILED;
  unsigned char *m = out->memory;
  if (out->size_bytes < 12 || memcmp(m, "\x93NUMPY", 6) != 0) return 0;
  const size_t start = m[6] == 1 ? 10 : 12;
  const size_t length =
      m[6] == 1 ? (size_t)m[8] + 256u * m[9] : (size_t)m[8] + 256u * m[9] + 65536u * m[10];
  if (start + length > out->size_bytes || length == 0) return tool_error("%s is cut off", path);
  m[start + length - 1] = '\0';
  const char *header = (const char *)m + start;
  const char *descr = strstr(header, "'descr': '"), *shape = strstr(header, "'shape': (");
  if (descr == NULL || shape == NULL || strstr(header, "'fortran_order': False") == NULL)
    return tool_error("%s is not a C-ordered array", path);
  out->dtype = tool_npy_dtype(descr + 10);
  if (out->dtype == 0) return tool_error("%s has an element type that samara lacks", path);
  out->rank = 0;
  for (const char *at = shape + 10; *at != ')' && *at != '\0';) {
    char *end;
    const long long dim = strtoll(at, &end, 10);
    if (end == at || dim < 0 || out->rank == SAMARA_MAX_RANK)
      return tool_error("%s has a shape that cannot be read", path);
    out->shape[out->rank++] = dim;
    for (at = end; *at == ',' || *at == ' ';) at++;
  }
  out->data = m + start + length;
  out->size_bytes -= start + length;
  return 0;
}

/// A file that is written under another name and then renamed, so that a killed process leaves the
/// old file or the new one. The next writer overwrites leftovers.
struct tool_output {
  FILE *file;
  char target[TOOL_MAX_PATH], name[TOOL_MAX_PATH];  // name: empty where target is written directly
  unsigned mode;                                    // permissions to keep; 0: the usual ones
};

/// Begin to write `path`. A link is followed; a device, a pipe and /dev/stdout are written
/// directly.
static inline int tool_begin_output(const char *path, struct tool_output *out) {
  memset(out, 0, sizeof *out);
  const char *target = path;
  int direct = strcmp(path, "/dev/stdout") == 0;
#if TOOL_POSIX_FILES
  struct stat status;
  char *real = NULL;
  if (!direct && stat(path, &status) == 0) {
    if (S_ISDIR(status.st_mode)) return tool_error("cannot write %s: it is a folder", path);
    direct = !S_ISREG(status.st_mode);
    if (!direct && access(path, W_OK) != 0)
      return tool_error("cannot write %s: it is write-protected", path);
    if (!direct) out->mode = (unsigned)status.st_mode & 07777u;
    if (!direct && (real = realpath(path, NULL)) != NULL) target = real;
  }
#endif
  const int length = snprintf(out->target, sizeof out->target, "%s", target);
  const int named = snprintf(out->name, sizeof out->name, "%s%s", target, direct ? "" : ".saving");
#if TOOL_POSIX_FILES
  free(real);
#endif
  if (length < 0 || named < 0 || (size_t)named >= sizeof out->name)
    return tool_error("the path %s is too long", path);
  out->file = fopen(out->name, "wb");
  if (out->file == NULL) return tool_error("cannot write %s: %s", path, strerror(errno));
  if (direct) out->name[0] = '\0';
  return 0;
}

/// Finish writing: if `ok`, the file appears, else it is unchanged. Returns 0, or TOOL_FAILED after
/// printing why.
static inline int tool_end_output(struct tool_output *out, int ok) {
  int why = ok ? 0 : errno;
  if (ok && fflush(out->file) != 0) ok = 0, why = errno;
#if TOOL_POSIX_FILES
  const int file = fileno(out->file);
  if (ok && out->name[0] != '\0') {
    if (out->mode != 0) ok = fchmod(file, (mode_t)out->mode) == 0;
    ok = ok && fsync(file) == 0;
    if (!ok) why = errno;
  }
#endif
  if (fclose(out->file) != 0 && ok) ok = 0, why = errno;
  if (out->name[0] != '\0') {
    if (ok && rename(out->name, out->target) != 0) ok = 0, why = errno;
    if (!ok) (void)remove(out->name);
  }
  if (ok) return 0;
  return tool_error("cannot write %s: %s", out->target, why != 0 ? strerror(why) : "it failed");
}

static inline int tool_write_npy(const char *path, const samara_tensor *t) {
  char shape[256] = "", header[512];
  size_t used = 0;
  const int flat = tool_is_packed(t->dtype);
  const int32_t rank = flat ? 1 : t->rank;
  for (int32_t i = 0; i < rank; i++)
    used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%" PRId64, i ? ", " : "",
                             flat ? (int64_t)t->size_bytes : t->shape[i]);
  int length =
      snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (%s%s), }",
               tool_dtype(t->dtype).descr, shape, rank == 1 ? "," : "");
  while ((length + 11) % 64 != 0) header[length++] = ' ';
  header[length++] = '\n';
  const unsigned char start[10] = {0x93,
                                   'N',
                                   'U',
                                   'M',
                                   'P',
                                   'Y',
                                   1,
                                   0,
                                   (unsigned char)(length % 256),
                                   (unsigned char)(length / 256)};
  struct tool_output out;
  if (tool_begin_output(path, &out) != 0) return TOOL_FAILED;
  const int ok = fwrite(start, 1, sizeof start, out.file) == sizeof start &&
                 fwrite(header, 1, (size_t)length, out.file) == (size_t)length &&
                 fwrite(t->data, 1, t->size_bytes, out.file) == t->size_bytes;
  return tool_end_output(&out, ok);
}

// ---- inputs ----

/// NAME=FILE arguments with the arrays of their files.
struct tool_inputs {
  struct tool_list list;
  struct tool_array arrays[TOOL_MAX_ITEMS];
};

/// Read the files of the list; free with tool_free_inputs, also after a failure.
static inline int tool_read_inputs(struct tool_inputs *inputs) {
  for (size_t i = 0; i < inputs->list.count; i++) {
    const char *path = strchr(inputs->list.items[i], '=') + 1;
    if (tool_read_array(path, &inputs->arrays[i]) != 0) return TOOL_FAILED;
  }
  return 0;
}

static inline void tool_free_inputs(struct tool_inputs *inputs) {
  for (size_t i = 0; i < inputs->list.count; i++) {
    free(inputs->arrays[i].memory);
    inputs->arrays[i].memory = NULL;
  }
}

/// The array for the input `name`, or NULL.
static inline const struct tool_array *tool_input_array(const struct tool_inputs *inputs,
                                                        const char *name) {
  const size_t length = strlen(name);
  for (size_t i = 0; i < inputs->list.count; i++) {
    const char *item = inputs->list.items[i];
    if (strncmp(item, name, length) == 0 && item[length] == '=') return &inputs->arrays[i];
  }
  return NULL;
}

/// Fail unless every name in the list is an input.
static inline int tool_check_names(const samara_model *model, const char *function,
                                   const struct tool_list *list) {
  const size_t count = samara_model_input_count(model, function);
  for (size_t n = 0; n < list->count; n++) {
    const size_t length = strcspn(list->items[n], "=");
    int found = 0;
    for (size_t i = 0; i < count; i++) {
      samara_tensor_info info;
      if (samara_model_input_info(model, function, i, &info) != SAMARA_OK) continue;
      found |= strlen(info.name) == length && memcmp(info.name, list->items[n], length) == 0;
    }
    if (!found) return tool_error("there is no input %.*s", (int)length, list->items[n]);
  }
  return 0;
}

// ---- models and pools ----

/// A samara_verify from "small", "always" or "never"; 0 for another text.
static inline int tool_verify(const char *text, size_t *verify) {
  static const char *const names[] = {"small", "always", "never"};
  for (*verify = 0; *verify < 3; ++*verify)
    if (strcmp(text, names[*verify]) == 0) return 1;
  return 0;
}

/// Open a model; `image` keeps its bytes if the library cannot open files. Close with
/// tool_close_model.
static inline int tool_open_model(const char *path, const samara_model_options *options,
                                  struct tool_array *image, samara_model **model) {
  samara_error error = {.text = ""};
  memset(image, 0, sizeof *image);
#if SAMARA_WITH_FILES
  // The text begins with the path.
  if (samara_model_open_path(path, options, model, &error) == SAMARA_OK) return 0;
  return tool_error("%s", error.text);
#else
  if (tool_read_file(path, image) != 0) return TOOL_FAILED;
  if (samara_model_open_memory(image->memory, image->size_bytes, options, model, &error) ==
      SAMARA_OK)
    return 0;
  return tool_error("%s: %s", path, error.text);
#endif
}

static inline void tool_close_model(samara_model *model, struct tool_array *image) {
  samara_model_close(model);
  free(image->memory);
  memset(image, 0, sizeof *image);
}

/// A pool of `threads`; one thread needs none.
static inline int tool_create_pool(unsigned long threads, samara_pool **pool) {
  *pool = NULL;
  if (threads <= 1) return 0;
#if SAMARA_WITH_THREADS
  samara_error error = {.text = ""};
  const samara_pool_options options = {.struct_size = sizeof options, .threads = threads};
  if (samara_pool_create(&options, pool, &error) == SAMARA_OK) return 0;
  return tool_error("%s", error.text);
#else
  return tool_lacks("threads");
#endif
}

static inline void tool_destroy_pool(samara_pool *pool) {
#if SAMARA_WITH_THREADS
  samara_pool_destroy(pool);
#else
  (void)pool;
#endif
}

// ---- shapes and data ----

/// Parse "1x3x224x224" into `shape`; the rank, or -1.
static inline int32_t tool_parse_shape(const char *text, int64_t *shape) {
  int32_t rank = 0;
  while (*text != '\0') {
    char *end;
    const long long dim = strtoll(text, &end, 10);
    if (end == text || dim < 0 || rank == SAMARA_MAX_RANK) return -1;
    shape[rank++] = dim;
    if (*end != '\0' && *end != 'x' && *end != ',') return -1;
    text = *end != '\0' ? end + 1 : end;
  }
  return rank;
}

/// Values in [0, 1) for floats, any byte for bytes, 0 or 1 for wider integers and bools.
static inline void tool_fill_random(const samara_tensor *t, uint64_t *seed) {
  const size_t element = tool_dtype_bytes(t->dtype);
  unsigned char *out = t->data;
  memset(out, 0, t->size_bytes);
  for (size_t i = 0; i + element <= t->size_bytes; i += element) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    const uint32_t bits = (uint32_t)(*seed >> 33);
    const float real = (float)(bits >> 7) / 16777216.0f;
    const uint16_t half = (uint16_t)(0x3800u | (bits & 0x3ffu));  // 0.5 .. 1
    const uint16_t brief = (uint16_t)(0x3f00u | (bits & 0x7fu));  // the same in bfloat16
    const double wide = (double)real;
    if (t->dtype == SAMARA_FLOAT32)
      memcpy(out + i, &real, sizeof real);
    else if (t->dtype == SAMARA_FLOAT16)
      memcpy(out + i, &half, sizeof half);
    else if (t->dtype == SAMARA_BFLOAT16)
      memcpy(out + i, &brief, sizeof brief);
    else if (t->dtype == SAMARA_FLOAT64)
      memcpy(out + i, &wide, sizeof wide);
    else if (element == 1 && t->dtype != SAMARA_BOOL)
      out[i] = (unsigned char)(bits >> 8);
    else
      out[i] = (unsigned char)(bits >> 8 & 1u);
  }
}

/// Shape of input `index`: from --shape, else as declared. -1 after a message.
static inline int tool_input_shape(const samara_model *model, const char *function, size_t index,
                                   const struct tool_list *shapes, const struct tool_array *array,
                                   int64_t *shape) {
  samara_tensor_info info;
  if (samara_model_input_info(model, function, index, &info) != SAMARA_OK) return TOOL_FAILED;
  const char *text = tool_find(shapes, info.name);
  if (text != NULL) {
    if (tool_parse_shape(text, shape) == info.rank) return 0;
    return tool_error("--shape %s=%s: expected %d dims, such as 1x3x224x224", info.name, text,
                      (int)info.rank);
  }
  if (array != NULL && array->rank >= 0) {
    if (array->rank != info.rank || array->dtype != (int)info.dtype) {
      // int8 files hold quantized tensors too, uint16 files bfloat16
      if (array->rank != info.rank ||
          strcmp(tool_dtype((samara_dtype)array->dtype).descr, tool_dtype(info.dtype).descr) != 0)
        return tool_error("input %s is %s of rank %d, the file holds %s of rank %d", info.name,
                          tool_dtype_name(info.dtype), (int)info.rank,
                          tool_dtype_name((samara_dtype)array->dtype), (int)array->rank);
    }
    memcpy(shape, array->shape, sizeof array->shape);
    return 0;
  }
  for (int32_t i = 0; i < info.rank; i++) {
    shape[i] = info.shape[i];
    if (shape[i] < 0)
      return tool_error("dim %d of input %s is free (%s): give --shape %s=…", (int)i, info.name,
                        info.dim_names[i] != NULL ? info.dim_names[i] : "?", info.name);
  }
  return 0;
}

#endif
