// SPDX-License-Identifier: Apache-2.0
// Devices are not trusted: some of their nodes are recomputed on the CPU and compared.
//
// The first node of each kind on a device is checked as a whole, and every check_every runs a
// random tile of a random node. Nodes of one step are checked together. Operands are copied from
// the device when the step is reached. A difference is handled like any other failure of a device:
// the run is repeated on the CPU, which works because inputs and variables do not change before the
// end of a run.
#include "base/fp.h"

#include "session/session.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/fnv.h"
#include "ops/table/opattrs.h"
#include "session/common/elements.h"
#include "simd/half.h"

// ---- which node ----

// A pseudorandom number that depends only on the number of runs.
static uint64_t check_random(const samara_session *session, uint64_t salt) {
  const uint64_t seed[2] = {session->common.devices->runs, salt};
  uint64_t hash = smr_fnv(SMR_FNV_START, seed, sizeof seed);
  hash ^= hash >> 33;
  hash *= UINT64_C(0xff51afd7ed558ccd);
  return hash ^ hash >> 33;
}

void smr_check_begin(samara_session *session) {
  struct smr_devices *devices = session->common.devices;
  uint32_t count = 0;
  if (devices == NULL) return;
  devices->checked = NULL;
  // In runs 1, 2, 4, 8 … : the first inputs of a session may be zeros.
  devices->looks =
      devices->active && devices->float16 && (devices->runs & (devices->runs + 1)) == 0;
  if (devices->check_every == UINT64_MAX) devices->looks = false;
  if (!devices->active || (devices->runs + 1) % devices->check_every != 0) return;
  for (const struct smr_device_region *r = devices->regions; r != NULL; r = r->next)
    for (uint32_t n = r->begin; n < r->end; n++)
      count += !smr_region_is_view(r->frame, r->frame->nodes[n].node);
  if (count == 0) return;
  uint32_t left = (uint32_t)(check_random(session, 0) % count);
  for (struct smr_device_region *r = devices->regions; devices->checked == NULL; r = r->next)
    for (uint32_t n = r->begin; n < r->end && devices->checked == NULL; n++) {
      if (smr_region_is_view(r->frame, r->frame->nodes[n].node) || left-- != 0) continue;
      devices->checked = r;
      devices->checked_node = n;
    }
}

// The trust key of the step that ends with node `n`.
static void check_key(const struct smr_device_region *region, uint32_t n, char *key) {
  for (uint32_t m = region->begin; SMR_HAS(backends_steps) && m < n; m++)
    if (smr_region_last(region, m) == n) {
      smr_trust_step_key(region, n, key);
      return;
    }
  smr_trust_key(&region->frame->nodes[n], key);
}

bool smr_check_is_due(struct smr_device_region *region, uint32_t n, bool *whole) {
  const struct smr_devices *devices = region->frame->common->devices;
  char key[SMR_TRUST_KEY];
  *whole = false;
  if (smr_region_is_view(region->frame, region->frame->nodes[n].node) ||
      smr_region_last(region, n) != n)
    return false;
  if (!*smr_region_trusted(region)) {
    check_key(region, n, key);
    *whole = smr_trust_of(region->space->backend, key) == SMR_TRUST_UNKNOWN;
  }
  return *whole ||
         (devices->checked == region && smr_region_last(region, devices->checked_node) == n);
}

// ---- recomputing the step ----

enum {
  CHECK_OPERANDS = 64
};  // nodes with more operands and steps with more values are not
    // checked

// A value of the step.
struct check_value {
  uint32_t tensor;        // of the region
  bool fetched;           // read by the step: copied from the device
  bool compared;          // made by the step and read by others
  size_t offset, answer;  // offsets in the block of the CPU's bytes and of the device's
};

// A step recomputed on the CPU: the job of one of its nodes, and tensors that point at copies.
struct check {
  struct smr_device_region *region;
  uint32_t last;  // node that ends the step
  bool joined;    // the step has several nodes
  struct smr_frame_node node;
  struct smr_tensor tensors[CHECK_OPERANDS];
  struct smr_tensor *operands[CHECK_OPERANDS];
  struct check_value values[CHECK_OPERANDS];
  uint32_t count;                        // of values
  size_t scratch, scratch_bytes, bytes;  // in the block
};

static bool check_take(struct check *check, size_t size_bytes, size_t *offset) {
  *offset = check->bytes;
  return smr_add_size(check->bytes, smr_align64(size_bytes), &check->bytes);
}

// Whether tensor `index` of the region is read outside of the step.
static bool check_is_read(const struct check *check, uint32_t index) {
  const struct smr_device_region *region = check->region;
  if (region->tensors[index].used_outside) return true;
  for (uint32_t n = 0; n < region->region.node_count; n++) {
    const samara_region_node *node = &region->region.nodes[n];
    if (smr_region_last(region, region->begin + n) == check->last) continue;
    for (uint32_t i = 0; i < node->input_count; i++)
      if (node->inputs[i] == (int32_t)index) return true;
  }
  return false;
}

// Bytes of tensor `index` of the region in the host's form.
static size_t check_bytes(const struct smr_device_region *region, uint32_t index) {
  return region->frame->values[region->value_of[index]].tensor.size_bytes;
}

// Whether the device has a constant rounded to float16, so the CPU must round it too. Other tensors
// are copied from the device and are already rounded.
static bool check_rounds(const struct check *check, const struct smr_tensor *t) {
  return smr_is_float16(&check->node) && t->constant >= 0 && t->dtype == SAMARA_FLOAT32 &&
         !(check->node.node->op->flags & SMR_OP_COPIES);
}

// The value of tensor `index`; a new one gets space in the block. NULL if there are too many.
static struct check_value *check_value(struct check *check, int32_t index, bool made) {
  for (uint32_t i = 0; i < check->count; i++)
    if (check->values[i].tensor == (uint32_t)index) return &check->values[i];
  if (check->count == CHECK_OPERANDS) return NULL;
  struct check_value *value = &check->values[check->count++];
  const size_t size_bytes = check_bytes(check->region, (uint32_t)index);
  *value = (struct check_value){.tensor = (uint32_t)index, .fetched = !made};
  value->compared =
      made && (!SMR_HAS(backends_steps) || !check->joined || check_is_read(check, value->tensor));
  if (!check_take(check, size_bytes, &value->offset)) return NULL;
  return value->compared && !check_take(check, size_bytes, &value->answer) ? NULL : value;
}

// Prepare a node of the step for the CPU, with its operands in the block. False if it cannot be
// checked.
static bool check_prepare(struct check *check, uint32_t n, uint8_t *block) {
  struct smr_frame *frame = check->region->frame;
  const samara_region_node *slice = &check->region->region.nodes[n - check->region->begin];
  struct smr_job *job = &check->node.job;
  const uint32_t inputs = frame->nodes[n].job.input_count;
  const uint32_t count = inputs + frame->nodes[n].job.output_count;
  check->node = frame->nodes[n];
  if (count > CHECK_OPERANDS) return false;
  for (uint32_t i = 0; i < count; i++) {
    const struct smr_tensor *from = i < inputs ? job->inputs[i] : job->outputs[i - inputs];
    check->operands[i] = NULL;
    if (from == NULL) continue;
    check->tensors[i] = *from;
    check->operands[i] = &check->tensors[i];
    if (check_rounds(check, from)) {
      check->tensors[i].constant = -1;  // layouts derived from the constant do not apply to the
                                        // copy
      check->tensors[i].padded = false;
    }
    if (i < inputs && check->tensors[i].constant >= 0) continue;
    const struct check_value *value = i < inputs
                                          ? check_value(check, slice->inputs[i], false)
                                          : check_value(check, slice->outputs[i - inputs], true);
    if (value == NULL) return false;
    if (block != NULL) check->tensors[i].data = block + value->offset;
  }
  job->inputs = check->operands;
  job->outputs = check->operands + inputs;
  if (smr_node_prepare_run(frame, &check->node) != SAMARA_OK) return false;
  const size_t scratch = smr_node_scratch(frame, &check->node);
  if (scratch > check->scratch_bytes) check->scratch_bytes = scratch;
  return true;
}

// Lay out the block. False if the step cannot be checked.
static bool check_divide(struct check *check) {
  const struct smr_device_region *region = check->region;
  for (uint32_t n = region->begin; n < check->last; n++)
    check->joined = check->joined || smr_region_last(region, n) == check->last;
  for (uint32_t n = region->begin; n <= check->last; n++)
    if (smr_region_last(region, n) == check->last && !check_prepare(check, n, NULL)) return false;
  return check_take(check, check->scratch_bytes, &check->scratch);
}

// Copy tensor `index` of the region from the device, in the host's form.
static samara_status check_copy(const struct check *check, uint32_t index, uint8_t *copy) {
  const struct smr_frame *frame = check->region->frame;
  const int32_t constant = frame->function->values[check->region->value_of[index]].constant;
  if (!SMR_HAS(backends_float16) || constant < 0)
    return smr_region_fetch(check->region, index, copy);
  smr_float16_round_weights(frame->common->isa, frame->common->model->constants[constant].data,
                            check_bytes(check->region, index) / sizeof(float), copy);
  return SAMARA_OK;
}

static samara_status check_fetch(struct check *check, uint8_t *block) {
  for (uint32_t i = 0; i < check->count; i++) {
    const struct check_value *value = &check->values[i];
    const size_t size_bytes = check_bytes(check->region, value->tensor);
    if (value->fetched) SMR_TRY(check_copy(check, value->tensor, block + value->offset));
    if (!value->compared) continue;
    SMR_TRY(smr_region_fetch(check->region, value->tensor, block + value->answer));
    // The CPU writes its tile over a copy of the device's result, so all other elements are equal.
    memcpy(block + value->offset, block + value->answer, size_bytes);
  }
  return SAMARA_OK;
}

// Compute all tiles of a node, or a random one if tiles are independent.
static samara_status check_node(struct check *check, uint8_t *block, bool whole) {
  struct smr_job *job = &check->node.job;
  uint8_t *scratch = block + check->scratch;
  uint8_t *thread_scratch = scratch + smr_align64(job->scratch_bytes);
  size_t begin = 0, end = job->tiles;
  if (end == 0) return SAMARA_OK;
  job->scratch = scratch;
  job->deadline = (struct smr_deadline){0, 0};
  if (!whole && job->barriers[0] == 0) {
    begin = check_random(check->region->frame->session, 1) % end;
    end = begin + 1;
  }
  if (job->op->flags & SMR_OP_SERIAL_PROLOGUE) SMR_TRY(job->run(job, 0, 0, thread_scratch));
  return job->run(job, begin, end, thread_scratch);
}

// ---- comparing ----

// A float as float16 stores it, clamped to the largest finite value: near that, one side may round
// to infinity where the other does not.
static double check_as_float16(double value) {
  const double rounded = (double)smr_f16_to_f32(smr_f32_to_f16((float)value));
  return isinf(rounded) ? copysign(65536, rounded) : rounded;
}

// The first element of an output where device and CPU differ, or SIZE_MAX. Tolerances of floats are
// those of whole models (docs/reference/numerics.md). `narrowed`: the device stores float32 as
// float16; *beyond is then an element that float16 cannot hold, or SIZE_MAX.
static size_t check_difference(const struct smr_tensor *t, const void *device, bool narrowed,
                               bool *varies, size_t *beyond) {
  const size_t bytes = smr_dtype_bytes(t->dtype), count = t->size_bytes / bytes;
  const uint8_t *cpu = t->data;
  double least = INFINITY, most = -INFINITY;
  *beyond = SIZE_MAX;
  *varies = count > 1 && memcmp(cpu, cpu + bytes, t->size_bytes - bytes) != 0;
  if (memcmp(cpu, device, t->size_bytes) == 0) return SIZE_MAX;
  for (size_t i = 0; i < count && smr_is_float(t->dtype); i++) {
    const double want = smr_float_at(cpu, t->dtype, i);
    if (!isfinite(want)) continue;
    if (want < least) least = want;
    if (want > most) most = want;
  }
  const bool narrow = narrowed || t->dtype == SAMARA_FLOAT16 || t->dtype == SAMARA_BFLOAT16;
  const double range = most > least ? most - least : 0;
  const double fixed = narrow ? 2e-2 * range + 1e-3 : 1e-4 + 2e-5 * range;
  for (size_t i = 0; i < count; i++) {
    if (memcmp(cpu + i * bytes, (const uint8_t *)device + i * bytes, bytes) == 0) continue;
    if (!smr_is_float(t->dtype)) return i;
    double want = smr_float_at(cpu, t->dtype, i), got = smr_float_at(device, t->dtype, i);
    if (narrowed) {
      if (isinf(got) && isfinite(want)) *beyond = i;
      want = check_as_float16(want);
      got = check_as_float16(got);
    }
    if (isnan(want) && isnan(got)) continue;
    if (!(fabs(got - want) <= fixed + 1e-3 * fabs(want))) return i;
  }
  return SIZE_MAX;
}

static samara_status check_wrong(struct check *check, const struct smr_tensor *t, size_t at) {
  struct smr_frame *frame = check->region->frame;
  samara_error why = {.status = SAMARA_OK};
  char key[SMR_TRUST_KEY];
  check_key(check->region, check->last, key);
  smr_trust_note(check->region->space->backend, key, SMR_TRUST_BAD);
  frame->common->devices->wrong++;
  (void)smr_fail(&why, SAMARA_BACKEND,
                 "node '%s' (%s): element %zu of '%s' is not what the CPU computes; such nodes do "
                 "not run there any more",
                 frame->nodes[check->last].node->name, key, at, t->name);
  return smr_device_fail(frame->common, check->region->space->backend, "checking", SAMARA_BACKEND,
                         &why);
}

// float16 cannot hold this model's values: the session continues in float32 (devices.c).
static samara_status check_beyond(struct check *check, const struct smr_tensor *t, size_t at) {
  struct smr_frame *frame = check->region->frame;
  const struct smr_node *node = frame->nodes[check->last].node;
  samara_error why = {.status = SAMARA_OK};
  frame->common->devices->overflowed = true;
  (void)smr_fail(&why, SAMARA_BACKEND,
                 "node '%s' (%s): element %zu of '%s' is beyond what float16 holds", node->name,
                 node->op->name, at, t->name);
  return smr_device_fail(frame->common, check->region->space->backend, "checking", SAMARA_BACKEND,
                         &why);
}

static samara_status check_compare(struct check *check, uint8_t *block, bool whole) {
  const struct smr_device_region *region = check->region;
  bool any = false;
  for (uint32_t i = 0; i < check->count; i++) {
    const struct check_value *value = &check->values[i];
    struct smr_tensor t = region->frame->values[region->value_of[value->tensor]].tensor;
    bool varies;
    if (!value->compared || t.size_bytes == 0) continue;
    t.data = block + value->offset;
    size_t beyond;
    const size_t at =
        check_difference(&t, block + value->answer,
                         smr_is_narrowed(&region->tensors[value->tensor]), &varies, &beyond);
    if (at != SIZE_MAX) return check_wrong(check, &t, at);
    if (SMR_HAS(backends_float16) && beyond != SIZE_MAX) return check_beyond(check, &t, beyond);
    any = any || varies;
  }
  region->frame->common->devices->checks++;
  // Constant outputs prove little about a kernel.
  if (whole && any) {
    char key[SMR_TRUST_KEY];
    check_key(region, check->last, key);
    smr_trust_note(region->space->backend, key, SMR_TRUST_GOOD);
  }
  return SAMARA_OK;
}

// Tiles of one node do not match tiles of the next, so a step of several nodes is computed as a
// whole.
static bool check_run(struct check *check, uint8_t *block, bool whole) {
  const struct smr_device_region *region = check->region;
  for (uint32_t n = region->begin; n <= check->last; n++) {
    if (smr_region_last(region, n) != check->last) continue;
    if (!check_prepare(check, n, block) ||
        check_node(check, block, whole || check->joined) != SAMARA_OK)
      return false;  // e.g. the operator rejects the data
  }
  return true;
}

samara_status smr_check_step(struct smr_device_region *region, uint32_t n, bool whole) {
  struct smr_common *common = region->frame->common;
  struct smr_devices *devices = common->devices;
  struct check check = {.region = region, .last = n};
  if (devices->checked == region && smr_region_last(region, devices->checked_node) == n)
    devices->checked = NULL;
  if (!check_divide(&check) ||
      smr_block_ensure(common, &devices->check, check.bytes, 0, "a check") != SAMARA_OK)
    return smr_session_forgive(common);
  SMR_TRY(check_fetch(&check, devices->check.data));
  if (!check_run(&check, devices->check.data, whole)) return smr_session_forgive(common);
  return check_compare(&check, devices->check.data, whole);
}

bool smr_check_looks(const struct smr_device_region *region, uint32_t n) {
  const struct smr_frame *frame = region->frame;
  return smr_is_float16(&frame->nodes[n]) &&
         (!region->trusted[1] || frame->common->devices->looks) &&
         !smr_region_is_view(frame, frame->nodes[n].node);
}

samara_status smr_check_float16(struct smr_device_region *region, uint32_t n) {
  struct smr_frame *frame = region->frame;
  struct smr_common *common = frame->common;
  const samara_region_node *node = &region->region.nodes[n - region->begin];
  bool finite = true;
  for (uint32_t i = 0; i < node->output_count && finite; i++) {
    const uint32_t index = (uint32_t)node->outputs[i];
    const size_t count = region->tensors[index].size_bytes / sizeof(uint16_t);
    if (!region->tensors[index].narrowed) continue;
    if (smr_block_ensure(common, &common->devices->check, count * sizeof(float), 0, "a check") !=
        SAMARA_OK)
      return smr_session_forgive(common);
    SMR_TRY(smr_region_fetch(region, index, common->devices->check.data));
    const float *floats = (const float *)(const void *)common->devices->check.data;
    for (size_t k = 0; k < count && finite; k++) finite = isfinite(floats[k]);
  }
  return finite ? SAMARA_OK : smr_check_step(region, n, true);
}
