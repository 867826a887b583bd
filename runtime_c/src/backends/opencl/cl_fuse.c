// SPDX-License-Identifier: Apache-2.0
// Generates and launches the kernel of a step.
//
//   P: 0 elements of a row, 1 items of a row, 2-6 dims of rows. From 7 on, 6 ints of each operand
//   that broadcasts: strides of rows, stride along the row. ITEM: element, row.
//   F: constants of one float, then attributes, in the order of nodes.
//
// In the text g0… are operands, l0… their elements, v0… values of nodes, y0… outputs. Each node's
// expression has its own block with local names x, a and b for its operands.
#include "base/fp.h"

#include "backends/opencl/cl_fuse.h"

#include <stdarg.h>
#include <string.h>

#include "backends/opencl/driver.h"
#include "backends/opencl/lower.h"
#include "base/fnv.h"
#include "base/format.h"

enum { FUSE_STRIDES = 7, FUSE_EACH = 6 };  // index of the first stride, and ints per operand

// ---- writing ----

struct fuse {
  const samara_region *region;
  const struct smr_cl_step *step;
  char *text;
  size_t used, size;
};

SMR_PRINTF(2, 3) static void fuse_add(struct fuse *f, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const size_t room = f->used < f->size ? f->size - f->used : 0;
  f->used += smr_format_list(room != 0 ? f->text + f->used : NULL, room, format, arguments);
  va_end(arguments);
}

// The value of a define of a kernel's row, and its length; 0 if there is none.
static int fuse_define(const char *defines, const char *name, const char **value) {
  const size_t length = strlen(name);
  for (const char *at = defines; *at != '\0'; at += strcspn(at, " "), at += *at == ' ')
    if (strncmp(at, name, length) == 0 && at[length] == '=') {
      *value = at + length + 1;
      return (int)strcspn(*value, " ");
    }
  return 0;
}

// The type of elements of a tensor in registers.
static const char *fuse_type(const struct fuse *f, int32_t t) {
  const samara_dtype dtype = f->region->tensors[t].dtype;
  return dtype == SAMARA_FLOAT16 ? "f32" : smr_cl_type_name(dtype);
}

// An int of the launch.
static void fuse_int(struct fuse *f, uint32_t i) {
  fuse_add(f, "%c(%c)", i < 16 ? 'P' : 'Q', "0123456789abcdef"[i % 16]);
}

static void fuse_operand(struct fuse *f, int32_t t) {
  const struct smr_cl_step *step = f->step;
  for (uint32_t i = 0; i < step->input_count; i++)
    if (step->inputs[i] == t) {
      fuse_add(f, "l%u", (unsigned)i);
      return;
    }
  for (uint32_t i = 0; i < step->number_count; i++)
    if (step->numbers[i] == t) {
      fuse_add(f, "F(%u)", (unsigned)i);
      return;
    }
  uint32_t k = 0;
  while (f->region->nodes[step->nodes[k]].outputs[0] != t) k++;
  fuse_add(f, "v%u", (unsigned)k);
}

// Pointers to the first elements of the item's row.
static void fuse_pointers(struct fuse *f) {
  const struct smr_cl_step *step = f->step;
  for (uint32_t i = 0; i < step->input_count; i++) {
    const char *type = smr_cl_type_name(f->region->tensors[step->inputs[i]].dtype);
    fuse_add(f, "GLOBAL const %s*g%u=IN(%u,%s);", type, (unsigned)i, (unsigned)i, type);
  }
  for (uint32_t i = 0; i < step->output_count; i++) {
    const char *type = smr_cl_type_name(f->region->tensors[step->outputs[i]].dtype);
    fuse_add(f, "GLOBAL %s*y%u=OUT(%u,%s);", type, (unsigned)i, SMR_CL_INPUTS + (unsigned)i, type);
  }
  fuse_add(f, "const int e=ITEM(1)*P(0);");
  if (step->strided_count == 0) return;
  fuse_add(f, "int t=ITEM(1),d;");
  for (uint32_t axis = SMR_CL_AXES - 1; axis-- > 0;) {
    fuse_add(f, "d=t%%P(%u);t/=P(%u);", (unsigned)axis + 2, (unsigned)axis + 2);
    for (uint32_t i = 0; i < step->input_count; i++) {
      if (step->strided[i] < 0) continue;
      fuse_add(f, "g%u+=d*", (unsigned)i);
      fuse_int(f, FUSE_STRIDES + FUSE_EACH * (uint32_t)step->strided[i] + axis);
      fuse_add(f, ";");
    }
  }
}

static void fuse_load(struct fuse *f, uint32_t i) {
  const int32_t t = f->step->inputs[i];
  fuse_add(f, "const %s l%u=LD(%s,g%u,", fuse_type(f, t), (unsigned)i,
           smr_cl_type_name(f->region->tensors[t].dtype), (unsigned)i);
  if (f->step->strided[i] < 0) {
    fuse_add(f, "e+i");
  } else {
    fuse_add(f, "i*");
    fuse_int(f, FUSE_STRIDES + FUSE_EACH * (uint32_t)f->step->strided[i] + FUSE_EACH - 1);
  }
  fuse_add(f, ");");
}

// Write the value of node k of the step; its attributes begin at float *floats.
static void fuse_node(struct fuse *f, uint32_t k, uint32_t *floats) {
  static const char *const names[] = {"a", "b"};
  const samara_region_node *source = &f->region->nodes[f->step->nodes[k]];
  const struct smr_cl_node node = {.region = f->region, .node = source};
  const struct smr_cl_function function = smr_cl_function_of(&node);
  const char *defines = smr_cl_texts[function.kernel].defines, *x = "", *of = "";
  const char *type = fuse_type(f, source->outputs[0]);
  fuse_add(f, "%s v%u;", type, (unsigned)k);
  if (function.where) {
    fuse_add(f, "v%u=", (unsigned)k);
    for (uint32_t i = 0; i < 3; i++) {
      fuse_operand(f, source->inputs[i]);
      fuse_add(f, "%c", "?:;"[i]);
    }
  } else {
    int x_length = fuse_define(defines, "X", &x);
    const int of_length = fuse_define(defines, "OF", &of);
    if (strncmp(x, "f16", 3) == 0) x = "f32", x_length = 3;
    for (uint32_t i = 0; i < function.operands; i++) {
      if (i == 0) fuse_add(f, "{const %.*s ", x_length, x);
      fuse_add(f, "%s%s=(%.*s)", i == 0 ? "" : ",", function.operands == 1 ? "x" : names[i],
               x_length, x);
      fuse_operand(f, source->inputs[i]);
    }
    if (function.a[0] != '\0') fuse_add(f, ",a=F(%u)", (unsigned)(*floats)++);
    if (function.b[0] != '\0') fuse_add(f, ",b=F(%u)", (unsigned)(*floats)++);
    fuse_add(f, ";v%u=(%s)(%.*s);}", (unsigned)k, type, of_length, of);
  }
  if (f->region->tensors[source->outputs[0]].dtype == SAMARA_FLOAT16)
    fuse_add(f, "ST(f16,v%u,(f16*)h,0);v%u=LD(f16,(f16*)h,0);", (unsigned)k, (unsigned)k);
}

// A hash of a text without blanks, because copies in tests have other blanks.
static uint64_t fuse_hash(const char *text) {
  uint64_t hash = SMR_FNV_START;
  for (; *text != '\0'; text++)
    if (*text != ' ' && *text != '\n') hash = smr_fnv(hash, text, 1);
  return hash;
}

bool smr_cl_step_write(const samara_region *region, struct smr_cl_step *step, char *text,
                       size_t size) {
  struct fuse f = {.region = region, .step = step, .text = text, .size = size};
  uint32_t floats = step->number_count;
  fuse_add(&f, "{");
  fuse_pointers(&f);
  fuse_add(&f, "for(int i=ITEM(0);i<P(0);i+=P(1)){");
  for (uint32_t k = 0, h = 0; k < step->count && h == 0; k++) {
    const int32_t y = region->nodes[step->nodes[k]].outputs[0];
    h = region->tensors[y].dtype == SAMARA_FLOAT16;
    if (h != 0) fuse_add(&f, "u16 h[1];");
  }
  for (uint32_t i = 0; i < step->input_count; i++) fuse_load(&f, i);
  for (uint32_t k = 0; k < step->count; k++) fuse_node(&f, k, &floats);
  for (uint32_t i = 0; i < step->output_count; i++) {
    fuse_add(&f, "ST(%s,", smr_cl_type_name(region->tensors[step->outputs[i]].dtype));
    fuse_operand(&f, step->outputs[i]);
    fuse_add(&f, ",y%u,e+i);", (unsigned)i);
  }
  fuse_add(&f, "}}");
  if (f.used >= size) return false;
  step->kind = fuse_hash(text);
  return true;
}

void smr_cl_step_name(const char *text, char name[SMR_CL_STEP_NAME]) {
  const uint64_t kind = fuse_hash(text);
  (void)smr_format(name, SMR_CL_STEP_NAME, "fused_%08x%08x", (unsigned)(kind >> 32),
                   (unsigned)kind);
}

// ---- launching ----

void smr_cl_step_lower(const samara_region *region, const struct smr_cl_features *features,
                       const struct smr_cl_steps *steps, uint32_t k, struct smr_cl_launches *out) {
  const struct smr_cl_step *step = &steps->steps[k];
  const uint32_t last = step->nodes[step->count - 1];
  const struct smr_cl_node node = {
      .region = region, .node = &region->nodes[last], .index = last, .features = features};
  const samara_region_tensor *y = &region->tensors[step->outputs[0]];
  const samara_region_tensor *strided[SMR_CL_STEP_STRIDED] = {NULL};
  struct smr_cl_box box;
  if (smr_cl_numel(y) == 0) return;
  for (uint32_t i = 0; i < step->input_count; i++)
    if (step->strided[i] >= 0) strided[step->strided[i]] = &region->tensors[step->inputs[i]];
  smr_cl_box_of(&box, y, strided, (int32_t)step->strided_count);
  smr_cl_box_join(&box);
  struct smr_cl_launch *launch =
      smr_cl_add(out, last, (enum smr_cl_kernel)(SMR_CL_STEP_KERNEL + k));
  for (uint32_t i = 0; i < step->input_count; i++)
    smr_cl_bind(launch, i, &region->tensors[step->inputs[i]]);
  for (uint32_t i = 0; i < step->output_count; i++)
    smr_cl_bind(launch, SMR_CL_INPUTS + i, &region->tensors[step->outputs[i]]);
  smr_cl_rows_of(&node, launch, &box);
  for (uint32_t i = 0; i < step->strided_count; i++)
    smr_cl_put_strides(launch, &box, (int32_t)i, (int32_t)(FUSE_STRIDES + FUSE_EACH * i),
                       (int32_t)(FUSE_STRIDES + FUSE_EACH * i + FUSE_EACH - 1));
  memcpy(launch->floats, step->floats, sizeof launch->floats);
}
