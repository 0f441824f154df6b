// Charts in plain SVG: lines with bands, and rows of intervals. Text enters by textContent only.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
let palette = null; // of the page's data, see isl.report.palette

function element(name, attributes = {}, parent = null, text = null) {
  const isSvg = parent && parent.namespaceURI === SVG && name !== "div" || name === "svg";
  const node = isSvg ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== null) node.textContent = text;
  if (parent) parent.appendChild(node);
  return node;
}

function styleOf(index) {
  const { colours, dashes, markers } = palette;
  return {
    colour: `var(--s${index % colours})`,
    dash: dashes[index % dashes.length],
    marker: markers[index % markers.length],
  };
}

// A mark has one meaning on the whole page: dot, square and cross say how many seeds solved a task,
// ring and asterisk whether an action is Pareto optimal, a dash is one run; the others are agents'.
const MARKS = {
  cross: (s) => `M${-s},${-s}L${s},${s}M${-s},${s}L${s},${-s}`,
  dash: (s) => `M${-s},0H${s}`,
  asterisk: (s) => `M${-s},0H${s}M${-s / 2},${-s * 0.87}L${s / 2},${s * 0.87}M${-s / 2},${s * 0.87}L${s / 2},${-s * 0.87}`,
  plus: (s) => `M${-s},0H${s}M0,${-s}V${s}`,
  triangle: (s) => `M0,${-s}L${s},${s}H${-s}Z`,
  wedge: (s) => `M0,${s}L${s},${-s}H${-s}Z`,
  diamond: (s) => `M0,${-s * 1.25}L${s * 1.25},0L0,${s * 1.25}L${-s * 1.25},0Z`,
  star: (s) => `M${Array.from({ length: 10 }, (_, i) => [i % 2 ? s * 0.6 : s * 1.4, (i * Math.PI) / 5]).map(([r, a]) => `${(r * Math.sin(a)).toFixed(2)},${(-r * Math.cos(a)).toFixed(2)}`).join("L")}Z`,
};
const OPEN_MARKS = ["cross", "dash", "asterisk", "plus"];

function drawMark(parent, kind, x, y, size, colour) {
  const shared = { stroke: colour, "stroke-width": OPEN_MARKS.includes(kind) ? 2.2 : 1.6, class: `mark ${kind}` };
  if (kind === "dot") return element("circle", { ...shared, cx: x, cy: y, r: size, fill: colour }, parent);
  if (kind === "ring") return element("circle", { ...shared, cx: x, cy: y, r: size, fill: "var(--card)" }, parent);
  if (kind === "square")
    return element("rect", { ...shared, x: x - size, y: y - size, width: 2 * size, height: 2 * size, fill: "var(--card)" }, parent);
  const fill = OPEN_MARKS.includes(kind) ? "none" : colour;
  return element("path", { ...shared, d: MARKS[kind](size), transform: `translate(${x} ${y})`, fill }, parent);
}

// Stretches of neighbouring points that all have a place: a line is not drawn over a gap.
function stretches(points, hasPlace) {
  const found = [];
  let open = false;
  points.forEach((point, i) => {
    if (!hasPlace(i)) { open = false; return; }
    if (!open) found.push([]);
    found[found.length - 1].push(point);
    open = true;
  });
  return found;
}

const shortened = (name, most) => (name.length > most ? name.slice(0, most - 1) + "…" : name);
const joined = (points) => "M" + points.map(([px, py]) => `${px.toFixed(1)},${py.toFixed(1)}`).join("L");

class Chart {
  constructor(host, spec) {
    this.host = host;
    this.spec = spec;
    this.hidden = new Set();
    this.logX = spec.log_x;
    this.logY = spec.log_y;
    this.bands = true;
    this.seeds = spec.series.some((s) => s.runs.length > 0);
    this.controls = element("div", { class: "controls" }, host);
    this.figure = element("div", { class: "plot" }, host);
    this.tip = element("div", { class: "tip", role: "status", hidden: "" }, this.figure);
    this.makeControls();
    this.draw();
    let width = this.figure.clientWidth;
    new ResizeObserver(() => {
      if (this.figure.clientWidth !== width) { width = this.figure.clientWidth; this.draw(); }
    }).observe(this.figure);
    this.figure.addEventListener("pointermove", (event) => this.point(event));
    this.figure.addEventListener("pointerdown", (event) => this.point(event));
    this.figure.addEventListener("pointerleave", () => this.unpoint());
  }

  makeControls() {
    const legend = element("div", { class: "legend", role: "group", "aria-label": "series" }, this.controls);
    for (const series of this.spec.series) {
      const button = element("button", { type: "button", "aria-pressed": "true", title: series.name }, legend);
      const sample = element("svg", { width: 34, height: 14, "aria-hidden": "true" }, button);
      const style = styleOf(series.style);
      if (this.spec.kind === "lines")
        element("line", { x1: 1, x2: 33, y1: 7, y2: 7, stroke: style.colour, "stroke-width": 2.2, "stroke-dasharray": style.dash }, sample);
      if (series.mark.length === 0) drawMark(sample, style.marker, 17, 7, 3.6, style.colour);
      element("span", {}, button, series.name);
      button.addEventListener("click", () => {
        const off = this.hidden.has(series.name);
        if (off) this.hidden.delete(series.name); else this.hidden.add(series.name);
        button.setAttribute("aria-pressed", String(off));
        this.draw();
      });
    }
    if (this.spec.kind !== "lines") return;
    const options = element("div", { class: "options", role: "group", "aria-label": "view" }, this.controls);
    const toggle = (name, key) => {
      const button = element("button", { type: "button", "aria-pressed": String(this[key]) }, options, name);
      button.addEventListener("click", () => {
        this[key] = !this[key];
        button.setAttribute("aria-pressed", String(this[key]));
        this.draw();
      });
    };
    // A logarithm needs values above 0, and two of them to say more than a line of numbers does.
    const positive = (values) => { const span = spanOf(values); return span && span[0] > 0 && span[1] > span[0]; };
    const all = (...keys) => this.spec.series.flatMap((s) => keys.flatMap((key) => s[key]));
    const seeds = this.spec.series.flatMap((s) => s.runs.map((run) => run[1]));
    if (!this.spec.categories.length && !this.spec.range_x && positive(all("x"))) toggle("log x", "logX");
    if (!this.spec.range_y && positive([...all("y", "low", "high"), ...seeds])) toggle("log y", "logY");
    if (spanOf(all("low"))) toggle("bands", "bands");
    if (this.seeds) toggle("seeds", "seeds");
  }

  draw() {
    const old = this.figure.querySelector("svg");
    if (old) old.remove();
    this.targets = [];
    const width = Math.max(240, this.figure.clientWidth || 700);
    const narrow = width < 560;
    const rows = this.spec.kind === "intervals";
    const shown = this.spec.series.filter((s) => !this.hidden.has(s.name) && s.x.length);
    const alone = this.spec.categories.length === 1; // one mark needs little room
    const height = rows ? 62 + 34 * Math.max(1, shown.length) : alone ? 220 : narrow ? 280 : 360;
    const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `${this.spec.title}. ${this.spec.caption}` });
    this.figure.insertBefore(svg, this.tip);
    this.svg = svg;
    if (!shown.length) {
      const why = this.spec.series.some((s) => s.x.length) ? "nothing selected" : "no number to draw";
      element("text", { x: width / 2, y: height / 2, "text-anchor": "middle", class: "axis" }, svg, why);
    } else if (rows) this.drawIntervals(svg, shown, width, height, narrow);
    else this.drawLines(svg, shown, width, height, narrow);
    this.halo = element("circle", { r: 8, class: "halo", visibility: "hidden" }, svg);
  }

  drawLines(svg, shown, width, height, narrow) {
    const { spec } = this;
    const ends = !narrow && !spec.categories.length;
    const longest = Math.max(...shown.map((s) => Math.min(16, s.name.length)));
    const box = { left: 64, right: width - (ends ? (spec.bars ? 42 : 18) + longest * 6.6 : 12), top: spec.ceiling === null ? 22 : 38, bottom: height - 44 };
    if (spec.categories.length) box.bottom -= slantOf(spec.categories, box).more;
    const all = (keys) => shown.flatMap((s) => keys.flatMap((k) => s[k]));
    const seedY = this.seeds ? shown.flatMap((s) => s.runs.map((r) => r[1])) : [];
    const ceiling = spec.ceiling === null ? [] : [spec.ceiling];
    const xs = spec.categories.length ? [-0.5, spec.categories.length - 0.5] : spec.range_x || all(["x"]);
    const x = makeScale(xs, box.left, box.right, { log: this.logX, pad: spec.range_x || spec.categories.length ? 0 : spec.bars ? 0.08 : 0.03, whole: spec.whole_x, ticks: spec.ticks_x, room: Math.max(2, Math.floor((box.right - box.left) / 54)) });
    const ys = spec.range_y || [...all(this.bands ? ["y", "low", "high"] : ["y"]), ...seedY, ...ceiling];
    const y = makeScale(ys, box.bottom, box.top, { log: this.logY, pad: 0.05, whole: spec.whole_y });
    drawAxes(svg, box, x, y, spec);
    if (spec.ceiling !== null) {
      const at = y.scale(spec.ceiling);
      element("line", { x1: box.left, x2: box.right, y1: at, y2: at, class: "ceiling" }, svg);
      element("line", { x1: box.left, x2: box.left + 24, y1: 11, y2: 11, class: "ceiling" }, svg);
      element("text", { x: box.left + 30, y: 15, class: "axis" }, svg, `budget: ${formatNumber(spec.ceiling)}`);
    }
    // Agents that have points at the same numbers stand side by side, so that none hides another.
    const gaps = spec.ticks_x.slice(1).map((tick, i) => x.scale(tick) - x.scale(spec.ticks_x[i]));
    const apart = spec.bars && gaps.length ? Math.min(7, (0.6 * Math.min(...gaps)) / shown.length) : 0;
    shown.forEach((s, i) => {
      const aside = (i - (shown.length - 1) / 2) * apart;
      this.drawSeries(svg, s, { scale: (v) => x.scale(v) + aside }, y);
    });
    if (ends) this.nameEnds(svg, shown, x, y, { ...box, aside: (apart * shown.length) / 2 });
  }

  drawSeries(svg, s, x, y) {
    const style = styleOf(s.style);
    const target = (px, py, text) => this.targets.push({ px, py, text, colour: style.colour });
    const at = s.x.map((v, i) => [x.scale(v), isNumber(s.y[i]) ? y.scale(s.y[i]) : NaN]);
    if (this.bands) {
      const band = s.x.map((v, i) => ({ px: x.scale(v), top: y.scale(s.high[i]), bottom: y.scale(s.low[i]) }));
      for (const part of stretches(band, (i) => isNumber(s.low[i]) && isNumber(s.high[i]))) {
        const outline = [...part.map((p) => [p.px, p.top]), ...part.map((p) => [p.px, p.bottom]).reverse()];
        if (part.length > 1) element("path", { d: joined(outline) + "Z", fill: style.colour, class: "band" }, svg);
        else element("line", { x1: part[0].px, x2: part[0].px, y1: part[0].bottom, y2: part[0].top, stroke: style.colour, "stroke-width": 7, opacity: 0.25, class: "band-of-one" }, svg);
      }
    }
    if (this.seeds)
      s.runs.forEach(([rx, ry, text], i) => {
        if (!isNumber(ry)) return;
        const px = x.scale(rx) + ((i % 5) - (Math.min(5, s.runs.length) - 1) / 2) * (this.spec.bars ? 1.5 : 3.2); // apart, so that equal ones are seen
        drawMark(svg, "dash", px, y.scale(ry), 3.2, style.colour).classList.add("seed");
        target(px, y.scale(ry), text);
      });
    for (const part of stretches(at, (i) => isNumber(s.y[i]) && !s.beyond[i]))
      element("path", { d: joined(part), fill: "none", stroke: style.colour, "stroke-width": 2.2, "stroke-dasharray": style.dash, class: "line" }, svg);
    const few = s.x.length <= 30;
    at.forEach(([px, py], i) => {
      if (!isNumber(py)) return;
      if (few) drawMark(svg, s.mark[i] || style.marker, px, py, 4.2, style.colour);
      // Where the median lies beyond the budget, an arrow says that the mark is only a bound.
      if (s.beyond[i]) element("path", { d: `M${px},${py - 7}v-12m-4,4l4,-4l4,4`, stroke: style.colour, "stroke-width": 1.8, fill: "none", class: "beyond" }, svg);
      const band = isNumber(s.low[i]) && isNumber(s.high[i]) ? ` (${formatNumber(s.low[i])} to ${formatNumber(s.high[i])})` : "";
      target(px, py, s.text[i] || `${s.name}: ${formatNumber(s.y[i])}${band} at ${this.spec.x_label} ${formatNumber(s.x[i])}`);
    });
  }

  nameEnds(svg, shown, x, y, box) {
    const ends = [];
    for (const s of shown) {
      const last = s.y.reduce((found, value, i) => (isNumber(value) ? i : found), -1);
      if (last >= 0) ends.push({ s, px: x.scale(s.x[last]), py: y.scale(s.y[last]) });
    }
    let above = -Infinity;
    for (const end of ends.sort((a, b) => a.py - b.py)) {
      const py = Math.max(end.py + 4, above + 14);
      above = py;
      if (py > box.bottom + 8) break; // no room: the legend has them all
      element("text", { x: Math.min(end.px, box.right) + box.aside + 9, y: py, class: "end", fill: styleOf(end.s.style).colour }, svg, shortened(end.s.name, 16));
    }
  }

  drawIntervals(svg, shown, width, height, narrow) {
    const most = narrow ? 14 : 28;
    const longest = Math.max(...shown.map((s) => Math.min(most, s.name.length)));
    const box = { left: 16 + longest * 7, right: width - 22, top: 8, bottom: height - 44 };
    const x = makeScale(this.spec.range_x || shown.flatMap((s) => [s.x[0], s.low[0], s.high[0]]), box.left, box.right, { pad: 0.02, room: narrow ? 4 : 6 });
    drawAxes(svg, box, x, null, this.spec);
    if (this.spec.reference !== null) {
      const at = x.scale(this.spec.reference);
      element("line", { x1: at, x2: at, y1: box.top, y2: box.bottom, class: "ceiling" }, svg);
    }
    shown.forEach((s, row) => {
      const style = styleOf(s.style);
      const py = box.top + 17 + row * 34;
      element("text", { x: box.left - 10, y: py + 4, "text-anchor": "end", class: "axis" }, svg, shortened(s.name, most));
      if (isNumber(s.low[0]) && isNumber(s.high[0]))
        element("line", { x1: x.scale(s.low[0]), x2: x.scale(s.high[0]), y1: py, y2: py, stroke: style.colour, "stroke-width": 9, opacity: 0.32, "stroke-linecap": "round" }, svg);
      if (!isNumber(s.x[0])) return;
      drawMark(svg, style.marker, x.scale(s.x[0]), py, 5, style.colour);
      this.targets.push({ px: x.scale(s.x[0]), py, text: s.text[0], colour: style.colour });
    });
  }

  point(event) {
    const frame = this.svg.getBoundingClientRect();
    const [mx, my] = [event.clientX - frame.left, event.clientY - frame.top];
    let best = null;
    let least = 28 ** 2;
    for (const target of this.targets) {
      const distance = (target.px - mx) ** 2 + (target.py - my) ** 2;
      if (distance < least) [best, least] = [target, distance];
    }
    if (!best) return this.unpoint();
    this.halo.setAttribute("cx", best.px);
    this.halo.setAttribute("cy", best.py);
    this.halo.setAttribute("stroke", best.colour);
    this.halo.setAttribute("visibility", "visible");
    this.tip.hidden = false;
    this.tip.textContent = best.text;
    const room = frame.width - this.tip.offsetWidth - 8;
    this.tip.style.left = `${Math.max(0, Math.min(best.px + 12, room))}px`;
    this.tip.style.top = `${Math.max(0, best.py - this.tip.offsetHeight - 12)}px`;
  }

  unpoint() {
    this.tip.hidden = true;
    this.halo.setAttribute("visibility", "hidden");
  }
}

// Names under a chart stand upright if they fit side by side, else they are set at a slant.
function slantOf(names, box) {
  const most = Math.max(...names.map((name) => Math.min(22, name.length)));
  const slanted = most * 7 > (box.right - box.left) / names.length;
  return { slanted, more: slanted ? Math.min(70, most * 4.2) : 0 };
}

function drawAxes(svg, box, x, y, { categories = [], x_label, y_label }) {
  (y ? y.ticks : []).forEach((tick, i) => {
    const at = y.scale(tick);
    element("line", { x1: box.left, x2: box.right, y1: at, y2: at, class: "grid" }, svg);
    element("text", { x: box.left - 7, y: at + 4, "text-anchor": "end", class: "axis tick-y" }, svg, y.labels[i]);
  });
  const { slanted, more } = categories.length ? slantOf(categories, box) : { slanted: false, more: 0 };
  (categories.length ? categories.map((_, i) => i) : x.ticks).forEach((tick, i) => {
    const at = x.scale(tick);
    if (!categories.length) element("line", { x1: at, x2: at, y1: box.top, y2: box.bottom, class: "grid" }, svg);
    const text = categories.length ? shortened(categories[i], 22) : x.labels[i];
    const place = slanted ? { transform: `translate(${at + 4} ${box.bottom + 14}) rotate(-35)`, "text-anchor": "end" } : { x: at, y: box.bottom + 17, "text-anchor": "middle" };
    element("text", { ...place, class: "axis tick-x" }, svg, text);
  });
  element("text", { x: (box.left + box.right) / 2, y: box.bottom + more + 36, "text-anchor": "middle", class: "label" }, svg, x_label);
  if (y_label)
    element("text", { transform: `translate(13 ${(box.top + box.bottom) / 2}) rotate(-90)`, "text-anchor": "middle", class: "label" }, svg, y_label);
}
