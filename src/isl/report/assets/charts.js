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

function drawMark(parent, kind, x, y, size, colour) {
  const shared = { stroke: colour, "stroke-width": 1.6, fill: "none", class: `mark ${kind}` };
  const line = (d, more = {}) => element("path", { ...shared, d, ...more }, parent);
  const s = size;
  if (kind === "dot") return element("circle", { ...shared, cx: x, cy: y, r: s, fill: colour }, parent);
  if (kind === "square")
    return element("rect", { ...shared, x: x - s, y: y - s, width: 2 * s, height: 2 * s, fill: "var(--card)" }, parent);
  if (kind === "cross") return line(`M${x - s},${y - s}L${x + s},${y + s}M${x - s},${y + s}L${x + s},${y - s}`, { "stroke-width": 2.4 });
  if (kind === "plus") return line(`M${x - s},${y}H${x + s}M${x},${y - s}V${y + s}`, { "stroke-width": 2.4 });
  if (kind === "triangle") return line(`M${x},${y - s}L${x + s},${y + s}H${x - s}Z`, { fill: colour });
  return line(`M${x},${y - s * 1.2}L${x + s * 1.2},${y}L${x},${y + s * 1.2}L${x - s * 1.2},${y}Z`, { fill: colour });
}

function niceTicks(low, high, count) {
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((f) => f * power).find((s) => s >= rough) || rough;
  const ticks = [];
  for (let t = Math.ceil(low / step - 1e-9) * step; t <= high + step * 1e-9; t += step) ticks.push(Math.abs(t) < step * 1e-9 ? 0 : t);
  return ticks;
}

function logTicks(low, high) {
  const ticks = [];
  const wide = high / low > 200;
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++)
    for (const f of wide ? [1] : [1, 2, 5]) {
      const t = f * 10 ** e;
      if (t >= low * 0.999 && t <= high * 1.001) ticks.push(t);
    }
  return ticks;
}

function formatNumber(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) return value.toExponential(1).replace("e+", "e");
  return String(+value.toPrecision(4));
}

function makeScale(values, log, from, to, pad) {
  let low = Math.min(...values);
  let high = Math.max(...values);
  if (log) {
    if (low === high) [low, high] = [low / 2, high * 2];
    const margin = (high / low) ** pad;
    [low, high] = [low / margin, high * margin];
    const scale = (v) => from + ((Math.log(Math.max(v, low * 1e-3)) - Math.log(low)) / Math.log(high / low)) * (to - from);
    return { scale, ticks: logTicks(low, high), low, high };
  }
  if (low === high) [low, high] = [low - 0.5, high + 0.5];
  const margin = (high - low) * pad;
  [low, high] = [low - margin, high + margin];
  return { scale: (v) => from + ((v - low) / (high - low)) * (to - from), ticks: niceTicks(low, high, 6), low, high };
}

const extent = (list) => list.filter((v) => v !== null && Number.isFinite(v));

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
    const positive = (key) => this.spec.series.every((s) => extent(s[key]).every((v) => v > 0));
    if (positive("x") && !this.spec.categories.length) toggle("log x", "logX");
    if (positive("y") && positive("low")) toggle("log y", "logY");
    toggle("bands", "bands");
    if (this.seeds) toggle("seeds", "seeds");
  }

  draw() {
    const old = this.figure.querySelector("svg");
    if (old) old.remove();
    this.targets = [];
    const width = Math.max(280, this.figure.clientWidth || 700);
    const narrow = width < 560;
    const rows = this.spec.kind === "intervals";
    const shown = this.spec.series.filter((s) => !this.hidden.has(s.name) && s.x.length);
    const height = rows ? 62 + 34 * Math.max(1, shown.length) : narrow ? 270 : 360;
    const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `${this.spec.title}. ${this.spec.caption}` });
    this.figure.insertBefore(svg, this.tip);
    this.svg = svg;
    if (!shown.length) {
      element("text", { x: width / 2, y: height / 2, "text-anchor": "middle", class: "axis" }, svg, "nothing selected");
      return;
    }
    if (rows) this.drawIntervals(svg, shown, width, height, narrow);
    else this.drawLines(svg, shown, width, height, narrow);
    this.halo = element("circle", { r: 8, class: "halo", visibility: "hidden" }, svg);
  }

  axes(svg, box, x, y) {
    for (const tick of y ? y.ticks : []) {
      const at = y.scale(tick);
      element("line", { x1: box.left, x2: box.right, y1: at, y2: at, class: "grid" }, svg);
      element("text", { x: box.left - 7, y: at + 4, "text-anchor": "end", class: "axis" }, svg, formatNumber(tick));
    }
    const names = this.spec.categories;
    const ticks = names.length ? names.map((_, i) => i) : x.ticks;
    const room = (box.right - box.left) / Math.max(1, ticks.length);
    for (const tick of ticks) {
      const at = x.scale(tick);
      if (!names.length) element("line", { x1: at, x2: at, y1: box.top, y2: box.bottom, class: "grid" }, svg);
      let label = names.length ? names[tick] : formatNumber(tick);
      const most = Math.max(4, Math.floor(room / 7));
      if (names.length && label.length > most) label = label.slice(0, most - 1) + "…";
      element("text", { x: at, y: box.bottom + 17, "text-anchor": "middle", class: "axis" }, svg, label);
    }
    element("text", { x: (box.left + box.right) / 2, y: box.bottom + 36, "text-anchor": "middle", class: "label" }, svg, this.spec.x_label);
    if (this.spec.y_label)
      element("text", { transform: `translate(13 ${(box.top + box.bottom) / 2}) rotate(-90)`, "text-anchor": "middle", class: "label" }, svg, this.spec.y_label);
  }

  drawLines(svg, shown, width, height, narrow) {
    const longest = Math.max(...shown.map((s) => Math.min(16, s.name.length)));
    const box = { left: 58, right: width - (narrow ? 12 : 18 + longest * 6.6), top: 12, bottom: height - 44 };
    const all = (keys) => shown.flatMap((s) => keys.flatMap((k) => extent(s[k])));
    const seedY = this.seeds ? shown.flatMap((s) => s.runs.map((r) => r[1])) : [];
    const ceiling = this.spec.ceiling === null ? [] : [this.spec.ceiling];
    const xs = this.spec.categories.length ? [-0.5, this.spec.categories.length - 0.5] : this.spec.range_x || all(["x"]);
    const x = makeScale(xs, this.logX, box.left, box.right, this.spec.range_x || this.spec.categories.length ? 0 : 0.03);
    const ys = [...all(this.bands ? ["y", "low", "high"] : ["y"]), ...seedY, ...ceiling];
    const y = makeScale(this.spec.range_y || (this.logY ? ys.filter((v) => v > 0) : ys), this.logY, box.bottom, box.top, 0.05);
    this.axes(svg, box, x, y);
    if (this.spec.ceiling !== null) {
      const at = y.scale(this.spec.ceiling);
      element("line", { x1: box.left, x2: box.right, y1: at, y2: at, class: "ceiling" }, svg);
      element("text", { x: box.left + 4, y: at - 4, class: "axis" }, svg, "budget");
    }
    const pointed = (s, i, px, py, text) => this.targets.push({ px, py, text, colour: styleOf(s.style).colour });
    for (const s of shown) {
      const style = styleOf(s.style);
      const at = s.x.map((v, i) => [x.scale(v), s.y[i] === null ? null : y.scale(s.y[i])]);
      if (this.bands && s.x.length > 1) {
        const top = s.x.map((v, i) => `${x.scale(v).toFixed(1)},${y.scale(s.high[i]).toFixed(1)}`);
        const bottom = s.x.map((v, i) => `${x.scale(v).toFixed(1)},${y.scale(s.low[i]).toFixed(1)}`).reverse();
        element("path", { d: `M${top.join("L")}L${bottom.join("L")}Z`, fill: style.colour, class: "band" }, svg);
      } else if (this.bands)
        element("line", { x1: at[0][0], x2: at[0][0], y1: y.scale(s.low[0]), y2: y.scale(s.high[0]), stroke: style.colour, "stroke-width": 5, opacity: 0.3 }, svg);
      const few = s.x.length <= 30;
      if (this.seeds)
        s.runs.forEach(([rx, ry, text], i) => {
          const px = x.scale(rx) + ((i % 5) - 2) * 2.2; // apart, so that equal ones are seen
          const py = y.scale(ry);
          element("circle", { cx: px, cy: py, r: 2.6, fill: style.colour, class: "seed" }, svg);
          pointed(s, i, px, py, text);
        });
      const known = at.filter((_, i) => !s.beyond[i]).map(([px, py]) => `${px.toFixed(1)},${py.toFixed(1)}`);
      if (known.length) element("path", { d: "M" + known.join("L"), fill: "none", stroke: style.colour, "stroke-width": 2.2, "stroke-dasharray": style.dash, class: "line" }, svg);
      at.forEach(([px, py], i) => {
        if (few) drawMark(svg, s.mark[i] || style.marker, px, py, 4.2, style.colour);
        const text = s.text[i] || `${s.name}: ${formatNumber(s.y[i])} (${formatNumber(s.low[i])} to ${formatNumber(s.high[i])}) at ${formatNumber(s.x[i])}`;
        pointed(s, i, px, py, text);
      });
    }
    if (narrow || this.spec.categories.length) return;
    const ends = shown.map((s) => ({ s, px: x.scale(s.x[s.x.length - 1]), py: y.scale(s.y[s.y.length - 1]) })).sort((a, b) => a.py - b.py);
    let above = -Infinity;
    for (const end of ends) {
      const py = Math.max(end.py + 4, above + 14);
      above = py;
      if (py > box.bottom + 8) break; // no room: the legend has them all
      const name = end.s.name.length > 16 ? end.s.name.slice(0, 15) + "…" : end.s.name;
      element("text", { x: Math.min(end.px + 9, box.right + 9), y: py, class: "end", fill: styleOf(end.s.style).colour }, svg, name);
    }
  }

  drawIntervals(svg, shown, width, height, narrow) {
    const longest = Math.max(...shown.map((s) => Math.min(narrow ? 14 : 28, s.name.length)));
    const box = { left: 16 + longest * 7, right: width - 16, top: 8, bottom: height - 44 };
    const x = makeScale(this.spec.range_x || shown.flatMap((s) => [s.low[0], s.high[0]]), false, box.left, box.right, 0.02);
    this.axes(svg, box, x, null);
    if (this.spec.reference !== null) {
      const at = x.scale(this.spec.reference);
      element("line", { x1: at, x2: at, y1: box.top, y2: box.bottom, class: "ceiling" }, svg);
    }
    shown.forEach((s, row) => {
      const style = styleOf(s.style);
      const py = box.top + 17 + row * 34;
      const px = x.scale(s.x[0]);
      element("line", { x1: x.scale(s.low[0]), x2: x.scale(s.high[0]), y1: py, y2: py, stroke: style.colour, "stroke-width": 9, opacity: 0.32, "stroke-linecap": "round" }, svg);
      drawMark(svg, style.marker, px, py, 5, style.colour);
      const most = narrow ? 14 : 28;
      const name = s.name.length > most ? s.name.slice(0, most - 1) + "…" : s.name;
      element("text", { x: box.left - 10, y: py + 4, "text-anchor": "end", class: "axis" }, svg, name);
      this.targets.push({ px, py, text: s.text[0], colour: style.colour });
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
    if (this.halo) this.halo.setAttribute("visibility", "hidden");
  }
}
