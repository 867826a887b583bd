// SPDX-License-Identifier: Apache-2.0
// Signatures alone, to compile against where the real class is not there.
package android.content;

import android.content.res.AssetManager;

public abstract class Context {
  public abstract AssetManager getAssets();
}
