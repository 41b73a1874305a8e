// Reads the data: for each lane, columns of numbers, one entry an item. `picture.rs` writes them.

const data = JSON.parse(document.getElementById("data").textContent);
const KIND = Object.fromEntries(data.kinds.map((name, at) => [name, at]));
const POLLS = KIND["first poll"];
const NONE = 0xffffffff;

function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
  return bytes;
}

/** The items of a lane, sorted by their start. Times are nanoseconds. */
function readLane({ name, worker, lost, items: count, data: text }, index) {
  const bytes = bytesOf(text);
  let at = 0;
  const number = () => {
    let value = 0;
    for (let unit = 1; ; unit *= 128) {
      const byte = bytes[at];
      at += 1;
      value += (byte & 127) * unit;
      if (byte < 128) return value;
    }
  };
  const difference = () => {
    const value = number();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  };
  const lane = {
    name, worker, lost, index, count,
    kind: new Uint8Array(count),
    depth: new Uint8Array(count),
    open: new Uint8Array(count),
    cause: new Uint8Array(count),
    start: new Float64Array(count),
    end: new Float64Array(count),
    task: new Float64Array(count),
    site: new Uint32Array(count),
    amount: new Float64Array(count),
    wokenAt: new Float64Array(count),
    wokenLane: new Uint32Array(count).fill(NONE),
    wokenBy: new Float64Array(count),
    depths: 1,
  };
  const stack = [];
  let [start, task] = [0, 0];
  for (let item = 0; item < count; item += 1) {
    const flags = number();
    const kind = flags & 15;
    start += number();
    const end = start + (kind < data.instants ? number() : 0);
    task += difference();
    lane.kind[item] = kind;
    lane.start[item] = start;
    lane.end[item] = end;
    lane.open[item] = flags & 64 ? 1 : 0;
    lane.task[item] = task;
    lane.site[item] = number();
    if (flags & 16) {
      lane.cause[item] = number();
      lane.wokenAt[item] = start - number();
      lane.wokenLane[item] = number();
      lane.wokenBy[item] = task + difference();
    }
    if (flags & 32) lane.amount[item] = number();
    while (stack.length > 0 && stack[stack.length - 1] <= start) stack.pop();
    lane.depth[item] = Math.min(stack.length, 15);
    if (kind < data.instants && end > start) {
      stack.push(end);
      lane.depths = Math.max(lane.depths, Math.min(stack.length, 4));
    }
  }
  return lane;
}

const lanes = data.lanes.map(readLane);

/** The first item of a lane that starts at `time` or later. */
function firstFrom(lane, time) {
  let [low, high] = [0, lane.count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.start[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

const isPoll = (lane, item) => lane.kind[item] <= POLLS;
const siteName = (site) => data.sites[site]?.[0] || "";
const sitePlace = (site) => data.sites[site]?.[1] || "";
const itemName = (lane, item) => siteName(lane.site[item]) || (isPoll(lane, item) ? "a task" : data.kinds[lane.kind[item]]);

/** A length of time, with three digits. */
function time(nanoseconds) {
  const units = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]];
  const [size, unit] = units.find(([size]) => nanoseconds >= size) ?? [1, "ns"];
  const value = nanoseconds / size;
  const digits = size === 1 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${unit}`;
}
const count = (value) => value.toLocaleString("en");

/** An element with attributes and contents. */
function make(tag, attributes = {}, ...contents) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value);
  }
  element.append(...contents);
  return element;
}
