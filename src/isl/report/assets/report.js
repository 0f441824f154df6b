// Brings the page to life; without it the tables can be read all the same.
"use strict";

function sortable(table) {
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((head, column) => {
    const button = element("button", { type: "button" }, null, head.textContent);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = Array.from(table.tBodies[0].rows);
      const key = (row) => {
        const text = row.cells[column].dataset.value ?? row.cells[column].textContent;
        if (text === "") return null; // what is missing stays at the end
        const value = text === "∞" ? Infinity : Number(text);
        return Number.isNaN(value) ? text : value;
      };
      const compare = (a, b) => typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1;
      const keyed = rows.map((row) => ({ row, at: key(row) }));
      keyed.sort((a, b) => a.at === null ? (b.at === null ? 0 : 1) : b.at === null ? -1 : (up ? 1 : -1) * compare(a.at, b.at));
      table.tBodies[0].append(...keyed.map((each) => each.row));
    });
  });
}

function download(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function makeTables(data) {
  document.querySelectorAll("table.sortable").forEach(sortable);
  document.querySelectorAll("button.csv").forEach((button) => {
    button.hidden = false;
    button.addEventListener("click", () => download(`${button.dataset.table}.csv`, data.csv[button.dataset.table]));
  });
  document.querySelectorAll("input.filter").forEach((input) => {
    input.hidden = false;
    const rows = Array.from(document.getElementById(input.dataset.table).tBodies[0].rows);
    input.addEventListener("input", () => {
      const wanted = input.value.toLowerCase();
      for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
  });
}

function makeCard(host, spec) {
  const node = element("article", { class: "card chart" }, host);
  element("h3", {}, node, spec.title);
  new Chart(node, spec);
  element("p", { class: "caption" }, node, spec.caption);
}

// The charts of one task at a time: what the agent got while it learned, beside what its best guess got.
function makeCurves(host, charts) {
  const tasks = [...new Set(charts.map((spec) => spec.panel))];
  const pick = tasks.length > 1 ? element("select", { class: "pick-task" }, element("label", {}, host, "task ")) : null;
  const body = element("div", { class: "pair" }, host);
  const show = (task) => {
    body.replaceChildren();
    charts.filter((spec) => spec.panel === task).forEach((spec) => makeCard(body, spec));
  };
  if (pick) {
    tasks.forEach((task) => element("option", { value: task }, pick, task));
    pick.addEventListener("change", () => show(tasks[pick.selectedIndex]));
  }
  show(tasks[0]);
}

function start() {
  const data = JSON.parse(document.getElementById("data").textContent);
  palette = data.palette;
  makeTables(data);
  for (const [section, charts] of Object.entries(data.charts)) {
    const host = document.getElementById(`charts-${section}`);
    if (!host || !charts.length) continue;
    if (section === "curves") makeCurves(host, charts);
    else charts.forEach((spec) => makeCard(host, spec));
  }
  const inside = document.getElementById("beliefs");
  if (inside && data.beliefs.length) new Beliefs(inside, data.beliefs);
}

start();
