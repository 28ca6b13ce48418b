// SPDX-License-Identifier: Apache-2.0
// The two drawings of the page: the ring of ranks and the curve of the throughput. Both are SVG.

const space = "http://www.w3.org/2000/svg";

export const signs = {
  starting: "◌", running: "●", finished: "✓", stopped: "■", failed: "✕", lost: "?",
};
export const states = ["running", "starting", "finished", "stopped", "failed", "lost"];

function shape(name, attributes, text) {
  const made = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function point(angle, radius) {
  return `${(Math.sin(angle) * radius).toFixed(2)} ${(-Math.cos(angle) * radius).toFixed(2)}`;
}

function segment(from, to, inner, outer) {
  // An arc that ends where it begins would be none at all.
  const end = to - from > 2 * Math.PI - 0.001 ? from + 2 * Math.PI - 0.001 : to;
  const large = end - from > Math.PI ? 1 : 0;
  return `M${point(from, outer)}A${outer} ${outer} 0 ${large} 1 ${point(end, outer)}` +
    `L${point(end, inner)}A${inner} ${inner} 0 ${large} 0 ${point(from, inner)}Z`;
}

function arc(from, to, radius) {
  const end = to - from > 2 * Math.PI - 0.001 ? from + 2 * Math.PI - 0.001 : to;
  return `M${point(from, radius)}A${radius} ${radius} 0 ${end - from > Math.PI ? 1 : 0} 1 ${point(end, radius)}`;
}

// Of ranks that share a segment the one that needs attention most is shown.
const urgency = ["finished", "stopped", "running", "starting", "lost", "failed"];

function worst(ranks) {
  return ranks.reduce((one, other) =>
    urgency.indexOf(other.state) > urgency.indexOf(one.state) ? other : one);
}

// Draws a segment for each rank, or for several if there are very many; the ranks of a node lie
// under its arc. `chosen(rank)` is called for the one that was clicked, or entered by the keyboard.
export function drawRing(svg, ranks, nodes, chosen) {
  const focused = svg.querySelector(":focus")?.dataset.rank;
  svg.replaceChildren();
  const most = 360;
  const perSegment = Math.ceil(ranks.length / most) || 1;
  const byNode = new Map();
  for (const rank of ranks) {
    if (!byNode.has(rank.node)) byNode.set(rank.node, []);
    byNode.get(rank.node).push(rank);
  }
  const gap = byNode.size > 1 && byNode.size <= 60 ? Math.min(0.05, 0.8 / byNode.size) : 0;
  const each = ranks.length ? (2 * Math.PI - gap * byNode.size) / ranks.length : 0;
  let angle = gap / 2;
  let first = true;
  for (const [node, members] of byNode) {
    const begin = angle;
    for (let i = 0; i < members.length; i += perSegment) {
      const group = members.slice(i, i + perSegment);
      const shown = worst(group);
      const to = angle + each * group.length;
      const words = `Rank ${shown.rank}: ${shown.state}${shown.detail ? ", " + shown.detail : ""}`;
      const path = shape("path", {
        d: segment(angle, to, 82, 124), class: shown.state, "data-state": shown.state,
        "data-rank": shown.rank, role: "button", tabindex: first ? "0" : "-1", "aria-label": words,
      });
      path.append(shape("title", {}, words));
      path.addEventListener("click", () => chosen(shown.rank));
      svg.append(path);
      if (each * group.length > 0.16)
        svg.append(shape("text", {
          class: "glyph", x: Math.sin((angle + to) / 2) * 103, y: -Math.cos((angle + to) / 2) * 103,
          "aria-hidden": "true",
        }, signs[shown.state]));
      first = false;
      angle = to;
    }
    const about = nodes[node] ?? {name: "", lost: false};
    svg.append(shape("path", {d: arc(begin + 0.01, angle - 0.01, 133), class: "node-arc", "data-lost": about.lost}));
    if (byNode.size <= 12) {
      const middle = (begin + angle) / 2;
      const name = about.name.length > 14 ? about.name.slice(0, 13) + "…" : about.name;
      const side = Math.sin(middle);
      svg.append(shape("text", {
        x: side * 142, y: -Math.cos(middle) * 146,
        class: side > 0.3 ? "on-right" : side < -0.3 ? "on-left" : "",
      }, byNode.size > 1 ? name : ""));
    }
    angle += gap;
  }
  const running = ranks.filter((rank) => rank.state === "running").length;
  svg.append(shape("text", {class: "count", y: -6}, running));
  svg.append(shape("text", {class: "of", y: 26}, `of ${ranks.length} running`));
  if (focused !== undefined) svg.querySelector(`[data-rank="${focused}"]`)?.focus();
}

// Arrows move along the ring; Enter and the space bar choose.
export function ringKeys(svg) {
  svg.addEventListener("keydown", (event) => {
    const paths = [...svg.querySelectorAll("path[data-rank]")];
    const at = paths.indexOf(document.activeElement);
    if (at < 0) return;
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    if (step) {
      const next = paths[(at + step + paths.length) % paths.length];
      paths[at].setAttribute("tabindex", "-1");
      next.setAttribute("tabindex", "0");
      next.focus();
      event.preventDefault();
    } else if (event.key === "Enter" || event.key === " ") {
      paths[at].dispatchEvent(new Event("click"));
      event.preventDefault();
    }
  });
}

export function drawRate(svg, samples, room) {
  svg.replaceChildren();
  svg.append(shape("line", {class: "base", x1: 0, x2: 600, y1: 119, y2: 119}));
  const peak = Math.max(...samples, 1e-9);
  if (samples.length < 2) return;
  const x = (i) => (600 * (room - samples.length + i)) / (room - 1);
  const y = (value) => 116 - (108 * value) / peak;
  const line = samples.map((value, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  svg.append(shape("path", {class: "area", d: `${line}L600 119L${x(0).toFixed(1)} 119Z`}));
  svg.append(shape("path", {class: "line", d: line}));
}
