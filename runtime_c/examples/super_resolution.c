// SPDX-License-Identifier: Apache-2.0
// Enlarges the middle of a picture three times: a net computes the luma, and colours are resized.
// examples/super_resolution.py makes the model file and the same picture.
//
//   super_resolution MODEL.samara PICTURE.ppm OUT.ppm
#include "pictures.h"

#include <math.h>

// The luma of an RGB pixel: gray in docs/guides/preprocessing.md.
static int brightness(const unsigned char *p) {
  return (19595 * p[0] + 38470 * p[1] + 7471 * p[2] + 32768) >> 16;
}

static unsigned char clipped(int v) { return (unsigned char)(v < 0 ? 0 : v > 255 ? 255 : v); }

// Set each pixel to the net's luma, 0..1, by adding the same value to all channels, which keeps Cb
// and Cr.
static void brighten(unsigned char *rgb, const float *net, size_t count) {
  for (size_t i = 0; i < count; i++, rgb += 3) {
    const float y = net[i] > 0.0f ? net[i] < 1.0f ? net[i] : 1.0f : 0.0f;
    const int more = (int)lrintf(y * 255.0f) - brightness(rgb);
    for (int c = 0; c < 3; c++) rgb[c] = clipped(rgb[c] + more);
  }
}

static int enlarge(samara_session *session, samara_image *image, const char *path) {
  samara_tensor input, output;
  if (samara_session_input(session, 0, &input) != SAMARA_OK || input.rank != 4)
    return fail("model", "its input is no picture");
  crop_middle(image, (uint32_t)input.shape[3], (uint32_t)input.shape[2]);
  if (samara_session_set_image(session, 0, image) != SAMARA_OK ||
      samara_session_run(session) != SAMARA_OK ||
      samara_session_output(session, 0, &output) != SAMARA_OK)
    return fail("picture", samara_session_error(session));
  if (output.rank != 4 || output.shape[1] != 1 || output.dtype != SAMARA_FLOAT32)
    return fail("model", "its output is no brightness");
  const samara_image_record record = {.struct_size = sizeof record,
                                      .colour = SAMARA_COLOUR_RGB,
                                      .dtype = SAMARA_UINT8,
                                      .layout = SAMARA_HWC,
                                      .resize = SAMARA_RESIZE_SIZE,
                                      .resize_width = (uint32_t)output.shape[3],
                                      .resize_height = (uint32_t)output.shape[2]};
  int64_t shape[SAMARA_MAX_RANK];
  unsigned char *rgb = bytes_of(&record, image, shape);
  if (rgb == NULL) return 1;
  brighten(rgb, output.data, (size_t)(shape[0] * shape[1]));
  const int result = write_ppm(path, rgb, record.resize_width, record.resize_height);
  free(rgb);
  if (result == 0)
    printf("%lux%lu pixels to %lux%lu\n", (unsigned long)input.shape[3],
           (unsigned long)input.shape[2], (unsigned long)shape[1], (unsigned long)shape[0]);
  return result;
}

int main(int argc, char **argv) {
  if (argc != 4) return fail("usage", "super_resolution MODEL.samara PICTURE.ppm OUT.ppm");
  struct net net;
  struct picture picture;
  if (open_net(argv[1], &net) != 0) return 1;
  int result = read_picture(argv[2], &picture);
  if (result == 0) {
    result = enlarge(net.session, &picture.image, argv[3]);
    free(picture.file.data);
  }
  close_net(&net);
  return result;
}
