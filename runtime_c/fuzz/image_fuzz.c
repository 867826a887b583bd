// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes as a picture and a record, through samara_preprocess_shape and
// samara_preprocess.
//
// tools/make_corpus.py documents the layout of an input: the fields of both, then the samples.
// Planes are allocated with exactly the bytes they claim, and structs with their struct_size, so
// that a sanitizer sees every read outside. Inputs that would take long are skipped.
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <samara/samara_media.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
  IMAGE_PLANE_BYTES = 1 << 16,
  IMAGE_BLOCK_BYTES = 1 << 22,   // largest allocation
  IMAGE_TENSOR_BYTES = 1 << 18,  // largest tensor
  IMAGE_WORK = 1 << 20,          // most taps of source rows: a few milliseconds
};

// Bits of the first byte.
enum {
  IMAGE_EXACT = 1,    // a plane's size is given relative to the bytes that it needs
  IMAGE_TWINS = 2,    // the third plane begins one byte after the second one
  IMAGE_SIZED = 4,    // struct_size differs from the struct's size
  IMAGE_RAW = 8,      // enums are any 32 bits
  IMAGE_TURNED = 16,  // the rotation counts quarter turns
};

static void image_need(bool condition) {
  if (!condition) abort();
}

// ---- input ----

struct image_reader {
  const uint8_t *data;
  size_t size;
};

// The next bytes as a number; 0 after the end.
static uint32_t image_take(struct image_reader *in, size_t bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < bytes && in->size > 0; i++, in->data++, in->size--)
    value |= (uint32_t)*in->data << (8 * i);
  return value;
}

static float image_take_float(struct image_reader *in) {
  const uint32_t bits = image_take(in, 4);
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint32_t image_take_code(struct image_reader *in, uint32_t flags) {
  return image_take(in, (flags & IMAGE_RAW) != 0 ? 4 : 1);
}

static samara_image_record image_take_record(struct image_reader *in, uint32_t flags) {
  samara_image_record r = {.struct_size = sizeof r};
  r.colour = (samara_colour)image_take_code(in, flags);
  r.dtype = (samara_dtype)image_take_code(in, flags);
  r.layout = (samara_image_layout)image_take_code(in, flags);
  r.filter = (samara_image_filter)image_take_code(in, flags);
  r.resize = (samara_image_resize)image_take_code(in, flags);
  r.matrix = (samara_yuv_matrix)image_take_code(in, flags);
  r.range = (samara_yuv_range)image_take_code(in, flags);
  const uint32_t bits = image_take(in, 1);
  r.antialias = bits % 2 != 0, r.normalize = bits / 2 % 2 != 0;
  r.resize_width = image_take(in, 2), r.resize_height = image_take(in, 2);
  r.crop_width = image_take(in, 2), r.crop_height = image_take(in, 2);
  for (int c = 0; c < 3; c++) {
    r.fill[c] = (uint8_t)image_take(in, 1);
    r.mean[c] = image_take_float(in), r.scale[c] = image_take_float(in);
  }
  r.quant_scale = image_take_float(in);
  r.quant_zero = (int16_t)image_take(in, 2);
  return r;
}

static samara_image image_take_image(struct image_reader *in, uint32_t flags) {
  samara_image i = {.struct_size = sizeof i};
  i.format = (samara_image_format)image_take_code(in, flags);
  i.matrix = (samara_yuv_matrix)image_take_code(in, flags);
  i.range = (samara_yuv_range)image_take_code(in, flags);
  i.mirror = image_take(in, 1) % 2 != 0;
  i.width = image_take(in, 2), i.height = image_take(in, 2);
  i.crop_x = image_take_code(in, flags), i.crop_y = image_take_code(in, flags);
  i.crop_width = image_take_code(in, flags), i.crop_height = image_take_code(in, flags);
  i.rotation = image_take(in, 2);
  if ((flags & IMAGE_TURNED) != 0) i.rotation = i.rotation % 4 * 90;
  return i;
}

// ---- planes ----

// Bytes that a picture's plane needs; 0 if they are too many.
static size_t image_needed(const samara_image *image, int plane) {
  static const size_t pixel[] = {0, 3, 3, 4, 4, 1, 1, 1, 1};
  if (image->format < SAMARA_RGB || image->format > SAMARA_I420) return 0;
  const bool colours = plane > 0, pairs = image->format != SAMARA_I420;
  const size_t bytes = !colours ? pixel[image->format] : pairs ? 2 : 1;
  const size_t width = colours ? (image->width + 1) / 2 : image->width;
  const size_t height = colours ? (image->height + 1) / 2 : image->height;
  const samara_plane *p = &image->planes[plane];
  const size_t step = p->pixel_stride != 0 ? p->pixel_stride : bytes;
  const size_t row = p->row_stride != 0 ? p->row_stride : step * width;
  if (width == 0 || height == 0 || step > UINT16_MAX || row > UINT16_MAX) return 0;
  const size_t needed = (height - 1) * row + (width - 1) * step + bytes;
  return needed <= IMAGE_PLANE_BYTES ? needed : 0;
}

static void image_take_planes(struct image_reader *in, uint32_t flags, samara_image *image) {
  for (int k = 0; k < 3; k++) {
    samara_plane *p = &image->planes[k];
    p->pixel_stride = image_take(in, 1), p->row_stride = image_take(in, 2);
    const uint32_t size = image_take(in, 2);
    if (p->pixel_stride == UINT8_MAX) p->pixel_stride = SIZE_MAX / (size + 1);
    if (p->row_stride == UINT16_MAX) p->row_stride = SIZE_MAX / (size + 1);
    p->size_bytes = size;
    if ((flags & IMAGE_EXACT) == 0) continue;
    p->size_bytes = image_needed(image, k) + (size_t)(int8_t)size;
    if (p->size_bytes > IMAGE_PLANE_BYTES) p->size_bytes = 0;
  }
  if ((flags & IMAGE_TWINS) == 0) return;
  if ((flags & IMAGE_EXACT) != 0) image->planes[1].size_bytes++;  // room for both
  image->planes[2] = image->planes[1];
}

// Allocate the planes; NULL for an empty plane.
static void image_make_planes(const struct image_reader *in, uint32_t flags, samara_image *image,
                              uint8_t *blocks[3]) {
  for (int k = 0; k < 3; k++) {
    samara_plane *p = &image->planes[k];
    blocks[k] = NULL;
    if (k == 2 && (flags & IMAGE_TWINS) != 0 && p->size_bytes > 0) {
      p->data = blocks[1] + 1, p->size_bytes--;
      continue;
    }
    if (p->size_bytes == 0) continue;
    image_need((blocks[k] = (uint8_t *)malloc(p->size_bytes)) != NULL);
    for (size_t i = 0; i < p->size_bytes; i++)
      blocks[k][i] = in->size != 0 ? in->data[(i * 5 + (size_t)k) % in->size] : (uint8_t)(i * 37);
    p->data = blocks[k];
  }
}

// Copy a struct into an allocation of exactly its claimed size.
static void *image_sized(const void *given, size_t bytes, size_t claimed, uint8_t tail) {
  const size_t least = claimed > sizeof claimed ? claimed : sizeof claimed;
  uint8_t *block = (uint8_t *)malloc(least);
  image_need(block != NULL);
  memset(block, tail, least);
  memcpy(block, given, bytes < least ? bytes : least);
  memcpy(block, &claimed, sizeof claimed);
  return block;
}

// ---- memory ----

struct image_memory {
  size_t live;
  uint8_t fill;  // differs between two runs, so that reads of unwritten bytes show
};

static void *image_allocate(void *user, size_t size_bytes) {
  struct image_memory *memory = (struct image_memory *)user;
  void *block = NULL;
  if (size_bytes > IMAGE_BLOCK_BYTES || posix_memalign(&block, 64, size_bytes) != 0) return NULL;
  memset(block, memory->fill, size_bytes);
  memory->live++;
  return block;
}

static void image_release(void *user, void *block) {
  struct image_memory *memory = (struct image_memory *)user;
  if (block != NULL) memory->live--;
  free(block);
}

// ---- one picture ----

// Compute the tensor, `shift` bytes into an allocation; NULL if memory is short.
static uint8_t *image_run(const samara_image_record *record, const samara_image *image,
                          size_t bytes, size_t shift, uint8_t fill) {
  struct image_memory memory = {.fill = fill};
  const samara_allocator allocator = {
      .allocate = image_allocate, .release = image_release, .user = &memory};
  uint8_t *block = (uint8_t *)malloc(bytes + shift);
  image_need(block != NULL);
  memset(block, fill, bytes + shift);
  samara_error error;
  const samara_status status =
      samara_preprocess(record, image, NULL, &allocator, block + shift, bytes, &error);
  image_need(memory.live == 0);
  image_need(status == SAMARA_OK || status == SAMARA_OUT_OF_MEMORY);
  if (status == SAMARA_OK) return block;
  for (size_t i = 0; i < bytes + shift; i++) image_need(block[i] == fill);
  free(block);
  return NULL;
}

static bool image_is_small(const samara_image_record *record, const samara_image *image,
                           const int64_t *shape, int32_t rank, size_t *bytes) {
  const bool last = record->layout == SAMARA_NHWC || record->layout == SAMARA_HWC;
  const size_t height = (size_t)shape[last ? rank - 3 : rank - 2];
  const size_t width = (size_t)shape[last ? rank - 2 : rank - 1];
  const size_t side = image->width > image->height ? image->width : image->height;
  *bytes = record->dtype == SAMARA_FLOAT32 ? 4 : record->dtype == SAMARA_FLOAT16 ? 2 : 1;
  for (int32_t axis = 0; axis < rank; axis++) *bytes *= (size_t)shape[axis];
  return *bytes <= IMAGE_TENSOR_BYTES && (side + 2 * height) * (side + 2 * width) <= IMAGE_WORK;
}

// The struct as the library reads it: fields after the `claimed` bytes are 0.
static void image_known(void *own, size_t bytes, const void *given, size_t claimed) {
  memset(own, 0, bytes);
  memcpy(own, given, claimed < bytes ? claimed : bytes);
}

static void image_one(const samara_image_record *record, const samara_image *image,
                      const size_t sizes[2], size_t shift) {
  int64_t shape[SAMARA_MAX_RANK];
  int32_t rank = -1;
  size_t bytes;
  samara_error error = {SAMARA_OK, ""};
  const samara_status status = samara_preprocess_shape(record, image, shape, &rank, &error);
  if (status != SAMARA_OK) {
    uint8_t out = 77;
    image_need(rank == -1 && error.status == status && error.text[0] != '\0');
    image_need(samara_preprocess(record, image, NULL, NULL, &out, 1, NULL) == status && out == 77);
    return;
  }
  samara_image_record known_record;
  samara_image known_image;
  image_known(&known_record, sizeof known_record, record, sizes[0]);
  image_known(&known_image, sizeof known_image, image, sizes[1]);
  image_need(rank >= 2 && rank <= 4);
  if (!image_is_small(&known_record, &known_image, shape, rank, &bytes)) return;
  uint8_t *one = image_run(record, image, bytes, 0, 0);
  uint8_t *two = image_run(record, image, bytes, shift, 0xff);
  image_need((one != NULL) == (two != NULL) || shift % 4 != 0);
  if (one != NULL && two != NULL) image_need(memcmp(one, two + shift, bytes) == 0);
  free(one), free(two);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct image_reader in = {data, size};
  const uint32_t flags = image_take(&in, 1), shift = image_take(&in, 1) % 8;
  const samara_image_record record = image_take_record(&in, flags);
  samara_image image = image_take_image(&in, flags);
  uint8_t *blocks[3];
  image_take_planes(&in, flags, &image);
  size_t sizes[2] = {sizeof record, sizeof image};
  for (int k = 0; k < 2 && (flags & IMAGE_SIZED) != 0; k++) sizes[k] = image_take(&in, 1);
  const uint8_t tail = (uint8_t)((flags & IMAGE_SIZED) != 0 ? image_take(&in, 1) : 0);
  image_make_planes(&in, flags, &image, blocks);
  void *given_record = image_sized(&record, sizeof record, sizes[0], tail);
  void *given_image = image_sized(&image, sizeof image, sizes[1], tail);
  image_one((const samara_image_record *)given_record, (const samara_image *)given_image, sizes,
            shift);
  free(given_record), free(given_image);
  for (int k = 0; k < 3; k++) free(blocks[k]);
  return 0;
}
