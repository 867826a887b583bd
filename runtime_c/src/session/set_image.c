// SPDX-License-Identifier: Apache-2.0
// Pictures as inputs, by the record of the file.
#include "base/fp.h"

#include "media/image.h"
#include "model/record.h"
#include "session/session.h"

#include <inttypes.h>
#include <string.h>

// The picture state of an input: a plan for pictures with the layout of the last one.
struct set_image {
  struct smr_image_axis_source along;
  uint32_t rows;
  struct smr_image_plan plan;
};

static bool set_image_fits(const struct set_image *kept, const struct smr_image_source *source) {
  const struct smr_image_axis_source *a = &kept->along, *b = &source->along;
  return kept->plan.kind == source->kind && kept->plan.turned == source->turned &&
         kept->rows == source->over.count && a->count == b->count && a->first == b->first &&
         a->step == b->step && memcmp(a->strides, b->strides, sizeof a->strides) == 0;
}

// The plan for a picture: the last one if it fits, else a new one in the input's block.
static samara_status set_image_plan(samara_session *session, struct smr_session_input *input,
                                    const char *name, const samara_image_record *record,
                                    const struct smr_image_sizes *sizes,
                                    const struct smr_image_source *source,
                                    const struct smr_image_plan **out) {
  const size_t threads = session->common.threads;
  struct set_image *kept = input->image.data;
  if (kept != NULL && set_image_fits(kept, source)) {
    *out = &kept->plan;
    return SAMARA_OK;
  }
  struct smr_bump bump = {.base = NULL};
  struct smr_image_plan plan;
  smr_bump_take(&bump, 1, sizeof *kept);
  smr_image_plan(record, sizes, source, session->common.isa, threads, &bump, &plan);
  if (bump.overflow) return smr_no_memory(&session->error, SIZE_MAX);
  SMR_TRY(smr_block_ensure(&session->common, &input->image, bump.used, 0, name));
  bump = (struct smr_bump){.base = input->image.data, .capacity = bump.used};
  kept = smr_bump_take(&bump, 1, sizeof *kept);
  *kept = (struct set_image){.along = source->along, .rows = source->over.count};
  smr_image_plan(record, sizes, source, session->common.isa, threads, &bump, &kept->plan);
  *out = &kept->plan;
  return SAMARA_OK;
}

// Whether the input has the shape that the record makes of the picture.
static samara_status set_image_shape(samara_session *session, const struct smr_tensor *t,
                                     const samara_image_record *record,
                                     const struct smr_image_sizes *sizes) {
  int64_t shape[SAMARA_MAX_RANK];
  const int32_t rank = smr_image_shape(record, sizes, shape);
  for (int32_t axis = 0; axis < rank; axis++) {
    if (t->dims[axis] != shape[axis])
      SMR_FAIL(&session->error, BAD_SHAPE,
               "the record makes %u x %u pixels of this picture, axis %d of the input is %" PRId64
               " and not %" PRId64 "; resize the session, or give the record a resize= or crop=",
               (unsigned)sizes->width, (unsigned)sizes->height, (int)axis, t->dims[axis],
               shape[axis]);
  }
  return SAMARA_OK;
}

// Note the geometry of the picture for the answer.
static void set_image_note(samara_session *session, size_t index, const samara_image *given,
                           const struct smr_image_sizes *sizes) {
  const struct smr_answer_fields *answer = session->function->answer;
  samara_image i;
  if (!SMR_HAS(answer) || answer == NULL || answer->input != index) return;
  (void)smr_options_read(given, &i, sizeof i, "samara_image", NULL);  // as smr_image_source did
  const bool whole = i.crop_width == 0;
  session->picture = (struct smr_answer_geometry){
      .width = (int32_t)i.width,
      .height = (int32_t)i.height,
      .crop = {(int32_t)i.crop_x, (int32_t)i.crop_y, (int32_t)(whole ? i.width : i.crop_width),
               (int32_t)(whole ? i.height : i.crop_height)},
      .quarters = (int32_t)(i.rotation / 90),
      .mirror = i.mirror,
      .resized = {(int32_t)sizes->new_width, (int32_t)sizes->new_height},
      .offset = {(int32_t)sizes->left - (int32_t)sizes->from_x,
                 (int32_t)sizes->top - (int32_t)sizes->from_y},
      .tensor = {(int32_t)sizes->width, (int32_t)sizes->height},
  };
  session->pictured = true;
}

static samara_status set_image(samara_session *session, size_t index,
                               struct smr_session_input *input, const struct smr_tensor *t,
                               const samara_image *image) {
  const struct smr_function *f = session->function;
  const struct smr_image_fields *fields = smr_record_image(f, index);
  if (fields == NULL)
    SMR_FAIL(&session->error, NOT_FOUND,
             "it has no image record: export the model with preprocess=, or set the tensor");
  const struct smr_value *value = &f->values[f->inputs[f->user_inputs[index]]];
  samara_image_record record;
  struct smr_image_source source;
  struct smr_image_sizes sizes;
  const struct smr_image_plan *plan = NULL;
  SMR_TRY(smr_record_read(fields, value, &record, NULL, &session->error));
  SMR_TRY(smr_image_source(image, &record, &source, &session->error));
  SMR_TRY(smr_image_sizes(&record, smr_image_old_width(&source), smr_image_old_height(&source),
                          &sizes, &session->error));
  SMR_TRY(set_image_shape(session, t, &record, &sizes));
  SMR_TRY(set_image_plan(session, input, t->name, &record, &sizes, &source, &plan));
  input->data = input->own.data;
  set_image_note(session, index, image, &sizes);
  smr_image_run(plan, &source, session->team.pool, input->own.data);
  return SAMARA_OK;
}

samara_status samara_session_set_image(samara_session *session, size_t index,
                                       const samara_image *image) {
  struct smr_session_input *input;
  const struct smr_tensor *t;
  if (session == NULL) return SAMARA_BAD_ARGUMENT;
  SMR_TRY(smr_session_input(session, index, &input, &t));
  const samara_status status = set_image(session, index, input, t, image);
  if (status == SAMARA_OK) return status;
  return smr_fail_prefix(&session->error, status, "input '%.80s': ", t->name);
}
