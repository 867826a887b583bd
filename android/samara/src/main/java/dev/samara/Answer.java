// SPDX-License-Identifier: Apache-2.0
// The meaning of a model's outputs.
package dev.samara;

/** A {@link Classification}, {@link Detections}, a {@link Mask} or {@link Keypoints}. */
public interface Answer {}
