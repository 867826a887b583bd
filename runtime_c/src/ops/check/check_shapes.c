// SPDX-License-Identifier: Apache-2.0
// The check class of operators whose row states the dims of their tensors, as in
//
//   x [N S* C] pairs [M 2] -> y [N size* 4C]
//
// A letter is the same number wherever it stands, with a star the same run of dims, of any length;
// 2 and 4C are that number and so many times a dim; a word is an attribute of the operator, with a
// star each element of a list. tools/gen_checks.py writes this without blanks: for each tensor its
// name and its terms, each ended by NUL, and an empty name behind the inputs and the outputs. A
// term is a letter, an attribute by number (`a` is the first) or `.` for 1, and then a star or the
// digit that it is multiplied by:
//
//   "x\0" "NS*C\0" "pairs\0" "M.2\0" "\0" "y\0" "Na*C4\0"
//
// The generator refuses what could not be read here: a multiple of a letter that no dim has given
// yet, or two runs in one tensor that could be cut in many ways.
#include "base/fp.h"

#include "ops/check/check.h"

#include <string.h>

enum { SHAPES_LETTERS = 26 };

// The dims that a letter stands for; NULL where no tensor has given them yet.
struct shapes_letter {
  const int64_t *dims;
  uint32_t count;
};

// The dims of the term at *at, which moves to the next. A letter without dims takes those at
// `here`, a run `left` of them; with `here` NULL it takes none, and sets *open if it is a run.
static struct shapes_letter shapes_term(const struct smr_job *job, struct shapes_letter *letters,
                                        const char **at, const int64_t *here, uint32_t left,
                                        bool *open) {
  static const int64_t one = 1;
  const char c = *(*at)++;
  const bool run = **at == '*';
  if (c < 'A') return (struct shapes_letter){&one, 1};
  if (c >= 'a') {
    const struct smr_attr *attr = &job->attrs[c - 'a'];
    return run ? (struct shapes_letter){attr->ints, attr->count}
               : (struct shapes_letter){&attr->i, 1};
  }
  struct shapes_letter *letter = &letters[c - 'A'];
  if (letter->dims != NULL) return *letter;
  *open = *open || run;
  const struct shapes_letter taken = {here, run ? left : 1};
  if (here != NULL) *letter = taken;
  return taken;
}

// Fail unless `t` has the dims of the terms. Letters without dims take theirs from it.
static samara_status shapes_expect(const struct smr_job *job, struct shapes_letter *letters,
                                   const char *name, const char *terms,
                                   const struct smr_tensor *t) {
  int64_t dims[SAMARA_MAX_RANK];
  uint32_t left = 0;  // dims for a run that has none yet
  bool open = false;  // whether there is one
  for (bool counting = true;; counting = false) {
    uint32_t rank = 0;
    for (const char *at = terms; *at != '\0';) {
      const struct shapes_letter term =
          shapes_term(job, letters, &at, counting ? NULL : t->dims + rank, left, &open);
      const int64_t times = *at >= '0' && *at <= '9' ? *at - '0' : 1;
      if (*at == '*' || (*at >= '0' && *at <= '9')) at++;
      if (counting) {
        rank += term.count <= SAMARA_MAX_RANK ? term.count : SAMARA_MAX_RANK + 1;
        continue;
      }
      for (uint32_t i = 0; i < term.count; i++, rank++)
        if (!smr_mul_i64(term.dims[i], times, &dims[rank])) dims[rank] = -1;  // as no tensor has
    }
    if (!counting) return smr_expect_dims(job, t, name, dims, rank);
    SMR_TRY(smr_expect_rank(job, t, name, rank, open ? SAMARA_MAX_RANK : rank));
    left = t->rank - rank;
  }
}

samara_status smr_check_shapes(const struct smr_job *job) {
  struct shapes_letter letters[SHAPES_LETTERS] = {{NULL, 0}};
  struct smr_tensor *const *tensors = job->inputs, *const *end = tensors + job->input_count;
  const char *at = smr_op_shapes(job->op);
  for (bool outputs = false;;) {
    if (*at == '\0') {  // behind the inputs, or the outputs
      if (outputs) return SAMARA_OK;
      outputs = true;
      tensors = job->outputs;
      end = tensors + job->output_count;
      at++;
      continue;
    }
    const char *name = at, *terms = name + strlen(name) + 1;
    const struct smr_tensor *t = tensors < end ? *tensors++ : NULL;
    if (t != NULL) SMR_TRY(shapes_expect(job, letters, name, terms, t));
    at = terms + strlen(terms) + 1;
  }
}
