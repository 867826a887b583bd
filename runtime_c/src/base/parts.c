// SPDX-License-Identifier: Apache-2.0
// Names of parts, and the refusal of missing ones.
#include "base/fp.h"

#include "base/parts.h"

static const char *const part_names[] = {
#define SMR_PART(name, in) #name,
#include "base/parts.inc"
#undef SMR_PART
};

const char *smr_part_name(size_t part) { return part < SMR_PART_COUNT ? part_names[part] : ""; }

samara_status smr_part_missing(samara_error *error, const char *name) {
  SMR_FAIL(error, UNSUPPORTED, "this build leaves out %s", name);
}
