// What an agent believes: maps over a grid with a slider over training, and one state's majorant.
"use strict";

const MAP_COLOURS = [[13, 22, 66], [36, 59, 120], [70, 96, 128], [110, 128, 130], [155, 160, 116], [205, 195, 92], [253, 231, 76]];

function colourAt(share) {
  const place = Math.min(1, Math.max(0, share)) * (MAP_COLOURS.length - 1);
  const low = Math.min(MAP_COLOURS.length - 2, Math.floor(place));
  return MAP_COLOURS[low].map((c, i) => Math.round(c + (place - low) * (MAP_COLOURS[low + 1][i] - c)));
}

function decode(text, kind) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new kind(bytes.buffer);
}

class Beliefs {
  constructor(host, items) {
    this.host = host;
    this.items = items;
    const bar = element("div", { class: "controls" }, host);
    if (items.length > 1) {
      const pick = element("select", { "aria-label": "run", class: "pick-run" }, element("label", {}, bar, "run "));
      items.forEach((item, i) => element("option", { value: i }, pick, item.title));
      pick.addEventListener("change", () => this.show(Number(pick.value)));
    }
    this.body = element("div", {}, host);
    this.show(0);
  }

  show(index) {
    this.stop();
    const item = this.items[index];
    this.item = item;
    this.q = decode(item.q, Float32Array);
    this.ell = item.ell ? decode(item.ell, Float32Array) : null;
    this.policy = item.policy ? decode(item.policy, Float32Array) : null;
    this.visits = item.visits ? decode(item.visits, Int32Array) : null;
    this.kappa = item.kappa;
    this.time = item.episodes.length >> 1; // half-way, where there is something to see
    this.state = 0;
    this.body.replaceChildren();
    this.makeTime();
    if (item.size) this.makeMaps();
    else this.makeChoice();
    this.picture = element("div", { class: "majorant" }, this.body);
    this.makePicture();
    this.refresh();
  }

  row(values, state, time = this.time) {
    const { actions } = this.item;
    const from = (time * this.item.states + state) * actions;
    return Array.from(values.subarray(from, from + actions));
  }

  // What the maps show of a state: the agent's own policy and value unless it has a majorant.
  solve(state, time = this.time, kappa = this.kappa) {
    const q = this.row(this.q, state, time);
    if (!this.ell || kappa === null)
      return { policy: this.policy ? this.row(this.policy, state, time) : null, value: Math.max(...q) };
    return solveState(q, this.row(this.ell, state, time), kappa);
  }

  makeTime() {
    const { episodes } = this.item;
    if (episodes.length < 2) return;
    const bar = element("div", { class: "time" }, this.body);
    const play = element("button", { type: "button", class: "play" }, bar, "▶ play");
    this.slider = element("input", { type: "range", min: 0, max: episodes.length - 1, value: this.time, "aria-label": "training time", class: "time-slider" }, bar);
    this.clock = element("output", {}, bar);
    this.slider.addEventListener("input", () => { this.stop(); this.time = Number(this.slider.value); this.refresh(); });
    play.addEventListener("click", () => {
      if (this.timer) return this.stop();
      if (this.time === episodes.length - 1) this.time = -1;
      play.textContent = "❚❚ pause";
      this.timer = setInterval(() => {
        if (this.time >= episodes.length - 1) return this.stop();
        this.time += 1;
        this.slider.value = this.time;
        this.refresh();
      }, 160);
    });
    this.play = play;
  }

  stop() {
    if (this.timer) clearInterval(this.timer);
    this.timer = null;
    if (this.play) this.play.textContent = "▶ play";
  }

  mapValues(name, state, time) {
    if (name === "visits") return Math.log10(1 + this.visits[time * this.item.states + state]);
    if (name === "ell") return Math.max(...this.row(this.ell, state, time));
    const solved = this.solve(state, time, this.item.kappa);
    if (name === "value") return solved.value;
    return solved.policy[this.item.right[state]];
  }

  makeMaps() {
    const { item } = this;
    const value = this.ell && item.kappa !== null ? "value v*" : "largest q̂";
    const names = [];
    if (this.visits) names.push(["visits", "visits, log₁₀(1 + n)"]);
    if (this.ell) names.push(["ell", "largest ℓ"]);
    names.push(["value", value]);
    if (item.right && (this.policy || (this.ell && item.kappa !== null))) names.push(["right", "P(right)"]);
    const grid = element("div", { class: "maps" }, this.body);
    this.maps = names.map(([name, title]) => {
      const figure = element("figure", {}, grid);
      element("figcaption", {}, figure, title);
      const canvas = element("canvas", { role: "img", "aria-label": `${title} over the grid`, class: `map map-${name}` }, figure);
      const scale = element("div", { class: "scale" }, figure);
      const [low, high] = name === "right" ? [0, 1] : this.range(name);
      element("span", {}, scale, formatNumber(low));
      element("canvas", { class: "ramp", width: 64, height: 1 }, scale);
      element("span", {}, scale, formatNumber(high));
      const ramp = scale.querySelector("canvas").getContext("2d");
      for (let i = 0; i < 64; i++) { ramp.fillStyle = `rgb(${colourAt(i / 63)})`; ramp.fillRect(i, 0, 1, 1); }
      const said = element("div", { class: "said" }, figure, " ");
      const cellAt = (event) => {
        const frame = canvas.getBoundingClientRect();
        const column = Math.floor(((event.clientX - frame.left) / frame.width) * item.size);
        const row = Math.floor(((event.clientY - frame.top) / frame.height) * item.size);
        return item.cells.indexOf(row * item.size + column);
      };
      canvas.addEventListener("pointermove", (event) => {
        const state = cellAt(event);
        said.textContent = state < 0 ? " " : `${this.nameOf(state)}: ${formatNumber(this.mapValues(name, state, this.time))}`;
      });
      canvas.addEventListener("pointerleave", () => { said.textContent = " "; });
      canvas.addEventListener("click", (event) => {
        const state = cellAt(event);
        if (state >= 0) { this.state = state; this.refresh(); }
      });
      return { name, canvas, low, high };
    });
    element("p", { class: "hint" }, this.body, "Click a cell to see its majorant below. Cells above the diagonal cannot be reached.");
  }

  range(name) {
    let [low, high] = [Infinity, -Infinity];
    for (let time = 0; time < this.item.episodes.length; time++)
      for (let state = 0; state < this.item.states; state++) {
        const value = this.mapValues(name, state, time);
        if (value < low) low = value;
        if (value > high) high = value;
      }
    return [name === "visits" ? 0 : low, high > low ? high : low + 1];
  }

  drawMaps() {
    const { size, cells, states } = this.item;
    const dark = getComputedStyle(document.documentElement).getPropertyValue("--card");
    for (const { name, canvas, low, high } of this.maps || []) {
      const unit = Math.max(4, Math.floor(360 / size));
      canvas.width = canvas.height = unit * size;
      const pen = canvas.getContext("2d");
      pen.fillStyle = dark;
      pen.fillRect(0, 0, canvas.width, canvas.height);
      for (let state = 0; state < states; state++) {
        const [row, column] = [Math.floor(cells[state] / size), cells[state] % size];
        pen.fillStyle = `rgb(${colourAt((this.mapValues(name, state, this.time) - low) / (high - low))})`;
        pen.fillRect(column * unit, row * unit, unit, unit);
      }
      const [row, column] = [Math.floor(cells[this.state] / size), cells[this.state] % size];
      pen.lineWidth = Math.max(2, unit / 7);
      pen.strokeStyle = "#ff5a3c";
      pen.strokeRect(column * unit + 1, row * unit + 1, unit - 2, unit - 2);
    }
  }

  makeChoice() {
    const { labels } = this.item;
    if (labels.length < 2) return;
    const pick = element("select", { class: "pick-state" }, element("label", {}, this.body, "observation "));
    labels.forEach((label, i) => element("option", { value: i }, pick, label));
    pick.addEventListener("change", () => { this.state = Number(pick.value); this.refresh(); });
  }

  nameOf(state) {
    const { size, cells, labels } = this.item;
    return size ? `row ${Math.floor(cells[state] / size)}, column ${cells[state] % size}` : labels[state];
  }

  makePicture() {
    const { item } = this;
    this.heading = element("h4", { class: "state-name" }, this.picture);
    const sides = element("div", { class: "sides" }, this.picture);
    this.plot = element("div", { class: "plot" }, sides);
    const right = element("div", { class: "beside" }, sides);
    if (this.ell && item.kappa !== null) {
      const label = element("label", { class: "kappa" }, right, "κ ");
      const slider = element("input", { type: "range", min: -5, max: 5, step: 0.05, value: 0, class: "kappa-slider", "aria-label": "kappa" }, label);
      this.kappaText = element("output", { class: "kappa-value" }, label);
      slider.addEventListener("input", () => { this.kappa = item.kappa * 2 ** Number(slider.value); this.drawPicture(); });
      const back = element("button", { type: "button" }, label, "back to the run's");
      back.addEventListener("click", () => { slider.value = 0; this.kappa = item.kappa; this.drawPicture(); });
    }
    this.table = element("table", { class: "actions" }, right);
    this.value = element("p", { class: "hint" }, right);
    if (this.ell && item.kappa !== null)
      element("p", { class: "hint" }, right, "Each action is a point (ℓ, ℓ·q̂); the line is their least concave majorant from the origin. Its corners are the Pareto optimal actions, the only ones that π* takes. A small κ is greedy, a large κ goes for the largest ℓ.");
  }

  refresh() {
    if (this.clock) this.clock.textContent = `episode ${this.item.episodes[this.time]}`;
    this.drawMaps();
    this.drawPicture();
  }

  actionName(action) {
    const { right, action_names: names } = this.item;
    if (right) return right[this.state] === action ? "right" : "left";
    return names ? names[action] : `action ${action}`;
  }

  drawPicture() {
    const solved = this.solve(this.state);
    const q = this.row(this.q, this.state);
    const ell = this.ell ? this.row(this.ell, this.state) : null;
    this.heading.textContent = this.nameOf(this.state);
    if (this.kappaText) this.kappaText.textContent = formatNumber(this.kappa);
    this.table.replaceChildren();
    const head = element("tr", {}, element("thead", {}, this.table));
    for (const name of ["action", "q̂", ...(ell ? ["ℓ"] : []), "π", ""]) element("th", {}, head, name);
    const body = element("tbody", {}, this.table);
    q.forEach((value, action) => {
      const row = element("tr", {}, body);
      element("td", {}, row, this.actionName(action));
      element("td", {}, row, formatNumber(value));
      if (ell) element("td", {}, row, formatNumber(ell[action]));
      const pi = solved.policy ? solved.policy[action] : null;
      element("td", { class: "pi" }, row, pi === null ? "–" : pi.toFixed(3));
      const cell = element("td", { class: "share" }, row);
      element("div", { class: "share-bar", style: `width:${((pi || 0) * 100).toFixed(1)}%` }, cell);
    });
    this.value.textContent = `${solved.hull ? "v*" : "largest q̂"} = ${formatNumber(solved.value)}`;
    this.plot.replaceChildren();
    if (solved.hull) this.drawMajorant(solved, q, ell);
    else element("p", { class: "hint" }, this.plot, "This agent has no ℓ and κ, hence no majorant.");
  }

  drawMajorant(solved, q, ell) {
    const width = Math.max(280, this.plot.clientWidth || 460);
    const height = Math.min(340, width * 0.72);
    const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": "majorant" }, this.plot);
    const box = { left: 62, right: width - 60, top: 16, bottom: height - 44 };
    const heights = q.map((value, action) => value * ell[action]);
    const x = makeScale([0, ...ell], false, box.left, box.right, 0.02);
    const y = makeScale([0, ...heights], false, box.bottom, box.top, 0.12);
    Chart.prototype.axes.call({ spec: { categories: [], x_label: "ℓ", y_label: "ℓ · q̂" } }, svg, box, x, y);
    const at = solved.hull.map((point) => `${x.scale(point.ell)},${y.scale(point.height)}`);
    element("path", { d: `M${at.join("L")}`, fill: "none", stroke: "var(--s0)", "stroke-width": 2.4, class: "hull" }, svg);
    drawMark(svg, "dot", x.scale(0), y.scale(0), 3, "var(--muted)");
    q.forEach((_, action) => {
      const [px, py] = [x.scale(ell[action]), y.scale(heights[action])];
      // The area of the disc is the probability.
      element("circle", { cx: px, cy: py, r: 4 + 16 * Math.sqrt(solved.policy[action]), fill: "var(--s1)", class: "probability" }, svg);
      drawMark(svg, solved.pareto[action] ? "dot" : "cross", px, py, 4.4, solved.pareto[action] ? "var(--s0)" : "var(--muted)");
      element("text", { x: px + 10, y: py - 9, class: "end", fill: "currentColor" }, svg, this.actionName(action));
    });
  }
}
