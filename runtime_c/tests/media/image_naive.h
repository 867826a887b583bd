// SPDX-License-Identifier: Apache-2.0
// The reference of the pass: docs/guides/preprocessing.md pixel by pixel.
#ifndef SMR_TESTS_IMAGE_NAIVE_H
#define SMR_TESTS_IMAGE_NAIVE_H

#include <samara/samara_media.h>

#include <stdint.h>

/// Element (channel, y, x) of the tensor as 8 bits, before mean and scale; -1 where the picture is
/// letterboxed, which is `fill`. The record and the picture must be valid, with every field of the
/// picture set. sizes: of the oriented picture and of the tensor.
int naive_value(const samara_image_record *record, const samara_image *image, int channel, int y,
                int x);
/// Width and height of the tensor.
void naive_size(const samara_image_record *record, const samara_image *image, int *width,
                int *height);
/// Weights of all `from` old pixels in new pixel `d` of `to`, by the record's filter and antialias.
void naive_weights(const samara_image_record *record, int64_t from, int64_t to, int64_t d,
                   int64_t *weights);

#endif
