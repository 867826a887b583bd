// SPDX-License-Identifier: Apache-2.0
// Boxes over the camera's picture.
package dev.samara.samples.faces;

import android.content.Context;
import android.graphics.Canvas;
import android.graphics.Color;
import android.graphics.Paint;
import android.view.View;
import java.util.Collections;
import java.util.List;

final class BoxesView extends View {
  private final Paint paint = new Paint(Paint.ANTI_ALIAS_FLAG);
  private List<float[]> boxes = Collections.emptyList();

  BoxesView(Context context) {
    super(context);
    paint.setColor(Color.GREEN);
    paint.setStyle(Paint.Style.STROKE);
    paint.setStrokeWidth(3 * getResources().getDisplayMetrics().density);
  }

  /** Draws boxes, each x0, y0, x1 and y1 in pixels of this view. */
  void show(List<float[]> boxes) {
    this.boxes = boxes;
    invalidate();
  }

  @Override
  protected void onDraw(Canvas canvas) {
    for (float[] box : boxes) {
      canvas.drawRect(box[0], box[1], box[2], box[3], paint);
    }
  }
}
