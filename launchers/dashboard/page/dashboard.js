// SPDX-License-Identifier: Apache-2.0
// Follows the event stream and shows the state. All texts of the job reach the page as text nodes,
// never as markup.
import {drawRate, drawRing, ringKeys, signs, states} from "/charts.js";

const $ = (id) => document.getElementById(id);
const numbers = new Intl.NumberFormat("en");
const samplesKept = 120;   // one a second
const linesKept = 1000;

const state = {job: null, nodes: [], ranks: [], pools: [], queue: [], queue_counts: {}, ended: [], gpus: [], leases: [], events: [], log: []};
const samples = [];
let poolsSeen = 0;         // when the pools changed last, by this machine's clock
let clockOffset = 0;       // the server's clock minus this machine's, in seconds
let over = false;
let ringDrawn = "";       // what the ring shows

// ---- the token ---------------------------------------------------------------------------------

// It comes in the fragment, which browsers send to nobody, and leaves the address bar at once. A
// reload of the page finds it in the tab's own storage.
function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem("sinew-token", given);
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem("sinew-token") ?? "";
}

// ---- small helpers -----------------------------------------------------------------------------

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "data") Object.assign(made.dataset, value);
    else if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function duration(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${Math.floor(whole / 60) % 60} min`;
  return `${Math.floor(whole / 86400)} d ${Math.floor(whole / 3600) % 24} h`;
}

const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString("en-GB");
const serverNow = () => Date.now() / 1000 + clockOffset;
const rounded = (value) => numbers.format(value >= 100 ? Math.round(value) : Math.round(value * 10) / 10);
const bytes = (value) => `${(value / 2 ** 30).toFixed(1)} GiB`;

function setText(id, text) {
  if ($(id).textContent !== text) $(id).textContent = text;
}

// ---- parts of the page -------------------------------------------------------------------------

function showJob() {
  const job = state.job;
  if (!job) return;
  document.title = `${job.name || "sinew"} · sinew`;
  setText("job-name", job.name || "sinew");
  setText("job-command", job.command);
  $("job-command").title = job.command;
  const pill = $("job-state");
  pill.textContent = job.state;
  pill.dataset.state = job.state;
  pill.dataset.failed = job.cause !== "";
  setText("job-backend", job.backend || "none");
  setText("job-restarts", String(job.restarts));
  $("cause").hidden = job.cause === "";
  setText("cause", job.cause);
  const isServer = job.kind === "server";
  for (const fact of document.querySelectorAll(".of-job")) fact.hidden = isServer;
  for (const fact of document.querySelectorAll(".of-server")) fact.hidden = !isServer;
  setText("log-source", isServer ? "Job" : "Rank");
  if (isServer) for (const id of ["throughput-card", "pools-card"]) $(id).hidden = true;
  if (isServer) showRanks();
  showQueue();
}

function showRanks() {
  $("ranks-card").hidden = state.ranks.length === 0;
  document.querySelector("main").classList.toggle("without-ranks", state.ranks.length === 0);
  if (state.ranks.length === 0) return;
  // Collectives change all the time, states rarely.
  const drawn = JSON.stringify([state.nodes, state.ranks.map((rank) => [rank.state, rank.node, rank.detail])]);
  if (drawn !== ringDrawn) {
    ringDrawn = drawn;
    drawRing($("ring"), state.ranks, state.nodes, chooseRank);
    showLegend();
  }
  // Those that have failed come first, and of a large job not all fit.
  const order = {failed: 0, lost: 1, starting: 2, stopped: 3, running: 4, finished: 5};
  const shown = [...state.ranks].sort((a, b) => order[a.state] - order[b.state] || a.rank - b.rank).slice(0, 200);
  keepChildren($("rank-table").tBodies[0], shown, (rank) => String(rank.rank), rankRow);
}

function showLegend() {
  const counts = Object.fromEntries(states.map((name) => [name, 0]));
  for (const rank of state.ranks) ++counts[rank.state];
  $("rank-legend").replaceChildren(...states.map((name) =>
    element("li", {className: name, data: {count: counts[name], state: name}},
      element("span", {className: "sign", ariaHidden: "true"}, signs[name]),
      element("span", {}, name), element("b", {}, numbers.format(counts[name])))));
}

function rankRow(rank) {
  return element("tr", {data: {rank: rank.rank, state: rank.state}},
    element("td", {}, String(rank.rank)),
    element("td", {className: `state-cell ${rank.state}`}, `${signs[rank.state]} ${rank.state}`),
    element("td", {}, state.nodes[rank.node]?.name ?? ""),
    element("td", {}, rank.pid ? String(rank.pid) : ""),
    element("td", {}, ...detailOf(rank)));
}

// Makes the children show these items, and replaces only those whose item has changed: what is selected or focused
// elsewhere stays so.
function keepChildren(parent, items, keyOf, make) {
  const known = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  const wanted = items.map((item) => {
    const key = keyOf(item), content = JSON.stringify(item);
    const old = known.get(key);
    if (old?.content === content) return old;
    const made = make(item);
    made.dataset.key = key;
    made.content = content;
    if (old) old.replaceWith(made);
    return made;
  });
  const stay = new Set(wanted);
  for (const child of [...parent.children]) if (!stay.has(child)) child.remove();
  wanted.forEach((child, i) => {
    if (parent.children[i] !== child) parent.insertBefore(child, parent.children[i] ?? null);
  });
}

function detailOf(rank) {
  const parts = [];
  if (rank.detail) parts.push(element("div", {}, rank.detail));
  if (rank.collective) {
    const {operation, communicator, number, inside} = rank.collective;
    parts.push(element("div", {className: "collective"}, inside ? "in " : "last: ",
      element("code", {}, operation), ` #${numbers.format(number)}${communicator === "world" ? "" : " of " + communicator}`));
  }
  return parts;
}

function chooseRank(rank) {
  $("log-rank").value = String(rank);
  showLog();
  $("log-card").scrollIntoView({block: "nearest"});
}

const colored = new Set(["done", "held", "queued", "failed"]);   // as in the bar

function count(key, name, value) {
  return element("div", {className: `c-${key}`},
    element("dt", {}, ...(colored.has(key) ? [element("i", {ariaHidden: "true"})] : []), name), element("dd", {data: {key}}, numbers.format(value)));
}

function part(name, share) {
  const made = element("span", {className: `b-${name}`});
  made.style.width = `${(100 * share).toFixed(2)}%`;
  return made;
}

function blame(loss) {
  const item = element("li", {}, element("strong", {}, `${loss.worker} was lost`), ` at ${clock(loss.time)}: ${loss.why}`);
  const tasks = loss.tasks.map((task) => `${task.function} #${task.index} ${task.failed ? "(failed)" : "(executed again)"}`);
  if (loss.more > 0) tasks.push(`${numbers.format(loss.more)} more`);
  item.append(element("br"), tasks.length ? "It took with it: " : "It had begun no task.");
  if (tasks.length) item.append(element("code", {}, tasks.join(", ")));
  return item;
}

function showPool(pool) {
  const total = Math.max(pool.submitted, 1);
  const ended = pool.done + pool.failed + pool.dropped;
  const where = [pool.rank === null ? null : `rank ${pool.rank}`, `pid ${pool.pid}`, pool.node].filter(Boolean).join(" · ");
  const rate = pool.ended || stale() ? 0 : pool.rate;
  const left = rate > 0 && ended < pool.submitted ? `, about ${duration((pool.submitted - ended) / rate)} left` : "";
  const bar = element("div", {className: "bar", role: "progressbar", ariaLabel: `Pool ${pool.number}`,
    ariaValueMin: "0", ariaValueMax: "100", ariaValueNow: String(Math.round((100 * ended) / total)),
    ariaValueText: `${ended} of ${pool.submitted} tasks have ended`},
  part("done", pool.done / total), part("failed", pool.failed / total),
  part("dropped", pool.dropped / total), part("held", pool.held / total));
  const made = element("article", {className: "pool", data: {pool: pool.id, ended: pool.ended}},
    element("h3", {}, `Pool ${pool.number}`, element("small", {}, where),
      element("small", {}, pool.ended ? "ended" : `${rounded(rate)} tasks/s${left}`)),
    bar,
    element("dl", {className: "counts"},
      count("done", "done", pool.done), count("held", "running", pool.held),
      count("queued", "waiting", pool.queued), count("failed", "failed", pool.failed),
      count("retried", "retried", pool.retried), count("deaths", "lost workers", pool.deaths),
      element("div", {}, element("dt", {}, "ready"), element("dd", {}, `${pool.ready} of ${pool.workers}`))));
  const losses = element("ul", {className: "blame", tabIndex: 0, hidden: pool.losses.length === 0,
    ariaLabel: "Workers that were lost, the last one first"});
  made.append(losses);
  return made;
}

const stale = () => Date.now() - poolsSeen > 4000;
const rateOfAll = () => (stale() || over ? 0 : state.pools.reduce((sum, pool) => sum + pool.rate, 0));

function showPools() {
  $("no-pools").hidden = state.pools.length > 0;
  const order = [...state.pools].sort((a, b) => a.ended - b.ended || a.id.localeCompare(b.id, "en", {numeric: true}));
  const lists = new Map([...document.querySelectorAll(".pool")].map((pool) => [pool.dataset.pool, pool.querySelector(".blame")]));
  const focused = document.activeElement;
  $("pools").replaceChildren(...order.map((pool) => {
    const made = showPool(pool);
    // The list stays, with its place and the focus.
    const list = lists.get(pool.id) ?? made.querySelector(".blame");
    const top = list.scrollTop;
    list.hidden = pool.losses.length === 0;
    keepChildren(list, [...pool.losses].reverse(), (loss) => `${loss.time} ${loss.worker}`, blame);
    made.querySelector(".blame").replaceWith(list);
    requestAnimationFrame(() => { list.scrollTop = top; });
    return made;
  }));
  if (focused?.classList?.contains("blame")) focused.focus({preventScroll: true});
}

function showGpus() {
  $("gpus-card").hidden = state.gpus.length === 0;
  $("gpus").replaceChildren(...state.gpus.map((gpu) => {
    const item = element("li", {data: {gpu: gpu.index, free: gpu.holder === ""}}, element("strong", {}, `${gpu.host} · GPU ${gpu.index}`));
    if (gpu.name) item.append(gpu.name, element("br"));
    item.append(gpu.holder ? `held by ${gpu.holder}` : "free");
    if (gpu.memory_total > 0) {
      const words = `${bytes(gpu.memory_used)} of ${bytes(gpu.memory_total)}`;
      item.append(element("br"), element("meter", {min: 0, max: 1, value: gpu.memory_used / gpu.memory_total, ariaLabel: `Memory: ${words}`}), words);
    }
    if (gpu.utilization !== null) item.append(element("br"), `${Math.round(100 * gpu.utilization)} % busy`);
    return item;
  }));
  setText("gpus-held", `${state.gpus.filter((gpu) => gpu.holder !== "").length} of ${state.gpus.length}`);
}

function row(...cells) {
  return element("tr", {}, ...cells.map((cell) => element("td", {}, String(cell))));
}

const jobSigns = {waiting: "·", starting: "○", running: "▶", completed: "✓", failed: "✕", cancelled: "■", timeout: "✕"};

function jobCells(job) {
  return [element("td", {}, job.id), element("td", {}, job.name),
    element("td", {className: `state-cell ${job.state}`}, `${jobSigns[job.state] ?? ""} ${job.state}`)];
}

function queueRow(job) {
  const gpus = job.gpus_held ? `GPU ${job.gpus_held}` : (job.gpus === 0 ? "" : `${job.gpus} wanted`);
  return element("tr", {data: {job: job.id, state: job.state}}, ...jobCells(job),
    element("td", {}, String(job.priority)), element("td", {}, gpus), element("td", {}, job.processors ? String(job.processors) : ""),
    element("td", {className: "age", data: {since: job.started ?? job.submitted}}), element("td", {}, job.owner));
}

function endedRow(job) {
  return element("tr", {data: {job: job.id, state: job.state}}, ...jobCells(job),
    element("td", {}, job.exit_code === null ? "" : String(job.exit_code)), element("td", {}, job.ended === null ? "" : clock(job.ended)),
    element("td", {}, job.started === null || job.ended === null ? "" : duration(job.ended - job.started)),
    element("td", {}, job.owner), element("td", {}, job.cause));
}

function showQueue() {
  const isServer = state.job?.kind === "server";
  $("queue-card").hidden = state.queue.length === 0 && !isServer;
  $("queue-empty").hidden = state.queue.length > 0 || !isServer;
  keepChildren($("queue"), state.queue, (job) => job.id, queueRow);
  const {waiting = 0, running = 0, starting = 0} = state.queue_counts;
  const more = Object.values(state.queue_counts).reduce((sum, count) => sum + count, 0) - state.queue.length;
  $("queue-more").hidden = more <= 0;
  setText("queue-more", `and ${numbers.format(more)} more that wait or run`);
  setText("jobs-waiting", numbers.format(waiting));
  setText("jobs-running", numbers.format(running + starting));
  $("ended-card").hidden = state.ended.length === 0;
  keepChildren($("ended"), state.ended, (job) => job.id, endedRow);
  showAges();
}

// How long jobs wait or run, which changes without news of the server.
function showAges() {
  for (const cell of document.querySelectorAll("#queue .age")) {
    const words = duration(serverNow() - Number(cell.dataset.since));
    if (cell.textContent !== words) cell.textContent = words;
  }
}

function showLeases() {
  $("leases-card").hidden = state.leases.length === 0;
  $("leases").replaceChildren(...state.leases.map((lease) =>
    row(lease.holder, lease.host, lease.resources, lease.until === null ? "" : duration(lease.until - serverNow()))));
}

const levelSigns = {info: "i", warning: "▲", error: "✕"};

function showEvents(fresh) {
  for (const event of fresh) {
    const item = element("li", {data: {level: event.level}},
      element("time", {dateTime: new Date(event.time * 1000).toISOString()}, clock(event.time)),
      element("span", {className: `level level-${event.level}`}, `${levelSigns[event.level]} ${event.level}`),
      element("span", {}, event.text));
    $("events").prepend(item);
    if (event.level === "error") $("announcer").textContent = event.text;
  }
  while ($("events").children.length > 500) $("events").lastChild.remove();
}

// ---- the log -----------------------------------------------------------------------------------

function wanted(line) {
  const rank = $("log-rank").value.trim();
  const words = $("log-filter").value;
  return (rank === "" || (line.job ?? String(line.rank)) === rank) && (words === "" || line.text.includes(words));
}

function logLine(line) {
  if (line.missed) return element("div", {className: "gap"}, `… ${numbers.format(line.missed)} lines came too fast to be shown`);
  return element("div", {className: line.stream}, element("span", {className: "who"}, `[${line.job ?? line.rank ?? "sinew"}] `), line.text);
}

function addLog(fresh) {
  const added = [];
  for (const line of fresh) {
    const last = state.log.at(-1);
    const missed = last ? line.number - last.number - 1 : 0;
    if (missed > 0) added.push({missed, number: line.number - 1});
    state.log.push(line);
    added.push(line);
  }
  state.log.splice(0, Math.max(0, state.log.length - linesKept));
  $("log").append(...added.filter((line) => line.missed || wanted(line)).map(logLine));
  while ($("log").children.length > linesKept) $("log").firstChild.remove();
  if ($("log-follow").checked) $("log").scrollTop = $("log").scrollHeight;
}

function showLog() {
  $("log").replaceChildren(...state.log.filter(wanted).map(logLine));
  $("log").scrollTop = $("log").scrollHeight;
}

// ---- the stream --------------------------------------------------------------------------------

function take(change) {
  clockOffset = change.now - Date.now() / 1000;
  const {events = [], log = [], ...parts} = change;
  if (parts.job && state.job && parts.job.started !== state.job.started) forget();
  Object.assign(state, parts);
  if ("job" in parts) showJob();
  if ("nodes" in parts || "ranks" in parts) showRanks();
  if ("pools" in parts) {
    poolsSeen = Date.now();
    showPools();
  }
  if ("gpus" in parts) showGpus();
  if ("queue" in parts) showQueue();
  if ("leases" in parts) showLeases();
  const known = state.events.at(-1)?.number ?? 0;
  const fresh = events.filter((event) => event.number > known);
  state.events.push(...fresh);
  showEvents(fresh);
  const seen = state.log.at(-1)?.number ?? 0;
  const lines = log.filter((line) => line.number > seen);
  if (lines.length) addLog(lines);
}

// Another server answers at this address: its events and lines are counted from 1 again.
function forget() {
  state.events = [];
  state.log = [];
  for (const id of ["events", "log"]) $(id).replaceChildren();
}

function connection(text, live) {
  setText("connection", text);
  $("connection").dataset.live = live;
}

// Throws if the connection ends before the job.
async function follow(token) {
  const answer = await fetch("/events", {headers: {Authorization: `Bearer ${token}`}, cache: "no-store"});
  if (answer.status === 401) {
    over = true;
    connection("Not authorised: open the address that was printed, with its token", "no");
    return;
  }
  if (!answer.ok) throw new Error((await answer.text()).trim());
  connection("Live", "yes");
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; !over;) {
    const {value, done} = await reader.read();
    if (done) throw new Error("the connection has ended");
    const messages = (rest + value).split("\n\n");
    rest = messages.pop();
    for (const message of messages) {
      if (message.startsWith("event: end")) over = true;
      else if (message.startsWith("data: ")) take(JSON.parse(message.slice(6)));
    }
  }
  connection("Ended; this is the last state", "ended");
  showPools();
}

async function run() {
  const token = takeToken();
  for (let pause = 500; !over; pause = Math.min(2 * pause, 8000)) {
    const began = Date.now();
    try {
      await follow(token);
    } catch (problem) {
      connection(state.job?.state === "ended" ? "Ended; this is the last state" : `Not connected: ${problem.message}`, "no");
    }
    if (Date.now() - began > 10000) pause = 500;
    if (!over) await new Promise((resume) => setTimeout(resume, pause));
  }
}

ringKeys($("ring"));
for (const id of ["log-rank", "log-filter"]) $(id).addEventListener("input", showLog);
setInterval(() => {
  if (state.job && !over) setText("job-uptime", duration(serverNow() - state.job.started));
  if (state.job?.kind === "server") return showAges();
  samples.push(rateOfAll());
  samples.splice(0, Math.max(0, samples.length - samplesKept));
  setText("rate", rounded(samples.at(-1)));
  const peak = Math.max(...samples);
  setText("rate-peak", peak > 0 ? `peak ${rounded(peak)}` : "");
  drawRate($("rate-chart"), samples, samplesKept);
}, 1000);
run();
