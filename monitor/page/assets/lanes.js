// Draws the lanes: a claim with its states, reports above and facts below; requests as bars.

const AXIS = 28;
const HEIGHTS = { stream: 26, claim: 84, requests: 30 };
const MOST_LANES = 60; // requests up to this number have a lane each; more share lanes
const TROUBLE = new Set(["claim_harmed", "claim_block_lost", "claim_unmaterialized", "claim_restoration_failed",
  "load_failed", "cache_reset", "claim_rejected"]);
const ACTIONS = new Set(["refused", "deferred", "routed_elsewhere", "bounded", "offloaded", "split"].map((each) => `request_${each}`));
const mark_colour = (event, lost, gained, broken) => TROUBLE.has(kind_of(event)) || (lost > 0 && broken) ? "violated"
  : lost > 0 ? "ink" : ACTIONS.has(kind_of(event)) ? "deferred" : gained > 0 ? "kept" : "quiet";
let rows = [], hits = [], chosen = { claim: ABSENT };

// The rows of the lanes, after the filters.
function lay_out(claims, requests) {
  const { claim, request } = T, count = D.streams.length;
  const by_begin = (table, of, chosen) => [...of.map((i) => chosen[i]).sort((a, b) => table.at[a] - table.at[b])];
  const claims_of = group(claims.map((each) => claim.stream[each]), count);
  const requests_of = group(requests.map((each) => request.stream[each]), count);
  let y = AXIS;
  rows = D.streams.flatMap((_, stream) => {
    const mine = by_begin(claim, claims_of.of(stream), claims), theirs = by_begin(request, requests_of.of(stream), requests);
    const head = count > 1 && mine.length + theirs.length > 0 ? [{ kind: "stream", stream }] : [];
    return [...head, ...mine.map((each) => ({ kind: "claim", claim: each })), ...shared_lanes(theirs).map((each) => ({ kind: "requests", requests: each }))];
  });
  for (const row of rows) {
    Object.assign(row, { y, h: HEIGHTS[row.kind] });
    y += row.h;
  }
  $("height").style.height = `${y + 6}px`;
  $("scroll").style.height = `${Math.min(y + 6, Math.max(240, innerHeight * 0.56))}px`;
}

// Requests in lanes; those that do not overlap share one, where there are many.
function shared_lanes(requests) {
  if (requests.length <= MOST_LANES) return requests.map((each) => [each]);
  const lanes = [], ends = [];
  for (const each of requests) {
    let place = 0;
    while (place < lanes.length && ends[place] >= T.request.at[each]) place++;
    if (place === lanes.length) place = lanes.length < MOST_LANES ? lanes.push([]) - 1 : each % MOST_LANES;
    lanes[place].push(each);
    ends[place] = T.request.end[each];
  }
  return lanes;
}

// What a click at a place of the lanes means.
const hit = (x, y, w, h, target) => hits.push({ x, y: y - $("scroll").scrollTop, w, h, target });

function draw_lanes() {
  const box = $("scroll"), width = box.clientWidth, height = box.clientHeight, top = box.scrollTop;
  const pen = sharp($("lanes"), width, height), { left, right, x } = scale(width), places = new Map();
  const visible = rows.filter((row) => row.y + row.h > top && row.y < top + height);
  hits = [];
  pen.save();
  pen.translate(0, -top);
  pen.beginPath();
  pen.rect(left, top + AXIS, width - left, height - AXIS);
  pen.clip();
  for (const row of visible) {
    if (row.kind === "claim" && row.claim === chosen.claim) fill_rect(pen, left, row.y, width, row.h - 1, "chosen");
    line(pen, left, row.y + row.h - 0.5, width, row.y + row.h - 0.5, "grid");
    if (row.requests?.length < 2000) row.requests.forEach((each) => places.set(each, row));
  }
  for (const [at] of ticks(width - left)) line(pen, x(at), top, x(at), top + height, "grid");
  for (const row of visible) if (row.kind === "requests") draw_requests(pen, row, x);
  for (const row of visible) if (row.kind === "claim") draw_claim(pen, row, x, left, right);
  for (const row of visible) if (row.kind === "claim") draw_links(pen, row, places, x);
  pen.restore();
  for (const row of visible) draw_label(pen, row, row.y - top, left);
  draw_axis(pen, width, left, x);
  draw_hover(pen, x, height, left);
}

function draw_axis(pen, width, left, x) {
  fill_rect(pen, 0, 0, width, AXIS - 1, "panel");
  line(pen, 0, AXIS - 0.5, width, AXIS - 0.5, "edge");
  write(pen, fitted(pen, D.axis === "lines" ? "by line" : "since the first line", left - 16), 10, AXIS / 2, "quiet");
  pen.textAlign = "center";
  for (const [at, step] of ticks(width - left))
    if (x(at) > left + 8) {
      const said = `${D.axis === "lines" ? at + 1 : span(at, step)}`;
      write(pen, said, Math.min(x(at), width - pen.measureText(said).width / 2 - 4), AXIS / 2, "quiet");
    }
  pen.textAlign = "left";
}

function draw_hover(pen, x, to, left) {
  for (const [at, name] of [[view.wanted, "accent"], [view.hover, "quiet"]])
    if (at !== null && x(at) >= left) line(pen, x(at), 0, x(at), to, name, [3, 3]);
}

function draw_label(pen, row, y, left) {
  fill_rect(pen, 0, y, left, row.h - 1, row.kind === "claim" && row.claim === chosen.claim ? "chosen" : "panel");
  line(pen, left - 0.5, y, left - 0.5, y + row.h, "edge");
  line(pen, 0, y + row.h - 0.5, left, y + row.h - 0.5, "grid");
  const label = (string, dy, name, font) => write(pen, fitted(pen, string, left - 18, font), 10, y + dy, name, font);
  if (row.kind === "stream") return label(stream_name(row.stream), row.h / 2, "quiet", "600 12px");
  if (row.kind === "requests") {
    const only = row.requests.length === 1 ? row.requests[0] : undefined;
    label(only === undefined ? plural(row.requests.length, "request") : text(T.request.id[only]), row.h / 2, "ink");
    if (only !== undefined) hit(0, row.y, left, row.h, { request: only });
    return;
  }
  const verdict = claim_verdict(row.claim);
  label(text(T.claim.id[row.claim]), 20, "ink", "600 13px");
  label(`${VERDICT_MARKS[verdict] ?? "–"} ${verdict}`, 40, verdict, "600 12px");
  label(words(text(T.claim.mode[row.claim])), 58, "quiet");
  hit(0, row.y, left, row.h, { claim: row.claim });
}

// Calls `draw` with rows of a lane that are in view, no two of them closer than a few columns.
function each_in_view(rows, column, x, draw) {
  const length = view.to - view.from;
  for (let i = first_from(rows, column, view.from - length * 0.02); i < rows.length && column[rows[i]] <= view.to; ) {
    draw(rows[i], x(column[rows[i]]));
    i = first_from(rows, column, column[rows[i]] + length / 320, i + 1);
  }
}

function draw_claim(pen, row, x, left, right) {
  draw_states(pen, row, x, left, right);
  const { touch, found } = T, { claim } = row, broken = claim_verdict(claim) === "violated";
  const unjudged = break_of(claim)?.at ?? Infinity, taken = [], colour_of = (each) => mark_colour(touch.event[each], touch.lost[each], touch.gained[each], broken);
  for (const kind of [I.facts, I.reports, I.losses])
    each_in_view(kind.of(claim), touch.at, x, (each, px) => {
      const event = touch.event[each], report = T.event.report[event], y = row.y + (report ? 22 : 63);
      pen.globalAlpha = touch.at[each] >= unjudged ? 0.4 : 1;
      triangle(pen, px, y, report ? 6 : -6, colour_of(each));
      pen.globalAlpha = 1;
      hit(px - 7, y - 9, 14, 18, { event, claim });
    });
  for (const kind of [I.losses, I.facts]) // numbers, those of losses first, where there is space
    each_in_view(kind.of(claim), touch.at, x, (each, px) => {
      const lost = touch.lost[each], gained = touch.gained[each];
      if (!lost && !gained || taken.some((other) => Math.abs(other - px) < 38)) return;
      taken.push(px);
      pen.textAlign = px + 38 > right + 14 ? "right" : "left";
      write(pen, lost > 0 ? `−${lost}` : `+${gained}`, px + (pen.textAlign === "left" ? 8 : -8), row.y + 70, colour_of(each), "600 11px");
      pen.textAlign = "left";
    });
  for (const each of D.breaks) // from here on it is known by reports alone
    if (each.stream === T.claim.stream[claim]) line(pen, x(each.at), row.y + 3, x(each.at), row.y + row.h - 4, "inconclusive", [5, 4], 2);
  let flag = -Infinity;
  for (const each of Array.from(I.broken.of(claim)).sort((a, b) => found.at[a] - found.at[b])) {
    const px = x(found.at[each]), { code } = D.observers[obligation(each)], begin = Math.max(px - 1, flag), size = 12 + 8 * code.length;
    if (found.at[each] < view.from || found.at[each] > view.to) continue;
    line(pen, px, row.y + 3, px, row.y + row.h - 4, "violated", [], 2);
    fill_rect(pen, begin, row.y + 2, size, 15, "violated");
    write(pen, code, begin + 6, row.y + 10, "on-violated", "700 11px");
    hit(begin, row.y + 2, size, 15, { found: each, claim });
    flag = begin + size + 2;
  }
}

function draw_states(pen, row, x, left, right) {
  const { slice } = T, states = I.slices.of(row.claim);
  for (let i = Math.max(0, first_from(states, slice.at, view.from) - 1); i < states.length && slice.at[states[i]] <= view.to; ) {
    const each = states[i], state = D.names.states[slice.state[each]], from = Math.max(x(slice.at[each]), left - 2);
    const size = Math.min(Math.max(x(slice.end[each]), from + 2), right + 14) - from;
    pen.globalAlpha = slice.judged[each] ? 1 : 0.4;
    bar(pen, from, row.y + 33, size, 20, state, size > 44 ? cut(state, Math.floor((size - 10) / 6.6)) : "");
    pen.globalAlpha = 1;
    hit(from, row.y + 33, size, 20, { claim: row.claim, slice: each, at: slice.at[each] });
    i = Math.max(i + 1, first_from(states, slice.at, slice.at[each] + (view.to - view.from) / 1600, i + 1) - 1);
  }
}

function draw_requests(pen, row, x) {
  const { request, phase, link, event } = T;
  let until = -Infinity;
  for (const each of row.requests) {
    const from = x(request.at[each]), to = Math.max(x(request.end[each]), from + 3);
    if (request.end[each] < view.from || request.at[each] > view.to || to < until + 1) continue;
    until = to;
    bar(pen, from, row.y + 8, to - from, 14, "waiting");
    for (const part of I.phases.of(each)) {
      const begin = x(phase.at[part]), size = Math.max(x(phase.end[part]) - begin, 3), name = D.names.phases[phase.phase[part]];
      bar(pen, begin, row.y + 8, size, 14, name, size > 50 ? words(name) : "", 10);
    }
    for (const of of I.conflicts.of(each)) // from where it does not fit, to the action on it
      fill_rect(pen, x(link.at[of]), row.y + 24, Math.max(2, x(link.toat[of]) - x(link.at[of])), 3, "deferred");
    hit(from, row.y + 6, Math.max(8, to - from), 18, { request: each });
    if (to - from > 8 || row.requests.length === 1)
      each_in_view(I.events.of(each), event.at, x, (happened, px) => {
        const name = mark_colour(happened, 0, 0, false), size = name === "quiet" ? 2.5 : 4.5;
        pen.fillStyle = colour(name === "quiet" ? "ink" : name);
        pen.beginPath();
        pen.arc(px, row.y + 15, size, 0, 7);
        pen.fill();
        hit(px - 5, row.y + 8, 10, 14, { event: happened });
      });
  }
}

// From a report on a request to the claims that it names, and from a loss to its report.
function draw_links(pen, row, places, x) {
  const { link } = T;
  for (const each of I.named.of(row.claim).slice(0, 400)) {
    const from = x(link.at[each]), to = x(link.toat[each]), loss = link.claim[each] !== ABSENT, source = places.get(link.request[each]);
    if (link.toat[each] < view.from || link.at[each] > view.to || (!loss && !source)) continue;
    const bend = Math.min(12, (to - from) / 2), middle = loss ? 0 : (source.y + row.y + 71) / 2;
    pen.strokeStyle = colour(!loss ? "deferred" : claim_verdict(row.claim) === "violated" ? "violated" : "quiet");
    pen.lineWidth = 1.4;
    pen.setLineDash(loss ? [] : [4, 3]);
    pen.beginPath();
    pen.moveTo(from, loss ? row.y + 60 : source.y + 8);
    if (loss) pen.bezierCurveTo(from + bend, row.y + 46, to - bend, row.y + 40, to, row.y + 28);
    else pen.bezierCurveTo(from, middle, to, middle, to, row.y + 54);
    pen.stroke();
    pen.setLineDash([]);
  }
}
