// SPDX-License-Identifier: Apache-2.0
// The arithmetic of docs/guides/preprocessing.md, slowly.
#include "base/fp.h"

#include "media/image_naive.h"

#include <stdlib.h>

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0)); }

static int64_t rne(int64_t a, int64_t b) {
  const int64_t low = a / b, twice = 2 * (a % b);
  return low + (twice > b || (twice == b && low % 2 == 1));
}

static int clip(int64_t x) { return x < 0 ? 0 : x > 255 ? 255 : (int)x; }

// ---- steps 1 and 2 ----

static int oriented_width(const samara_image *i) {
  return (int)(i->rotation % 180 == 0 ? i->crop_width : i->crop_height);
}
static int oriented_height(const samara_image *i) {
  return (int)(i->rotation % 180 == 0 ? i->crop_height : i->crop_width);
}

// Where pixel (x, y) of the oriented picture is in the caller's.
static void place(const samara_image *i, int x, int y, int *sx, int *sy) {
  const int w = (int)i->crop_width, h = (int)i->crop_height;
  if (i->mirror) x = oriented_width(i) - 1 - x;
  int px = x, py = y;
  if (i->rotation == 90) px = y, py = h - 1 - x;
  if (i->rotation == 180) px = w - 1 - x, py = h - 1 - y;
  if (i->rotation == 270) px = w - 1 - y, py = x;
  *sx = px + (int)i->crop_x, *sy = py + (int)i->crop_y;
}

static int byte_at(const samara_image *i, int plane, int x, int y, int byte) {
  const samara_plane *p = &i->planes[plane];
  return ((const uint8_t *)
              p->data)[(size_t)y * p->row_stride + (size_t)x * p->pixel_stride + (size_t)byte];
}

static void yuv(const samara_image *i, int x, int y, int *out) {
  out[0] = byte_at(i, 0, x, y, 0);
  const int planar = i->format == SAMARA_I420, vu = i->format == SAMARA_NV21;
  out[1] = byte_at(i, 1, x / 2, y / 2, vu ? 1 : 0);
  out[2] = byte_at(i, planar ? 2 : 1, x / 2, y / 2, planar || vu ? 0 : 1);
}

static int colour_of(const samara_image *i, int c, int x, int y) {
  static const int64_t factors[4][5] = {
      {76309, 104597, -25675, -53279, 132201},
      {65536, 91881, -22553, -46802, 116130},
      {76309, 117489, -13975, -34925, 138438},
      {65536, 103206, -12276, -30679, 121609},
  };
  if (i->format == SAMARA_GRAY) return byte_at(i, 0, x, y, 0);
  if (i->format == SAMARA_RGB || i->format == SAMARA_RGBA) return byte_at(i, 0, x, y, c);
  if (i->format == SAMARA_BGR || i->format == SAMARA_BGRA) return byte_at(i, 0, x, y, 2 - c);
  const int full = i->range == SAMARA_FULL_RANGE;
  const int64_t *f = factors[(i->matrix == SAMARA_BT709 ? 2 : 0) + full];
  int v[3];
  yuv(i, x, y, v);
  const int64_t light = f[0] * (v[0] - (full ? 0 : 16)), du = v[1] - 128, dv = v[2] - 128;
  const int64_t sum = c == 0   ? light + f[1] * dv
                      : c == 1 ? light + f[2] * du + f[3] * dv
                      : c == 2 ? light + f[4] * du
                               : light;
  return clip(floor_div(sum + 32768, 65536));
}

// Channel c of the record at (x, y) of the oriented picture.
static int pixel(const samara_image_record *r, const samara_image *i, int c, int x, int y) {
  int sx, sy;
  place(i, x, y, &sx, &sy);
  if (r->colour == SAMARA_COLOUR_RGB) return colour_of(i, c, sx, sy);
  if (r->colour == SAMARA_COLOUR_BGR) return colour_of(i, 2 - c, sx, sy);
  if (i->format == SAMARA_GRAY) return colour_of(i, 0, sx, sy);
  if (i->format >= SAMARA_NV21) return colour_of(i, 3, sx, sy);
  return (19595 * colour_of(i, 0, sx, sy) + 38470 * colour_of(i, 1, sx, sy) +
          7471 * colour_of(i, 2, sx, sy) + 32768) >>
         16;
}

// ---- step 3 ----

struct sizes {
  int64_t rw, rh, width, height, from_x, from_y, left, top;
};

static struct sizes sizes_of(const samara_image_record *r, const samara_image *i) {
  const int64_t ow = oriented_width(i), oh = oriented_height(i);
  const int64_t w = r->resize_width, h = r->resize_height;
  struct sizes s = {.rw = ow, .rh = oh};
  if (r->resize == SAMARA_RESIZE_SIZE) s.rw = w, s.rh = h;
  if (r->resize == SAMARA_RESIZE_SIDE && ow <= oh) s.rw = w, s.rh = w * oh / ow;
  if (r->resize == SAMARA_RESIZE_SIDE && ow > oh) s.rh = w, s.rw = w * ow / oh;
  if (r->resize == SAMARA_RESIZE_LETTERBOX && ow * h >= oh * w) s.rw = w, s.rh = rne(oh * w, ow);
  if (r->resize == SAMARA_RESIZE_LETTERBOX && ow * h < oh * w) s.rh = h, s.rw = rne(ow * h, oh);
  if (s.rw < 1) s.rw = 1;
  if (s.rh < 1) s.rh = 1;
  s.width = s.rw, s.height = s.rh;
  if (r->resize == SAMARA_RESIZE_LETTERBOX) {
    s.width = w, s.height = h, s.left = (w - s.rw) / 2, s.top = (h - s.rh) / 2;
  } else if (r->crop_width != 0) {
    s.width = r->crop_width, s.height = r->crop_height;
    s.from_x = rne(s.rw - s.width, 2), s.from_y = rne(s.rh - s.height, 2);
  }
  return s;
}

void naive_size(const samara_image_record *record, const samara_image *image, int *width,
                int *height) {
  const struct sizes s = sizes_of(record, image);
  *width = (int)s.width, *height = (int)s.height;
}

// ---- steps 4 and 5 ----

static int64_t raw(const samara_image_record *r, int64_t n, int64_t m, int64_t d, int64_t i) {
  if (r->filter == SAMARA_NEAREST) return i == (2 * d + 1) * n / (2 * m);
  if (r->filter == SAMARA_AREA) {
    const int64_t a = i * m > d * n ? i * m : d * n;
    const int64_t b = (i + 1) * m < (d + 1) * n ? (i + 1) * m : (d + 1) * n;
    return b > a ? b - a : 0;
  }
  if (r->antialias && m < n) {
    const int64_t away = llabs((2 * i + 1) * m - (2 * d + 1) * n);
    return away < 2 * n ? 2 * n - away : 0;
  }
  const int64_t t = (2 * d + 1) * n - m, at = floor_div(t, 2 * m), rest = t - at * 2 * m;
  const int64_t a = at < 0 ? 0 : at, b = at + 1 > n - 1 ? n - 1 : at + 1;
  return (i == a ? 2 * m - rest : 0) + (i == b ? rest : 0);
}

// The weight of old pixel i, given the sum of the raw weights before it and of all.
static int64_t weight(int64_t before, int64_t own, int64_t all) {
  return (32768 * (before + own) + all) / (2 * all) - (32768 * before + all) / (2 * all);
}

static int64_t sum_of(const samara_image_record *r, int64_t n, int64_t m, int64_t d) {
  int64_t all = 0;
  for (int64_t i = 0; i < n; i++) all += raw(r, n, m, d, i);
  return all;
}

int naive_value(const samara_image_record *record, const samara_image *image, int channel, int y,
                int x) {
  const struct sizes s = sizes_of(record, image);
  const int64_t dx = x - s.left + s.from_x, dy = y - s.top + s.from_y;
  if (x < s.left || y < s.top || dx >= s.rw || dy >= s.rh) return -1;
  const int64_t ow = oriented_width(image), oh = oriented_height(image);
  const int64_t all_x = sum_of(record, ow, s.rw, dx), all_y = sum_of(record, oh, s.rh, dy);
  int64_t v = 1 << 20, before_y = 0;
  for (int64_t j = 0; j < oh; j++) {
    const int64_t own_y = raw(record, oh, s.rh, dy, j);
    const int64_t wy = weight(before_y, own_y, all_y);
    before_y += own_y;
    if (wy == 0) continue;
    int64_t h = 64, before_x = 0;
    for (int64_t i = 0; i < ow; i++) {
      const int64_t own_x = raw(record, ow, s.rw, dx, i);
      const int64_t wx = weight(before_x, own_x, all_x);
      before_x += own_x;
      if (wx != 0) h += wx * pixel(record, image, channel, (int)i, (int)j);
    }
    v += wy * (h >> 7);
  }
  return (int)(v >> 21);
}

void naive_weights(const samara_image_record *record, int64_t from, int64_t to, int64_t d,
                   int64_t *weights) {
  const int64_t all = sum_of(record, from, to, d);
  int64_t before = 0;
  for (int64_t i = 0; i < from; i++) {
    const int64_t own = raw(record, from, to, d, i);
    weights[i] = weight(before, own, all);
    before += own;
  }
}
