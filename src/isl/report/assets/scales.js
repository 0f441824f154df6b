// Numbers as text, and numbers as places on an axis. What is not a finite number has no place.
"use strict";

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

// The least and the largest finite number of a list, however long; null without any.
function spanOf(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (!isNumber(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : null;
}

const grouped = (text) => text.replace(/^(-?\d{1,3})((?:\d{3})+)(?=\.|$)/, (_, first, rest) => first + rest.replace(/(\d{3})/g, ",$1"));

// Four digits, or all of a whole number.
function formatNumber(value) {
  if (value === Infinity || value === -Infinity) return value > 0 ? "∞" : "-∞";
  if (!isNumber(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e7 || size < 1e-4) return value.toExponential(2).replace(/\.?0*e\+?/, "e");
  if (Number.isInteger(value)) return grouped(String(value));
  return grouped(String(+value.toPrecision(size < 1e4 ? 4 : Math.ceil(Math.log10(size)))));
}

// All ticks of an axis with the same decimals, as many as tell neighbours apart.
function tickLabels(ticks) {
  const steps = ticks.slice(1).map((tick, i) => tick - ticks[i]);
  const [, largest] = spanOf(ticks.map(Math.abs)) || [0, 0];
  const step = Math.min(...steps);
  if (!steps.length || largest >= 1e7 || step < 1e-6) return ticks.map(formatNumber);
  let decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  if (steps.some((s) => Math.abs(s * 10 ** decimals - Math.round(s * 10 ** decimals)) > 1e-3)) decimals += 1;
  return ticks.map((tick) => grouped(tick.toFixed(decimals)));
}

function niceTicks(low, high, count, whole) {
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const found = (whole ? [1, 2, 5, 10] : [1, 2, 2.5, 5, 10]).map((f) => f * power).find((s) => s >= rough * (1 - 1e-9)) || rough;
  const step = whole ? Math.max(1, found) : found;
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => (first + i) * step);
}

function logTicks(low, high, whole) {
  const ticks = [];
  const factors = high / low > 200 ? [1] : [1, 2, 5];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++)
    for (const f of factors) {
      const tick = f * 10 ** e;
      if (tick >= low * 0.999 && tick <= high * 1.001 && !(whole && tick < 1)) ticks.push(tick);
    }
  return ticks;
}

// An axis over the values: `scale` gives the place of a value, `ticks` and `labels` what is written there.
// options: log, pad (a share of the span at either end), whole (values count something), ticks (fixed ones),
// room (how many ticks fit).
function makeScale(values, from, to, options = {}) {
  const { log = false, pad = 0, whole = false, room = 6 } = options;
  const fixed = (options.ticks || []).length > 0;
  let [low, high] = spanOf(log ? values.filter((v) => v > 0) : values) || (log ? [1, 10] : [0, 1]);
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (log ? high / low < 1.01 : high - low <= 1e-3 * size) {
    // One value, as far as an eye can tell: it stands in the middle of an axis of its own size.
    const middle = (low + high) / 2;
    const half = whole ? 1 : middle === 0 ? 0.5 : 0.1 * size;
    [low, high] = log ? [low / 2, high * 2] : [middle - half, middle + half];
  }
  const place = log ? Math.log : (v) => v;
  let [start, end] = [place(low), place(high)];
  [start, end] = [start - pad * (end - start), end + pad * (end - start)];
  const back = log ? Math.exp : (v) => v;
  const scale = (v) => from + ((log && v <= 0 ? start : place(v)) - start) / (end - start) * (to - from);
  let ticks = fixed ? thinned(options.ticks, scale) : log ? logTicks(back(start), back(end), whole) : [];
  if (!fixed && (!log || ticks.length < 3)) ticks = niceTicks(back(start), back(end), room, whole).filter((tick) => !log || tick > 0);
  return { scale, ticks, labels: log || fixed ? ticks.map(formatNumber) : tickLabels(ticks) };
}

// Of fixed ticks those that are at least 34 pixels from the last one taken.
function thinned(ticks, scale) {
  const taken = [];
  for (const tick of ticks)
    if (!taken.length || Math.abs(scale(tick) - scale(taken[taken.length - 1])) >= 34) taken.push(tick);
  return taken;
}
