// SPDX-License-Identifier: Apache-2.0
// The picture of a function: boxes for nodes and folded groups, which open where they are. layout.js places them.

const SVG = "http://www.w3.org/2000/svg";
const PAD = 14, HEAD = 26, LINE = 15; // of an opened group's frame, its title, a line of text
const OPEN_UP_TO = 40; // boxes that a page shows at first, about

const pen = document.createElement("canvas").getContext("2d");
function wide(text, style) {
  pen.font = style === "b" ? "600 12px system-ui, sans-serif" : style === "s" ? "11px system-ui, sans-serif" : "12px system-ui, sans-serif";
  return pen.measureText(text).width;
}
function short(text, most = 30) {
  if (text.length <= most) return text;
  return text.slice(0, Math.ceil(most * 0.4)) + "…" + text.slice(1 - Math.floor(most * 0.6));
}
const cutAt = (text, most) => (text.length <= most ? text : `${text.slice(0, most - 1)}…`);
function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
function html(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB"];
  let u = 0;
  while (count >= 1024 && u < 3) { count /= 1024; u++; }
  return `${count >= 100 || u === 0 ? Math.round(count) : count.toPrecision(3)} ${units[u]}`;
}
function count(value) {
  const units = ["", " k", " M", " G", " T"];
  let u = 0;
  while (value >= 1000 && u < 4) { value /= 1000; u++; }
  return `${u ? value.toPrecision(3) : value}${units[u]}`;
}
const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;

// ---- the model of a picture ----

// Nodes, values and groups of one function with what is between them.
function makeModel(f, families, constants) {
  const items = []; // groups and nodes; a node's number is its index
  f.nodes.forEach((n, i) => items.push({ kind: "node", id: `n${i}`, index: i, node: n, nodes: [i] }));
  let groups = 0;
  const group = (name, members, parent) => {
    const g = { kind: "group", id: parent ? `g${groups++}` : "all", name, open: !parent, parent };
    g.members = members.map((m) => {
      const item = typeof m === "number" ? items[m] : group(m[0], m[1], g);
      item.parent = g;
      return item;
    });
    g.nodes = g.members.flatMap((m) => m.nodes);
    if (parent) items.push(g);
    return g;
  };
  const root = group("", f.tree, null);
  const users = f.values.map(() => []), maker = f.values.map(() => -1);
  f.nodes.forEach((n, i) => {
    n.in.forEach((v) => users[v].push(i));
    n.out.forEach((v) => { maker[v] = i; });
  });
  const timed = f.nodes.some((n) => n.share !== undefined);
  const flops = f.nodes.reduce((sum, n) => sum + (n.flops ?? 0), 0);
  const measure = timed ? "of time" : "of operations";
  const shareOf = (n) => (timed ? n.share ?? 0 : flops ? (n.flops ?? 0) / flops : 0);
  for (const item of items) {
    const held = new Set(item.nodes.flatMap((i) => f.nodes[i].consts));
    item.weights = [...held].reduce((sum, c) => sum + constants[c], 0);
    item.share = item.nodes.reduce((sum, i) => sum + shareOf(f.nodes[i]), 0);
    item.flops = item.nodes.reduce((sum, i) => sum + (f.nodes[i].flops ?? 0), 0);
    item.families = new Map();
    for (const i of item.nodes) item.families.set(f.nodes[i].family, (item.families.get(f.nodes[i].family) ?? 0) + 1);
  }
  return { f, root, items, users, maker, measure, families };
}

// What a group shows when it is open: its members, the tensors that enter and leave it, and edges.
function contentsOf(model, g) {
  const { f, users, maker } = model;
  const holder = new Map();
  for (const m of g.members) for (const i of m.nodes) holder.set(i, m);
  const top = !g.parent, entering = [], leaving = [], edges = new Map();
  const enters = new Map(), names = new Map(f.outputs.map(([name, v]) => [v, name]));
  const edge = (a, b, v) => {
    const key = `${a.id} ${b.id}`;
    if (!edges.has(key)) edges.set(key, { from: a, to: b, values: [] });
    if (!edges.get(key).values.includes(v)) edges.get(key).values.push(v);
  };
  const port = (v, way) => ({ kind: "port", way, id: `${way}${v}:${g.id}`, value: v, parent: g, nodes: [] });
  for (const i of g.nodes) {
    for (const v of f.nodes[i].in) {
      if (holder.has(maker[v])) {
        if (holder.get(maker[v]) !== holder.get(i)) edge(holder.get(maker[v]), holder.get(i), v);
      } else {
        if (!enters.has(v)) { enters.set(v, port(v, "in")); entering.push(enters.get(v)); }
        edge(enters.get(v), holder.get(i), v);
      }
    }
  }
  if (top) {
    for (const v of f.inputs) if (!enters.has(v) && !names.has(v)) entering.push(port(v, "in"));
    for (const [name, v] of f.outputs) {
      const p = { ...port(v, "out"), name, id: `out${leaving.length}:all` };
      leaving.push(p);
      if (holder.has(maker[v])) edge(holder.get(maker[v]), p, v);
      else {
        if (!enters.has(v)) { enters.set(v, port(v, "in")); entering.push(enters.get(v)); }
        edge(enters.get(v), p, v);
      }
    }
  } else {
    for (const i of g.nodes) for (const v of f.nodes[i].out) {
      if (names.has(v) || users[v].some((u) => !holder.has(u))) {
        const p = port(v, "out");
        leaving.push(p);
        edge(holder.get(i), p, v);
      }
    }
  }
  return { boxes: [...entering, ...g.members, ...leaving], edges: [...edges.values()] };
}

// ---- drawing ----

// The texts of a box as [text, style], and its size.
function labelOf(model, item) {
  const { f } = model;
  if (item.kind === "port") {
    const [name, type] = f.values[item.value];
    return [[short(item.name ?? name), ""], [type, "s"]];
  }
  const facts = [];
  if (item.weights) facts.push(bytes(item.weights));
  if (item.share >= 0.0005) facts.push(`${percent(item.share)} ${model.measure}`);
  if (item.kind === "node") return [[item.node.op, "b"], [short(item.node.name), ""], [facts.join(" · ") || " ", "s"]];
  const ops = new Map();
  for (const i of item.nodes) ops.set(f.nodes[i].op, (ops.get(f.nodes[i].op) ?? 0) + 1);
  const most = [...ops].sort((a, b) => b[1] - a[1]).map(([op, n]) => (n > 1 ? `${n} ${op}` : op));
  return [[`▸ ${short(item.name, 34)}`, "b"], [cutAt(`${item.nodes.length} nodes: ${most.join(", ")}`, 34), ""],
    [facts.join(" · ") || " ", "s"]];
}
function arrange(model, g, ratio) {
  const { boxes, edges } = contentsOf(model, g);
  const told = new Map(); // the shape beside where a tensor leaves its box
  for (const e of edges) {
    if (e.from.kind === "port") continue;
    const types = [...new Set([...(told.get(e.from.id) ?? []), ...e.values.map((v) => model.f.values[v][1])])];
    told.set(e.from.id, types);
  }
  const drawn = boxes.map((item) => {
    const inner = item.kind === "group" && item.open ? arrange(model, item, 1.5) : null;
    const texts = labelOf(model, item);
    let width = Math.max(...texts.map(([t, s]) => wide(t, s))) + 20, height = texts.length * LINE + 10;
    if (item.kind !== "port") height += 6;
    if (inner) {
      width = Math.max(inner.width + 2 * PAD, wide(texts[0][0], "b") + wide(texts[2][0], "s") + 50);
      height = inner.height + HEAD + 2 * PAD;
    }
    const types = told.get(item.id);
    const note = types ? (types.length > 2 ? `${types.length} tensors` : types.join(", ")) : "";
    return { item, inner, texts, width, height, note, room: Math.max(width, note ? 2 * wide(note, "s") + 16 : 0) };
  });
  const at = new Map(boxes.map((b, i) => [b.id, i]));
  const placed = layered(drawn.map((d) => [d.room, d.height]), edges.map((e) => [at.get(e.from.id), at.get(e.to.id)]), ratio);
  drawn.forEach((d, i) => {
    d.x = placed.boxes[i].x + (d.room - d.width) / 2;
    d.y = placed.boxes[i].y;
  });
  return { drawn, lines: edges.map((e, i) => ({ ...e, points: placed.lines[i] })), width: placed.width, height: placed.height };
}
function pathOf(points) {
  let d = `M${points[0].map((v) => v.toFixed(1)).join(" ")}`;
  for (let i = 1; i < points.length; i++) {
    const [x0, y0] = points[i - 1], [x1, y1] = points[i];
    const [a, b, c, e] = [x0, y0, x1, y1].map((v) => v.toFixed(1));
    const middle = ((y0 + y1) / 2).toFixed(1);
    d += Math.abs(x0 - x1) < 0.5 || Math.abs(y0 - y1) < 0.5 ? `L${c} ${e}` : `C${a} ${middle} ${c} ${middle} ${c} ${e}`;
  }
  return d;
}
function paint(model, layout, layer, x0, y0, places) {
  const { f } = model;
  for (const line of layout.lines) {
    const points = line.points.map(([x, y]) => [x + x0, y + y0]);
    const path = svg("path", { class: "e", d: pathOf(points), "data-from": line.from.id, "data-to": line.to.id });
    path.append(svg("title", {}, line.values.map((v) => f.values[v].join(": ")).join("\n")));
    const [x, y] = points.at(-1);
    layer.append(path, svg("path", { class: "tip", d: `M${x - 3.5} ${y - 7}L${x + 3.5} ${y - 7}L${x} ${y}z` }));
  }
  for (const d of layout.drawn) {
    const { item } = d, x = d.x + x0, y = d.y + y0;
    places.set(item.id, { x, y, width: d.width, height: d.height });
    const box = svg("g", { class: `item${model.chosen === item.id ? " on" : ""}`, tabindex: "0", role: "button", "data-id": item.id });
    const frame = { x, y, width: d.width, height: d.height, rx: 5 };
    box.setAttribute("aria-label", d.texts.map(([t]) => t.replace("▸ ", "")).join(", "));
    if (item.kind === "port") {
      box.append(svg("rect", { class: "port", ...frame, rx: 12 }));
    } else if (item.kind === "node") {
      box.append(svg("rect", { class: `n k-${model.families[item.node.family]}`, ...frame }));
    } else {
      box.setAttribute("aria-expanded", String(Boolean(d.inner)));
      if (!d.inner) box.append(svg("rect", { class: "back", ...frame, x: x + 4, y: y + 4 }));
      box.append(svg("rect", { class: d.inner ? "g open" : "g", ...frame }));
    }
    if (d.inner) {
      box.append(svg("rect", { class: "track", x, y, width: d.width, height: HEAD, rx: 5 }));
      box.append(svg("text", { class: "b", x: x + 10, y: y + 17 }, d.texts[0][0].replace("▸", "▾")));
      box.append(svg("text", { class: "s", x: x + d.width - 10, y: y + 17, "text-anchor": "end" }, d.texts[2][0]));
      layer.append(box);
      paint(model, d.inner, layer, x + (d.width - d.inner.width) / 2, y + HEAD + PAD, places);
    } else {
      d.texts.forEach(([text, style], i) =>
        box.append(svg("text", { class: style, x: x + d.width / 2, y: y + 17 + i * LINE, "text-anchor": "middle" }, text)));
      if (item.kind !== "port") meters(model, item, d, x, y, box);
      layer.append(box);
    }
    if (d.note) layer.append(svg("text", { class: "s", x: x + d.width / 2 + 5, y: y + d.height + 14 }, d.note));
  }
}
// At the bottom of a box: the share of the time, and of a group the families of its nodes.
function meters(model, item, d, x, y, box) {
  const y1 = y + d.height - 7, width = d.width - 12;
  if (item.kind === "group") {
    let left = x + 6;
    for (const [family, n] of [...item.families].sort((a, b) => b[1] - a[1])) {
      const part = (width * n) / item.nodes.length;
      box.append(svg("rect", { class: `strip k-${model.families[family]}`, x: left, y: y1 - 1, width: part, height: 4 }));
      left += part;
    }
  } else if (item.share >= 0.0005) {
    box.append(svg("rect", { class: "track", x: x + 6, y: y1, width, height: 3 }));
    box.append(svg("rect", { class: "share", x: x + 6, y: y1, width: Math.max(1, width * Math.min(1, item.share)), height: 3 }));
  }
}

// ---- the page ----

function drawGraph(place, f, families, constants) {
  const model = makeModel(f, families, constants);
  const byId = new Map(model.items.map((i) => [i.id, i]));
  const view = html("div", { class: "view", tabindex: "-1" });
  const about = html("div", { class: "about", "aria-live": "polite" });
  const search = html("input", { type: "search", title: "part of a name, operator or kernel" });
  const found = html("span", { class: "found", role: "status" });
  const button = (text, label, act) => {
    const b = html("button", { type: "button", title: label, "aria-label": label }, text);
    b.addEventListener("click", act);
    return b;
  };
  const groups = model.items.filter((i) => i.kind === "group");
  const setAll = (open) => { groups.forEach((g) => { g.open = open; }); draw(); fit(); };
  const tools = html("div", { class: "tools" }, html("label", {}, "Search ", search), found);
  if (groups.length) tools.append(button("Open all", "Open all groups", () => setAll(true)), button("Fold all", "Fold all groups", () => setAll(false)));
  tools.append(button("−", "Zoom out", () => zoom(1 / 1.25)), button("+", "Zoom in", () => zoom(1.25)), button("Fit", "Show all of the picture", fit));
  const graph = html("div", { class: "graph" }, view, about);
  place.replaceChildren(tools, graph);
  let picture, places = new Map(), size = [0, 0], scale = 1, hits = [], hit = -1;

  // Open the outermost groups of a level, all or none, while few boxes are shown.
  function openSome() {
    let shown = model.root.members.length, level = [model.root];
    while (level.length) {
      const next = [];
      for (const parent of level) {
        const inner = parent.members.filter((m) => m.kind === "group"), more = inner.reduce((sum, g) => sum + g.members.length, 0);
        if (!more || shown + more > OPEN_UP_TO) continue;
        shown += more;
        inner.forEach((g) => { g.open = true; });
        next.push(...inner);
      }
      level = next;
    }
  }
  function draw() {
    const ratio = Math.max(0.6, view.clientWidth / Math.max(200, view.clientHeight));
    const layout = arrange(model, model.root, ratio);
    size = [layout.width + 32, layout.height + 32];
    places = new Map();
    const layer = svg("g");
    paint(model, layout, layer, 16, 16, places);
    picture = svg("svg", { viewBox: `0 0 ${size[0].toFixed(0)} ${size[1].toFixed(0)}`, role: "group", "aria-label": `graph of ${f.name}` }, layer);
    view.replaceChildren(picture);
    rescale();
    lightEdges();
  }
  function rescale() {
    picture.setAttribute("width", (size[0] * scale).toFixed(0));
    picture.setAttribute("height", (size[1] * scale).toFixed(0));
  }
  function fit() {
    scale = Math.min(1.1, Math.max(0.12, Math.min((view.clientWidth - 4) / size[0], (view.clientHeight - 4) / size[1])));
    rescale();
    view.scrollTo(0, 0);
  }
  // Zoom, keeping the point of the view at (x, y) where it is.
  function zoom(factor, x = view.clientWidth / 2, y = view.clientHeight / 2) {
    const old = scale, left = picture.getBoundingClientRect().left - view.getBoundingClientRect().left;
    const px = (x - left) / old, py = (y + view.scrollTop) / old;
    scale = Math.min(3, Math.max(0.08, scale * factor));
    rescale();
    const now = picture.getBoundingClientRect().left - view.getBoundingClientRect().left;
    view.scrollLeft += now + px * scale - x;
    view.scrollTop = py * scale - y;
  }
  function corner(id) {
    const p = places.get(id), seen = picture.getBoundingClientRect();
    return [seen.left + p.x * scale, seen.top + p.y * scale];
  }
  function toggle(g) {
    const before = corner(g.id);
    g.open = !g.open;
    draw();
    const after = corner(g.id);
    view.scrollLeft += after[0] - before[0];
    view.scrollTop += after[1] - before[1];
    choose(g.id);
    element(g.id).focus({ preventScroll: true });
  }
  const element = (id) => [...view.querySelectorAll(".item")].find((e) => e.dataset.id === id);
  function choose(id) {
    model.chosen = id;
    for (const e of view.querySelectorAll(".item.on")) e.classList.remove("on");
    element(id)?.classList.add("on");
    lightEdges();
    tell(byId.get(id));
  }
  function lightEdges() {
    for (const e of view.querySelectorAll(".e")) {
      e.classList.toggle("on", model.chosen !== undefined && (e.dataset.from === model.chosen || e.dataset.to === model.chosen));
    }
  }
  // Open what holds the item, and bring it to the middle of the view.
  function show(id) {
    let closed = false;
    for (let g = byId.get(id).parent; g.parent; g = g.parent) { closed ||= !g.open; g.open = true; }
    if (closed) draw();
    if (scale < 0.7) { scale = 0.9; rescale(); }
    choose(id);
    const p = places.get(id), box = picture.getBoundingClientRect(), outer = view.getBoundingClientRect();
    view.scrollLeft += box.left - outer.left + (p.x + p.width / 2) * scale - view.clientWidth / 2;
    view.scrollTop += box.top - outer.top + (p.y + p.height / 2) * scale - view.clientHeight / 2;
  }
  function tell(item) {
    const list = html("dl");
    const say = (head, text) => { if (text) list.append(html("dt", {}, head), html("dd", {}, text)); };
    if (!item) {
      say("Click", "a group opens it in place; a node shows what is known about it.");
      say("Keys", "Tab and arrows move, Enter opens and folds, / searches, + − 0 zoom. Ctrl with the wheel zooms, dragging moves.");
      say("Boxes", "weights, and the share " + model.measure + " as a red line. Dashed boxes are tensors that enter or leave a group.");
    } else {
      const many = item.kind === "group";
      say(many ? "group" : "node", many ? item.name : item.node.name);
      if (many) say("nodes", String(item.nodes.length));
      if (!many) { say("operator", item.node.op); say("kernel", item.node.kernel); }
      say("weights", item.weights ? bytes(item.weights) : "");
      say("operations", item.flops ? count(item.flops) : "");
      say("share " + model.measure, item.share ? percent(item.share) : "");
      if (!many) {
        say("time", item.node.us === undefined ? "" : `${item.node.us.toFixed(1)} µs`);
        say("in", item.node.in.map((v) => f.values[v].join(": ")).join(", "));
        say("out", item.node.out.map((v) => f.values[v].join(": ")).join(", "));
        say("from", item.node.from);
        say("fused in", item.node.fused);
        const link = html("a", { href: `#${f.key}n${item.index}` }, "its row of the table");
        link.addEventListener("click", () => { document.getElementById(`${f.key}n${item.index}`).closest("details").open = true; });
        list.append(html("dt", {}, "more"), html("dd", {}, link));
      }
    }
    about.replaceChildren(list);
  }
  function activate(id) {
    const item = byId.get(id);
    if (item?.kind === "group") toggle(item);
    else if (item) choose(id);
    else followPort(id);
  }
  // From a tensor that enters or leaves a group to the node that makes it, or to the first that uses it.
  function followPort(id) {
    const v = Number(/^(?:in|out)(\d+):g/.exec(id)?.[1] ?? NaN);
    if (Number.isNaN(v)) return;
    const other = id.startsWith("in") ? model.maker[v] : model.users[v].find((u) => !byId.get(id.split(":")[1]).nodes.includes(u));
    if (other >= 0) { show(`n${other}`); element(`n${other}`).focus({ preventScroll: true }); }
  }
  function find() {
    const text = search.value.trim().toLowerCase();
    hits = text ? f.nodes.flatMap((n, i) => (`${n.name} ${n.op} ${n.kernel ?? ""} ${n.from ?? ""}`.toLowerCase().includes(text) ? [i] : [])) : [];
    hit = -1;
    found.textContent = text ? `${hits.length} found` + (hits.length ? ", Enter shows them" : "") : "";
  }
  function next(step) {
    if (!hits.length) return;
    hit = (hit + step + hits.length) % hits.length;
    found.textContent = `${hit + 1} of ${hits.length}`;
    show(`n${hits[hit]}`);
  }
  search.addEventListener("input", find);
  search.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    next(event.shiftKey ? -1 : 1);
  });
  let pressed = null;
  view.addEventListener("pointerdown", (event) => {
    if (event.button === 0 && event.pointerType === "mouse") pressed = { x: event.clientX, y: event.clientY, left: view.scrollLeft, top: view.scrollTop, moved: false };
  });
  addEventListener("pointermove", (event) => {
    if (!pressed) return;
    const dx = event.clientX - pressed.x, dy = event.clientY - pressed.y;
    pressed.moved ||= Math.hypot(dx, dy) > 5;
    if (!pressed.moved) return;
    view.classList.add("drag");
    view.scrollLeft = pressed.left - dx;
    view.scrollTop = pressed.top - dy;
  });
  let dragged = false;
  addEventListener("pointerup", () => {
    dragged = Boolean(pressed?.moved);
    pressed = null;
    view.classList.remove("drag");
  });
  view.addEventListener("click", (event) => {
    const item = event.target.closest?.(".item");
    if (item && !dragged) activate(item.dataset.id);
    dragged = false;
  });
  view.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = view.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY / 400), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  graph.addEventListener("keydown", (event) => {
    const item = event.target.closest?.(".item");
    const keys = { "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(1 / 1.25), 0: fit, "/": () => search.focus() };
    if (item) {
      const id = item.dataset.id, step = (list) => list && (list.focus(), list.scrollIntoView({ block: "nearest", inline: "nearest" }));
      const along = (from, to) => {
        const edge = [...view.querySelectorAll(".e")].find((e) => e.dataset[from] === id);
        step(edge && element(edge.dataset[to]));
      };
      const all = [...view.querySelectorAll(".item")], at = all.indexOf(item);
      Object.assign(keys, {
        Enter: () => activate(id), " ": () => activate(id), ArrowDown: () => along("from", "to"), ArrowUp: () => along("to", "from"),
        ArrowRight: () => step(all[at + 1]), ArrowLeft: () => step(all[at - 1]),
        Escape: () => { const g = (byId.get(id) ?? byId.get(id.split(":")[1]))?.parent; if (g?.parent) toggle(g); },
      });
    }
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  openSome();
  draw();
  if (size[1] < view.clientHeight) graph.style.height = `${Math.max(240, size[1] * 1.1 + 8)}px`;
  fit();
  tell(null);
  return { search: (text) => { search.value = text; find(); next(1); }, openAll: () => setAll(true) };
}

// `#search=TEXT` in the address shows the first node of that text, `#open` opens every group.
const { families, constants, functions } = JSON.parse(document.getElementById("data").textContent);
const began = performance.now();
const graphs = functions.map((f) => drawGraph(document.getElementById(`${f.key}graph`), f, families, constants));
function follow() {
  const asked = new URLSearchParams(location.hash.slice(1));
  if (asked.has("open")) graphs[0].openAll();
  if (asked.has("search")) graphs[0].search(asked.get("search"));
}
follow();
addEventListener("hashchange", follow);
document.documentElement.dataset.drawn = (performance.now() - began).toFixed(0); // milliseconds
