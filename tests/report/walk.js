// Uses every control of a report once, looks at the panel after each, and returns what was wrong.
// arguments[0]: resolves the walk (WebDriver's asynchronous scripts).
const done = arguments[0];
const problems = [];
let uses = 0;
window.addEventListener("error", (event) => problems.push(`threw: ${event.message}`));
const all = (selector, root = document) => [...root.querySelectorAll(selector)];

function lookAt(panel, after) {
  uses += 1;
  const found = (what) => problems.push(`${what}, after ${after}`);
  const strange = /\bNaN\b|\bundefined\b|\bnull\b|\bInfinity\b|\[object/;
  if (!panel.isConnected) return found("the panel is gone");
  if (strange.test(panel.textContent)) found(`the text "${panel.textContent.match(strange)[0]}"`);
  for (const node of all("svg, svg *", panel))
    for (const { name, value } of node.attributes)
      if (name !== "aria-label" && strange.test(value)) { found(`${node.nodeName} with ${name}="${value}"`); break; }
  for (const plot of all(".plot", panel))
    if (!all(".mark, .line, .hull, svg text, p", plot).length) found("an empty plot");
  for (const svg of all(".plot svg", panel))
    for (const axis of [".tick-x", ".tick-y"]) {
      const labels = all(axis, svg).map((node) => node.textContent);
      if (new Set(labels).size < labels.length) found(`ticks ${labels}`);
      if (axis === ".tick-y" && labels.length === 1) found(`the only tick ${labels}`);
    }
  for (const canvas of all("canvas.map", panel)) {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const pixels = new Uint32Array(data.buffer);
    if (pixels.every((pixel) => pixel === pixels[0])) found("an empty map");
  }
  for (const text of all(".scale-low, .state-name, .value, .clock", panel))
    if (!text.textContent.trim()) found(`an empty ${text.className}`);
  for (const table of all("table.actions", panel))
    if (!table.tBodies.length || !table.tBodies[0].rows.length) found("no action");
}

const change = (node, value, kind) => { node.value = value; node.dispatchEvent(new Event(kind)); };

function pointAcross(node) {
  const frame = node.getBoundingClientRect();
  for (let i = 0; i <= 4; i++)
    for (let j = 0; j <= 4; j++) {
      const place = { clientX: frame.left + (frame.width * i) / 4, clientY: frame.top + (frame.height * j) / 4, bubbles: true };
      for (const kind of ["pointermove", "pointerdown"]) node.dispatchEvent(new PointerEvent(kind, place));
    }
  node.dispatchEvent(new PointerEvent("pointerleave"));
}

// The start, a cell in the middle of the last row, and one that cannot be reached.
function clickCells(canvas) {
  const frame = canvas.getBoundingClientRect();
  for (const [x, y] of [[0.01, 0.01], [0.5, 0.99], [0.99, 0.01]])
    canvas.dispatchEvent(new MouseEvent("click", { clientX: frame.left + frame.width * x, clientY: frame.top + frame.height * y }));
}

function walkCharts(root) {
  for (const card of all("article.chart", root)) {
    const name = card.querySelector("h3").textContent;
    lookAt(card, `opening ${name}`);
    const buttons = all(".controls button", card);
    for (const turn of ["off", "on"])
      for (const button of buttons) { button.click(); lookAt(card, `${name}: ${button.textContent} ${turn}`); }
    for (const button of buttons) { button.click(); lookAt(card, `${name}: ${button.textContent} alone`); button.click(); }
    pointAcross(card.querySelector(".plot"));
    lookAt(card, `pointing at ${name}`);
  }
}

async function walkInside(panel, run, film) {
  lookAt(panel, run);
  for (const slider of all("input[type=range]", panel))
    for (const value of [slider.min, slider.max, (Number(slider.min) + Number(slider.max)) / 2]) {
      change(slider, value, "input");
      lookAt(panel, `${run}: ${slider.className} at ${value}`);
    }
  for (const pick of all("select.pick-state", panel))
    for (const option of [0, pick.options.length - 1]) {
      pick.selectedIndex = option;
      pick.dispatchEvent(new Event("change"));
      lookAt(panel, `${run}: observation ${option}`);
    }
  for (const canvas of all("canvas.map", panel)) {
    pointAcross(canvas);
    clickCells(canvas);
    lookAt(panel, `${run}: ${canvas.className}`);
  }
  for (const button of all("button", panel)) {
    button.click();
    if (film && button.classList.contains("play")) await new Promise((resolve) => setTimeout(resolve, 200));
    lookAt(panel, `${run}: ${button.textContent}`);
    button.click();
  }
}

function walkTables() {
  for (const table of all("table.sortable")) {
    const card = table.closest(".card");
    const rows = table.tBodies[0].rows.length;
    for (const button of all("thead button", table)) for (let turn = 0; turn < 2; turn++) button.click();
    for (const input of all("input.filter", card)) {
      change(input, "no such row", "input");
      if (all("tbody tr", table).some((row) => !row.hidden)) problems.push(`the filter of ${table.id}`);
      change(input, "", "input");
    }
    all("button.csv", card).forEach((button) => button.click());
    if (all("tbody tr", table).filter((row) => !row.hidden).length !== rows) problems.push(`rows of ${table.id}`);
    lookAt(card, `using the table ${table.id}`);
  }
}

async function walk() {
  lookAt(document.getElementById("overview") || document.body, "opening the page");
  const tasks = document.querySelector("select.pick-task");
  for (const section of all("main section:not(#curves)")) walkCharts(section);
  const curves = document.getElementById("curves");
  if (curves)
    for (let i = 0; i < (tasks ? tasks.options.length : 1); i++) {
      if (tasks) { tasks.selectedIndex = i; tasks.dispatchEvent(new Event("change")); }
      walkCharts(curves);
    }
  const inside = document.getElementById("beliefs");
  const runs = inside ? inside.querySelector("select.pick-run") : null;
  const names = [];
  const pickRun = (i) => {
    if (runs) { runs.selectedIndex = i; runs.dispatchEvent(new Event("change")); }
    return runs ? runs.options[i].textContent : "the run";
  };
  const number = runs ? runs.options.length : inside ? 1 : 0;
  for (let i = 0; i < number; i++) {
    names.push(pickRun(i));
    await walkInside(inside.querySelector(".inside"), names[i], i === 0);
  }
  // Backwards too: what a run leaves behind would show in the next one.
  for (let i = number - 1; i >= 0; i--) lookAt(inside, `going back to ${pickRun(i)}`);
  walkTables();
  return { problems: [...new Set(problems)], uses, runs: names };
}

walk().then(done, (error) => done({ problems: [`the walk ended: ${error.stack}`, ...problems], uses, runs: [] }));
