// Maps over the cells of a grid, each with a colour scale of its own.
"use strict";

// From low to high. The last one diverges: its middle is what tells nothing.
const RAMPS = {
  visits: ["#140e36", "#3b0f70", "#8c2981", "#de4968", "#fe9f6d", "#fcfdbf"],
  ell: ["#440154", "#414487", "#2a788e", "#22a884", "#7ad151", "#fde725"],
  value: ["#00204d", "#31446b", "#666970", "#958f78", "#cbba69", "#ffea46"],
  right: ["#0b5fa5", "#6aaed6", "#f2f2f2", "#fdae6b", "#c4520a"],
};
const NO_NUMBER = "#8a8f98"; // hatched, so that no scale has it
const SELECTED = "#e6007a";

function colourAt(stops, share) {
  const place = Math.min(1, Math.max(0, share)) * (stops.length - 1);
  const low = Math.min(stops.length - 2, Math.floor(place));
  const part = (stop, i) => parseInt(stop.slice(1 + 2 * i, 3 + 2 * i), 16);
  return `rgb(${[0, 1, 2].map((i) => Math.round(part(stops[low], i) + (place - low) * (part(stops[low + 1], i) - part(stops[low], i))))})`;
}

function hatch(pen, x, y, unit) {
  pen.strokeStyle = NO_NUMBER;
  pen.lineWidth = 1;
  pen.beginPath();
  for (const shift of [0.25, 0.75]) {
    pen.moveTo(x, y + unit * shift);
    pen.lineTo(x + unit * shift, y);
    pen.moveTo(x + unit * shift, y + unit);
    pen.lineTo(x + unit, y + unit * shift);
  }
  pen.stroke();
}

// kinds: [{ name, title, about, valueOf(state, time), ends(low, high), range }]; range: a fixed one, else null.
class Maps {
  constructor(host, item, kinds, nameOf, choose) {
    this.item = item;
    this.wholeRun = false; // one scale for all moments, or each moment's own
    const grid = element("div", { class: "maps" }, host);
    this.maps = kinds.map((kind) => this.makeMap(grid, kind, nameOf, choose));
    const hint = element("p", { class: "hint" }, host, "Click a cell to look into it below; ");
    element("span", { class: "outlined" }, hint, "the outlined one");
    hint.append(" is shown. Cells above the diagonal cannot be reached; a hatched cell has no finite number.");
    if (item.episodes.length < 2) return;
    const button = element("button", { type: "button", class: "whole-run", "aria-pressed": "false" }, hint, "one scale for the whole run");
    hint.insertBefore(document.createTextNode(" "), button);
    button.addEventListener("click", () => {
      this.wholeRun = !this.wholeRun;
      button.setAttribute("aria-pressed", String(this.wholeRun));
      this.draw(this.time, this.chosen);
    });
  }

  makeMap(grid, kind, nameOf, choose) {
    const { size, cells } = this.item;
    const figure = element("figure", {}, grid);
    element("figcaption", {}, figure, kind.title);
    const canvas = element("canvas", { role: "img", "aria-label": `${kind.title} over the grid`, class: `map map-${kind.name}` }, figure);
    const scale = element("div", { class: "scale" }, figure);
    const low = element("span", { class: "scale-low" }, scale);
    const ramp = element("canvas", { class: "ramp", width: 64, height: 1 }, scale).getContext("2d");
    for (let i = 0; i < 64; i++) { ramp.fillStyle = colourAt(RAMPS[kind.name], i / 63); ramp.fillRect(i, 0, 1, 1); }
    const high = element("span", { class: "scale-high" }, scale);
    const said = element("div", { class: "said" }, figure, "\u00a0");
    element("p", { class: "hint" }, figure, kind.about);
    const cellAt = (event) => {
      const frame = canvas.getBoundingClientRect();
      const column = Math.floor(((event.clientX - frame.left) / frame.width) * size);
      const row = Math.floor(((event.clientY - frame.top) / frame.height) * size);
      return column < 0 || column >= size ? -1 : cells.indexOf(row * size + column);
    };
    canvas.addEventListener("pointermove", (event) => {
      const state = cellAt(event);
      said.textContent = state < 0 ? "\u00a0" : `${nameOf(state)}: ${formatNumber(kind.valueOf(state, this.time))}`;
    });
    canvas.addEventListener("pointerleave", () => { said.textContent = "\u00a0"; });
    canvas.addEventListener("click", (event) => { const state = cellAt(event); if (state >= 0) choose(state); });
    return { ...kind, canvas, low, high, whole: null };
  }

  valuesAt(map, time) {
    return Array.from({ length: this.item.states }, (_, state) => map.valueOf(state, time));
  }

  // What the ends of a map's scale stand for.
  rangeOf(map, values) {
    if (map.range) return map.range;
    if (!this.wholeRun) return spanOf(values) || [0, 0];
    map.whole ??= spanOf(this.item.episodes.flatMap((_, time) => this.valuesAt(map, time))) || [0, 0];
    return map.whole;
  }

  draw(time, chosen) {
    [this.time, this.chosen] = [time, chosen];
    const { size, cells } = this.item;
    const unit = Math.max(4, Math.floor(360 / size));
    const background = getComputedStyle(document.documentElement).getPropertyValue("--card");
    for (const map of this.maps) {
      const values = this.valuesAt(map, time);
      const [low, high] = this.rangeOf(map, values);
      [map.low.textContent, map.high.textContent] = low < high ? map.ends(low, high) : [`everywhere ${formatNumber(low)}`, ""];
      map.canvas.width = map.canvas.height = unit * size;
      const pen = map.canvas.getContext("2d");
      pen.fillStyle = background;
      pen.fillRect(0, 0, unit * size, unit * size);
      values.forEach((value, state) => {
        const [x, y] = [(cells[state] % size) * unit, Math.floor(cells[state] / size) * unit];
        if (!isNumber(value)) return hatch(pen, x, y, unit);
        pen.fillStyle = colourAt(RAMPS[map.name], low < high ? (value - low) / (high - low) : 0);
        pen.fillRect(x, y, unit, unit);
      });
      const [x, y] = [(cells[chosen] % size) * unit, Math.floor(cells[chosen] / size) * unit];
      pen.lineWidth = Math.max(2, unit / 7);
      pen.strokeStyle = SELECTED;
      pen.strokeRect(x + 1, y + 1, unit - 2, unit - 2);
    }
  }
}
