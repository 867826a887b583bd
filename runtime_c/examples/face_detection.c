// SPDX-License-Identifier: Apache-2.0
// Faces in a picture: the file's records say how the picture becomes the input, and what boxes the
// outputs are. examples/face_detection.py makes the model file and gives the same boxes.
//
//   face_detection MODEL.samara PICTURE.ppm [OUT.ppm]
#include "pictures.h"

static const float line = 2;  // pixels

// Draw a horizontal or vertical line, x0..x1 by y0..y1, clipped to the picture.
static void fill(unsigned char *rgb, const samara_image *image, float x0, float y0, float x1,
                 float y1) {
  static const unsigned char green[] = {0, 255, 0};
  for (uint32_t y = y0 > 0 ? (uint32_t)y0 : 0; y < image->height && (float)y < y1; y++)
    for (uint32_t x = x0 > 0 ? (uint32_t)x0 : 0; x < image->width && (float)x < x1; x++)
      memcpy(rgb + 3 * ((size_t)y * image->width + x), green, sizeof green);
}

static void draw(unsigned char *rgb, const samara_image *image, const samara_box *b) {
  fill(rgb, image, b->x0, b->y0, b->x1, b->y0 + line);
  fill(rgb, image, b->x0, b->y1 - line, b->x1, b->y1);
  fill(rgb, image, b->x0, b->y0, b->x0 + line, b->y1);
  fill(rgb, image, b->x1 - line, b->y0, b->x1, b->y1);
}

static int save(const char *path, const samara_image *image, const samara_answer *faces) {
  const samara_image_record record = {.struct_size = sizeof record,
                                      .colour = SAMARA_COLOUR_RGB,
                                      .dtype = SAMARA_UINT8,
                                      .layout = SAMARA_HWC};
  int64_t shape[SAMARA_MAX_RANK];
  unsigned char *rgb = bytes_of(&record, image, shape);
  if (rgb == NULL) return 1;
  for (size_t i = 0; i < faces->count; i++) draw(rgb, image, &faces->boxes[i]);
  const int result = write_ppm(path, rgb, image->width, image->height);
  free(rgb);
  return result;
}

static int detect(struct net *net, const char *model, const samara_image *image, const char *out) {
  samara_session *session = net->session;
  samara_answer faces = {.struct_size = sizeof faces};
  if (samara_model_answer_kind(net->model, NULL) != SAMARA_BOXES)
    return fail(model, "does not say that its outputs are boxes");
  if (samara_session_set_image(session, 0, image) != SAMARA_OK ||
      samara_session_run(session) != SAMARA_OK ||
      samara_session_answer(session, &faces) != SAMARA_OK)
    return fail("faces", samara_session_error(session));
  for (size_t i = 0; i < faces.count; i++) {
    const samara_box *b = &faces.boxes[i];
    printf("%s %.9g from %.9g,%.9g to %.9g,%.9g\n", b->label != NULL ? b->label : "face",
           (double)b->score, (double)b->x0, (double)b->y0, (double)b->x1, (double)b->y1);
  }
  return out != NULL ? save(out, image, &faces) : 0;
}

int main(int argc, char **argv) {
  if (argc < 3 || argc > 4)
    return fail("usage", "face_detection MODEL.samara PICTURE.ppm [OUT.ppm]");
  struct net net;
  struct picture picture;
  if (open_net(argv[1], &net) != 0) return 1;
  int result = read_picture(argv[2], &picture);
  if (result == 0) {
    result = detect(&net, argv[1], &picture.image, argc == 4 ? argv[3] : NULL);
    free(picture.file.data);
  }
  close_net(&net);
  return result;
}
