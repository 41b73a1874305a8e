
"use strict";
{
  const find = (id) => document.getElementById(id);
  const tools = find("tools");
  if (tools) {
    const rows = [...document.querySelectorAll("tr[data-id]")];
    const value = (row) => Number(row.dataset.ratio ?? 1);
    const orders = {
      id: (a, b) => rows.indexOf(a) - rows.indexOf(b),
      down: (a, b) => value(b) - value(a),
      up: (a, b) => value(a) - value(b),
    };
    const filter = () => {
      const words = find("filter").value.toLowerCase().split(/\s+/);
      const verdicts = find("show").value;
      let shown = 0;
      for (const row of rows) {
        const named = words.every((word) => row.dataset.id.includes(word));
        const judged = verdicts === "" ? true : verdicts.split(" ").includes(row.dataset.verdict);
        row.hidden = !(named ? judged : false);
        shown += row.hidden ? 0 : 1;
      }
      for (const table of document.querySelectorAll(".table")) {
        const own = [...table.querySelectorAll("tr[data-id]")];
        table.hidden = own.length > 0 ? own.every((row) => row.hidden) : false;
      }
      find("shown").textContent = `${shown} of ${rows.length} shown`;
    };
    const order = () => {
      for (const body of document.querySelectorAll(".table tbody")) {
        body.append(...[...body.rows].sort(orders[find("order").value]));
      }
    };
    find("filter").addEventListener("input", filter);
    find("show").addEventListener("change", filter);
    find("order").addEventListener("change", order);
    tools.hidden = false;
    filter();
  }
}
