// SPDX-License-Identifier: Apache-2.0
// Signatures only, to compile against where the Android class is not available.
package android.content;

import android.content.res.AssetManager;

public abstract class Context {
  public abstract AssetManager getAssets();
}
