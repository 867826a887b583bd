// SPDX-License-Identifier: Apache-2.0
// Layered drawing of a graph. layered(sizes, edges, ratio) says where boxes lie and how lines bend.
//
// The classic scheme (Sugiyama, Tagawa, Toda 1981): layers by longest path, bends where an edge passes a
// layer, order by barycentres in alternating sweeps, then positions near the mean of the neighbours. A drawing
// that would be much taller than wide is cut into columns, where the fewest edges cross the cut.

const GAP_X = 20, GAP_Y = 46, BEND = 12, SWEEPS = 6, LANE = 8, GUTTER = 30;
const TALL = 520; // a drawing that is lower than this stays in one column
const MAX_CROSSING = 2; // boxes with edges over a cut

// sizes: [width, height] of each box. edges: [from, to], which must point to later boxes. ratio: of width to
// height that is wanted. Returns {boxes: [{x, y}], lines: [[[x, y], ...]], width, height}; a line for each edge.
function layered(sizes, edges, ratio) {
  for (const [a, b] of edges) if (a >= b) throw new Error("edges must point to later boxes");
  if (!sizes.length) return { boxes: [], lines: [], width: 0, height: 0 };
  const layers = layersOf(sizes.length, edges);
  const starts = columnStarts(sizes, edges, layers, ratio);
  const column = layers.map((l) => starts.filter((s) => s <= l).length - 1);
  const bands = starts.map((s, k) => makeBand(k, s, (starts[k + 1] ?? Math.max(...layers) + 1) - 1));
  layers.forEach((l, i) => bands[column[i]].add(`b${i}`, sizes[i], l));
  const lanes = new Map(); // of the sources of edges from one column to another
  for (const [a, b] of edges) {
    const from = bands[column[a]], to = bands[column[b]];
    if (from === to) {
      from.link(`b${a}`, `b${b}`);
    } else {
      if (!lanes.has(a)) lanes.set(a, lanes.size);
      from.add(`x${a}`, [BEND, 0], from.last + 1);
      from.link(`b${a}`, `x${a}`);
      to.add(`e${a}`, [BEND, 0], to.first - 1);
      to.link(`e${a}`, `b${b}`);
    }
  }
  bands.forEach((band) => band.arrange());
  const top = lanes.size ? LANE * lanes.size + 10 : 0;
  let x = 0;
  for (const band of bands) {
    if (band.index) x += GUTTER + LANE * band.entries();
    band.x = x;
    x += band.width;
  }
  const bottom = top + Math.max(...bands.map((band) => band.height));
  const boxes = layers.map((_, i) => {
    const p = bands[column[i]].box(`b${i}`);
    return { x: p.x + bands[column[i]].x, y: p.y + top };
  });
  const moved = (band, points) => points.map(([px, py]) => [px + band.x, py + top]);
  const lines = edges.map(([a, b]) => {
    const from = bands[column[a]], to = bands[column[b]];
    if (from === to) return moved(from, from.line(`b${a}`, `b${b}`));
    const head = moved(from, from.line(`b${a}`, `x${a}`)), tail = moved(to, to.line(`e${a}`, `b${b}`));
    const lane = lanes.get(a), low = bottom + 8 + LANE * lane, high = top - 8 - LANE * lane;
    const side = to.x - 16 - LANE * to.entryPlace(`e${a}`);
    return [...head, [head.at(-1)[0], low], [side, low], [side, high], [tail[0][0], high], ...tail];
  });
  const height = bottom + (lanes.size ? LANE * lanes.size + 10 : 0);
  return { boxes, lines, width: x, height };
}

// Longest path from a source; sources are then pulled down to just above their first user.
function layersOf(count, edges) {
  const layers = new Array(count).fill(0), out = Array.from({ length: count }, () => []);
  const fed = new Array(count).fill(false);
  for (const [a, b] of edges) { out[a].push(b); fed[b] = true; }
  for (let a = 0; a < count; a++) for (const b of out[a]) layers[b] = Math.max(layers[b], layers[a] + 1);
  for (let a = 0; a < count; a++) {
    if (!fed[a] && out[a].length) layers[a] = Math.min(...out[a].map((b) => layers[b])) - 1;
  }
  return layers;
}

// The first layer of each column.
function columnStarts(sizes, edges, layers, ratio) {
  const count = Math.max(...layers) + 1;
  const wide = new Array(count).fill(0), high = new Array(count).fill(0);
  layers.forEach((l, i) => {
    wide[l] += sizes[i][0] + GAP_X;
    high[l] = Math.max(high[l], sizes[i][1] + GAP_Y);
  });
  const over = Array.from({ length: count }, () => new Set()); // sources of edges from layers before this one
  for (const [a, b] of edges) for (let l = layers[a] + 1; l <= layers[b]; l++) over[l].add(a);
  for (let l = 1; l < count; l++) wide[l] = Math.max(wide[l], over[l].size * (BEND + GAP_X));
  const tops = [0];
  for (const h of high) tops.push(tops.at(-1) + h);
  const total = tops[count];
  let best = [0], score = Infinity;
  for (let k = 1; k <= (total > TALL ? Math.min(12, count) : 1); k++) {
    const starts = [0];
    for (let j = 1; j < k; j++) {
      const aim = (total * j) / k, room = (0.4 * total) / k;
      let found = -1, least = Infinity;
      for (let l = starts.at(-1) + 1; l < count; l++) {
        const cost = over[l].size + (4 * Math.abs(tops[l] - aim)) / room;
        if (Math.abs(tops[l] - aim) <= room && over[l].size <= MAX_CROSSING && cost < least) {
          found = l;
          least = cost;
        }
      }
      if (found > 0) starts.push(found);
    }
    if (starts.length < k) continue;
    let width = 0, height = 0;
    starts.forEach((s, j) => {
      const end = starts[j + 1] ?? count;
      width += Math.max(...wide.slice(s, end)) + GUTTER;
      height = Math.max(height, tops[end] - tops[s]);
    });
    const more = starts.slice(1).reduce((sum, s) => sum + over[s].size - 1, 0);
    const off = Math.abs(Math.log(width / height / ratio)) + 0.15 * more;
    if (off < score - 0.05) { best = starts; score = off; }
  }
  return best;
}

// The boxes of the layers first to last, as one column.
function makeBand(index, first, last) {
  const at = new Map(), items = [], links = [];
  let rows, up, down, centres, tops;
  const band = { index, first, last, x: 0, width: 0, height: 0, add, link, arrange, box, line, entries, entryPlace };
  return band;

  function add(key, size, layer) {
    if (at.has(key)) return;
    at.set(key, items.length);
    items.push({ width: size[0], height: size[1], layer, key });
  }
  function link(a, b) {
    if (!links.some((l) => l[0] === a && l[1] === b)) links.push([a, b]);
  }
  function entries() { return items.filter((i) => i.key[0] === "e").length; }
  function entryPlace(key) { return items.filter((i) => i.key[0] === "e").findIndex((i) => i.key === key); }
  function arrange() {
    const low = Math.min(...items.map((i) => i.layer)), chains = new Map();
    const steps = new Map(), shared = new Map();
    for (const [a, b] of links) {
      const i = at.get(a), j = at.get(b), chain = [i];
      for (let l = items[i].layer + 1; l < items[j].layer; l++) {
        const key = `${i}:${l}`;
        if (!shared.has(key)) {
          shared.set(key, items.length);
          items.push({ width: BEND, height: 0, layer: l, key: "bend" });
        }
        chain.push(shared.get(key));
      }
      chain.push(j);
      chains.set(`${a} ${b}`, chain);
      for (let s = 1; s < chain.length; s++) steps.set(`${chain[s - 1]} ${chain[s]}`, [chain[s - 1], chain[s]]);
    }
    band.chains = chains;
    up = items.map(() => []);
    down = items.map(() => []);
    for (const [a, b] of steps.values()) { down[a].push(b); up[b].push(a); }
    rows = [];
    items.forEach((item, i) => (rows[item.layer - low] ??= []).push(i));
    rows = Array.from(rows, (row) => row ?? []);
    orderRows(rows, up, down);
    centres = placeRows(rows, items.map((i) => i.width), up, down);
    tops = [0];
    const highs = rows.map((row) => Math.max(0, ...row.map((i) => items[i].height)));
    // A row of nothing but ends of lines from other columns needs less room.
    rows.forEach((row, r) => tops.push(tops[r] + highs[r] + (highs[r] || r ? GAP_Y : GAP_Y / 2)));
    items.forEach((item, i) => {
      item.top = tops[item.layer - low] + (item.key === "bend" ? 0 : (highs[item.layer - low] - item.height) / 2);
      item.tall = item.key === "bend" ? highs[item.layer - low] : item.height;
      item.centre = centres[i];
    });
    band.width = Math.max(...items.map((i) => i.centre + i.width / 2));
    band.height = Math.max(...items.map((i) => i.top + i.tall));
  }
  function box(key) {
    const item = items[at.get(key)];
    return { x: item.centre - item.width / 2, y: item.top };
  }
  function line(a, b) {
    const chain = band.chains.get(`${a} ${b}`).map((i) => items[i]);
    const points = [];
    chain.forEach((item, i) => {
      if (i > 0) points.push([item.centre, item.top]);
      if (i < chain.length - 1) points.push([item.centre, item.top + item.tall]);
    });
    return points;
  }
}

// Sort each row by the mean place of its neighbours in the row before, downwards and upwards in turn.
function orderRows(rows, up, down) {
  const place = [];
  const number = (row) => row.forEach((item, i) => { place[item] = i; });
  rows.forEach(number);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const near = sweep % 2 ? down : up;
    for (const row of sweep % 2 ? [...rows].reverse() : rows) {
      const mean = new Map(row.map((item) => [item, meanOf(near[item], place) ?? place[item]]));
      row.sort((a, b) => mean.get(a) - mean.get(b) || place[a] - place[b]);
      number(row);
    }
  }
}

// Centres: each item wants the mean of its neighbours; neighbours in a row keep their order and distance.
function placeRows(rows, widths, up, down) {
  const centres = [];
  for (const row of rows) {
    let x = 0;
    for (const item of row) { centres[item] = x + widths[item] / 2; x += widths[item] + GAP_X; }
  }
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const near = sweep % 2 ? down : up;
    for (const row of sweep % 2 ? [...rows].reverse() : rows) {
      const wanted = row.map((item) => meanOf(near[item], centres) ?? centres[item]);
      keepApart(wanted, row.map((item) => widths[item])).forEach((x, i) => { centres[row[i]] = x; });
    }
  }
  const left = Math.min(...centres.map((c, i) => c - widths[i] / 2));
  return centres.map((c) => c - left);
}

function meanOf(items, values) {
  return items.length ? items.reduce((sum, i) => sum + values[i], 0) / items.length : undefined;
}

// Places nearest to the wanted ones (in squares) that keep the order and the gaps: pool adjacent violators.
function keepApart(wanted, widths) {
  const offsets = [0], blocks = []; // [sum, count] of items that lie as close as the gaps allow
  for (let i = 1; i < widths.length; i++) offsets.push(offsets[i - 1] + (widths[i - 1] + widths[i]) / 2 + GAP_X);
  wanted.forEach((want, i) => {
    blocks.push([want - offsets[i], 1]);
    while (blocks.length > 1 && blocks.at(-2)[0] / blocks.at(-2)[1] > blocks.at(-1)[0] / blocks.at(-1)[1]) {
      const [sum, count] = blocks.pop();
      blocks.at(-1)[0] += sum;
      blocks.at(-1)[1] += count;
    }
  });
  return blocks.flatMap(([sum, count]) => new Array(count).fill(sum / count)).map((m, i) => m + offsets[i]);
}
