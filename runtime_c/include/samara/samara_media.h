/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures and sound as inputs, and the meaning of outputs.
 *
 * A model file may hold a record: how a picture becomes an input (docs/guides/preprocessing.md).
 * Then
 *
 *   samara_image frame = {.struct_size = sizeof frame, .format = SAMARA_NV21, .width = 1920,
 *                         .height = 1080, .rotation = 90};
 *   frame.planes[0] = (samara_plane){.data = luma, .size_bytes = luma_bytes};
 *   frame.planes[1] = (samara_plane){.data = chroma, .size_bytes = chroma_bytes};
 *   if (samara_session_set_image(session, 0, &frame) || samara_session_run(session)) ...
 *
 * computes the pixels that the model reads, and no others, directly into the input. The result is
 * the same, bit for bit, on every machine, for any number of threads, in Python and in training.
 */
#ifndef SAMARA_SAMARA_MEDIA_H_
#define SAMARA_SAMARA_MEDIA_H_

#include <samara/samara.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Largest width and height of a picture and of a tensor made from it. */
#define SAMARA_MAX_SIDE 16384

/* ---- pictures ---- */

/* Pixel formats. Codes never change. */
typedef enum samara_image_format {
  SAMARA_RGB = 1,
  SAMARA_BGR = 2,
  SAMARA_RGBA = 3, /* alpha is ignored */
  SAMARA_BGRA = 4,
  SAMARA_GRAY = 5,
  SAMARA_NV21 = 6, /* a plane of Y, a plane of alternating V and U, one pair per 2x2 pixels */
  SAMARA_NV12 = 7, /* a plane of Y, a plane of alternating U and V */
  SAMARA_I420 = 8  /* planes of Y, U and V; a pixel stride of 2 allows interleaved planes, as in
                      Android's YUV_420_888 */
} samara_image_format;

/* Conversion from YUV to RGB. */
typedef enum samara_yuv_matrix { SAMARA_BT601 = 1, SAMARA_BT709 = 2 } samara_yuv_matrix;
typedef enum samara_yuv_range {
  SAMARA_LIMITED_RANGE = 1, /* Y 16..235, U and V 16..240 */
  SAMARA_FULL_RANGE = 2     /* 0..255 */
} samara_yuv_range;

/* A plane of a picture. Only the `size_bytes` bytes at `data` are read. */
typedef struct samara_plane {
  const void *data;
  size_t size_bytes;
  size_t row_stride;   /* bytes from one image row to the next; 0: contiguous */
  size_t pixel_stride; /* bytes from one pixel to the next; 0: contiguous */
} samara_plane;

/* A picture, borrowed for the call that takes it. Set struct_size to sizeof(samara_image). */
typedef struct samara_image {
  size_t struct_size;
  samara_image_format format;
  uint32_t width, height;           /* of the whole picture, in pixels: 1..SAMARA_MAX_SIDE */
  samara_plane planes[3];           /* 2 for NV21 and NV12, 3 for I420, else 1; chroma planes have
                                       (width + 1) / 2 by (height + 1) / 2 samples */
  uint32_t crop_x, crop_y;          /* the region to use, before the rotation */
  uint32_t crop_width, crop_height; /* both 0: the whole picture */
  uint32_t rotation;                /* clockwise, to make it upright: 0, 90, 180 or 270 degrees */
  bool mirror;                      /* flip horizontally, after the rotation */
  samara_yuv_matrix matrix;         /* of YUV; 0: that of the record, else SAMARA_BT601 */
  samara_yuv_range range;           /* 0: that of the record, else SAMARA_LIMITED_RANGE */
} samara_image;

/* ---- records: how a picture becomes a tensor (docs/guides/preprocessing.md) ---- */

/* Order of the tensor's channels. */
typedef enum samara_colour {
  SAMARA_COLOUR_RGB = 1,
  SAMARA_COLOUR_BGR = 2,
  SAMARA_COLOUR_GRAY = 3
} samara_colour;

typedef enum samara_image_layout {
  SAMARA_NCHW = 1,
  SAMARA_NHWC = 2,
  SAMARA_CHW = 3,
  SAMARA_HWC = 4,
  SAMARA_NHW = 5, /* gray only, as SAMARA_HW */
  SAMARA_HW = 6
} samara_image_layout;

typedef enum samara_image_filter {
  SAMARA_BILINEAR = 1,
  SAMARA_NEAREST = 2,
  SAMARA_AREA = 3
} samara_image_filter;

typedef enum samara_image_resize {
  SAMARA_RESIZE_NONE = 0,
  SAMARA_RESIZE_SIDE = 1,     /* the shorter side becomes `resize_width` */
  SAMARA_RESIZE_SIZE = 2,     /* resize_width by resize_height */
  SAMARA_RESIZE_LETTERBOX = 3 /* as large as fits, padded with `fill` */
} samara_image_resize;

/* Set struct_size to sizeof(samara_image_record). */
typedef struct samara_image_record {
  size_t struct_size;
  samara_colour colour;
  samara_dtype dtype; /* SAMARA_FLOAT32, _FLOAT16, _UINT8, _INT8 */
  samara_image_layout layout;
  samara_image_filter filter; /* 0: SAMARA_BILINEAR */
  bool antialias;
  samara_image_resize resize;
  uint32_t resize_width, resize_height;
  uint32_t crop_width, crop_height; /* centred; both 0: no crop */
  uint8_t fill[3];                  /* per channel */
  bool normalize;                   /* y = (x - mean) * scale, else y = x */
  float mean[3], scale[3];          /* per channel */
  float quant_scale;                /* integers: q = y / quant_scale + quant_zero; 0: none */
  int32_t quant_zero;
  samara_yuv_matrix matrix; /* for pictures without one; 0: SAMARA_BT601 */
  samara_yuv_range range;   /* 0: SAMARA_LIMITED_RANGE */
} samara_image_record;

/* The record of input `index` (as in samara_model_input_info) of a function (NULL: the first),
 * including the scale and zero point of a quantized input. The caller sets `out->struct_size`.
 * SAMARA_NOT_FOUND if the input has no record. Any thread. */
SAMARA_API samara_status samara_model_image_record(const samara_model *model, const char *function,
                                                   size_t index, samara_image_record *out);

/* ---- from pictures to tensors ---- */

/* Set input `index` to the tensor that its record makes of `image`. The input must have batch 1 (or
 * no batch axis) and the shape of that tensor: if its height and width are symbolic, resize first.
 *
 * Allocates (from the session's allocator) for the first picture, and when a change of format,
 * size, crop or rotation needs more memory. Uses the session's pool. SAMARA_NOT_FOUND if the input
 * has no record. SAMARA_BAD_ARGUMENT if the picture is inconsistent: a plane too short, a crop
 * outside. SAMARA_UNSUPPORTED for a format that a selective build leaves out. SAMARA_BAD_SHAPE if
 * the record makes another shape than that of the input; the input then keeps its values. */
SAMARA_API samara_status samara_session_set_image(samara_session *session, size_t index,
                                                  const samara_image *image);

/* The shape of the tensor that `record` makes of `image`. `shape` has room for SAMARA_MAX_RANK
 * dims; the first *rank are set. Any thread. */
SAMARA_API samara_status samara_preprocess_shape(const samara_image_record *record,
                                                 const samara_image *image, int64_t *shape,
                                                 int32_t *rank, samara_error *error);
/* Compute that tensor without a model. `size_bytes` must match its shape; `out` may have any
 * alignment. Allocates temporary memory with `allocator` (NULL: malloc). `pool` may be NULL. Any
 * thread. On failure `out` is untouched. */
SAMARA_API samara_status samara_preprocess(const samara_image_record *record,
                                           const samara_image *image, samara_pool *pool,
                                           const samara_allocator *allocator, void *out,
                                           size_t size_bytes, samara_error *error);

/* ---- sound as inputs (docs/guides/preprocessing-audio.md) ---- */

typedef enum samara_audio_kind {
  SAMARA_AUDIO_SAMPLES = 1,
  SAMARA_AUDIO_SPECTRUM = 2,
  SAMARA_AUDIO_MEL = 3,
  SAMARA_AUDIO_LOGMEL = 4,
  SAMARA_AUDIO_MFCC = 5
} samara_audio_kind;

typedef enum samara_audio_window {
  SAMARA_WINDOW_NONE = 0,
  SAMARA_WINDOW_HANN = 1,
  SAMARA_WINDOW_HAMMING = 2,
  SAMARA_WINDOW_POVEY = 3,
  SAMARA_WINDOW_SINE = 4
} samara_audio_window;

typedef enum samara_audio_spectrum {
  SAMARA_SPECTRUM_POWER = 0,
  SAMARA_SPECTRUM_MAGNITUDE = 1,
  SAMARA_SPECTRUM_COMPLEX = 2
} samara_audio_spectrum;

typedef enum samara_audio_log {
  SAMARA_LOG_NATURAL = 0,
  SAMARA_LOG_DECIMAL = 1,
  SAMARA_LOG_DECIBEL = 2
} samara_audio_log;

/* How sound becomes a tensor; docs/guides/preprocessing-audio.md explains the fields. Sizes are in
 * samples, frequencies in hertz. Fields that a kind does not use are 0. */
typedef struct samara_audio_record {
  size_t struct_size; /* set by the caller */
  samara_audio_kind kind;
  samara_dtype dtype; /* of the tensor: float32, float16, uint8, int8 */
  char layout[8];     /* the axes in order, from n, t, f, c; NUL-terminated */
  uint32_t rate, window, hop, fft, lead;
  samara_audio_window shape;
  bool symmetric;
  bool center;
  bool dc;        /* subtract the mean of each audio frame */
  bool wide_unit; /* a full-scale sample counts as 32768, else 1 */
  bool slaney;    /* Slaney's mel scale, else HTK's */
  bool slaney_norm;
  bool mel_triangles; /* filters are triangles in mel, else in hertz */
  bool plain_dct;     /* else orthonormal */
  samara_audio_spectrum spectrum;
  samara_audio_log log;
  float preemphasis, low, high, floor, offset;
  uint32_t bins, first, coefficients, lifter;
  uint32_t frames, step;            /* audio frames of a tensor, and how many of them are new in the
                                       next tensor */
  uint32_t mean_count, scale_count; /* 0, 1, or the values of an audio frame */
  const float *mean, *scale; /* y = (x - mean) * scale. Borrowed; those of a model live as long as
                                the model */
  float quant_scale;         /* integers: real units per step */
  int32_t quant_zero;
} samara_audio_record;

/* The record of an input of a function (NULL: the first). SAMARA_NOT_FOUND if there is none. Any
 * thread. */
SAMARA_API samara_status samara_model_audio_record(const samara_model *model, const char *function,
                                                   size_t input, samara_audio_record *out);

/* Samples from the caller: `count` per channel, interleaved. Borrowed for the call. */
typedef struct samara_audio {
  size_t struct_size; /* set by the caller */
  const void *samples;
  size_t count;
  uint32_t rate;      /* samples per channel and second; 0: the record's */
  uint32_t channels;  /* 1..32, averaged to one; 0: one */
  samara_dtype dtype; /* SAMARA_INT16, or SAMARA_FLOAT32 with full scale 1.0 */
} samara_audio;

/* Read samples for an input with an audio record, until the next tensor is complete.
 *
 * *taken is the number of samples read per channel. *ready is true if the input has a new tensor:
 * run the session, then call again with the remaining samples, even if there are none. If *ready is
 * false, all samples were read. Chunks may have any size; the tensors do not depend on it. A change
 * of rate, channels or dtype begins a new stream, as does samara_session_end_audio. The first call
 * of a stream allocates.
 *
 *     for (;;) {
 *       samara_session_push_audio(session, 0, &audio, &taken, &ready);
 *       if (!ready) break;
 *       samara_session_run(session);
 *       audio.samples = (const int16_t *)audio.samples + taken, audio.count -= taken;
 *     }
 *
 * SAMARA_NOT_FOUND if the input has no audio record. SAMARA_BAD_SHAPE if its shape is not that of
 * the record's tensor. On failure nothing is read. */
SAMARA_API samara_status samara_session_push_audio(samara_session *session, size_t input,
                                                   const samara_audio *audio, size_t *taken,
                                                   bool *ready);
/* End the stream: flush what a resampler or centred frames still hold back. While *ready is true,
 * run and call again. Audio frames that do not fill a tensor are dropped. */
SAMARA_API samara_status samara_session_end_audio(samara_session *session, size_t input,
                                                  bool *ready);

/* Compute all tensors of a complete recording without a model, one after the other, as a session
 * would get them. Sets *tensors to their number and writes those that fit whole into `size_bytes`
 * bytes at `out`. `shape` (room for SAMARA_MAX_RANK dims) and `rank` describe one tensor. out,
 * shape and rank may be NULL. Any thread. */
SAMARA_API samara_status samara_preprocess_audio(const samara_audio_record *record,
                                                 const samara_audio *audio,
                                                 const samara_allocator *allocator, void *out,
                                                 size_t size_bytes, size_t *tensors, int64_t *shape,
                                                 int32_t *rank, samara_error *error);

/* ---- answers: the meaning of outputs (docs/guides/postprocessing.md) ---- */

typedef enum samara_answer_kind {
  SAMARA_CLASSES = 1,
  SAMARA_MASK = 2,
  SAMARA_BOXES = 3,
  SAMARA_KEYPOINTS = 4
} samara_answer_kind;

/* Labels come from the file; NULL if the class has none. */
typedef struct samara_class {
  const char *label;
  uint32_t index;
  float score;
} samara_class;

/* Coordinates are in pixels of the picture; (0, 0) is the upper left corner of the first pixel. */
typedef struct samara_box {
  const char *label;
  const float *points; /* points_per_box pairs of x, y */
  float x0, y0, x1, y1, score;
  uint32_t class_index;
} samara_box;

typedef struct samara_point {
  const char *label;
  float x, y, score;
} samara_point;

/* An answer. Its memory belongs to the session: valid until the next answer, run, resize or
 * destroy. `kind` says which one of `classes`, `boxes`, `points` and `mask` is set. */
typedef struct samara_answer {
  size_t struct_size; /* set by the caller */
  samara_answer_kind kind;
  size_t count; /* of classes, boxes or points; best first */
  const samara_class *classes;
  const samara_box *boxes;
  size_t points_per_box;
  const samara_point *points;
  const void *mask;          /* the class of each pixel, row by row */
  size_t mask_element_bytes; /* 1 or 2; the largest value marks a pixel outside the model's view */
  uint32_t width, height;    /* of the mask: the size of the picture */
} samara_answer;

/* Interpret the outputs of the last run by the record of the file. Coordinates are those of the
 * last picture (samara_session_set_image), or pixels of the input if it was set as a tensor.
 * SAMARA_NOT_FOUND if the file has no such record. SAMARA_BAD_STATE before a run. SAMARA_BAD_SHAPE
 * if outputs do not fit the record. Allocates if it needs more memory than before.
 */
SAMARA_API samara_status samara_session_answer(samara_session *session, samara_answer *out);
/* The samara_answer_kind of a function (NULL: the first); 0 for none. Any thread. */
SAMARA_API int samara_model_answer_kind(const samara_model *model, const char *function);
/* The label of a class; NULL if it has none. Lives as long as the model. Any thread. */
SAMARA_API const char *samara_model_label(const samara_model *model, size_t index);

#ifdef __cplusplus
}
#endif

#endif /* SAMARA_SAMARA_MEDIA_H_ */
