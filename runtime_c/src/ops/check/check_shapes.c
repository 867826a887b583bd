// SPDX-License-Identifier: Apache-2.0
// The check class of operators whose row states the dims of their tensors, as in
//
//   x [N S* C] pairs [M 2] -> y [N size* 4C]
//
// A letter is one dim, the same everywhere; a letter with a star is a run of dims of any length. 2
// and 4C are a constant and a multiple of a dim. A word is an attribute of the operator, with a
// star all elements of a list. tools/gen_checks.py encodes this without spaces: for each tensor its
// name and its terms, each terminated by NUL, and an empty name after the inputs and after the
// outputs. A term is a letter, an attribute by number (`a` is the first) or `.` for 1, followed by
// a star or a digit as factor:
//
//   "x\0" "NS*C\0" "pairs\0" "M.2\0" "\0" "y\0" "Na*C4\0"
//
// The generator refuses what cannot be decoded here: a multiple of a letter before the letter
// itself, and two runs in one tensor without a unique split.
#include "base/fp.h"

#include "ops/check/check.h"

#include <string.h>

enum { SHAPES_LETTERS = 26 };

// The dims of a letter; NULL before the first tensor that has the letter.
struct shapes_letter {
  const int64_t *dims;
  uint32_t count;
};

// The dims of the term at *at; advances *at. A letter without dims is bound to those at `here`, a
// run to `left` of them. If `here` is NULL, nothing is bound, and a run sets *unbound.
static struct shapes_letter shapes_term(const struct smr_job *job, struct shapes_letter *letters,
                                        const char **at, const int64_t *here, uint32_t left,
                                        bool *unbound) {
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
  *unbound = *unbound || run;
  const struct shapes_letter taken = {here, run ? left : 1};
  if (here != NULL) *letter = taken;
  return taken;
}

// Fail unless `t` has the dims of the terms. Binds letters without dims to dims of `t`.
static samara_status shapes_expect(const struct smr_job *job, struct shapes_letter *letters,
                                   const char *name, const char *terms,
                                   const struct smr_tensor *t) {
  int64_t dims[SAMARA_MAX_RANK];
  uint32_t left = 0;     // dims for the unbound run
  bool unbound = false;  // whether there is one
  for (bool counting = true;; counting = false) {
    uint32_t rank = 0;
    for (const char *at = terms; *at != '\0';) {
      const struct shapes_letter term =
          shapes_term(job, letters, &at, counting ? NULL : t->dims + rank, left, &unbound);
      const int64_t times = *at >= '0' && *at <= '9' ? *at - '0' : 1;
      if (*at == '*' || (*at >= '0' && *at <= '9')) at++;
      if (counting) {
        rank += term.count <= SAMARA_MAX_RANK ? term.count : SAMARA_MAX_RANK + 1;
        continue;
      }
      for (uint32_t i = 0; i < term.count; i++, rank++)
        if (!smr_mul_i64(term.dims[i], times, &dims[rank])) dims[rank] = -1;  // matches no tensor
    }
    if (!counting) return smr_expect_dims(job, t, name, dims, rank);
    SMR_TRY(smr_expect_rank(job, t, name, rank, unbound ? SAMARA_MAX_RANK : rank));
    left = t->rank - rank;
  }
}

samara_status smr_check_shapes(const struct smr_job *job) {
  struct shapes_letter letters[SHAPES_LETTERS] = {{NULL, 0}};
  struct smr_tensor *const *tensors = job->inputs, *const *end = tensors + job->input_count;
  const char *at = smr_op_shapes(job->op);
  for (bool outputs = false;;) {
    if (*at == '\0') {  // the end of the inputs or outputs
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
