// SPDX-License-Identifier: Apache-2.0
// Runs the cases of a file as op_harness.h runs an operator, in every way that may not change a
// bit, and writes their outputs: op_cases CASES OUTPUTS. tests/ops/tiles.py writes the one file and
// compares the other with the references.
//
// A case is words, with raw bytes behind the newline of a line that ends in a count of them:
//
//   case NAME OP
//   attr NAME int I | attr NAME f32 F | attr NAME ints N I... | attr NAME floats N F...
//   in DTYPE CONSTANT RANK DIM... QUANTS AXIS BYTES      scales, zero points, elements
//   absent
//   out DTYPE RANK DIM... QUANTS AXIS BYTES              scales, zero points
//   end
#include "base/fp.h"

#include "ops/op_harness.h"

#include <errno.h>

enum { CASE_WORD = 64, CASE_QUANTS = 1024 };

struct case_file {
  FILE *file;
  char name[CASE_WORD];
  float scales[OP_TEST_TENSORS * 2][CASE_QUANTS];
  int32_t zero_points[OP_TEST_TENSORS * 2][CASE_QUANTS];
};

static _Noreturn void give_up(const struct case_file *c, const char *why) {
  fprintf(stderr, "op_cases: %s at byte %ld, behind case %s\n", why, ftell(c->file), c->name);
  exit(2);
}

static int64_t read_int(struct case_file *c) {
  int64_t value;
  if (fscanf(c->file, "%" SCNd64, &value) != 1) give_up(c, "a number is missing");
  return value;
}

static float read_float(struct case_file *c) {
  char word[CASE_WORD];
  if (fscanf(c->file, "%63s", word) != 1) give_up(c, "a number is missing");
  return strtof(word, NULL);  // hexadecimal, "inf" and "nan" too
}

static void read_bytes(struct case_file *c, void *out, size_t bytes) {
  if (bytes > 0 && fread(out, 1, bytes, c->file) != bytes) give_up(c, "bytes are missing");
}

static void read_attr(struct case_file *c, struct op_test *t) {
  char name[CASE_WORD], type[CASE_WORD];
  if (fscanf(c->file, "%63s %63s", name, type) != 2) give_up(c, "an attribute is missing");
  int64_t ints[OP_TEST_VALUES];
  float floats[OP_TEST_VALUES];
  if (strcmp(type, "int") == 0) {
    op_int(t, name, read_int(c));
  } else if (strcmp(type, "f32") == 0) {
    op_f32(t, name, read_float(c));
  } else {
    const int64_t count = read_int(c);
    if (count < 0 || count > OP_TEST_VALUES) give_up(c, "a list is too long");
    const bool is_float = strcmp(type, "floats") == 0;
    for (int64_t i = 0; i < count; i++) {
      if (is_float)
        floats[i] = read_float(c);
      else
        ints[i] = read_int(c);
    }
    if (is_float)
      op_floats(t, name, (uint32_t)count, floats);
    else
      op_ints(t, name, (uint32_t)count, ints);
  }
}

static void read_tensor(struct case_file *c, struct op_test *t, bool is_input) {
  const uint8_t dtype = (uint8_t)read_int(c);
  const bool constant = is_input && read_int(c) != 0;
  const int64_t rank = read_int(c);
  if (rank < 0 || rank > SAMARA_MAX_RANK) give_up(c, "a rank is too large");
  int64_t dims[SAMARA_MAX_RANK] = {0};
  for (int64_t i = 0; i < rank; i++) dims[i] = read_int(c);
  const int64_t quants = read_int(c), axis = read_int(c), bytes = read_int(c);
  const size_t slot = t->quant_count;
  if (quants < 0 || quants > CASE_QUANTS || slot >= OP_TEST_TENSORS * 2)
    give_up(c, "there are too many scales");
  if (fgetc(c->file) != '\n') give_up(c, "the line goes on");
  read_bytes(c, c->scales[slot], (size_t)quants * sizeof(float));
  read_bytes(c, c->zero_points[slot], (size_t)quants * sizeof(int32_t));
  struct smr_tensor *tensor;
  if (is_input) {
    tensor = constant ? op_constant(t, dtype, (uint32_t)rank, dims, NULL)
                      : op_in(t, dtype, (uint32_t)rank, dims, NULL);
    if (tensor->size_bytes != (size_t)bytes)
      give_up(c, "the elements are not as many as the dims say");
    read_bytes(c, t->in_data[t->job.input_count - 1], (size_t)bytes);
  } else {
    tensor = op_out(t, dtype, (uint32_t)rank, dims);
  }
  if (quants > 0)
    op_quant(t, tensor, (uint32_t)quants, c->scales[slot], c->zero_points[slot], (int32_t)axis);
}

/// Reads the next case; false at the end of the file.
static bool read_case(struct case_file *c, struct op_test *t) {
  char word[CASE_WORD];
  const int got = fscanf(c->file, "%63s", word);
  if (got != 1) return false;
  char op[CASE_WORD];
  if (strcmp(word, "case") != 0 || fscanf(c->file, "%63s %63s", c->name, op) != 2)
    give_up(c, "a case is missing");
  op_begin(t, op);
  for (;;) {
    if (fscanf(c->file, "%63s", word) != 1) give_up(c, "a case has no end");
    if (strcmp(word, "attr") == 0)
      read_attr(c, t);
    else if (strcmp(word, "in") == 0)
      read_tensor(c, t, true);
    else if (strcmp(word, "absent") == 0)
      op_absent(t);
    else if (strcmp(word, "out") == 0)
      read_tensor(c, t, false);
    else if (strcmp(word, "end") == 0)
      return true;
    else
      give_up(c, "a word is not known");
  }
}

// Without the gaps between pixels.
static void write_outputs(const struct op_test *t, FILE *out) {
  for (uint32_t i = 0; i < t->job.output_count; i++) {
    const struct smr_tensor *y = &t->out[i];
    fprintf(out, "%u", (unsigned)y->rank);
    for (uint32_t a = 0; a < y->rank; a++) fprintf(out, " %" PRId64, y->dims[a]);
    fprintf(out, " %zu\n", y->size_bytes);
    const size_t element = smr_dtype_bytes(y->dtype);
    const size_t row = y->rank > 0 && y->size_bytes > 0 && !smr_dtype_packed(y->dtype)
                           ? (size_t)y->dims[y->rank - 1] * element
                           : y->size_bytes;
    for (size_t at = 0, k = 0; at < y->size_bytes; at += row, k++)
      fwrite((const char *)y->data + k * (size_t)y->pixel_stride * element, 1, row, out);
    fputc('\n', out);
  }
}

static bool may_run_in_place(const struct op_test *t) {
  return (t->job.op->flags & SMR_OP_INPLACE) && t->job.input_count > 0 && t->in_list[0] != NULL &&
         t->in[0].constant < 0 && t->in[0].size_bytes == t->out[0].size_bytes;
}

static void check_same(const struct op_test *a, const struct op_test *b) {
  for (uint32_t i = 0; i < a->job.output_count; i++)
    if (CHECK_EQ_INT(a->out[i].size_bytes, b->out[i].size_bytes))
      CHECK_MEM((const char *)a->out[i].data, (const char *)b->out[i].data, b->out[i].size_bytes);
}

static bool run(struct op_test *t) {
  if (CHECK_EQ_INT(op_run(t), SAMARA_OK)) return true;
  fprintf(stderr, "%s\n", t->error.text);
  return false;
}

static void read_again(struct case_file *c, long start, struct op_test *t, uint32_t isa) {
  fseek(c->file, start, SEEK_SET);
  if (!read_case(c, t)) give_up(c, "a case is missing");
  t->job.isa &= isa;
}

/// Runs the case again: for four threads, and in place, with the bits of `first`.
static void run_otherwise(struct case_file *c, long start, const struct op_test *first,
                          uint32_t isa) {
  for (int in_place = 0; in_place < 2; in_place++) {
    if (in_place && !may_run_in_place(first)) continue;
    struct op_test t;
    read_again(c, start, &t, isa);
    t.in_place = in_place != 0;
    t.job.threads = in_place ? 1 : 4;
    if (run(&t)) check_same(&t, first);
    op_end(&t);
  }
}

/// Put gaps between the pixels of tensors that may have them. Returns whether there were any.
static bool spread(struct op_test *t) {
  bool any = false;
  for (uint32_t i = 0; i < t->job.input_count; i++) {
    const uint32_t bit = i < SMR_OP_STRIDED_LAST ? i : SMR_OP_STRIDED_LAST;
    const struct smr_tensor *x = t->in_list[i];
    if (!(t->job.op->flags & SMR_OP_STRIDED(UINT32_C(1) << bit)) || x == NULL || x->constant >= 0)
      continue;
    if (x->rank == 0 || x->size_bytes == 0 || smr_dtype_packed(x->dtype)) continue;
    op_spread_pixels(t, i, 3);
    any = true;
  }
  for (uint32_t i = 0; i < t->job.output_count; i++) {
    if (!(t->job.op->flags & SMR_OP_STRIDED_OUT) || t->out[i].rank == 0) continue;
    t->out[i].pixel_stride += 5;
    any = true;
  }
  return any;
}

struct form {
  uint32_t isa;
  const char *tuned;
  bool apart;
};

// A form of the case at `start`, into `out`; false where it has no such form.
static bool run_form(struct case_file *c, long start, const struct form *form, FILE *out) {
  struct op_test t;
  read_again(c, start, &t, form->isa);
  t.job.tuned = form->tuned;
  const bool is_one = !form->apart || spread(&t);
  if (is_one) {
    const bool ran = run(&t);
    fprintf(out, "case %s %d %s %s\n", c->name, ran, form->tuned ? form->tuned : "-",
            ran && t.job.algorithm != NULL ? t.job.algorithm->name : "-");
    if (ran) write_outputs(&t, out);
    if (ran && form->tuned == NULL && !form->apart) run_otherwise(c, start, &t, form->isa);
  }
  op_end(&t);
  return is_one;
}

/// All forms of the case that comes next; false at the end of the file.
static bool run_forms(struct case_file *c, FILE *out) {
  const long start = ftell(c->file);
  struct op_test t;
  if (!read_case(c, &t)) return false;
  const long end = ftell(c->file);
  const struct smr_op_funcs *funcs = t.job.op->funcs;
  const struct smr_algorithms *algorithms =
      funcs->prepare == smr_prepare_algorithm ? funcs->algorithms : NULL;
  op_end(&t);
  smr_test_state()->current = c->name;
  smr_test_state()->n_run++;
  run_form(c, start, &(struct form){.isa = UINT32_MAX}, out);
  run_form(c, start, &(struct form){.isa = SMR_ISA_NONE}, out);
  run_form(c, start, &(struct form){.isa = UINT32_MAX, .apart = true}, out);
  for (size_t i = 0; algorithms != NULL && i < algorithms->count; i++)
    run_form(c, start, &(struct form){.isa = UINT32_MAX, .tuned = algorithms->rows[i]->name}, out);
  fseek(c->file, end, SEEK_SET);
  return true;
}

int main(int argc, char **argv) {
  static struct case_file c = {.name = "none"};
  if (argc != 3) {
    fputs("usage: op_cases CASES OUTPUTS\n", stderr);
    return 2;
  }
  FILE *out = fopen(argv[2], "wb");
  c.file = fopen(argv[1], "rb");
  if (c.file == NULL || out == NULL) {
    fprintf(stderr, "op_cases: cannot open %s: %s\n", argv[c.file == NULL ? 1 : 2],
            strerror(errno));
    return 2;
  }
  while (run_forms(&c, out)) continue;
  fclose(c.file);
  return fclose(out) != 0 || smr_test_end("op_cases") != 0;
}
