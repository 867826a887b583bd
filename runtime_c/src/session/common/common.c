// SPDX-License-Identifier: Apache-2.0
// Instruction sets, steps and their limits, the log.
#include "base/fp.h"

#include "session/common/common.h"

#include <stdarg.h>

#include "base/build.h"
#include "base/format.h"
#include "base/isa.h"
#include "ops/deadline.h"

enum { COMMON_LOG_TEXT = 512 };

samara_status smr_isa_resolve(const char *ceiling, uint32_t *isa, samara_error *error) {
  if (!smr_cpu_isa_override_valid())
    SMR_FAIL(error, BAD_ARGUMENT, "SAMARA_ISA names an unknown instruction set");
  *isa = smr_cpu_isa();
  uint32_t mask = UINT32_MAX;
  if (ceiling != NULL && !smr_isa_parse(ceiling, &mask))
    SMR_FAIL(error, BAD_ARGUMENT, "isa \"%s\": expected names such as \"avx2\" or \"scalar\"",
             ceiling);
  *isa &= mask;
  if ((*isa & SMR_ISA_FLOOR) != SMR_ISA_FLOOR)
    SMR_FAIL(error, UNSUPPORTED,
             "this build has no kernels for the instruction sets that the CPU has and isa allows");
  return SAMARA_OK;
}

void smr_session_log(struct smr_common *common, samara_log_level level, const char *format, ...) {
  if (common->log == NULL) return;
  char text[COMMON_LOG_TEXT];
  va_list args;
  va_start(args, format);
  smr_format_list(text, sizeof text, format, args);
  va_end(args);
  common->log(common->log_user, level, text);
}

samara_status smr_session_forgive(struct smr_common *common) {
  common->error->text[0] = '\0';
  return common->error->status = SAMARA_OK;
}

samara_status smr_session_tick(struct smr_common *common) {
  if (SMR_ATOMIC_LOAD(&common->run.state) == SMR_RUN_CANCELLED)
    SMR_FAIL(common->error, CANCELLED, "cancelled");
  common->run.steps++;
  if (common->run.max_steps != 0 && common->run.steps > common->run.max_steps)
    SMR_FAIL(common->error, LIMIT, "more than max_steps = %llu steps",
             (unsigned long long)common->run.max_steps);
  return smr_in_time(&common->run.deadline, common->error);
}
