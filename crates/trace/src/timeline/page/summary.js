// The tables below the lanes.

const LONGEST = 10;
/** Bounds of the histograms: a factor of about three each. */
const BOUNDS = [1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6, 3e6, 1e7, 1e8, Infinity];

/** What the threads did, and which polls took longest. One pass over all items. */
function summarise() {
  const waits = new Float64Array(BOUNDS.length);
  const lengths = new Float64Array(BOUNDS.length);
  const longest = [];
  const queued = [];
  const bucket = (value) => BOUNDS.findIndex((bound) => value < bound);
  const threads = lanes.map((lane) => {
    const sums = { lane, polls: 0, busy: 0, asleep: 0, steals: 0, stolen: 0, wakes: 0, from: 0, to: 0 };
    sums.from = lane.count ? lane.start[0] : 0;
    sums.to = sums.from;
    let busyUntil = 0;
    for (let item = 0; item < lane.count; item += 1) {
      const [kind, start, end] = [lane.kind[item], lane.start[item], lane.end[item]];
      sums.to = Math.max(sums.to, end);
      if (kind <= POLLS || kind === KIND.job) {
        // A poll inside of another one is counted once.
        if (end > busyUntil) {
          sums.busy += end - Math.max(start, busyUntil);
          busyUntil = end;
        }
        if (kind > POLLS) continue;
        sums.polls += 1;
        lengths[bucket(end - start)] += 1;
        if (lane.wokenLane[item] !== NONE) waits[bucket(start - lane.wokenAt[item])] += 1;
        keepLongest(longest, { lane, item, length: end - start });
      } else if (kind === KIND.sleep) {
        sums.asleep += end - start;
      } else if (kind === KIND.steal) {
        sums.steals += 1;
        sums.stolen += lane.amount[item];
      } else if (kind === KIND["wakes worker"]) {
        sums.wakes += 1;
      } else if (kind === KIND.queued) {
        queued.push({ lane, item });
      }
    }
    return sums;
  });
  queued.sort((a, b) => a.lane.start[a.item] - b.lane.start[b.item]);
  return { threads, waits, lengths, longest, queued };
}

function keepLongest(longest, entry) {
  if (longest.length === LONGEST && longest[LONGEST - 1].length >= entry.length) return;
  const at = longest.findIndex((other) => other.length < entry.length);
  longest.splice(at < 0 ? longest.length : at, 0, entry);
  longest.length = Math.min(longest.length, LONGEST);
}

function table(head, rows) {
  const cell = (tag) => (value) => make(tag, typeof value === "object" || Number.isNaN(parseFloat(value)) ? {} : { class: "number" }, value);
  const row = (values) => make("tr", {}, ...values.map(cell("td")));
  return make("div", { class: "scroll" }, make("table", {},
    make("thead", {}, make("tr", {}, ...head.map((value) => make("th", { scope: "col" }, value)))),
    make("tbody", {}, ...rows.map(row))));
}

const percent = (part, whole) => (whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : "–");

function threadRow({ lane, polls, busy, asleep, steals, stolen, wakes, from, to }) {
  const whole = to - from;
  const searching = Math.max(whole - busy - asleep, 0);
  const share = make("div", { class: "share", "aria-hidden": "true" },
    make("span", { class: "busy", style: `width:${(100 * busy) / (whole || 1)}%` }),
    make("span", { style: `width:${(100 * searching) / (whole || 1)}%` }),
    make("span", { class: "asleep", style: `width:${(100 * asleep) / (whole || 1)}%` }));
  return [lane.name, share, percent(busy, whole), percent(searching, whole), percent(asleep, whole),
    count(polls), steals ? `${count(stolen)} in ${count(steals)}` : "0", count(wakes), count(lane.lost)];
}

function histogram(title, counts) {
  const most = Math.max(...counts, 1);
  const used = [...counts].map((n) => n > 0);
  const [first, last] = [used.indexOf(true), used.lastIndexOf(true)];
  const bars = [];
  for (let at = Math.max(first, 0); at <= last; at += 1) {
    const bound = BOUNDS[at] === Infinity ? "longer" : `< ${time(BOUNDS[at])}`;
    bars.push(make("span", {}, bound), make("span", { class: "bar", style: `width:${(100 * counts[at]) / most}%` }), make("span", { class: "number" }, count(counts[at])));
  }
  return make("section", {}, make("h2", {}, title), make("div", { class: "histogram" }, ...bars));
}

/** A button that shows an item. */
function link(lane, item) {
  return make("button", { class: "link", click: () => choose(lane.index, item, true) }, itemName(lane, item));
}

function showSummary() {
  const { threads, waits, lengths, longest, queued } = summarise();
  const items = lanes.reduce((sum, lane) => sum + lane.count, 0);
  const lost = lanes.reduce((sum, lane) => sum + lane.lost, 0);
  const about = `${time(data.length)}, ${count(lanes.length)} threads, ${count(items)} items.`;
  const warning = lost ? ` ${count(lost)} earlier events were overwritten: lanes begin at different times.` : "";
  document.getElementById("about").textContent = about + warning;
  const legend = [["poll", "poll"], ["first", "first poll, by the spawner"], ["sleep", "sleep"], ["scope", "wait of a scope"], ["join", "wait of a join"], ["job", "job of another thread"], ["blocking", "blocking call"], ["match", "queued, not polled by the end"]];
  const entry = ([name, text]) => make("li", {}, make("span", { style: `background:var(--${name})` }), text);
  const summary = document.getElementById("summary");
  summary.replaceChildren(
    make("ul", { class: "legend" }, ...legend.map(entry)),
    make("h2", {}, "Threads"),
    table(["thread", "", "busy", "searching, or other code", "asleep", "polls", "stolen tasks", "wakes", "overwritten"], threads.map(threadRow)),
    make("div", { class: "histograms" }, histogram("From wake to poll", waits), histogram("Length of polls", lengths)),
    make("h2", {}, "Longest polls"),
    table(["length", "task", "line", "thread", "at"], longest.map(({ lane, item, length }) =>
      [time(length), link(lane, item), make("code", {}, sitePlace(lane.site[item])), lane.name, time(lane.start[item])])));
  if (queued.length > 0) {
    summary.append(make("h2", {}, "Queued, and not polled by the end"), make("p", { class: "note" }, `${count(queued.length)} tasks; the first ${Math.min(queued.length, LONGEST)}:`),
      table(["for", "task", "line", "queued by", "how"], queued.slice(0, LONGEST).map(({ lane, item }) =>
        [time(data.length - lane.start[item]), link(lane, item), make("code", {}, sitePlace(lane.site[item])), lane.name, data.causes[lane.cause[item]]])));
  }
}
