/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures as inputs: what comes from a camera or a decoder, and how a model wants it.
 *
 * A model's file may say how a picture becomes an input (a record: docs/guides/preprocessing.md).
 * Then
 *
 *   samara_image frame = {.struct_size = sizeof frame, .format = SAMARA_NV21, .width = 1920,
 *                         .height = 1080, .rotation = 90};
 *   frame.planes[0] = (samara_plane){.data = luma, .size_bytes = luma_bytes};
 *   frame.planes[1] = (samara_plane){.data = chroma, .size_bytes = chroma_bytes};
 *   if (samara_session_set_image(session, 0, &frame) || samara_session_run(session)) ...
 *
 * computes the pixels that the model sees, and no others, straight into the input. The bits are the
 * same on every machine, for any number of threads, in Python and while training.
 */
#ifndef SAMARA_SAMARA_MEDIA_H_
#define SAMARA_SAMARA_MEDIA_H_

#include <samara/samara.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The longest side of a picture, and of what a record makes of it. */
#define SAMARA_MAX_SIDE 16384

/* ---- pictures ---- */

/* How the bytes of a picture lie. Codes are pinned for ever. */
typedef enum samara_image_format {
  SAMARA_RGB = 1,
  SAMARA_BGR = 2,
  SAMARA_RGBA = 3, /* alpha is ignored */
  SAMARA_BGRA = 4,
  SAMARA_GRAY = 5,
  SAMARA_NV21 = 6, /* a plane of Y, a plane of V and U by turns, each for 2x2 pixels */
  SAMARA_NV12 = 7, /* a plane of Y, a plane of U and V by turns */
  SAMARA_I420 = 8  /* a plane of Y, of U, of V; with a pixel stride of 2, planes that lie in one
                      another as Android's YUV_420_888 has them */
} samara_image_format;

/* From YUV to RGB. */
typedef enum samara_yuv_matrix { SAMARA_BT601 = 1, SAMARA_BT709 = 2 } samara_yuv_matrix;
typedef enum samara_yuv_range {
  SAMARA_LIMITED_RANGE = 1, /* Y 16..235, U and V 16..240 */
  SAMARA_FULL_RANGE = 2     /* 0..255 */
} samara_yuv_range;

/* Where the bytes of a plane lie. Nothing but `size_bytes` bytes at `data` is read. */
typedef struct samara_plane {
  const void *data;
  size_t size_bytes;
  size_t row_stride;   /* bytes from a row to the next; 0: rows follow each other */
  size_t pixel_stride; /* bytes from a pixel to the next; 0: pixels follow each other */
} samara_plane;

/* A picture: borrowed for the call it is given to. Set struct_size to sizeof of it. */
typedef struct samara_image {
  size_t struct_size;
  samara_image_format format;
  uint32_t width, height;           /* of the whole picture, in pixels: 1..SAMARA_MAX_SIDE */
  samara_plane planes[3];           /* 1, of NV21 and NV12 2, of I420 3; those of colours have
                                       (width + 1) / 2 by (height + 1) / 2 samples */
  uint32_t crop_x, crop_y;          /* the part that counts, before the rotation */
  uint32_t crop_width, crop_height; /* both 0: all of it */
  uint32_t rotation;                /* clockwise, to make it upright: 0, 90, 180, 270 degrees */
  bool mirror;                      /* after the rotation, left and right change places */
  samara_yuv_matrix matrix;         /* of YUV; 0: what the record says, else SAMARA_BT601 */
  samara_yuv_range range;           /* 0: what the record says, else SAMARA_LIMITED_RANGE */
} samara_image;

/* ---- records: how a picture becomes a tensor (docs/guides/preprocessing.md) ---- */

/* Channels of the tensor, in their order. */
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
  SAMARA_NHW = 5, /* of gray, as the next */
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
  SAMARA_RESIZE_LETTERBOX = 3 /* as large as fits, with `fill` around it */
} samara_image_resize;

/* Set struct_size to sizeof of it. */
typedef struct samara_image_record {
  size_t struct_size;
  samara_colour colour;
  samara_dtype dtype; /* SAMARA_FLOAT32, _FLOAT16, _UINT8, _INT8 */
  samara_image_layout layout;
  samara_image_filter filter; /* 0: SAMARA_BILINEAR */
  bool antialias;
  samara_image_resize resize;
  uint32_t resize_width, resize_height;
  uint32_t crop_width, crop_height; /* of the centre; both 0: all of it */
  uint8_t fill[3];                  /* per channel */
  bool normalize;                   /* y = (x - mean) * scale, else y = x */
  float mean[3], scale[3];          /* per channel */
  float quant_scale;                /* of integers: q = y / quant_scale + quant_zero; 0: none */
  int32_t quant_zero;
  samara_yuv_matrix matrix; /* of pictures that do not say theirs; 0: SAMARA_BT601 */
  samara_yuv_range range;   /* 0: SAMARA_LIMITED_RANGE */
} samara_image_record;

/* The record of input `index` of a function (NULL: the first), as in samara_model_input_info, with
 * the scale and zero point of the input where it needs them. `out->struct_size` is set by the
 * caller. SAMARA_NOT_FOUND when the file has none. Any thread. */
SAMARA_API samara_status samara_model_image_record(const samara_model *model, const char *function,
                                                   size_t index, samara_image_record *out);

/* ---- the pass ---- */

/* Have `image` be input `index`, by the record of the file: what samara_session_set_input does,
 * with the record's tensor of it. The input must have batch 1 (or none) and the shape that the
 * record makes of the picture: where its height and width are symbolic, resize first.
 *
 * Allocates (from the session's allocator) with the first picture, and when the format, size, crop
 * or rotation changes and more is needed. Uses the session's pool. SAMARA_NOT_FOUND when the input
 * has no record, SAMARA_BAD_ARGUMENT for a picture that contradicts itself (a plane that is too
 * short, a crop outside), SAMARA_UNSUPPORTED for a format that a selective build leaves out,
 * SAMARA_BAD_SHAPE when the record makes another shape than the input has; the input keeps its
 * values then. */
SAMARA_API samara_status samara_session_set_image(samara_session *session, size_t index,
                                                  const samara_image *image);

/* The shape of the tensor that `record` makes of `image`: `shape` has SAMARA_MAX_RANK places, of
 * which *rank are set. Any thread. */
SAMARA_API samara_status samara_preprocess_shape(const samara_image_record *record,
                                                 const samara_image *image, int64_t *shape,
                                                 int32_t *rank, samara_error *error);
/* The tensor itself, without a model: into `size_bytes` bytes at `out`, of any alignment, which
 * must be what the shape takes. Allocates with `allocator` (NULL: malloc), and releases before it
 * returns. `pool` may be NULL. Any thread. On failure `out` is untouched. */
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

/* How sound becomes a tensor; the page says what each word means. Sizes are in samples, frequencies
 * in hertz. What a kind does not have is 0. */
typedef struct samara_audio_record {
  size_t struct_size; /* of the caller's struct; set by it */
  samara_audio_kind kind;
  samara_dtype dtype; /* of the tensor: float32, float16, uint8, int8 */
  char layout[8];     /* letters of n, t, f, c in the order of the axes, then 0 */
  uint32_t rate, window, hop, fft, lead;
  samara_audio_window shape;
  bool symmetric;
  bool center;
  bool dc;        /* a frame's mean is subtracted */
  bool wide_unit; /* a full-scale sample counts as 32768, else 1 */
  bool slaney;    /* mel of Slaney, else of HTK */
  bool slaney_norm;
  bool mel_triangles; /* straight in mel, else in hertz */
  bool plain_dct;     /* else orthonormal */
  samara_audio_spectrum spectrum;
  samara_audio_log log;
  float preemphasis, low, high, floor, offset;
  uint32_t bins, first, coefficients, lifter;
  uint32_t frames, step;            /* of a tensor, and how many of them are new in the next */
  uint32_t mean_count, scale_count; /* 0, 1, or the numbers of a frame */
  const float *mean, *scale; /* y = (x - mean) * scale. Borrowed; of a model: as long as that */
  float quant_scale;         /* of integers: real units per step */
  int32_t quant_zero;
} samara_audio_record;

/* The record of an input of a function (NULL: the first). NOT_FOUND where there is none. Any
 * thread. */
SAMARA_API samara_status samara_model_audio_record(const samara_model *model, const char *function,
                                                   size_t input, samara_audio_record *out);

/* Samples as a caller has them: `count` of each channel, interleaved. Borrowed for the call. */
typedef struct samara_audio {
  size_t struct_size; /* of the caller's struct; set by it */
  const void *samples;
  size_t count;
  uint32_t rate;      /* samples of a channel per second; 0: the record's */
  uint32_t channels;  /* 1..32, whose mean counts; 0: one */
  samara_dtype dtype; /* SAMARA_INT16, or SAMARA_FLOAT32 whose full scale is 1.0 */
} samara_audio;

/* Take samples for an input with a record of sound, up to the next tensor.
 *
 * *taken says how many samples of each channel were taken. *ready says whether the input has a new
 * tensor: run the session, then call again with the samples behind, if only with none. Where it is
 * false all were taken. Portions may have any size; tensors do not depend on them. A rate, number
 * of channels or dtype other than in the call before begins a new stream, and so does
 * samara_session_end_audio. The first call of a stream allocates.
 *
 *     for (;;) {
 *       samara_session_push_audio(session, 0, &audio, &taken, &ready);
 *       if (!ready) break;
 *       samara_session_run(session);
 *       audio.samples = (const int16_t *)audio.samples + taken, audio.count -= taken;
 *     }
 *
 * SAMARA_NOT_FOUND when the input has no record of sound, SAMARA_BAD_SHAPE when it has not the
 * shape that the record makes. Nothing is taken where it fails. */
SAMARA_API samara_status samara_session_push_audio(samara_session *session, size_t input,
                                                   const samara_audio *audio, size_t *taken,
                                                   bool *ready);
/* End the stream: what a resampler or centred frames still hold back. Call again while *ready, a
 * run in between. Frames that do not fill a tensor are left out. */
SAMARA_API samara_status samara_session_end_audio(samara_session *session, size_t input,
                                                  bool *ready);

/* All tensors of a recording that begins and ends with `audio`, one behind the other: what sessions
 * get, without a model. *tensors says how many there are; `size_bytes` of `out` take those that fit
 * whole. `shape` (SAMARA_MAX_RANK) and `rank` are those of one. Any of out, shape and rank may be
 * NULL. Any thread. */
SAMARA_API samara_status samara_preprocess_audio(const samara_audio_record *record,
                                                 const samara_audio *audio,
                                                 const samara_allocator *allocator, void *out,
                                                 size_t size_bytes, size_t *tensors, int64_t *shape,
                                                 int32_t *rank, samara_error *error);

/* ---- answers: what outputs mean (docs/guides/postprocessing.md) ---- */

typedef enum samara_answer_kind {
  SAMARA_CLASSES = 1,
  SAMARA_MASK = 2,
  SAMARA_BOXES = 3,
  SAMARA_KEYPOINTS = 4
} samara_answer_kind;

/* Labels are those of the file, NULL where it has none for the class. */
typedef struct samara_class {
  const char *label;
  uint32_t index;
  float score;
} samara_class;

/* In pixels of the picture; (0, 0) is the upper left corner of its first pixel. */
typedef struct samara_box {
  const char *label;
  const float *points; /* x and y by turns, points_per_box of them */
  float x0, y0, x1, y1, score;
  uint32_t class_index;
} samara_box;

typedef struct samara_point {
  const char *label;
  float x, y, score;
} samara_point;

/* An answer. Its memory is the session's: valid until the next answer, run, resize or destroy. Of
 * `classes`, `boxes`, `points` and `mask` one is set, as `kind` says. */
typedef struct samara_answer {
  size_t struct_size; /* of the caller's struct; set by it */
  samara_answer_kind kind;
  size_t count; /* of classes, boxes, points; best first */
  const samara_class *classes;
  const samara_box *boxes;
  size_t points_per_box;
  const samara_point *points;
  const void *mask;          /* the class of each pixel, row by row */
  size_t mask_element_bytes; /* 1 or 2; the largest number says that a pixel was not seen */
  uint32_t width, height;    /* of the mask: those of the picture */
} samara_answer;

/* What the outputs of the last run mean, by the record of the file, in the coordinates of the
 * picture that was set last (samara_session_set_image); of a tensor in pixels of the input.
 * SAMARA_NOT_FOUND when the file has no such record, SAMARA_BAD_STATE before a run,
 * SAMARA_BAD_SHAPE when outputs do not fit the record. Allocates where more is needed than before.
 */
SAMARA_API samara_status samara_session_answer(samara_session *session, samara_answer *out);
/* What kind of answer a function (NULL: the first) gives; 0 for none. Any thread. */
SAMARA_API int samara_model_answer_kind(const samara_model *model, const char *function);
/* The label of a class, NULL for none. It lives as long as the model. Any thread. */
SAMARA_API const char *samara_model_label(const samara_model *model, size_t index);

#ifdef __cplusplus
}
#endif

#endif /* SAMARA_SAMARA_MEDIA_H_ */
