// SPDX-License-Identifier: Apache-2.0
// Opens models in an app's assets. A desktop JVM never loads this class.
package dev.samara;

import android.content.Context;
import android.content.res.AssetFileDescriptor;
import androidx.annotation.NonNull;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;

/** Opens an asset by its descriptor, or reads a compressed one. */
final class AndroidAssets {
  private static final int FIRST_BYTES = 1 << 20;

  private AndroidAssets() {}

  @NonNull
  static Model open(
      @NonNull Context context, @NonNull String name, @NonNull ModelOptions options) {
    try (AssetFileDescriptor asset = context.getAssets().openFd(name)) {
      long offset = asset.getStartOffset();
      if (offset % 4 != 0) return copied(context, name, options, "not aligned by zipalign");
      return Model.fromDescriptor(
          asset.getParcelFileDescriptor().getFd(), offset, asset.getLength(), options);
    } catch (FileNotFoundException compressed) {
      return copied(context, name, options, "compressed"); // reports an absent asset, too
    } catch (IOException failure) {
      throw Files.failed("asset " + name, "cannot be opened", failure);
    }
  }

  private static Model copied(
      Context context, String name, ModelOptions options, String why) {
    ByteBuffer bytes;
    try (InputStream in = context.getAssets().open(name)) {
      bytes = read(in);
    } catch (IOException failure) {
      throw Files.failed("asset " + name, "cannot be read", failure);
    }
    Model model = Model.fromBuffer(bytes, options);
    Native.warn(
        Words.c(
            "asset " + name + " is " + why + ", so " + bytes.limit() + " bytes were read into memory;"
                + " android { androidResources { noCompress += \"samara\" } } lets it be mapped",
            "the warning"));
    return model;
  }

  private static ByteBuffer read(InputStream in) throws IOException {
    byte[] part = new byte[64 * 1024];
    ByteBuffer bytes = ByteBuffer.allocateDirect(Math.max(FIRST_BYTES, in.available()));
    for (int count = in.read(part); count >= 0; count = in.read(part)) {
      if (count > bytes.remaining()) {
        if (bytes.capacity() > Integer.MAX_VALUE / 2) throw new IOException("more than 1 GiB");
        ByteBuffer larger = ByteBuffer.allocateDirect(2 * bytes.capacity());
        bytes.flip();
        larger.put(bytes);
        bytes = larger;
      }
      bytes.put(part, 0, count);
    }
    bytes.flip();
    return bytes;
  }
}
