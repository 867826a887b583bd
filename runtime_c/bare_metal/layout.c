// SPDX-License-Identifier: Apache-2.0
// Prints the layout of a bare-metal model after it was opened: one line of words per object. samara
// build compiles this after the model in one file, for the core or a machine with the same type
// sizes, and turns the lines into the tables of bare_steps.h. Addresses are hexadecimal after @,
// texts are the bytes of their characters after a dot, all other words are decimal numbers.

extern void probe_write(const char *text, size_t length);
extern void probe_layout(samara_net *net);

static char layout_line[256];
static size_t layout_used;

static void layout_flush(void) {
  probe_write(layout_line, layout_used);
  layout_used = 0;
}

static void layout_put(char c) {
  if (layout_used == sizeof layout_line) layout_flush();
  layout_line[layout_used++] = c;
}

static void layout_word(const char *text) {
  while (*text != '\0') layout_put(*text++);
}

static void layout_hex(uint32_t value, int digits) {
  for (int i = digits - 1; i >= 0; i--) layout_put("0123456789abcdef"[value >> 4 * i & 15]);
}

static void layout_number(int64_t value) {
  char digits[20];
  int count = 0;
  uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  layout_put(' ');
  if (value < 0) layout_put('-');
  do {
    digits[count++] = (char)('0' + left % 10);
    left /= 10;
  } while (left != 0);
  while (count > 0) layout_put(digits[--count]);
}

static void layout_at(const void *pointer) {
  layout_put(' ');
  layout_put('@');
  layout_hex((uint32_t)(uintptr_t)pointer, 8);
}

// The function that the node runs: its operator's, or the one that prepare chose.
static void layout_run_at(const struct smr_job *job) {
  layout_put(' ');
  layout_put('@');
  layout_hex((uint32_t)(uintptr_t)job->run, 8);
}

static void layout_text(const char *text) {
  layout_word(" .");
  for (; text != NULL && *text != '\0'; text++) layout_hex((uint8_t)*text, 2);
}

static void layout_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  layout_number(bits);
}

static void layout_words(const char *kind, const void *data, size_t size_bytes) {
  const uint8_t *bytes = data;
  layout_word(kind);
  layout_at(data);
  layout_number((int64_t)size_bytes);
  // Bytes that lie in the model's file are not printed: their address says where.
  const uintptr_t from_image = (uintptr_t)data - (uintptr_t)smr_model_image;
  for (size_t i = 0; from_image >= smr_model_image_bytes && i < size_bytes; i += 4) {
    uint32_t word = 0;
    memcpy(&word, bytes + i, size_bytes - i < 4 ? size_bytes - i : 4);
    layout_put(' ');
    layout_hex(word, 8);
  }
  layout_put('\n');
}

static void layout_refuse(const char *why) {
  layout_word("refuse");
  layout_text(why);
  layout_put('\n');
}

static void layout_quant(const struct smr_quant *quant) {
  if (quant == NULL) return;
  layout_word("quant");
  layout_at(quant);
  layout_number(quant->count);
  layout_number(quant->axis);
  layout_at(quant->scales);
  layout_at(quant->zero_points);
  layout_put('\n');
}

static void layout_value(const struct smr_frame *frame, uint32_t id) {
  const struct smr_frame_value *value = &frame->values[id];
  const struct smr_tensor *t = &value->tensor;
  const struct smr_frame_value *head = &frame->values[value->root];
  layout_quant(t->quant);
  layout_word("value");
  layout_number(id);
  layout_number(head->home);
  layout_number(value->root);
  layout_number(head->output);
  layout_at(t->data);
  // The caller chooses the addresses of inputs, so a view is described by its offset.
  layout_number((int64_t)(intptr_t)t->data - (int64_t)(intptr_t)head->tensor.data);
  layout_at(t);
  layout_number((int64_t)sizeof *t);
  layout_number(t->dtype);
  layout_number(t->rank);
  layout_number(t->layout);
  layout_number(t->padded);
  layout_number(t->open);
  layout_number(t->constant);
  layout_number(t->pixel_stride);
  layout_number((int64_t)t->size_bytes);
  layout_at(t->quant);
  layout_text(t->name);
  for (uint32_t i = 0; i < SAMARA_MAX_RANK; i++) layout_number(t->dims[i]);
  layout_put('\n');
  if (head->own.data == NULL || value->root != id) return;
  layout_word("block");
  layout_at(head->own.data);
  layout_number((int64_t)head->own.size_bytes);
  layout_put('\n');
}

static void layout_attr(const struct smr_attr *attr, const struct smr_attr_desc *desc) {
  const bool ints = desc->type == SMR_ATTR_INTS || desc->type == SMR_ATTR_DIMS;
  layout_word("attr");
  layout_number(attr->i);
  layout_float(attr->f);
  layout_number(attr->count);
  layout_number(attr->present);
  layout_number(attr->varies);
  layout_at(attr->ints);
  if (ints) {
    layout_word(" ints");
    for (uint32_t i = 0; i < attr->count; i++) layout_number(attr->ints[i]);
  } else if (desc->type == SMR_ATTR_FLOATS) {
    layout_word(" floats");
    for (uint32_t i = 0; i < attr->count; i++) layout_float(attr->floats[i]);
  } else if (desc->type == SMR_ATTR_STRING && attr->text != NULL) {
    layout_word(" text");
    for (uint32_t i = 0; i < attr->count; i++) layout_number((uint8_t)attr->text[i]);
  } else {
    layout_word(" none");
  }
  layout_put('\n');
}

static void layout_operands(const char *kind, const struct smr_frame *frame,
                            struct smr_tensor *const *operands, uint32_t count) {
  layout_word(kind);
  for (uint32_t i = 0; i < count; i++) {
    int64_t id = -1;
    for (uint32_t v = 0; v < frame->function->value_count; v++)
      if (operands[i] == &frame->values[v].tensor) id = v;
    layout_number(id);
  }
  layout_put('\n');
}

static void layout_node(const struct smr_frame *frame, const struct smr_frame_node *node) {
  const struct smr_job *job = &node->job;
  const struct smr_op *op = job->op;
  const struct smr_source *source = smr_node_source(frame->common->model, node);
  if (smr_node_control(node) != SMR_CONTROL_NONE || node->late || !node->prepared) {
    layout_refuse("a node is control flow, or its sizes depend on data");
    return;
  }
  if (node->overflow.data != NULL) {
    layout_word("block");
    layout_at(node->overflow.data);
    layout_number((int64_t)node->overflow.size_bytes);
    layout_put('\n');
  }
  layout_word("op");
  layout_text(op->name);
  layout_number(op->code);
  layout_number(op->min_inputs);
  layout_number(op->max_inputs);
  layout_number(op->min_outputs);
  layout_number(op->max_outputs);
  layout_number(op->attr_count);
  layout_number(op->attr_first);
  layout_number(op->flags);
  layout_number(op->dtypes);
  layout_run_at(job);
  layout_put('\n');
  for (uint32_t i = 0; i < op->attr_count; i++)
    layout_attr(&job->attrs[i], &smr_attr_descs[op->attr_first + i]);
  layout_operands("inputs", frame, job->inputs, job->input_count);
  layout_operands("outputs", frame, job->outputs, job->output_count);
  for (uint32_t i = 0; i < SMR_MAX_DERIVED && job->derived[i].input >= 0; i++) {
    const struct smr_derived *derived = &job->derived[i];
    layout_word("derived");
    layout_number(derived->input);
    layout_number(derived->layout);
    layout_put('\n');
    layout_words("copy", derived->data, derived->size_bytes);
  }
  if (op->funcs->state_bytes != 0) layout_words("state", job->state, op->funcs->state_bytes);
  layout_word("node");
  layout_text(job->name);
  layout_text(frame->function->name);
  layout_text(source != NULL ? source->file : NULL);
  layout_number(source != NULL ? source->line : 0);
  layout_number(job->isa);
  layout_number(job->threads);
  layout_number(job->strict);
  layout_number(job->bfloat16);
  layout_number(job->dims_vary);
  layout_number((int64_t)job->tiles);
  layout_number((int64_t)job->barriers[0]);
  layout_number((int64_t)job->barriers[1]);
  layout_number((int64_t)job->phase_tiles);
  layout_number((int64_t)job->scratch_bytes);
  layout_number((int64_t)job->thread_scratch_bytes);
  layout_at(job->scratch);
  layout_put('\n');
}

static void layout_interface(const samara_session *session) {
  const struct smr_function *f = session->function;
  for (uint32_t i = 0; i < session->state.count; i++) {
    const struct smr_session_variable *v = &session->state.variables[i];
    const int32_t initial = v->variable->initial;
    layout_word("variable");
    layout_number((int64_t)v->variable->size_bytes);
    layout_at(initial >= 0 ? session->common.model->constants[initial].data : NULL);
    layout_number(v->spare != NULL);
    layout_put('\n');
  }
  for (uint32_t i = 0; i < f->input_count; i++) {
    const struct smr_session_input *input = &session->inputs[i];
    layout_word("input");
    layout_number(f->inputs[i]);
    layout_number(smr_bound(input->variable) ? input->variable : -1);
    layout_number((int64_t)input->size_bytes);
    layout_number((int64_t)smr_dtype_bytes(f->values[f->inputs[i]].dtype));
    layout_put('\n');
  }
  for (uint32_t i = 0; i < f->output_count; i++) {
    layout_word("output");
    layout_number(f->outputs[i]);
    layout_number(smr_bound(session->outputs[i].variable) ? session->outputs[i].variable : -1);
    layout_put('\n');
  }
}

// Call it after a run: only then do tensors have addresses.
void probe_layout(samara_net *net) {
  const samara_session *session = net->session;
  const struct smr_frame *frame = session->entry;
  const struct smr_function *f = frame->function;
  if (session->frames.count != 1 || frame->growing) {
    layout_refuse("the model calls functions, or its sizes depend on data");
    layout_flush();
    return;
  }
  layout_word("image");
  layout_at(smr_model_image);
  layout_number((int64_t)smr_model_image_bytes);
  layout_number(SMR_ALIGNMENT);
  layout_word("\nblock");
  layout_at(session->arena.data);
  layout_number((int64_t)session->arena.size_bytes);
  layout_put('\n');
  for (uint32_t i = 0; i < session->common.model->constant_count; i++) {
    const struct smr_constant *constant = &session->common.model->constants[i];
    layout_word("constant");
    layout_at(constant->data);
    layout_number((int64_t)constant->size_bytes);
    layout_put('\n');
  }
  layout_interface(session);
  for (uint32_t i = 0; i < f->value_count; i++) layout_value(frame, i);
  for (uint32_t i = 0; i < f->node_count; i++)
    if (!smr_node_is_view(&frame->nodes[i])) layout_node(frame, &frame->nodes[i]);
  layout_word("end\n");
  layout_flush();
}
