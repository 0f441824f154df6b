// What an agent believes: maps over a grid with a slider over training, and one state's majorant.
"use strict";

const MOVE = 160; // milliseconds between two moments of a film

function decode(text, kind) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new kind(bytes.buffer);
}

// A choice of runs, one of which is looked into. Each look is a new `Inside`: nothing is left of the last one.
class Beliefs {
  constructor(host, items) {
    if (items.length > 1) {
      const bar = element("div", { class: "controls" }, host);
      const pick = element("select", { "aria-label": "run", class: "pick-run" }, element("label", {}, bar, "run "));
      items.forEach((item, i) => element("option", { value: i }, pick, item.title));
      pick.addEventListener("change", () => this.show(items[Number(pick.value)]));
    }
    this.body = element("div", { class: "inside" }, host);
    this.show(items[0]);
  }

  show(item) {
    if (this.inside) this.inside.stop();
    this.body.replaceChildren();
    this.inside = new Inside(this.body, item);
  }
}

class Inside {
  constructor(host, item) {
    this.host = host;
    this.item = item;
    this.q = decode(item.q, Float32Array);
    this.ell = item.ell ? decode(item.ell, Float32Array) : null;
    this.policy = item.policy ? decode(item.policy, Float32Array) : null;
    this.visits = item.visits ? decode(item.visits, Int32Array) : null;
    this.kappas = this.ell && item.kappa !== null ? this.findKappas() : null;
    this.factor = 1; // of the run's kappa
    this.time = item.opens;
    this.state = 0;
    if (item.episodes.length > 1) this.makeTime();
    if (item.size) this.maps = new Maps(host, item, this.kinds(), (state) => this.nameOf(state), (state) => { this.state = state; this.refresh(); });
    else if (item.labels.length > 1) this.makeChoice();
    this.makePicture(element("div", { class: "majorant" }, host));
    this.refresh();
  }

  row(values, state, time = this.time) {
    const { actions } = this.item;
    const from = (time * this.item.states + state) * actions;
    return Array.from(values.subarray(from, from + actions));
  }

  // The kappa of each moment; null if the agent's policy is not the one that its l and q have for any kappa.
  findKappas() {
    const { episodes, states, kappa } = this.item;
    if (!this.policy) return episodes.map(() => kappa);
    const rowsAt = (time) => Array.from({ length: states }, (_, state) => ({ q: this.row(this.q, state, time), ell: this.row(this.ell, state, time), policy: this.row(this.policy, state, time) }));
    let [last, unexplained] = [kappa, 0];
    const found = episodes.map((_, time) => {
      const here = kappaOf(rowsAt(time), last);
      if (here === null) unexplained += 1; else last = here;
      return last;
    });
    return unexplained > 0.1 * found.length ? null : found;
  }

  // Policy and value of a state: the agent's own, with the majorant if it has one.
  solve(state, time = this.time, factor = 1) {
    const q = this.row(this.q, state, time);
    const own = this.policy ? this.row(this.policy, state, time) : null;
    const solved = this.kappas ? solveState(q, this.row(this.ell, state, time), this.kappas[time] * factor) : null;
    if (!solved) return { policy: own, value: this.kappas ? NaN : Math.max(...q), hull: null };
    return { ...solved, policy: own && factor === 1 ? own : solved.policy };
  }

  makeTime() {
    const { episodes, first_goal: goal } = this.item;
    const bar = element("div", { class: "time" }, this.host);
    this.play = element("button", { type: "button", class: "play" }, bar, "▶ play");
    this.slider = element("input", { type: "range", min: 0, max: episodes.length - 1, value: this.time, "aria-label": "training time", class: "time-slider" }, bar);
    this.clock = element("output", { class: "clock" }, bar);
    const move = (time) => { this.stop(); this.time = time; this.slider.value = time; this.refresh(); };
    this.slider.addEventListener("input", () => move(Number(this.slider.value)));
    if (goal !== null) {
      const back = element("button", { type: "button", class: "first-goal" }, bar, `first ${goal.name}: episode ${formatNumber(goal.episode)}`);
      back.addEventListener("click", () => move(this.item.opens));
    }
    this.play.addEventListener("click", () => {
      if (this.timer) return this.stop();
      if (this.time === episodes.length - 1) move(0);
      this.play.textContent = "❚❚ pause";
      this.timer = setInterval(() => {
        if (this.time >= episodes.length - 1) return this.stop();
        this.time += 1;
        this.slider.value = this.time;
        this.refresh();
      }, MOVE);
    });
  }

  stop() {
    if (!this.timer) return;
    clearInterval(this.timer);
    this.timer = null;
    this.play.textContent = "▶ play";
  }

  kinds() {
    const { item } = this;
    const kinds = [];
    const ends = (low, high) => [formatNumber(low), formatNumber(high)];
    if (this.visits) kinds.push({ name: "visits", title: "visits, log₁₀(1 + n)", about: "n: visits to the cell so far.", ends, valueOf: (state, time) => Math.log10(1 + this.visits[time * item.states + state]) });
    if (this.ell) kinds.push({ name: "ell", title: "largest ℓ", about: `ℓ: ${this.meaningOfEll()}; here of the most uncertain action.`, ends, valueOf: (state, time) => Math.max(...this.row(this.ell, state, time)) });
    const value = this.kappas ? { title: "value v*", about: "v*: the value of π*, the agent's policy." } : { title: "largest q̂", about: "q̂: the estimated return of an action; here of the best one." };
    kinds.push({ name: "value", ...value, ends, valueOf: (state, time) => this.solve(state, time).value });
    if (item.right && (this.policy || this.kappas)) kinds.push({ name: "right", title: "P(right)", about: "The probability that the agent goes right, as the treasure needs it; white: either way.", range: [0, 1], ends: () => ["0: left", "1: right"], valueOf: (state, time) => { const { policy } = this.solve(state, time); return policy ? policy[item.right[state]] : NaN; } });
    return kinds;
  }

  meaningOfEll() {
    return this.kappas ? "a bound on the error of q̂" : "the spread of the agent's estimates of q̂";
  }

  makeChoice() {
    const pick = element("select", { class: "pick-state" }, element("label", {}, this.host, "observation "));
    this.item.labels.forEach((label, i) => element("option", { value: i }, pick, label));
    pick.addEventListener("change", () => { this.state = Number(pick.value); this.refresh(); });
  }

  nameOf(state) {
    const { size, cells, labels } = this.item;
    return size ? `row ${Math.floor(cells[state] / size)}, column ${cells[state] % size}` : labels[state];
  }

  makePicture(host) {
    this.heading = element("h4", { class: "state-name" }, host);
    const sides = element("div", { class: "sides" }, host);
    this.plot = element("div", { class: "plot" }, sides);
    const beside = element("div", { class: "beside" }, sides);
    if (this.kappas) this.makeKappa(beside);
    this.table = element("table", { class: "actions" }, element("div", { class: "scroll" }, beside));
    this.value = element("p", { class: "value" }, beside);
    const meanings = ["q̂: the estimated return of an action.", ...(this.ell ? [`ℓ: ${this.meaningOfEll()}.`] : []), ...(this.policy || this.kappas ? ["π: the probability that the agent takes it."] : [])];
    element("p", { class: "hint" }, beside, meanings.join(" "));
    if (this.kappas)
      element("p", { class: "hint" }, beside, "Each action is a point (ℓ, ℓ·q̂), and the line is their least concave majorant from the origin. ○ Pareto optimal: a corner of the line, π* takes it. ∗ below the line: π* never takes it. The area of a disc is π. κ is the temperature: a small κ is greedy, a large κ goes for the largest ℓ.");
  }

  makeKappa(host) {
    const bar = element("div", { class: "kappa" }, host);
    const label = element("label", {}, bar, "κ ");
    const slider = element("input", { type: "range", min: -5, max: 5, step: 0.05, value: 0, class: "kappa-slider", "aria-label": "kappa" }, label);
    this.kappaText = element("output", { class: "kappa-value" }, label);
    slider.addEventListener("input", () => { this.factor = 2 ** Number(slider.value); this.drawPicture(); });
    const back = element("button", { type: "button", class: "own-kappa" }, bar, "back to the run's κ");
    back.addEventListener("click", () => { slider.value = 0; this.factor = 1; this.drawPicture(); });
  }

  refresh() {
    const { episodes } = this.item;
    if (this.clock) this.clock.textContent = `episode ${formatNumber(episodes[this.time])} of ${formatNumber(episodes[episodes.length - 1])}`;
    if (this.maps) this.maps.draw(this.time, this.state);
    this.drawPicture();
  }

  actionName(action) {
    const { right, actions } = this.item;
    if (!right) return `action ${action}`;
    return right[this.state] === action ? "right" : actions === 2 ? "left" : `action ${action}`;
  }

  drawPicture() {
    const solved = this.solve(this.state, this.time, this.factor);
    const q = this.row(this.q, this.state);
    const ell = this.ell ? this.row(this.ell, this.state) : null;
    const moved = this.kappas && this.factor !== 1;
    this.heading.textContent = this.nameOf(this.state);
    if (this.kappaText) this.kappaText.textContent = formatNumber(this.kappas[this.time] * this.factor);
    this.table.replaceChildren();
    const head = element("tr", {}, element("thead", {}, this.table));
    for (const name of ["action", "q̂", ...(ell ? ["ℓ"] : []), ...(solved.policy ? [moved ? "π* at this κ" : "π", ""] : [])]) element("th", {}, head, name);
    const body = element("tbody", {}, this.table);
    q.forEach((value, action) => {
      const row = element("tr", {}, body);
      element("td", {}, row, (solved.hull ? (solved.pareto[action] ? "○ " : "∗ ") : "") + this.actionName(action));
      element("td", {}, row, formatNumber(value));
      if (ell) element("td", {}, row, formatNumber(ell[action]));
      if (!solved.policy) return;
      const pi = solved.policy[action];
      element("td", { class: "pi" }, row, isNumber(pi) ? pi.toFixed(3) : "–");
      element("div", { class: "share-bar", style: `width:${((isNumber(pi) ? pi : 0) * 100).toFixed(1)}%` }, element("td", { class: "share" }, row));
    });
    this.value.textContent = `${this.kappas ? "v*" : "largest q̂"} = ${formatNumber(solved.value)}`;
    this.plot.replaceChildren();
    if (solved.hull) this.drawMajorant(solved, q, ell);
    else element("p", { class: "hint" }, this.plot, this.whyNoMajorant(q));
  }

  whyNoMajorant(q) {
    if (!q.every(isNumber) || this.kappas) return "Not all of the numbers here are finite: the run diverged.";
    if (this.ell && this.item.kappa !== null) return "No κ gives the recorded policy from these q̂ and ℓ, hence no majorant.";
    return "No majorant: this agent does not act by ℓ and κ, as ISL and Seeker do.";
  }

  drawMajorant(solved, q, ell) {
    const width = Math.max(240, this.plot.clientWidth || 460);
    const height = Math.min(340, width * 0.72);
    const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": "majorant" }, this.plot);
    const box = { left: 68, right: width - 60, top: 16, bottom: height - 44 };
    const heights = q.map((value, action) => value * ell[action]);
    const x = makeScale([0, ...ell], box.left, box.right, { pad: 0.02, room: 5 });
    const y = makeScale([0, ...heights], box.bottom, box.top, { pad: 0.12, room: 5 });
    drawAxes(svg, box, x, y, { x_label: "ℓ", y_label: "ℓ · q̂" });
    const at = solved.hull.map((point) => [x.scale(point.ell), y.scale(point.height)]);
    element("path", { d: joined(at), fill: "none", stroke: "var(--s0)", "stroke-width": 2.4, class: "hull" }, svg);
    q.forEach((_, action) => {
      const [px, py] = [x.scale(ell[action]), y.scale(heights[action])];
      const radius = 18 * Math.sqrt(Math.max(0, solved.policy[action]) || 0);
      element("circle", { cx: px, cy: py, r: radius, fill: "var(--s1)", class: "probability" }, svg);
      drawMark(svg, solved.pareto[action] ? "ring" : "asterisk", px, py, 4.4, solved.pareto[action] ? "var(--s0)" : "var(--muted)");
      const beside = solved.pareto[action] ? { x: px + 10, y: py - Math.max(9, radius + 2) } : { x: px - 8, y: py + 14, "text-anchor": "end" };
      element("text", { ...beside, class: "end", fill: "currentColor" }, svg, this.actionName(action));
    });
  }
}
