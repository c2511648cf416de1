// Answers five questions about a claim, and shows what was chosen: a claim, verdict, event, request.

const link_to = (words, target, title) =>
  el("button", { type: "button", class: "link", title, onclick: () => choose(target) }, words);

// The loss of a claim that counts: the one by which it was violated, else the first.
function loss_of(claim) {
  const { touch, event, found, link } = T;
  const lines = new Set(Array.from(I.broken.of(claim), (each) => found.line[each]));
  const losses = I.losses.of(claim);
  if (!losses.length) return null;
  const row = losses.find((each) => lines.has(event.line[touch.event[each]])) ?? losses[0], at = touch.event[row];
  const report = I.links.of(claim).find(
    (each) => D.names.links[link.kind[each]] === "loss" && link.line[each] === event.line[at]);
  return { event: at, lost: touch.lost[row], more: losses.length - 1, report };
}

// The break from which on a claim is not judged.
function break_of(claim) {
  const { found } = T, open = I.found.of(claim).filter((each) => found_verdict(each) === "inconclusive" && found.code[each] !== ABSENT);
  return D.breaks.find(({ stream, line, code }) => stream === T.claim.stream[claim] &&
    open.some((each) => found.line[each] === line && text(found.code[each]) === code));
}

// The moment that the answers are about: the loss, else the first violation, else the last event
// before a break, else the end. Its position, and its turn where that is known.
function moment_of(claim) {
  const loss = loss_of(claim), { at, stream, turn } = T.event, of = (row) => ({ at: at[row], turn: turn[row] });
  if (loss) return of(loss.event);
  const broken = [...I.broken.of(claim)].filter((each) => T.found.at[each] >= 0).sort((a, b) => T.found.at[a] - T.found.at[b]);
  if (broken.length) {
    const row = event_at(T.claim.stream[claim], T.found.line[broken[0]]);
    return { at: T.found.at[broken[0]], turn: row < 0 ? Infinity : turn[row] };
  }
  const broke = break_of(claim);
  if (!broke) return { at: last_of(claim), turn: T.slice.turn[I.slices.of(claim).at(-1)] };
  const before = turn.findLastIndex((each, row) => stream[row] === broke.stream && each < broke.turn);
  return before < 0 ? { at: 0, turn: 0 } : of(before);
}

// Where the last state of a claim ends; nothing is known of it from there on.
function last_of(claim) {
  const states = I.slices.of(claim);
  return states.length ? T.slice.end[states.at(-1)] : T.claim.end[claim];
}

// Each answer: in a few words, with more, and what to show of it.
const ANSWERS = [
  ["Was it kept?", kept_answer], ["Were blocks lost?", loss_answer], ["Who took the blocks?", whom_answer],
  ["What should have happened?", expected_answer],
];

function show_answers(claim) {
  if (claim === ABSENT) return put("answers", el("p", { class: "plain" }, "No claim to show."));
  const all = [...I.found.of(claim)], broken = [...I.broken.of(claim)].sort((a, b) => T.found.line[a] - T.found.line[b]);
  const mode = text(T.claim.mode[claim]), name = text(T.claim.id[claim]), promise = D.promises[mode];
  // What keeps every claim of its mode from a verdict, such as a line that could not be read.
  const unsure = D.absent[mode], verdict = claim_verdict(claim), moment = moment_of(claim);
  const about = { claim, all, broken, mode, verdict, unsure, kept: verdict === "kept" && !unsure, loss: loss_of(claim), broke: break_of(claim) };
  const when = about.loss || broken.length ? "then" : about.broke ? `before line ${about.broke.line}` : "at the end";
  const card = (question, [answer, more, target]) => el("div", { class: "card" }, el("h3", {}, question),
    el("p", { class: "answer" }, answer), more && el("p", { class: "more" }, more),
    target && el("p", { class: "go" }, link_to("Show", { claim, ...target }, "Show it on the timeline")));
  put("answers",
    el("h2", {}, named("Claim", name) !== name && "Claim ", link_to(name, { claim }, "Show the claim"), " ", chip(verdict)),
    promise && el("p", { class: "promise" }, el("b", {}, words(mode)), ` promises: ${promise}`),
    el("div", { class: "cards" }, ANSWERS.map(([question, answer]) => card(question, answer(about))),
      el("div", { class: "card" }, el("h3", {}, `The pool ${when}, in blocks`),
        el("dl", { class: "pool" }, pool_at(T.claim.stream[claim], moment.at, moment.turn).map(([name, value, key]) => [
          el("dt", {}, el("i", { class: `key ${key}` }), name), el("dd", {}, value)])))));
}

function kept_answer({ claim, verdict, kept, unsure, all, broken, broke }) {
  const done = all.filter((each) => found_verdict(each) === "satisfied").length;
  if (verdict === "violated")
    return ["No.", `${plural(broken.length, "obligation")} of ${all.length} violated: ${broken.map((each) => words(obligation(each))).join(", ")}.`, { found: broken[0] }];
  if (kept) return ["Yes.", `${done} of ${all.length} obligations kept, ${all.length - done} not put to the test.`, {}];
  if (broke) return ["Nothing is concluded.", `${sentence(broke.why)}: ${where(broke.line, broke.at)}.`, {}];
  const why = verdict === "not judged" ? "it states another mode than the one that was asked for" : verdict === "kept" ? unsure : text(T.claim.why[claim]);
  return ["Nothing is concluded.", cut(`${sentence(why)}.`, 110), {}];
}

function loss_answer({ claim, kept, mode, loss, broke }) {
  if (!loss && broke) return [`No loss is stated before line ${broke.line}.`, "Later lines are not judged. Reports in them are drawn."];
  if (!loss) return ["No loss is stated.", "No event states that it lost blocks before it ended."];
  const { event, link } = T, e = loss.event, wait = link.toat[loss.report] - event.at[e];
  const of = T.claim.footprint[claim] === ABSENT ? "" : ` of ${T.claim.footprint[claim]}`;
  const told = loss.report === undefined ? "No report is matched with it."
    : `Reported at line ${link.toline[loss.report]}, ${wait > 0 ? `${span(wait)} later` : "at the same time"}.`;
  const more = loss.more ? ` ${loss.more} more ${loss.more === 1 ? "loss" : "losses"}.` : "";
  const still = kept ? ` Kept all the same: what ${words(mode)} promises was done.` : "";
  return [`Yes: ${where(event.line[e], event.at[e])}.`,
    `${plural(loss.lost, "block")}${of}, by ${words(kind_of(e))}: ${D.says[kind_of(e)]}. ${told}${more}${still}`, { event: e }];
}

// What a request needed when it arrived, and by how much that did not fit.
function needs_of(row) {
  const { event } = T, arrival = I.events.of(row).find((each) => kind_of(each) === "request_arrived");
  if (arrival === undefined) return null;
  const of = (count) => count_at(event.stream[arrival], count, event.at[arrival], event.turn[arrival]), free = of("free");
  const short = free !== null && free < 0 ? `, ${whole(of("claimed"))} of them reserved for claims: short by ${whole(-free)}` : "";
  return `It arrived at ${where(event.line[arrival], event.at[arrival])}: ${text(event.about[arrival])}${short}.`;
}

function whom_answer({ loss }) {
  if (!loss) return ["No loss is stated."];
  const { event, request } = T, name = event.named[loss.event];
  if (kind_of(loss.event) === "block_lost") return ["No request.", `${sentence(D.says.block_lost)}; they were not evicted.`];
  if (name === ABSENT) return [NOT_STATED, "The event that took the blocks names no request."];
  const line = event.line[loss.event], stream = event.stream[loss.event];
  // A name may be used again: the request is the last one that had begun.
  const row = request.id.reduce((last, each, row) => (each === name && request.stream[row] === stream && request.line[row] <= line
    && (last < 0 || request.line[row] >= request.line[last]) ? row : last), -1);
  return [named("request", text(name)), row >= 0 && needs_of(row), row >= 0 && { request: row }];
}

function expected_answer({ claim, kept, mode, loss, all, broken }) {
  const { found } = T, unjudged = D.unjudged.claims.find((each) => each.claim_id === text(T.claim.id[claim]));
  const [first, ...more] = new Set(broken.map((each) => text(found.allowed[each])));
  if (first) return [`${sentence(first)}.`, more.length > 0 && `And: ${more.join("; ")}.`, { found: broken[0] }];
  if (kept) return ["Nothing else.", loss ? `The loss breaks no obligation of ${words(mode)}.` : "What was put to the test was done."];
  if (unjudged) return [`For a verdict: --mode ${unjudged.hint ?? "MODE"}.`, unjudged.why];
  const open = all.filter((each) => ["inconclusive", "pending"].includes(found_verdict(each)));
  const coded = open.find((each) => found.code[each] !== ABSENT), code = coded === undefined ? null : text(found.code[coded]);
  if (code) return [`For a verdict: ${D.remedies[code][1]}.`, `${code}, ${D.remedies[code][0]}`, { found: coded }];
  return [open.length ? "What is still owed." : NOT_STATED, open.map((each) => text(found.why[each])).slice(0, 2).join("; ")];
}

const sentence = (string) => string.charAt(0).toUpperCase() + string.slice(1);

// The panel of what was chosen.

function show_detail() {
  const parts = chosen.found !== undefined ? verdict_parts(chosen.found)
    : chosen.event !== undefined ? event_parts(chosen.event)
    : chosen.request !== undefined ? request_parts(chosen.request)
    : chosen.claim !== ABSENT ? claim_parts(chosen.claim) : [el("p", {}, "Nothing is chosen.")];
  put("detail", parts);
}

const facts = (pairs) =>
  el("dl", { class: "facts" }, pairs.map(([name, value]) => [el("dt", {}, name), el("dd", { class: value === NOT_STATED ? "unstated" : "" }, value)]));

function claim_parts(claim) {
  const { claim: of } = T;
  const order = Object.keys(FOUND_MARKS);
  const found = Array.from(I.found.of(claim)).sort((a, b) => order.indexOf(found_verdict(a)) - order.indexOf(found_verdict(b)));
  return [
    el("h2", {}, named("Claim", text(of.id[claim]))),
    el("p", {}, chip(claim_verdict(claim)), ` ${text(of.why[claim])}`),
    el("h3", {}, found.length ? "Obligations" : "No obligation is judged"),
    el("ul", { class: "verdicts" }, found.map((each) => el("li", {},
      link_to(words(obligation(each)), { found: each, claim }, "Show what decided"), chip(found_verdict(each), FOUND_WORDS[found_verdict(each)])))),
    el("h3", {}, "What it stated"),
    facts([
      ["mode", text(of.mode[claim])], ["owner", text(of.owner[claim])], ["object", text(of.object[claim])],
      ["predicate", text(of.predicate[claim])], ["footprint", of.footprint[claim] === ABSENT ? NOT_STATED : plural(of.footprint[claim], "block")],
      ["content keys", whole(of.keys[claim])], ["duration", text(of.duration[claim])], ["priority", text(of.priority[claim])],
      ["state at the end", D.names.states[of.state[claim]]], ["period", of.period[claim]],
      ["stream", stream_name(of.stream[claim])], ["lines", `${of.line[claim]} to ${of.endline[claim]}`],
    ]),
  ];
}

function verdict_parts(row) {
  const { found, claim: of, step, event } = T, claim = found.claim[row], stream = of.stream[claim], name = obligation(row);
  const observer = D.observers[name], verdict = found_verdict(row), steps = Array.from(I.steps.of(row));
  const code = text(found.code[row]), remedy = found.code[row] === ABSENT ? null : D.remedies[code];
  const rule = steps.length ? observer.rules[step.rule[steps.at(-1)]] : null;
  return [
    el("p", { class: "back" }, link_to(`← ${named("claim", text(of.id[claim]))}`, { claim })),
    el("h2", {}, words(name)),
    el("p", {}, chip(verdict, FOUND_WORDS[verdict]), found.line[row] === ABSENT ? "" : ` ${where(found.line[row], found.at[row])}`),
    facts([
      ["because", text(found.why[row])],
      found.allowed[row] !== ABSENT && ["expected instead", text(found.allowed[row])],
      remedy && ["code", `${code}, ${remedy[0]}`], remedy && ["what to do", remedy[1]],
      rule && !remedy && ["rule that fired", `${words(rule[0])} (${words(rule[1])})`],
    ].filter(Boolean)),
    quote(stream, found.line[row], verdict === "violated" ? 2 : 0),
    el("h3", {}, `Its observer${steps.length ? ", and the path taken" : ""}`),
    picture(name, steps),
    steps.length > 0 && el("ol", { class: "steps" }, steps.map((each) => {
      const happened = event_at(stream, step.line[each]);
      return el("li", {}, link_to(where(step.line[each], step.at[each]), happened < 0 ? { found: row, claim, at: step.at[each] } : { event: happened, claim }),
        step.request[each] === ABSENT ? "" : `, ${named("request", text(step.request[each]))}`, el("br"), observer.rules[step.rule[each]][4]);
    })),
    el("details", {}, el("summary", {}, "Why this is owed"), el("p", {}, observer.reason)),
  ];
}

// The event of a line of a stream; -1 if none is shown.
const event_at = (stream, line) => T.event.line.findIndex((each, row) => each === line && T.event.stream[row] === stream);

function event_parts(row) {
  const { event, touch, claim: of } = T, kind = kind_of(row), stream = event.stream[row];
  const touched = Array.from(I.claims.of(row)), request = event.request[row];
  return [
    touched.length > 0 && el("p", { class: "back" }, link_to(`← ${named("claim", text(of.id[touch.claim[touched[0]]]))}`, { claim: touch.claim[touched[0]] })),
    el("h2", {}, words(kind)),
    el("p", {}, el("span", { class: "role" }, event.report[row] ? "report" : "fact"), ` ${where(event.line[row], event.at[row])}`),
    el("p", {}, `${sentence(D.says[kind])}.`),
    facts([
      ["states", event.about[row] === ABSENT ? "nothing more" : text(event.about[row])],
      ["request", request === ABSENT ? text(event.named[row]) : link_to(text(event.named[row]), { request })],
      ["sequence", event.sequence[row] === ABSENT ? NOT_STATED : event.sequence[row]],
      ...touched.map((each) => [cut(named("claim", text(of.id[touch.claim[each]])), 30),
        [touch.lost[each] && `lost ${plural(touch.lost[each], "block")}`, touch.gained[each] && `gained ${plural(touch.gained[each], "block")}`]
          .filter(Boolean).join(", ") || "no block lost or gained"]),
    ]),
    quote(stream, event.line[row], 0),
    el("h3", {}, "The pool then, in blocks"),
    facts(pool_at(stream, event.at[row], event.turn[row]).map(([name, value]) => [name, value])),
  ];
}

function request_parts(row) {
  const { request, phase } = T, events = I.events.of(row), needs = needs_of(row);
  return [
    el("h2", {}, named("Request", text(request.id[row]))),
    needs && el("p", {}, needs),
    el("p", {}, request.finished[row] ? "Finished." : "The stream or its period ended before it."),
    facts([["from", where(request.line[row], request.at[row])], ["lasted", span(request.end[row] - request.at[row])]]),
    el("h3", {}, "Phases"),
    el("ol", { class: "steps" }, Array.from(I.phases.of(row), (each) => el("li", {},
      `${words(D.names.phases[phase.phase[each]])}, ${span(phase.end[each] - phase.at[each])}`))),
    el("h3", {}, "Events"),
    el("ol", { class: "steps" }, Array.from(events.slice(0, 200), (each) => el("li", {},
      link_to(words(kind_of(each)), { event: each }), ` ${where(T.event.line[each], T.event.at[each])}`))),
    events.length > 200 && el("p", { class: "more" }, `and ${plural(events.length - 200, "more event")}, in the table`),
  ];
}

// Lines of the trace, the one that is meant last.
function quote(stream, line, before) {
  if (line === ABSENT) return null;
  const lines = [];
  for (let each = Math.max(1, line - before); each <= line; each++) {
    const found = quoted(stream, each);
    if (found !== undefined || each === line)
      lines.push(el("div", { class: each === line ? "meant" : "" }, el("b", {}, each), found ?? "(not quoted in this page)"));
  }
  return el("pre", { class: "quote", tabindex: 0, "aria-label": "Lines of the trace" }, lines);
}
