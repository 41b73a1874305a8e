// What the user does: move, zoom, search, choose.

const SHORTEST = 100;

/** Shows this stretch of time, or as much of it as there is. */
function show(from, to) {
  const whole = Math.max(data.length, SHORTEST);
  const length = Math.min(Math.max(to - from, SHORTEST), whole);
  view.from = Math.min(Math.max(from, 0), whole - length);
  view.to = view.from + length;
  redraw();
}

/** Zooms by `factor` around a time, which stays where it is. */
function zoom(factor, around = (view.from + view.to) / 2) {
  show(around - (around - view.from) * factor, around + (view.to - around) * factor);
}

const move = (part) => show(view.from + (view.to - view.from) * part, view.to + (view.to - view.from) * part);

/** Chooses an item, and shows what is known of it. */
function choose(lane, item, center) {
  view.lane = lane;
  view.item = item;
  const [start, end] = [lanes[lane].start[item], lanes[lane].end[item]];
  if (center || start > view.to || end < view.from) {
    const length = Math.min(Math.max((end - start) * 4, (view.to - view.from) / 50, 2000), view.to - view.from);
    show((start + end - length) / 2, (start + end + length) / 2);
  }
  showDetail(lanes[lane], item);
  redraw();
}

/** The innermost item of a lane at a time, with some pixels of tolerance. */
function itemAt(lane, at, row) {
  const reach = 3 / scale();
  let best = -1;
  for (let item = startAt(lane, at); item < lane.count && lane.start[item] <= at + reach; item += 1) {
    if (lane.end[item] < at - reach || Math.min(lane.depth[item], lane.depths - 1) > row) continue;
    const better = best < 0 || lane.kind[best] === KIND.sleep || isPoll(lane, item) || !isPoll(lane, best);
    if (better) best = item;
  }
  return best;
}

function startAt(lane, at) {
  let item = Math.max(firstFrom(lane, at - 3 / scale()) - 1, 0);
  while (item > 0 && lane.depth[item] > 0) item -= 1;
  return item;
}

/** The poll that was running on a lane at a time; -1 if none was. */
function pollAt(lane, at, task) {
  let found = -1;
  let item = Math.max(firstFrom(lane, at + 1) - 1, 0);
  for (let outermost = false; item >= 0 && !outermost; item -= 1) {
    outermost = lane.depth[item] === 0 && lane.kind[item] < data.instants;
    if (isPoll(lane, item) && lane.end[item] >= at && lane.task[item] === task) found = Math.max(found, item);
  }
  return found;
}

function wakerOf(lane, item) {
  if (lane.wokenLane[item] === NONE) return null;
  const by = lanes[lane.wokenLane[item]];
  return { by, item: lane.wokenBy[item] ? pollAt(by, lane.wokenAt[item], lane.wokenBy[item]) : -1 };
}

function showDetail(lane, item) {
  const rows = [];
  const row = (name, ...value) => rows.push(make("dt", {}, name), make("dd", {}, ...value));
  const length = lane.end[item] - lane.start[item];
  if (sitePlace(lane.site[item])) row("spawned at", make("code", {}, sitePlace(lane.site[item])));
  if (lane.kind[item] < data.instants) row("length", lane.open[item] ? `${time(length)} so far: it had not ended` : time(length));
  row("thread", lane.name);
  row("at", time(lane.start[item]));
  if (lane.task[item]) row("task", `number ${lane.task[item]}`);
  if (lane.amount[item]) row(lane.kind[item] === KIND.steal ? "tasks" : "worker", String(lane.amount[item]));
  const waker = wakerOf(lane, item);
  if (waker) {
    const polls = waker.item >= 0 ? [" in the poll of ", link(waker.by, waker.item)] : [", in no poll"];
    row(data.causes[lane.cause[item]], `by ${waker.by.name}`, ...polls);
    if (lane.kind[item] < data.instants) row("waited", time(lane.start[item] - lane.wokenAt[item]));
  } else if (isPoll(lane, item)) {
    row("woken", "by a thread whose event was overwritten, or by one that does not record");
  }
  const detail = document.getElementById("detail");
  detail.replaceChildren(make("h2", {}, `${itemName(lane, item)}`), make("p", { class: "note" }, data.kinds[lane.kind[item]]), make("dl", {}, ...rows));
  detail.hidden = false;
}

/** The next poll of the chosen lane that fits, or the previous one. */
function step(direction) {
  const lane = lanes[view.lane];
  let item = view.item >= 0 ? view.item + direction : firstFrom(lane, (view.from + view.to) / 2);
  while (item >= 0 && item < lane.count && !(isPoll(lane, item) && fits(lane, item))) item += direction;
  if (item >= 0 && item < lane.count) choose(view.lane, item, false);
}

const fits = (lane, item) => view.matches === null || Boolean(view.matches[lane.site[item]]);

/** The sites whose name or line has the text. */
function search(text) {
  const wanted = text.trim().toLowerCase();
  view.matches = wanted ? data.sites.map(([name, place]) => `${name} ${place}`.toLowerCase().includes(wanted)) : null;
  const found = wanted ? lanes.reduce((sum, lane) => sum + countMatches(lane), 0) : 0;
  document.getElementById("found").textContent = wanted ? `${count(found)} polls` : "";
  redraw();
}

function countMatches(lane) {
  let found = 0;
  for (let item = 0; item < lane.count; item += 1) if (isPoll(lane, item) && fits(lane, item)) found += 1;
  return found;
}

/** Goes to the next match in time, on whatever lane. */
function nextMatch(direction) {
  const chosen = view.item >= 0;
  const at = chosen ? lanes[view.lane].start[view.item] : (direction > 0 ? -1 : Infinity);
  let best = null;
  for (const lane of lanes) {
    let item = direction > 0 ? firstFrom(lane, at) : Math.min(firstFrom(lane, at + 1), lane.count) - 1;
    const isNext = () => isPoll(lane, item) && lane.task[item] && fits(lane, item) && (lane.start[item] - at) * direction > 0;
    while (item >= 0 && item < lane.count && !isNext()) item += direction;
    if (item < 0 || item >= lane.count) continue;
    if (!best || (lane.start[item] - best.lane.start[best.item]) * direction < 0) best = { lane, item };
  }
  if (best) choose(best.lane.index, best.item, true);
}

const keys = {
  ArrowLeft: () => move(-0.2),
  ArrowRight: () => move(0.2),
  ArrowUp: () => chooseLane(-1),
  ArrowDown: () => chooseLane(1),
  "+": () => zoom(0.5),
  "=": () => zoom(0.5),
  "-": () => zoom(2),
  0: () => show(0, data.length),
  Home: () => show(0, view.to - view.from),
  End: () => show(data.length - (view.to - view.from), data.length),
  n: () => step(1),
  p: () => step(-1),
  w: () => goToWaker(),
  Enter: () => (view.item < 0 ? step(1) : choose(view.lane, view.item, true)),
};

function chooseLane(by) {
  view.lane = Math.min(Math.max(view.lane + by, 0), lanes.length - 1);
  view.item = -1;
  redraw();
}

function goToWaker() {
  const waker = view.item >= 0 ? wakerOf(lanes[view.lane], view.item) : null;
  if (waker && waker.item >= 0) choose(waker.by.index, waker.item, true);
}

canvas.addEventListener("keydown", (event) => {
  const act = keys[event.key];
  if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  act();
});

canvas.addEventListener("wheel", (event) => {
  // A wheel that scrolls sideways, as browsers do with Shift, moves.
  event.preventDefault();
  const [x] = place(event);
  if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(event.deltaX / plotWidth());
  else zoom(Math.exp(event.deltaY / 400), timeAt(x));
}, { passive: false });

/** Where an event is on the canvas. */
function place(event) {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

const pointers = new Map();
let dragged = 0;

canvas.addEventListener("pointerdown", (event) => {
  pointers.set(event.pointerId, place(event));
  canvas.setPointerCapture(event.pointerId);
  canvas.focus();
  dragged = 0;
});
canvas.addEventListener("pointermove", (event) => {
  const before = pointers.get(event.pointerId);
  if (!before) return;
  const [x, y] = place(event);
  const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
  if (other) {
    // Two fingers: what is between them grows with their distance.
    const factor = Math.max(Math.abs(before[0] - other[0]), 10) / Math.max(Math.abs(x - other[0]), 10);
    zoom(factor, timeAt(other[0]));
  } else {
    move((before[0] - x) / plotWidth());
  }
  dragged += Math.abs(x - before[0]) + Math.abs(y - before[1]);
  canvas.classList.add("dragged");
  pointers.set(event.pointerId, [x, y]);
});
for (const end of ["pointerup", "pointercancel"]) {
  canvas.addEventListener(end, (event) => {
    pointers.delete(event.pointerId);
    canvas.classList.remove("dragged");
    if (end === "pointerup" && dragged < 5) click(...place(event));
  });
}

function click(x, y) {
  const all = tops();
  const lane = lanes.findIndex((_, index) => y >= all[index] - GAP / 2 && y < all[index + 1] - GAP / 2);
  if (lane < 0) return;
  const row = Math.max(Math.floor((y - all[lane]) / ROW), 0);
  const item = x < names ? -1 : itemAt(lanes[lane], timeAt(x), row);
  if (item >= 0) return choose(lane, item, false);
  view.lane = lane;
  view.item = -1;
  redraw();
}

const on = (id, what, act) => document.getElementById(id).addEventListener(what, act);
on("in", "click", () => zoom(0.5));
on("out", "click", () => zoom(2));
on("all", "click", () => show(0, data.length));
on("next", "click", () => nextMatch(1));
on("previous", "click", () => nextMatch(-1));
on("find", "input", (event) => search(event.target.value));
on("find", "keydown", (event) => {
  if (event.key === "Enter") nextMatch(event.shiftKey ? -1 : 1);
});
window.addEventListener("resize", redraw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  readColours();
  redraw();
});

readColours();
showSummary();
draw();
