// SPDX-License-Identifier: Apache-2.0
// As much of the class of Android as the library calls, to run on a desktop JVM.
package android.content;

import android.content.res.AssetManager;
import java.io.File;

public class Context {
  private final AssetManager assets;

  public Context(File folder) {
    assets = new AssetManager(folder);
  }

  public AssetManager getAssets() {
    return assets;
  }
}
