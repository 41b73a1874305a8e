// Draws the lanes. What is narrower than a pixel is merged: each pixel of a row is drawn once, however many items lie in it.

const ROW = 16;
const GAP = 10;
const AXIS = 22;
const canvas = document.getElementById("lanes");
const view = { from: 0, to: Math.max(data.length, 1), lane: 0, item: -1, matches: null };
const colours = {};
let names = 110;

function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["page", "card", "text", "muted", "edge", "accent", "poll", "first", "sleep", "scope", "join", "job", "blocking", "instant", "match"]) {
    colours[name] = style.getPropertyValue(`--${name}`).trim();
  }
  colours.kinds = ["poll", "first", "sleep", "scope", "join", "job", "blocking", "instant", "instant", "match"].map((name) => colours[name]);
}

/** The top of each lane, and the bottom of the last one. */
function tops() {
  let top = AXIS;
  const all = lanes.map((lane) => {
    const own = top;
    top += lane.depths * ROW + GAP;
    return own;
  });
  return [...all, top];
}

const plotWidth = () => canvas.clientWidth - names;
const scale = () => plotWidth() / (view.to - view.from);
const xOf = (at) => names + (at - view.from) * scale();
const timeAt = (x) => view.from + (x - names) / scale();

/** Steps of 1, 2 or 5 at about every 90 pixels. */
function drawAxis(context, height) {
  const rough = (90 / scale());
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
  context.fillStyle = colours.muted;
  context.strokeStyle = colours.edge;
  context.textAlign = "left";
  for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
    const x = Math.round(xOf(at)) + 0.5;
    context.beginPath();
    context.moveTo(x, AXIS - 4);
    context.lineTo(x, height);
    context.stroke();
    context.fillText(time(Math.max(at, 0)), x + 3, AXIS - 8);
  }
}

/** Items that are a pixel wide and more are drawn; of smaller ones each pixel knows how much of it they fill. */
function drawLane(context, lane, top) {
  const pixels = scale();
  const width = plotWidth();
  const shown = view.matches;
  const last = lane.depths - 1;
  const small = Array.from({ length: lane.depths }, () => ({ slept: new Float32Array(width + 1), filled: new Float32Array(width + 1), kind: new Uint8Array(width + 1), fits: new Uint8Array(width + 1) }));
  for (let item = startOfView(lane); item < lane.count && lane.start[item] <= view.to; item += 1) {
    const kind = lane.kind[item];
    const left = Math.max((lane.start[item] - view.from) * pixels, 0);
    const right = Math.min((lane.end[item] - view.from) * pixels, width);
    if (right < 0) continue;
    const fits = shown === null || (lane.task[item] !== 0 && shown[lane.site[item]]);
    if (kind >= data.instants) {
      if (kind === KIND.queued && fits) mark(context, lane, left, top, colours.match);
      continue;
    }
    const row = Math.min(lane.depth[item], last);
    if (right - left < 1) {
      const pixel = Math.floor(left);
      if (kind === KIND.sleep) {
        small[row].slept[pixel] += right - left;
        continue;
      }
      small[row].filled[pixel] += Math.max(right - left, 0.02);
      small[row].kind[pixel] = kind;
      small[row].fits[pixel] |= fits ? 1 : 0;
      continue;
    }
    context.globalAlpha = fits || kind === KIND.sleep ? 1 : 0.25;
    context.fillStyle = shown !== null && fits ? colours.match : colours.kinds[kind];
    context.fillRect(names + left, top + row * ROW, right - left, ROW - 2);
    if (right - left > 40 && kind !== KIND.sleep) label(context, itemName(lane, item), names + left, top + row * ROW, right - left);
  }
  small.forEach((row, index) => drawSmall(context, row, top + index * ROW));
  context.globalAlpha = 1;
}

/** The pixels with small items: the fuller, the stronger. */
function drawSmall(context, { slept, filled, kind, fits }, top) {
  const searched = view.matches !== null;
  for (let pixel = 0; pixel < filled.length; pixel += 1) {
    if (slept[pixel] > 0) {
      context.globalAlpha = Math.min(slept[pixel], 1);
      context.fillStyle = colours.sleep;
      context.fillRect(names + pixel, top, 1, ROW - 2);
    }
    if (filled[pixel] === 0) continue;
    context.globalAlpha = searched ? (fits[pixel] ? 1 : 0.2) : 0.35 + 0.65 * Math.min(filled[pixel], 1);
    context.fillStyle = searched && fits[pixel] ? colours.match : colours.kinds[kind[pixel]];
    context.fillRect(names + pixel, top, 1, ROW - 2);
  }
}

/** Where drawing begins: before the view, at the last outermost item that starts there. */
function startOfView(lane) {
  let item = Math.max(firstFrom(lane, view.from) - 1, 0);
  while (item > 0 && lane.depth[item] > 0) item -= 1;
  return item;
}

function mark(context, lane, left, top, colour) {
  context.fillStyle = colour;
  context.fillRect(names + left - 1, top - 3, 2, lane.depths * ROW + 4);
}

function label(context, text, x, y, wide) {
  const room = Math.floor((wide - 6) / 6.2);
  const end = text.replace(/::\{\{closure\}\}/g, "").split("::").slice(-2).join("::");
  const shown = end.length <= room ? end : room > 3 ? `${end.slice(0, room - 1)}…` : "";
  context.fillStyle = colours.page;
  context.textAlign = "left";
  if (shown) context.fillText(shown, x + 3, y + 11);
}

/** In so many letters, with its end: the names of a pool's threads differ there. */
function shortened(name, room) {
  if (name.length <= room) return name;
  const end = Math.floor(room / 3);
  return `${name.slice(0, room - end - 1)}…${name.slice(-end)}`;
}

function drawNames(context, all) {
  context.fillStyle = colours.page;
  context.fillRect(0, 0, names - 2, canvas.clientHeight);
  context.textAlign = "left";
  lanes.forEach((lane, index) => {
    context.fillStyle = index === view.lane ? colours.accent : colours.text;
    const room = Math.floor((names - 8) / 6.4);
    context.fillText(shortened(lane.name, room), 4, all[index] + 11);
  });
}

/** An arrow from where the chosen poll's task was woken, and a frame around the poll. */
function drawChosen(context, all) {
  const lane = lanes[view.lane];
  if (view.item < 0 || !lane) return;
  const y = all[view.lane] + Math.min(lane.depth[view.item], lane.depths - 1) * ROW;
  const left = Math.max(xOf(lane.start[view.item]), names);
  const right = Math.min(xOf(lane.end[view.item]), canvas.clientWidth);
  context.strokeStyle = colours.text;
  context.lineWidth = 2;
  if (right >= names) context.strokeRect(left - 1, y - 1, Math.max(right - left, 1) + 2, ROW);
  if (lane.wokenLane[view.item] !== NONE) {
    const from = Math.max(xOf(lane.wokenAt[view.item]), names);
    context.strokeStyle = colours.match;
    context.beginPath();
    context.arc(from, all[lane.wokenLane[view.item]] + ROW / 2, 3, 0, 7);
    context.moveTo(from, all[lane.wokenLane[view.item]] + ROW / 2);
    context.lineTo(left, y + ROW / 2);
    context.stroke();
  }
  context.lineWidth = 1;
}

/** Draws everything. The time that it took is in `window.drawn`, in milliseconds. */
function draw() {
  const before = performance.now();
  const all = tops();
  const height = all[all.length - 1];
  const sharp = window.devicePixelRatio || 1;
  names = canvas.clientWidth < 600 ? 74 : 130;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(canvas.clientWidth * sharp);
  canvas.height = Math.round(height * sharp);
  const context = canvas.getContext("2d");
  context.scale(sharp, sharp);
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = colours.page;
  context.fillRect(0, 0, canvas.clientWidth, height);
  drawAxis(context, height);
  lanes.forEach((lane, index) => drawLane(context, lane, all[index]));
  drawNames(context, all);
  drawChosen(context, all);
  window.drawn = performance.now() - before;
}

let asked = false;

/** Draws in the next frame, once however often it is asked. */
function redraw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    draw();
  });
}
