// SPDX-License-Identifier: Apache-2.0
// Pictures in PPM (P6) and PGM (P5) files of 8 bits, for tasks.
#ifndef SAMARA_EXAMPLES_PICTURES_H_
#define SAMARA_EXAMPLES_PICTURES_H_

#include "tasks.h"

// `image` points into `file`; release that with free().
struct picture {
  struct bytes file;
  samara_image image;
};

// Read the number at *at, after white space and comments, and advance *at; 0 if there is none.
static inline uint32_t ppm_number(const struct bytes *file, size_t *at) {
  uint32_t number = 0;
  for (bool comment = false; *at < file->count; ++*at) {
    const unsigned char c = file->data[*at];
    comment = comment ? c != '\n' : c == '#';
    if (!comment && strchr(" \t\r\n", c) == NULL) break;
  }
  for (; *at < file->count && number < 100000; ++*at) {
    const unsigned char c = file->data[*at];
    if (c < '0' || c > '9') break;
    number = 10 * number + (uint32_t)(c - '0');
  }
  return number;
}

static inline int read_picture(const char *path, struct picture *out) {
  if (read_bytes(path, &out->file) != 0) return 1;
  const struct bytes *file = &out->file;
  const unsigned char kind = file->count > 2 && file->data[0] == 'P' ? file->data[1] : 0;
  const size_t channels = kind == '6' ? 3 : kind == '5' ? 1 : 0;
  size_t at = 2;
  const uint32_t width = ppm_number(file, &at), height = ppm_number(file, &at);
  const uint32_t largest = ppm_number(file, &at);
  at++;  // a single white space
  const char *fault = NULL;
  if (channels == 0 || largest != 255)
    fault = "is no PPM file of 8 bits (P6 or P5); convert it: magick in.jpg -depth 8 out.ppm";
  else if (width < 1 || height < 1 || width > SAMARA_MAX_SIDE || height > SAMARA_MAX_SIDE)
    fault = "has sides outside 1..16384 pixels";
  else if (at > file->count || file->count - at < (size_t)width * height * channels)
    fault = "is cut off";
  if (fault != NULL) {
    free(file->data);
    return fail(path, fault);
  }
  out->image = (samara_image){.struct_size = sizeof out->image,
                              .format = channels == 3 ? SAMARA_RGB : SAMARA_GRAY,
                              .width = width,
                              .height = height};
  out->image.planes[0] = (samara_plane){.data = file->data + at, .size_bytes = file->count - at};
  return 0;
}

// Crop to the middle `width` by `height` pixels; a smaller picture is unchanged.
static inline void crop_middle(samara_image *image, uint32_t width, uint32_t height) {
  if (width > image->width || height > image->height) return;
  image->crop_x = (image->width - width) / 2, image->crop_width = width;
  image->crop_y = (image->height - height) / 2, image->crop_height = height;
}

// uint8 pixels [height, width, 3] of RGB.
static inline int write_ppm(const char *path, const unsigned char *rgb, uint32_t width,
                            uint32_t height) {
  FILE *file = fopen(path, "wb");
  if (file == NULL) return fail(path, "cannot be written");
  const size_t count = (size_t)3 * width * height;
  fprintf(file, "P6\n%lu %lu\n255\n", (unsigned long)width, (unsigned long)height);
  const size_t written = fwrite(rgb, 1, count, file);
  return fclose(file) == 0 && written == count ? 0 : fail(path, "cannot be written");
}

// The uint8 tensor, with one or three channels, that samara_preprocess makes of the picture.
// Release it with free(). On failure prints an error and returns NULL.
static inline unsigned char *bytes_of(const samara_image_record *record, const samara_image *image,
                                      int64_t shape[SAMARA_MAX_RANK]) {
  samara_error error;
  int32_t rank = 0;
  size_t count = 1;
  unsigned char *made = NULL;
  if (samara_preprocess_shape(record, image, shape, &rank, &error) == SAMARA_OK) {
    for (int32_t i = 0; i < rank; i++) count *= (size_t)shape[i];
    made = malloc(count);
    if (made == NULL) snprintf(error.text, sizeof error.text, "out of memory");
  }
  if (made != NULL &&
      samara_preprocess(record, image, NULL, NULL, made, count, &error) != SAMARA_OK) {
    free(made);
    made = NULL;
  }
  if (made == NULL) fail("picture", error.text);
  return made;
}

#endif  // SAMARA_EXAMPLES_PICTURES_H_
