// Draws the lanes: a claim with its states, reports above and facts below; requests as bars.

const AXIS = 28;
const HEIGHTS = { stream: 26, claim: 84, requests: 30 };
const MOST_LANES = 60; // requests up to this number have a lane each; more share lanes
const TROUBLE = new Set([
  "claim_harmed", "claim_block_lost", "claim_unmaterialized", "claim_restoration_failed", "load_failed",
  "cache_reset", "claim_rejected",
]);
const ACTIONS = new Set(["request_refused", "request_deferred", "request_routed_elsewhere", "request_bounded",
  "request_offloaded", "request_split"]); // on a request that does not fit beside the claims
const mark_colour = (event, lost, gained, broken) => TROUBLE.has(kind_of(event)) || (lost > 0 && broken) ? "violated"
  : lost > 0 ? "ink" : ACTIONS.has(kind_of(event)) ? "deferred" : gained > 0 ? "kept" : "quiet";
let rows = [], hits = [], chosen = { claim: ABSENT };

// The rows of the lanes, after the filters; requests that do not overlap may share one.
function lay_out(claims, requests) {
  rows = [];
  let y = AXIS;
  const add = (kind, of) => {
    rows.push({ kind, ...of, y, h: HEIGHTS[kind] });
    y += HEIGHTS[kind];
  };
  const claims_of = group(Array.from(claims, (each) => T.claim.stream[each]), D.streams.length);
  const requests_of = group(Array.from(requests, (each) => T.request.stream[each]), D.streams.length);
  D.streams.forEach((stream, number) => {
    const mine = Array.from(claims_of.of(number), (i) => claims[i]);
    const theirs = Array.from(requests_of.of(number), (i) => requests[i]);
    if (D.streams.length > 1 && mine.length + theirs.length) add("stream", { stream: number });
    for (const claim of mine.sort((a, b) => T.claim.at[a] - T.claim.at[b])) add("claim", { claim });
    for (const lane of packed_lanes(theirs.sort((a, b) => T.request.at[a] - T.request.at[b])))
      add("requests", { requests: lane });
  });
  $("height").style.height = `${y + 6}px`;
  $("scroll").style.height = `${Math.min(y + 6, Math.max(240, innerHeight * 0.56))}px`;
}

function packed_lanes(requests) {
  if (requests.length <= MOST_LANES) return requests.map((each) => [each]);
  const lanes = [], ends = [];
  for (const each of requests) {
    let place = ends.findIndex((end) => end < T.request.at[each]);
    if (place < 0) place = lanes.length < MOST_LANES ? lanes.push([]) - 1 : each % MOST_LANES;
    lanes[place].push(each);
    ends[place] = T.request.end[each];
  }
  return lanes;
}

function draw_lanes() {
  const box = $("scroll"), width = box.clientWidth, height = box.clientHeight, top = box.scrollTop;
  const pen = sharp($("lanes"), width, height), { left, right, x } = scale(width);
  hits = [];
  pen.save();
  pen.translate(0, -top);
  pen.beginPath();
  pen.rect(left, top + AXIS, width - left, height - AXIS);
  pen.clip();
  for (const [at] of ticks(width - left)) line(pen, x(at), top, x(at), top + height, "grid");
  const visible = rows.filter((row) => row.y + row.h > top && row.y < top + height);
  const places = new Map();
  for (const row of visible) {
    line(pen, left, row.y + row.h - 0.5, width, row.y + row.h - 0.5, "grid");
    if (row.kind === "claim" && row.claim === chosen.claim) fill_rect(pen, left, row.y, width, row.h - 1, "chosen");
    if (row.kind === "claim") places.set(`c${row.claim}`, row);
    else if (row.kind === "requests" && row.requests.length < 2000) row.requests.forEach((each) => places.set(`r${each}`, row));
  }
  for (const row of visible) if (row.kind === "requests") draw_requests(pen, row, x);
  for (const row of visible) if (row.kind === "claim") draw_claim(pen, row, x, left, right);
  for (const row of visible) if (row.kind === "claim") draw_links(pen, row, places, x);
  pen.restore();
  for (const row of visible) draw_label(pen, row, row.y - top, left);
  draw_axis(pen, width, left, x);
  draw_hover(pen, x, 0, height, left);
}

function draw_axis(pen, width, left, x) {
  fill_rect(pen, 0, 0, width, AXIS - 1, "panel");
  line(pen, 0, AXIS - 0.5, width, AXIS - 0.5, "edge");
  pen.fillStyle = colour("quiet");
  pen.fillText(D.axis === "lines" ? "by line" : "since the first line", 10, AXIS / 2, left - 12);
  pen.textAlign = "center";
  for (const [at, step] of ticks(width - left))
    if (x(at) > left + 8) pen.fillText(D.axis === "lines" ? at + 1 : span(at, step), x(at), AXIS / 2);
  pen.textAlign = "left";
}

function draw_hover(pen, x, from, to, left) {
  for (const [at, name] of [[view.wanted, "accent"], [view.hover, "quiet"]])
    if (at !== null && x(at) >= left) line(pen, x(at), from, x(at), to, name, [3, 3]);
}

function draw_label(pen, row, y, left) {
  fill_rect(pen, 0, y, left, row.h - 1, row.claim === chosen.claim && row.kind === "claim" ? "chosen" : "panel");
  line(pen, left - 0.5, y, left - 0.5, y + row.h, "edge");
  line(pen, 0, y + row.h - 0.5, left, y + row.h - 0.5, "grid");
  const write = (string, dx, dy, name, font) => {
    pen.font = `${font} system-ui, sans-serif`;
    pen.fillStyle = colour(name);
    pen.fillText(fitted(pen, string, left - dx - 8), dx, y + dy);
    pen.font = "12px system-ui, sans-serif";
  };
  if (row.kind === "stream") write(stream_name(row.stream), 10, row.h / 2, "quiet", "600 12px");
  else if (row.kind === "claim") {
    const verdict = claim_verdict(row.claim);
    write(text(T.claim.id[row.claim]), 10, 20, "ink", "600 13px");
    write(`${VERDICT_MARKS[verdict]} ${verdict}`, 10, 40, verdict, "600 12px");
    write(`${words(text(T.claim.mode[row.claim]))}`, 10, 58, "quiet", "12px");
  } else {
    const many = row.requests.length > 1;
    write(many ? plural(row.requests.length, "request") : text(T.request.id[row.requests[0]]), 10, row.h / 2, "ink", "12px");
  }
  hits.push({ x: 0, y, w: left, h: row.h, claim: row.claim, request: row.requests?.length === 1 ? row.requests[0] : undefined });
}

function fitted(pen, string, width) {
  if (pen.measureText(string).width <= width) return string;
  let most = Math.max(1, Math.floor((string.length * width) / pen.measureText(string).width) - 1);
  return `${string.slice(0, Math.ceil(most / 2))}…${string.slice(string.length - Math.floor(most / 2))}`;
}

// Calls `draw` with rows of a lane that are in view, no two of them closer than a few columns.
function each_in_view(rows, column, x, draw) {
  const last = view.to;
  for (let i = first_from(rows, column, view.from - (view.to - view.from) * 0.02); i < rows.length; ) {
    const at = column[rows[i]];
    if (at > last) return;
    draw(rows[i], x(at));
    const next = first_from(rows, column, at + (view.to - view.from) / 320, i + 1);
    i = Math.max(i + 1, next);
  }
}

// The place from which on slices may reach into the view; they follow one another.
const first_open = (rows, column) => Math.max(0, first_from(rows, column, view.from) - 1);

function draw_claim(pen, row, x, left, right) {
  const { slice, touch, found } = T, top = row.y - $("scroll").scrollTop, bar = row.y + 33, states = I.slices.of(row.claim);
  for (let i = first_open(states, slice.at); i < states.length && slice.at[states[i]] <= view.to; ) {
    const each = states[i], state = D.names.states[slice.state[each]];
    const from = Math.max(x(slice.at[each]), left - 2), to = Math.min(Math.max(x(slice.end[each]), from + 2), right + 14);
    pen.globalAlpha = slice.judged[each] ? 1 : 0.4;
    bar_of(pen, from, bar, to - from, 20, state, to - from > 44 ? cut(state, Math.floor((to - from - 10) / 6.6)) : "");
    pen.globalAlpha = 1;
    hits.push({ x: from, y: bar - row.y + top, w: to - from, h: 20, claim: row.claim, slice: each });
    i = Math.max(i + 1, first_from(states, slice.at, slice.at[each] + (view.to - view.from) / 1600, i + 1) - 1);
  }
  const broken = claim_verdict(row.claim) === "violated";
  let free = -Infinity; // from here on nothing is written yet
  const mark = (each, px) => {
    const event = touch.event[each], report = T.event.report[event], lost = touch.lost[each], gained = touch.gained[each];
    const y = report ? row.y + 22 : row.y + 63, name = mark_colour(event, lost, gained, broken);
    triangle(pen, px, y, report ? 6 : -6, name);
    if ((lost > 0 || gained > 0) && px > free) {
      free = px + 38;
      pen.fillStyle = colour(name);
      pen.font = "600 11px system-ui, sans-serif";
      pen.fillText(lost > 0 ? `−${lost}` : `+${gained}`, px + 8, y + 7);
    }
    hits.push({ x: px - 7, y: y - row.y + top - 9, w: 14, h: 18, event, claim: row.claim });
  };
  for (const kind of [I.facts, I.reports, I.losses]) {
    free = -Infinity;
    each_in_view(kind.of(row.claim), touch.at, x, mark);
  }
  let flag = -Infinity;
  for (const each of Array.from(I.broken.of(row.claim)).sort((a, b) => found.at[a] - found.at[b])) {
    const at = found.at[each], px = x(at);
    if (at < view.from || at > view.to) continue;
    line(pen, px, row.y + 3, px, row.y + row.h - 4, "violated", [], 2);
    const code = D.observers[obligation(each)].code;
    pen.font = "700 11px system-ui, sans-serif";
    const size = pen.measureText(code).width + 12;
    const begin = Math.max(px - 1, flag);
    flag = begin + size + 2;
    fill_rect(pen, begin, row.y + 2, size, 15, "violated");
    pen.fillStyle = colour("on-violated");
    pen.fillText(code, begin + 6, row.y + 10);
    hits.push({ x: begin, y: top + 2, w: size, h: 15, found: each, claim: row.claim });
  }
}

function draw_requests(pen, row, x) {
  const { request, phase } = T, top = row.y - $("scroll").scrollTop;
  let until = -Infinity;
  for (const each of row.requests) {
    if (request.end[each] < view.from || request.at[each] > view.to) continue;
    const from = x(request.at[each]), to = Math.max(x(request.end[each]), from + 3);
    if (to < until + 1) continue; // nothing of it would be seen
    until = to;
    bar_of(pen, from, row.y + 8, to - from, 14, "waiting", "");
    for (const part of I.phases.of(each)) {
      const begin = x(phase.at[part]), end = Math.max(x(phase.end[part]), begin + 3), name = D.names.phases[phase.phase[part]];
      bar_of(pen, begin, row.y + 8, end - begin, 14, name, end - begin > 50 ? words(name) : "", 10);
    }
    for (const link of I.conflicts.of(each)) // from where it does not fit, to the action on it
      fill_rect(pen, x(T.link.at[link]), row.y + 24, Math.max(2, x(T.link.toat[link]) - x(T.link.at[link])), 3, "deferred");
    hits.push({ x: from, y: top + 6, w: Math.max(8, to - from), h: 18, request: each });
    if (to - from > 8 || row.requests.length === 1) request_marks(pen, row, each, x, top);
  }
}

function request_marks(pen, row, request, x, top) {
  each_in_view(I.events.of(request), T.event.at, x, (event, px) => {
    const name = mark_colour(event, 0, 0);
    pen.fillStyle = colour(name === "quiet" ? "ink" : name);
    pen.beginPath();
    pen.arc(px, row.y + 15, name === "quiet" ? 2.5 : 4.5, 0, 7);
    pen.fill();
    hits.push({ x: px - 5, y: top + 8, w: 10, h: 14, event, request });
  });
}

// From a report on a request to the claims that it names, and from a loss to its report.
function draw_links(pen, row, places, x) {
  const { link } = T;
  for (const each of I.named.of(row.claim).slice(0, 400)) {
    const at = link.at[each], to = link.toat[each];
    if (Math.max(at, to) < view.from || Math.min(at, to) > view.to) continue;
    const from = places.get(link.claim[each] >= 0 ? `c${link.claim[each]}` : `r${link.request[each]}`);
    if (!from) continue;
    const loss = D.names.links[link.kind[each]] === "loss";
    pen.strokeStyle = colour(!loss ? "deferred" : claim_verdict(row.claim) === "violated" ? "violated" : "quiet");
    pen.lineWidth = 1.4;
    pen.setLineDash(loss ? [] : [4, 3]);
    pen.beginPath();
    if (loss) {
      const bend = Math.min(12, (x(to) - x(at)) / 2);
      pen.moveTo(x(at), row.y + 60);
      pen.bezierCurveTo(x(at) + bend, row.y + 46, x(to) - bend, row.y + 40, x(to), row.y + 28);
    } else {
      const bend = (from.y + 15 + row.y + 56) / 2;
      pen.moveTo(x(at), from.y + 8);
      pen.bezierCurveTo(x(at), bend, x(to), bend, x(to), row.y + 54);
    }
    pen.stroke();
    pen.setLineDash([]);
  }
}

// Shapes.

function line(pen, x, y, to_x, to_y, name, dash = [], width = 1) {
  pen.strokeStyle = colour(name);
  pen.lineWidth = width;
  pen.setLineDash(dash);
  pen.beginPath();
  pen.moveTo(x, y);
  pen.lineTo(to_x, to_y);
  pen.stroke();
  pen.setLineDash([]);
}

function fill_rect(pen, x, y, w, h, name) {
  pen.fillStyle = colour(name);
  pen.fillRect(x, y, w, h);
}

function bar_of(pen, x, y, w, h, name, label, size = 12) {
  if (w < 4) return fill_rect(pen, x, y, Math.max(1, w), h, name);
  pen.fillStyle = colour(name);
  pen.beginPath();
  pen.roundRect(x, y, Math.max(1, w), h, Math.min(4, w / 2));
  pen.fill();
  if (label.length < 3) return;
  pen.font = `500 ${size}px system-ui, sans-serif`;
  pen.fillStyle = colour(`on-${name}`) || colour("ink");
  pen.fillText(label, x + 7, y + h / 2 + 0.5);
}

function triangle(pen, x, y, size, name) {
  pen.fillStyle = colour(name);
  pen.beginPath();
  pen.moveTo(x, y + size);
  pen.lineTo(x - 5, y - size / 2);
  pen.lineTo(x + 5, y - size / 2);
  pen.fill();
}
