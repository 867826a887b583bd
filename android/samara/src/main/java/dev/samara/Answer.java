// SPDX-License-Identifier: Apache-2.0
// What the outputs of a model mean.
package dev.samara;

/** A {@link Classification}, {@link Detections}, a {@link Mask} or {@link Keypoints}. */
public interface Answer {}
