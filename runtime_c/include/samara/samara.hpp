/* SPDX-License-Identifier: Apache-2.0 */
/* samara for C++: a header over samara.h, C++11 and later. Link what a C program links.
 *
 *   samara::Model model = samara::Model::open("digits.samara");
 *   samara::Session session(model);
 *   session.set_input("image", pixels, 64);
 *   session.run();
 *   samara::Tensor scores = session.output("scores");
 *   for (float score : scores.values<float>()) ...
 *
 * Rules in addition to those of samara.h:
 *
 *  - Failures are thrown as samara::Error, which holds the status and the message. A failed call
 *    leaves the object unchanged. Destructors and functions marked noexcept do not throw.
 *  - Compiled without exceptions (-fno-exceptions), functions return failures: as Status (a
 *    samara::Error) or Result<T>. Create sessions and pools with create(), which exists in both
 *    modes:
 *
 *      samara::Result<samara::Model> model = samara::Model::open("digits.samara");
 *      if (!model.ok()) return puts(model.error().what());
 *      samara::Result<samara::Session> session = samara::Session::create(*model);
 *      if (session->run() != SAMARA_OK) ...
 *
 *  - Model, Session and Pool own what get() returns. They can be moved, not copied. An object that
 *    was moved from or default-constructed can only be assigned to or destroyed.
 *  - A Model must outlive its sessions, a Pool the sessions that use it. Both may be moved
 *    meanwhile.
 *  - Threads: any number may use a Model, one at a time a Session; only Session::cancel() may be
 *    called from another. Error, Tensor and Shape are plain values.
 *  - Only the C calls allocate, and C++ itself for a thrown exception.
 *  - Callbacks given to the library (allocators, logs, custom operators) must not throw.
 *  - With the header of a selective build, only what that build has is declared.
 */
#ifndef SAMARA_SAMARA_HPP_
#define SAMARA_SAMARA_HPP_

#include <samara/samara.h>
#include <samara/samara_result.hpp>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <type_traits>

#if !defined(SAMARA_SELECTIVE)
#define SAMARA_WITH_FILES 1
#define SAMARA_WITH_CALLBACKS 1
#define SAMARA_WITH_METADATA 1
#define SAMARA_WITH_SELFTEST 1
#define SAMARA_WITH_THREADS 1
#define SAMARA_WITH_STATE 1
#define SAMARA_WITH_CHECKPOINTS 1
#define SAMARA_WITH_BIND 1
#define SAMARA_WITH_KEEP 1
#define SAMARA_WITH_PROFILE 1
#endif

namespace samara {
SAMARA_HPP_BEGIN

/* Options with every field at its default: options<samara_session_options>(). */
template <class Options>
Options options() noexcept {
  Options value = Options();
  value.struct_size = sizeof value;
  return value;
}

/* Whether T represents elements of `dtype`. float16 and bfloat16 are uint16_t (their bits); int4
 * and uint4, two to a byte, are accessible as bytes only. */
template <class T>
bool holds(samara_dtype dtype) noexcept;
/* clang-format off */
template <> inline bool holds<float>(samara_dtype d) noexcept { return d == SAMARA_FLOAT32; }
template <> inline bool holds<double>(samara_dtype d) noexcept { return d == SAMARA_FLOAT64; }
template <> inline bool holds<bool>(samara_dtype d) noexcept { return d == SAMARA_BOOL; }
template <> inline bool holds<std::int8_t>(samara_dtype d) noexcept {
  return d == SAMARA_INT8 || d == SAMARA_QINT8;
}
template <> inline bool holds<std::int16_t>(samara_dtype d) noexcept { return d == SAMARA_INT16; }
template <> inline bool holds<std::int32_t>(samara_dtype d) noexcept { return d == SAMARA_INT32; }
template <> inline bool holds<std::int64_t>(samara_dtype d) noexcept { return d == SAMARA_INT64; }
template <> inline bool holds<std::uint8_t>(samara_dtype d) noexcept { return d == SAMARA_UINT8; }
template <> inline bool holds<std::uint16_t>(samara_dtype d) noexcept {
  return d == SAMARA_UINT16 || d == SAMARA_FLOAT16 || d == SAMARA_BFLOAT16;
}
template <> inline bool holds<std::uint32_t>(samara_dtype d) noexcept { return d == SAMARA_UINT32; }
template <> inline bool holds<std::uint64_t>(samara_dtype d) noexcept { return d == SAMARA_UINT64; }
/* clang-format on */

namespace detail {

inline Error at(samara_status status, const char *where, const char *what) noexcept {
  samara_error error;
  error.status = status;
  std::snprintf(error.text, sizeof error.text, "%s: %s", where, what);
  return Error(error);
}

template <class T>
Status need_elements(samara_dtype dtype, const char *name) {
  if (!holds<T>(dtype))
    SAMARA_HPP_FAIL(at(SAMARA_BAD_SHAPE, name, "its elements have another type"));
  return SAMARA_HPP_OK;
}

inline bool is(const char *a, const char *b) noexcept {
  return a != nullptr && b != nullptr && std::strcmp(a, b) == 0;
}

struct Close {
  void operator()(samara_model *model) const noexcept { samara_model_close(model); }
  void operator()(samara_session *session) const noexcept { samara_session_destroy(session); }
#if defined(SAMARA_WITH_THREADS)
  void operator()(samara_pool *pool) const noexcept { samara_pool_destroy(pool); }
#endif
};

}  // namespace detail

/* A non-owning view of consecutive elements. */
template <class T>
class Values {
 public:
  Values() noexcept : data_(nullptr), size_(0) {}
  Values(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
  T *data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  T *begin() const noexcept { return data_; }
  T *end() const noexcept { return data_ + size_; }
  T &operator[](std::size_t i) const noexcept { return data_[i]; }

 private:
  T *data_;
  std::size_t size_;
};

/* A tensor of a session, not owned: valid as long as the samara_tensor that it copies; an output
 * until the session's next run or resize. */
class Tensor {
 public:
  Tensor() noexcept : tensor_() {}
  explicit Tensor(const samara_tensor &tensor) noexcept : tensor_(tensor) {}
  const samara_tensor &get() const noexcept { return tensor_; }
  samara_dtype dtype() const noexcept { return tensor_.dtype; }
  std::int32_t rank() const noexcept { return tensor_.rank; }
  /* -1 while the dim depends on data. */
  std::int64_t dim(std::int32_t axis) const noexcept { return tensor_.shape[axis]; }
  void *data() const noexcept { return tensor_.data; }
  std::size_t size_bytes() const noexcept { return tensor_.size_bytes; }
  /* Of a quantized tensor: real = scale() * (element - zero_point()). */
  float scale() const noexcept { return tensor_.scale; }
  std::int32_t zero_point() const noexcept { return tensor_.zero_point; }
  /* The elements, last axis fastest. Error if T does not represent the dtype. */
  template <class T>
  Result<Values<T>> values() const {
    SAMARA_HPP_TRY(detail::need_elements<T>(tensor_.dtype, "a tensor"));
    return Values<T>(static_cast<T *>(tensor_.data), tensor_.size_bytes / sizeof(T));
  }

 private:
  samara_tensor tensor_;
};

/* Dims of an input: Shape(1, 3, 224, 224). */
class Shape {
 public:
  template <class... Dims>
  explicit Shape(Dims... dims) noexcept : dims_{static_cast<std::int64_t>(dims)...} {
    static_assert(sizeof...(Dims) <= SAMARA_MAX_RANK, "a tensor has at most SAMARA_MAX_RANK dims");
    rank_ = sizeof...(Dims);
  }
  const std::int64_t *dims() const noexcept { return dims_; }
  std::int32_t rank() const noexcept { return rank_; }

 private:
  std::int64_t dims_[SAMARA_MAX_RANK];
  std::int32_t rank_;
};

/* An open model. */
class Model {
 public:
  Model() noexcept {}
#if defined(SAMARA_WITH_FILES)
  /* Unless options->copy is set, the file is mapped and must not change while the model is open; if
   * it shrinks, the process may be killed. options->verify says when data is compared with its
   * checksums: by default in files up to SAMARA_VERIFY_BYTES. */
  static Result<Model> open(const char *path, const samara_model_options *options = nullptr) {
    return made([&](samara_model **out, samara_error *error) {
      return samara_model_open_path(path, options, out, error);
    });
  }
  /* `size_bytes` bytes (0: all) at `offset` of a file descriptor, which may be closed
   * afterwards. */
  static Result<Model> from_fd(int fd, std::uint64_t offset, std::uint64_t size_bytes,
                               const samara_model_options *options = nullptr) {
    return made([&](samara_model **out, samara_error *error) {
      return samara_model_open_fd(fd, offset, size_bytes, options, out, error);
    });
  }
#endif
  /* Unless options->copy is set, the memory must stay valid and unchanged as long as the model. */
  static Result<Model> from_memory(const void *data, std::size_t size_bytes,
                                   const samara_model_options *options = nullptr) {
    return made([&](samara_model **out, samara_error *error) {
      return samara_model_open_memory(data, size_bytes, options, out, error);
    });
  }
#if defined(SAMARA_WITH_CALLBACKS)
  static Result<Model> from_reader(const samara_reader &reader,
                                   const samara_model_options *options = nullptr) {
    return made([&](samara_model **out, samara_error *error) {
      return samara_model_open_callbacks(&reader, options, out, error);
    });
  }
#endif
  const samara_model *get() const noexcept { return model_.get(); }

  /* Compare every byte with its checksum, now. The error says what is damaged, or that the file is
   * older than 0.6. */
  Status verify() const {
    samara_error error;
    if (samara_model_verify(get(), &error) != SAMARA_OK) SAMARA_HPP_FAIL(Error(error));
    return SAMARA_HPP_OK;
  }
  samara_verified verified() const noexcept { return samara_model_verified(get()); }

  std::size_t function_count() const noexcept { return samara_model_function_count(get()); }
  /* NULL beyond the count. Strings live as long as the model. */
  const char *function_name(std::size_t index) const noexcept {
    return samara_model_function_name(get(), index);
  }
  /* function: NULL means the first. */
  std::size_t input_count(const char *function = nullptr) const noexcept {
    return samara_model_input_count(get(), function);
  }
  std::size_t output_count(const char *function = nullptr) const noexcept {
    return samara_model_output_count(get(), function);
  }
  Result<samara_tensor_info> input(std::size_t index, const char *function = nullptr) const {
    samara_tensor_info info;
    const samara_status status = samara_model_input_info(get(), function, index, &info);
    if (status != SAMARA_OK) SAMARA_HPP_FAIL(detail::at(status, "the model", "no such input"));
    return info;
  }
  Result<samara_tensor_info> output(std::size_t index, const char *function = nullptr) const {
    samara_tensor_info info;
    const samara_status status = samara_model_output_info(get(), function, index, &info);
    if (status != SAMARA_OK) SAMARA_HPP_FAIL(detail::at(status, "the model", "no such output"));
    return info;
  }
  bool is_growing(const char *function = nullptr) const noexcept {
    return samara_model_is_growing(get(), function);
  }
#if defined(SAMARA_WITH_METADATA)
  /* Metadata: the value of a key; NULL if there is none. */
  const char *metadata(const char *key) const noexcept {
    const char *name = nullptr, *value = nullptr;
    const std::size_t count = samara_model_metadata_count(get());
    for (std::size_t i = 0; i < count; i++)
      if (samara_model_metadata(get(), i, &name, &value) == SAMARA_OK && detail::is(name, key))
        return value;
    return nullptr;
  }
#endif
#if defined(SAMARA_WITH_SELFTEST)
  Status selftest() const {
    samara_error error;
    if (samara_model_selftest(get(), &error) != SAMARA_OK) SAMARA_HPP_FAIL(Error(error));
    return SAMARA_HPP_OK;
  }
#endif

 private:
  explicit Model(samara_model *model) noexcept : model_(model) {}
  template <class Open>
  static Result<Model> made(Open open) {
    samara_model *model = nullptr;
    samara_error error;
    if (open(&model, &error) != SAMARA_OK) SAMARA_HPP_FAIL(Error(error));
    return Model(model);
  }
  std::unique_ptr<samara_model, detail::Close> model_;
};

#if defined(SAMARA_WITH_THREADS)
/* Threads that sessions share: options.pool = pool.get(). */
class Pool {
 public:
  /* threads includes the calling thread; 0: min(4, cores). */
  static Result<Pool> create(std::size_t threads = 0) {
    samara_pool_options wanted = options<samara_pool_options>();
    wanted.threads = threads;
    return create(wanted);
  }
  static Result<Pool> create(const samara_pool_options &wanted) {
    samara_pool *pool = nullptr;
    samara_error error;
    if (samara_pool_create(&wanted, &pool, &error) != SAMARA_OK) SAMARA_HPP_FAIL(Error(error));
    return Pool(pool);
  }
#if SAMARA_EXCEPTIONS
  explicit Pool(std::size_t threads = 0) : Pool(create(threads)) {}
  explicit Pool(const samara_pool_options &wanted) : Pool(create(wanted)) {}
#else
  Pool() noexcept {}
#endif
  samara_pool *get() const noexcept { return pool_.get(); }
  std::size_t threads() const noexcept { return samara_pool_threads(get()); }

 private:
  explicit Pool(samara_pool *pool) noexcept : pool_(pool) {}
  std::unique_ptr<samara_pool, detail::Close> pool_;
};
#endif

/* An input or output, by index or by name. The name is read during the call only.
 */
class Port {
 public:
  template <class Index, class = typename std::enable_if<std::is_integral<Index>::value>::type>
  Port(Index index) noexcept : index_(static_cast<std::size_t>(index)), name_(nullptr) {}
  Port(const char *name) noexcept : index_(0), name_(name) {}
  std::size_t index() const noexcept { return index_; }
  const char *name() const noexcept { return name_; } /* NULL: by index */

 private:
  std::size_t index_;
  const char *name_;
};

/* Runs one function of a model. */
class Session {
 public:
  static Result<Session> create(const Model &model, const samara_session_options &wanted =
                                                        options<samara_session_options>()) {
    samara_session *session = nullptr;
    samara_error error;
    if (samara_session_create(model.get(), &wanted, &session, &error) != SAMARA_OK)
      SAMARA_HPP_FAIL(Error(error));
    Session made;
    made.model_ = model.get();
    made.session_.reset(session);
    // The model's own string, which lives as long as the model.
    for (std::size_t i = 0; wanted.function != nullptr && i < model.function_count(); i++)
      if (detail::is(model.function_name(i), wanted.function))
        made.function_ = model.function_name(i);
    return made;
  }
#if SAMARA_EXCEPTIONS
  explicit Session(const Model &model) : Session(create(model)) {}
  Session(const Model &model, const samara_session_options &wanted)
      : Session(create(model, wanted)) {}
#endif
  Session() noexcept {}
  samara_session *get() const noexcept { return session_.get(); }

  std::size_t input_count() const noexcept { return samara_model_input_count(model_, function_); }
  std::size_t output_count() const noexcept { return samara_model_output_count(model_, function_); }
  Result<samara_tensor_info> input_info(std::size_t index) const {
    samara_tensor_info info;
    const samara_status status = samara_model_input_info(model_, function_, index, &info);
    if (status != SAMARA_OK) SAMARA_HPP_FAIL(detail::at(status, "the session", "no such input"));
    return info;
  }
  Result<samara_tensor_info> output_info(std::size_t index) const {
    samara_tensor_info info;
    const samara_status status = samara_model_output_info(model_, function_, index, &info);
    if (status != SAMARA_OK) SAMARA_HPP_FAIL(detail::at(status, "the session", "no such output"));
    return info;
  }
  /* The index of an input or output. Error if there is none of that name. */
  Result<std::size_t> input_index(Port port) const {
    std::size_t index = 0;
    SAMARA_HPP_TRY(find_input(port, &index));
    return index;
  }
  Result<std::size_t> output_index(Port port) const {
    std::size_t index = 0;
    SAMARA_HPP_TRY(find_output(port, &index));
    return index;
  }

  /* Set the shapes of the first inputs, in order: session.resize(Shape(2, 3, 8, 8)). Allocates only
   * if the plan is larger than every earlier one. */
  template <class... Shapes>
  Status resize(const Shapes &...shapes) {
    static_assert(sizeof...(Shapes) > 0, "resize takes a Shape for every input that changes");
    const Shape *all[] = {&shapes...};
    const std::int64_t *dims[sizeof...(Shapes)];
    for (std::size_t i = 0; i < sizeof...(Shapes); i++) {
      samara_tensor_info info;
      if (samara_model_input_info(model_, function_, i, &info) != SAMARA_OK)
        SAMARA_HPP_FAIL(detail::at(SAMARA_BAD_ARGUMENT, "resize", "more shapes than inputs"));
      if (all[i]->rank() != info.rank)
        SAMARA_HPP_FAIL(
            detail::at(SAMARA_BAD_SHAPE, info.name, "the input has another number of dims"));
      dims[i] = all[i]->dims();
    }
    return check(samara_session_resize(get(), dims, sizeof...(Shapes)));
  }

  /* Copy `count` elements into an input: as many as its current shape has. */
  template <class T>
  Status set_input(Port port, const T *values, std::size_t count) {
    std::size_t index = 0;
    SAMARA_HPP_TRY(checked_input<T>(port, &index));
    return check(samara_session_set_input(get(), index, values, count * sizeof(T)));
  }
  /* The same for bytes of any dtype and alignment. */
  Status set_input_bytes(Port port, const void *data, std::size_t size_bytes) {
    std::size_t index = 0;
    SAMARA_HPP_TRY(find_input(port, &index));
    return check(samara_session_set_input(get(), index, data, size_bytes));
  }
  /* Borrow elements for all following runs, until the input is set or the session resized. */
  template <class T>
  Status bind_input(Port port, const T *values, std::size_t count) {
    std::size_t index = 0;
    SAMARA_HPP_TRY(checked_input<T>(port, &index));
    return check(samara_session_bind_input(get(), index, values, count * sizeof(T)));
  }
#if defined(SAMARA_WITH_BIND)
  /* Have all following runs compute an output into the caller's memory. `count` must match its
   * current shape. The memory must stay valid until the output is unbound, or the session resized
   * or destroyed. */
  template <class T>
  Status bind_output(Port port, T *values, std::size_t count) {
    std::size_t index = 0;
    samara_tensor_info info;
    SAMARA_HPP_TRY(find_output(port, &index));
    (void)samara_model_output_info(model_, function_, index, &info);  // found
    SAMARA_HPP_TRY(detail::need_elements<T>(info.dtype, info.name));
    return check(samara_session_bind_output(get(), index, values, count * sizeof(T)));
  }
  Status unbind_output(Port port) {
    std::size_t index = 0;
    SAMARA_HPP_TRY(find_output(port, &index));
    return check(samara_session_bind_output(get(), index, nullptr, 0));
  }
#endif
  /* An input's own buffer, to be filled in place. */
  Result<Tensor> input(Port port) {
    std::size_t index = 0;
    SAMARA_HPP_TRY(find_input(port, &index));
    return tensor([&](samara_tensor *out) { return samara_session_input(get(), index, out); });
  }

  Status run() { return check(samara_session_run(get())); }
  /* Run once on the caller's buffers, as samara_session_run_with. */
  Status run_with(const void *const *inputs, void *const *outputs) {
    return check(samara_session_run_with(get(), inputs, outputs));
  }
  /* An output of the last run. */
  Result<Tensor> output(Port port) const {
    std::size_t index = 0;
    SAMARA_HPP_TRY(find_output(port, &index));
    return tensor([&](samara_tensor *out) { return samara_session_output(get(), index, out); });
  }
  /* Shape and size before a run; no data. */
  Result<Tensor> output_shape(Port port) const {
    std::size_t index = 0;
    SAMARA_HPP_TRY(find_output(port, &index));
    return tensor(
        [&](samara_tensor *out) { return samara_session_output_shape(get(), index, out); });
  }
  /* Stop a run in another thread: its run() throws SAMARA_CANCELLED. Any thread. */
  void cancel() noexcept { samara_session_cancel(get()); }

  std::size_t arena_bytes() const noexcept { return samara_session_arena_bytes(get()); }
  std::size_t total_bytes() const noexcept { return samara_session_total_bytes(get()); }

#if defined(SAMARA_WITH_KEEP)
  Result<Tensor> kept(const char *name) const {
    return tensor([&](samara_tensor *out) { return samara_session_kept(get(), name, out); });
  }
  Status watch(samara_watch_fn each, void *user) {
    return check(samara_session_watch(get(), each, user));
  }
#endif

#if defined(SAMARA_WITH_STATE)
  std::size_t state_count() const noexcept { return samara_session_state_count(get()); }
  const char *state_name(std::size_t index) const noexcept {
    return samara_session_state_name(get(), index);
  }
  /* Shape and size of a variable; no data. */
  Result<Tensor> state_info(const char *name) const {
    return tensor([&](samara_tensor *out) { return samara_session_state_info(get(), name, out); });
  }
  Status state_read(const char *name, void *buffer, std::size_t size_bytes) const {
    return check(samara_session_state_read(get(), name, buffer, size_bytes));
  }
  Status state_write(const char *name, const void *data, std::size_t size_bytes) {
    return check(samara_session_state_write(get(), name, data, size_bytes));
  }
  Status reset() { return check(samara_session_reset(get())); }
#endif

#if defined(SAMARA_WITH_CHECKPOINTS)
  Status save(const samara_writer &writer) const {
    return check(samara_session_state_save(get(), &writer));
  }
  Status load(const samara_reader &reader) {
    return check(samara_session_state_load(get(), &reader));
  }
  Result<std::size_t> saved_bytes() const {
    std::size_t needed = 0;
    SAMARA_HPP_TRY(check(samara_session_state_save_memory(get(), nullptr, 0, &needed)));
    return needed;
  }
  Result<std::size_t> save(void *buffer, std::size_t capacity) const {
    std::size_t needed = 0;
    SAMARA_HPP_TRY(check(samara_session_state_save_memory(get(), buffer, capacity, &needed)));
    return needed;
  }
  Status load(const void *data, std::size_t size_bytes) {
    return check(samara_session_state_load_memory(get(), data, size_bytes));
  }
#endif

#if defined(SAMARA_WITH_PROFILE)
  Status set_profiling(bool on) { return check(samara_session_set_profiling(get(), on)); }
  /* Copies at most `capacity` rows and returns their number. */
  Result<std::size_t> profile(samara_profile_row *rows, std::size_t capacity) const {
    std::size_t count = 0;
    SAMARA_HPP_TRY(check(samara_session_profile(get(), rows, capacity, &count)));
    return count;
  }
#endif

 private:
  Status check(samara_status status) const {
    if (status != SAMARA_OK) SAMARA_HPP_FAIL(Error(status, samara_session_error(get())));
    return SAMARA_HPP_OK;
  }
  template <class Get>
  Result<Tensor> tensor(Get get_tensor) const {
    samara_tensor found;
    SAMARA_HPP_TRY(check(get_tensor(&found)));
    return Tensor(found);
  }
  template <class Info>
  Status find(Port port, const char *what, std::size_t count, Info get_info,
              std::size_t *index) const {
    samara_tensor_info info;
    for (*index = port.index(); port.name() == nullptr || *index < count; ++*index)
      if (port.name() == nullptr || (get_info(model_, function_, *index, &info) == SAMARA_OK &&
                                     detail::is(info.name, port.name())))
        return SAMARA_HPP_OK;
    SAMARA_HPP_FAIL(detail::at(SAMARA_NOT_FOUND, port.name(), what));
  }
  Status find_input(Port port, std::size_t *index) const {
    return find(port, "there is no such input", input_count(), samara_model_input_info, index);
  }
  Status find_output(Port port, std::size_t *index) const {
    return find(port, "there is no such output", output_count(), samara_model_output_info, index);
  }
  template <class T>
  Status checked_input(Port port, std::size_t *index) const {
    samara_tensor_info info;
    SAMARA_HPP_TRY(find_input(port, index));
    if (samara_model_input_info(model_, function_, *index, &info) != SAMARA_OK)
      SAMARA_HPP_FAIL(detail::at(SAMARA_BAD_ARGUMENT, "the session", "no such input"));
    return detail::need_elements<T>(info.dtype, info.name);
  }
  const samara_model *model_ = nullptr;
  const char *function_ = nullptr;
  std::unique_ptr<samara_session, detail::Close> session_;
};

SAMARA_HPP_END
}  // namespace samara

#endif /* SAMARA_SAMARA_HPP_ */
