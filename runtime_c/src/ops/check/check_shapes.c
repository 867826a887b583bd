// SPDX-License-Identifier: Apache-2.0
// The check class of operators whose row states the dims of their tensors, as in
//
//   x[A* N N]pairs[M 2]>y[A* 4N size*]
//
// Tensors stand in order, inputs before `>`, each with a term per dim in brackets:
//
//   N      a dim: the same number wherever the letter stands
//   A*     a run of dims, any number of them: the same ones wherever the letter stands
//   2, 4N  that number, and so many times a dim or an attribute
//   size   an attribute of the operator; with a star each element of a list
//
// The generator of the rows (tools/gen_checks.py) refuses what could not be read here: a multiple
// of a letter that no dim has given yet, or two runs in one tensor that could be cut in many ways.
#include "base/fp.h"

#include "ops/check/check.h"

#include <string.h>

enum { SHAPES_LETTERS = 26 };

// The dims that a letter stands for; NULL where no tensor has given them yet.
struct shapes_letter {
  const int64_t *dims;
  uint32_t count;
};

// A term: `count` dims, each to be multiplied by `times`.
struct shapes_term {
  const int64_t *dims;
  int64_t times;
  uint32_t count;
  struct shapes_letter *unknown;  // the letter, where it has no dims yet
  bool run;
};

static bool shapes_is_digit(char c) { return c >= '0' && c <= '9'; }

// Read the term at `at`; return where the next one, or the closing bracket, stands.
static const char *shapes_read(const struct smr_job *job, struct shapes_letter *letters,
                               const char *at, struct shapes_term *term) {
  static const int64_t one = 1;
  *term = (struct shapes_term){.dims = &one, .times = !shapes_is_digit(*at), .count = 1};
  for (; shapes_is_digit(*at); at++) term->times = term->times * 10 + (*at - '0');
  size_t length = 0;
  while (at[length] != '*' && at[length] != ' ' && at[length] != ']') length++;
  term->run = at[length] == '*';
  if (*at >= 'A' && *at <= 'Z') {
    struct shapes_letter *letter = &letters[*at - 'A'];
    if (letter->dims == NULL) term->unknown = letter;
    term->dims = letter->dims;
    if (term->run) term->count = letter->count;
  } else if (length != 0) {
    const struct smr_attr_desc *descs = smr_attr_descs + job->op->attr_first;
    for (uint32_t i = 0; i < job->op->attr_count; i++) {
      const char *name = smr_attr_name(&descs[i]);
      if (strlen(name) != length || memcmp(name, at, length) != 0) continue;
      term->dims = term->run ? job->attrs[i].ints : &job->attrs[i].i;
      if (term->run) term->count = job->attrs[i].count;
    }
  }
  at += length + term->run;
  return at + (*at == ' ');
}

// The dims that the terms give for `t`, of which they leave `left` to a run without dims; letters
// without dims take theirs from `t`.
static void shapes_dims(const struct smr_job *job, struct shapes_letter *letters, const char *terms,
                        const struct smr_tensor *t, uint32_t left, int64_t *dims) {
  struct shapes_term term;
  for (uint32_t axis = 0; *terms != ']';) {
    terms = shapes_read(job, letters, terms, &term);
    if (term.unknown != NULL) {
      if (term.run) term.count = left;
      term.dims = t->dims + axis;
      *term.unknown = (struct shapes_letter){term.dims, term.count};
    }
    for (uint32_t i = 0; i < term.count; i++, axis++)
      if (!smr_mul_i64(term.dims[i], term.times, &dims[axis])) dims[axis] = -1;  // as no tensor has
  }
}

// Fail unless `t` has the dims of the terms; `name` stands before them.
static samara_status shapes_expect(const struct smr_job *job, struct shapes_letter *letters,
                                   const char *name, const char *terms, int length,
                                   const struct smr_tensor *t) {
  struct shapes_term term;
  uint64_t rank = 0;
  bool open = false, known = true;  // a run without dims takes those that are left
  for (const char *at = terms; *at != ']'; rank += term.count) {
    at = shapes_read(job, letters, at, &term);
    known = known && term.unknown == NULL;
    if (term.run && term.unknown != NULL) open = true;
  }
  const bool fits = open ? t->rank >= rank : t->rank == rank;
  struct smr_dims_text want = {""};
  if (fits || (known && rank <= SAMARA_MAX_RANK)) {
    int64_t dims[SAMARA_MAX_RANK];
    shapes_dims(job, letters, terms, t, fits ? t->rank - (uint32_t)rank : 0, dims);
    if (fits && memcmp(dims, t->dims, t->rank * sizeof *dims) == 0) return SAMARA_OK;
    want = smr_dims_text(dims, fits ? t->rank : (uint32_t)rank);
  }
  const struct smr_dims_text got = smr_dims_text(t->dims, t->rank);
  SMR_FAIL(job->error, BAD_SHAPE, "%s: %.*s has dims %s, expected [%.*s]%s%s", job->op->name,
           (int)(terms - 1 - name), name, got.text, length, terms,
           want.text[0] != 0 ? ", here " : "", want.text);
}

samara_status smr_check_shapes(const struct smr_job *job) {
  struct shapes_letter letters[SHAPES_LETTERS] = {{NULL, 0}};
  struct smr_tensor *const *tensors = job->inputs, *const *end = tensors + job->input_count;
  for (const char *at = smr_op_shapes(job->op); *at != '\0'; at++) {
    if (*at == '>') {
      tensors = job->outputs;
      end = tensors + job->output_count;
      continue;
    }
    const char *name = at;
    while (*at != '[') at++;
    const char *terms = at + 1;
    while (*at != ']') at++;
    const struct smr_tensor *t = tensors < end ? *tensors++ : NULL;
    if (t != NULL) SMR_TRY(shapes_expect(job, letters, name, terms, (int)(at - terms), t));
  }
  return SAMARA_OK;
}
