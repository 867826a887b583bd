// SPDX-License-Identifier: Apache-2.0
// Gathering and scattering: indices become positions of slices, then slices are moved.
//
// KIND 0: positions from tuples of indices [m, depth]. P: 0 m, 1 items, 2 depth, 3 whether negative
// ones count from the end, 4 tuples of a batch. Q: 0-7 sizes of the axes.
// KIND 1: positions of single elements, by one index each. P: 0-1 and 3 as above, 2 axis, 8-d shape
// of the indices. Q: 0-5 shape of what they index.
// IN: indices. OUT: positions, flag: becomes 1 where an index is out of range; its position is -1.
//
// Others move slices. P: 0 elements of a slice, 1 items of a slice, 2 m, 3 slices of x behind an
// outer one, 4 classes, 5 elements of small slices, which items walk
// together; or 0. IN: from, positions. OUT: to.
// KIND 2: y[outer, i] = x[outer, positions[i]]. ITEM: element, slice of y.
// KIND 3: y[positions[i]] = x[i], all positions differ. ITEM: element, i.
// KIND 4: the same in order: the last of equal positions stays. An item has the positions of its
// class, by their remainder. ITEM: element, class.
// KIND 5: y = x. P: 0 elements, 1 items.
#if KIND == 0
#define AXIS(k, size)                                                   \
  if (k < P(2)) {                                                       \
    INDEX v = indices[e * P(2) + k];                                    \
    if (v < 0 && P(3)) v += size;                                       \
    if (v < 0 || v >= size) bad = 1;                                    \
    position = position * size + (bad ? 0 : (int)v);                    \
  }
KERNEL(NAME) {
  GLOBAL const INDEX *indices = IN(0, INDEX);
  for (int e = ITEM(0); e < P(0); e += P(1)) {
    int bad = 0, position = e / P(4);
    AXIS(0, Q(0)) AXIS(1, Q(1)) AXIS(2, Q(2)) AXIS(3, Q(3))
    AXIS(4, Q(4)) AXIS(5, Q(5)) AXIS(6, Q(6)) AXIS(7, Q(7))
    OUT(5, i32)[e] = bad ? -1 : position;
    if (bad) OUT(6, i32)[0] = 1;
  }
}
#undef AXIS
#elif KIND == 1
#define AXIS(k, count, size)                                 \
  {                                                          \
    int at = rest % count;                                   \
    rest = rest / count;                                     \
    if (k == P(2)) {                                         \
      INDEX v = IN(0, INDEX)[e];                             \
      if (v < 0 && P(3)) v += size;                          \
      bad = v < 0 || v >= size;                              \
      at = bad ? 0 : (int)v;                                 \
    }                                                        \
    position += at * stride;                                 \
    stride = stride * size;                                  \
  }
KERNEL(NAME) {
  for (int e = ITEM(0); e < P(0); e += P(1)) {
    int bad = 0, position = 0, stride = 1, rest = e;
    AXIS(5, P(d), Q(5))
    AXIS(4, P(c), Q(4))
    AXIS(3, P(b), Q(3))
    AXIS(2, P(a), Q(2))
    AXIS(1, P(9), Q(1))
    AXIS(0, P(8), Q(0))
    OUT(5, i32)[e] = bad ? -1 : position;
    if (bad) OUT(6, i32)[0] = 1;
  }
}
#undef AXIS
#elif KIND == 5
KERNEL(NAME) {
  for (int i = ITEM(0); i < P(0); i += P(1)) OUT(5, X)[i] = IN(0, X)[i];
}
#else
#if KIND == 2
#define FROM(slice, position) (slice / P(2) * P(3) + position)
#define TO(slice, position) slice
#else
#define FROM(slice, position) slice
#define TO(slice, position) position
#endif
KERNEL(NAME) {
  GLOBAL const X *x = IN(0, X);
  GLOBAL const i32 *positions = IN(1, i32);
  GLOBAL X *y = OUT(5, X);
#if KIND == 4
  for (int u = 0; u < P(2); u++) {
    const int position = positions[u];
    if (position < 0 || position % P(4) != ITEM(1)) continue;
    x = IN(0, X) + u * P(0);
    y = OUT(5, X) + position * P(0);
    for (int i = ITEM(0); i < P(0); i += P(1)) y[i] = x[i];
  }
#else
  if (P(5)) {
    for (int e = ITEM(0); e < P(5); e += P(1)) {
      const int slice = e / P(0), i = e % P(0), position = positions[slice % P(2)];
      if (position >= 0) y[TO(slice, position) * P(0) + i] = x[FROM(slice, position) * P(0) + i];
    }
    return;
  }
  const int slice = ITEM(1), position = positions[slice % P(2)];
  if (position < 0) return;
  x += FROM(slice, position) * P(0);
  y += TO(slice, position) * P(0);
  for (int i = ITEM(0); i < P(0); i += P(1)) y[i] = x[i];
#endif
}
#undef FROM
#undef TO
#endif
