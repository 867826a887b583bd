/* SPDX-License-Identifier: Apache-2.0 */
/* Constant tables of the nodes of a model that was laid out at build time. samara build writes the
 * tables, from the output of layout.c, at the end of the generated file. */
#ifndef SMR_BARE_STEPS_H_
#define SMR_BARE_STEPS_H_

#include "ops/op.h"

/* Where the bytes of a tensor are. */
enum bare_home {
  BARE_CONSTANT, /* tensor.data */
  BARE_MEMORY,   /* `offset` of the net's memory */
  BARE_INPUT,    /* `offset` of input `index`: the caller's, or a variable's */
  BARE_SPARE,    /* `offset` of the next value of variable `index` */
};

struct bare_value {
  struct smr_tensor tensor; /* data is NULL unless constant */
  uint32_t offset;
  uint16_t index;
  uint8_t home; /* enum bare_home */
};

/* A node that computes something. */
struct bare_step {
  struct smr_job job; /* without operands, scratch and error */
  samara_status (*run)(const struct smr_job *job, size_t begin, size_t end, void *scratch);
  const uint16_t *operands; /* values: inputs, then outputs; BARE_ABSENT for an absent input */
  uint32_t scratch;         /* offset in memory, or BARE_NO_SCRATCH */
  const char *where;        /* prefix of its error messages */
};

enum { BARE_ABSENT = 0xffff };
#define BARE_NO_SCRATCH UINT32_MAX

struct bare_input {
  uint32_t offset; /* of the input's buffer in memory, or of a variable's first buffer */
  uint32_t size_bytes;
  uint16_t variable; /* BARE_ABSENT: an input of the caller's */
  uint8_t alignment;
};

struct bare_variable {
  const void *initial; /* NULL: zeros */
  uint32_t size_bytes;
  uint32_t data, spare; /* offsets in memory; spare is BARE_NO_SCRATCH if no run writes it */
};

/* An output of the caller's, or the next value of a variable. */
struct bare_output {
  uint16_t value, variable;
};

struct bare_plan {
  const struct bare_value *values;
  const struct bare_step *steps;
  const struct bare_input *inputs;
  const struct bare_output *outputs;
  const struct bare_variable *variables;
  uint16_t step_count, input_count, output_count, variable_count;
  uint16_t most_operands; /* of one step */
  uint32_t memory_bytes;
};

#if SMR_LAID_OUT
static const struct bare_plan *smr_bare_plan(void);
#endif

#endif
