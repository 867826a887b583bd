// SPDX-License-Identifier: Apache-2.0
// Digits in a photograph of handwriting, dark on light paper, side by side: the light is evened
// out, columns without ink separate the digits, and the net reads each in a square of white paper.
// examples/handwritten_digits.py makes the model file and reads the same.
//
//   handwritten_digits MODEL.samara PICTURE.ppm
#include "pictures.h"

enum { INK = 64 };  // darker is ink; paper is 255

// Gray pixels, as they come from samara_preprocess.
struct sheet {
  unsigned char *gray;
  uint32_t width, height;
};

struct part {
  uint32_t x0, y0, x1, y1;
};

static samara_image image_of(const struct sheet *s) {
  samara_image image = {
      .struct_size = sizeof image, .format = SAMARA_GRAY, .width = s->width, .height = s->height};
  image.planes[0].data = s->gray, image.planes[0].size_bytes = (size_t)s->width * s->height;
  return image;
}

static int made(samara_image_record record, const samara_image *image, struct sheet *out) {
  int64_t shape[SAMARA_MAX_RANK];
  record.struct_size = sizeof record, record.colour = SAMARA_COLOUR_GRAY;
  record.dtype = SAMARA_UINT8, record.layout = SAMARA_HW;
  out->gray = bytes_of(&record, image, shape);
  if (out->gray == NULL) return 1;
  out->height = (uint32_t)shape[0], out->width = (uint32_t)shape[1];
  return 0;
}

// Even out the light. The mean over large cells is the brightness of the paper, because ink covers
// little of it. Half that brightness becomes 0, full brightness 255.
static int clean(const samara_image *photo, struct sheet *out) {
  struct sheet cells = {0}, light = {0};
  int result = made((samara_image_record){0}, photo, out);
  if (result != 0) return result;
  result = made(
      (samara_image_record){.filter = SAMARA_AREA, .resize = SAMARA_RESIZE_SIDE, .resize_width = 5},
      photo, &cells);
  if (result == 0) {
    const samara_image small = image_of(&cells);
    result = made(
        (samara_image_record){
            .resize = SAMARA_RESIZE_SIZE, .resize_width = out->width, .resize_height = out->height},
        &small, &light);
  }
  for (size_t i = 0; result == 0 && i < (size_t)out->width * out->height; i++) {
    const int v = 510 * out->gray[i] / (light.gray[i] > 0 ? light.gray[i] : 1) - 255;
    out->gray[i] = (unsigned char)(v < 0 ? 0 : v > 255 ? 255 : v);
  }
  free(cells.gray);
  free(light.gray);
  return result;
}

static bool has_ink(const struct sheet *s, uint32_t x0, uint32_t y0, uint32_t x1, uint32_t y1) {
  for (uint32_t y = y0; y < y1; y++)
    for (uint32_t x = x0; x < x1; x++)
      if (s->gray[(size_t)y * s->width + x] < INK) return true;
  return false;
}

// The next digit at or right of out->x1; false if there is none. Skips specks smaller than a tenth
// of the sheet's height.
static bool next_digit(const struct sheet *s, struct part *out) {
  while (out->x1 < s->width) {
    struct part p = {out->x1, 0, 0, s->height};
    while (p.x0 < s->width && !has_ink(s, p.x0, 0, p.x0 + 1, s->height)) p.x0++;
    for (p.x1 = p.x0; p.x1 < s->width && has_ink(s, p.x1, 0, p.x1 + 1, s->height);) p.x1++;
    while (p.y0 < s->height && !has_ink(s, p.x0, p.y0, p.x1, p.y0 + 1)) p.y0++;
    while (p.y1 > p.y0 && !has_ink(s, p.x0, p.y1 - 1, p.x1, p.y1)) p.y1--;
    *out = p;
    if (10 * (p.y1 - p.y0) >= s->height) return true;
  }
  return false;
}

// Centre the digit in a white square, at 20/28 of its side, like the digits of the training data.
static int square_of(const struct sheet *s, const struct part *p, struct sheet *out) {
  const uint32_t width = p->x1 - p->x0, height = p->y1 - p->y0;
  const uint32_t side = (width > height ? width : height) * 7 / 5;
  *out = (struct sheet){malloc((size_t)side * side), side, side};
  if (out->gray == NULL) return fail("digit", "out of memory");
  memset(out->gray, 255, (size_t)side * side);
  const uint32_t left = (side - width) / 2, top = (side - height) / 2;
  for (uint32_t y = 0; y < height; y++)
    memcpy(out->gray + (size_t)(top + y) * side + left,
           s->gray + (size_t)(p->y0 + y) * s->width + p->x0, width);
  return 0;
}

static int read_digit(samara_session *session, const struct sheet *s, const struct part *p) {
  struct sheet square;
  samara_answer answer = {.struct_size = sizeof answer};
  if (square_of(s, p, &square) != 0) return 1;
  const samara_image image = image_of(&square);
  const bool read = samara_session_set_image(session, 0, &image) == SAMARA_OK &&
                    samara_session_run(session) == SAMARA_OK &&
                    samara_session_answer(session, &answer) == SAMARA_OK;
  free(square.gray);
  if (!read) return fail("digit", samara_session_error(session));
  if (answer.kind != SAMARA_CLASSES || answer.count == 0) return fail("model", "names no digits");
  printf("%lu %.9g at %lu,%lu %lux%lu\n", (unsigned long)answer.classes[0].index,
         (double)answer.classes[0].score, (unsigned long)p->x0, (unsigned long)p->y0,
         (unsigned long)(p->x1 - p->x0), (unsigned long)(p->y1 - p->y0));
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 3) return fail("usage", "handwritten_digits MODEL.samara PICTURE.ppm");
  struct net net;
  struct picture photo;
  struct sheet sheet = {0};
  struct part digit = {0};
  if (open_net(argv[1], &net) != 0) return 1;
  int result = read_picture(argv[2], &photo);
  if (result == 0) {
    result = clean(&photo.image, &sheet);
    while (result == 0 && next_digit(&sheet, &digit))
      result = read_digit(net.session, &sheet, &digit);
    free(sheet.gray);
    free(photo.file.data);
  }
  close_net(&net);
  return result;
}
