// Begins the page: the verdict, the filters, what was chosen, keys and pointers.

function show_verdict() {
  const shown = D.headline.replace(/^(kept|violated|inconclusive): /, "");
  put("files", D.inputs.map((each) => each.file).join(", "));
  put("verdict", chip(D.verdict), el("h1", {}, `${sentence(shown)}.`.split(/(?<=_)/).flatMap((part) => [el("wbr"), part])));
  $("verdict").className = D.verdict;
  if (D.verdict === "kept") return;
  const note = (string) => $("verdict").append(el("p", { class: "break" }, string));
  const coded = (code, where = "") => note(`${code} ${D.remedies[code][0]}${where}. What to do: ${D.remedies[code][1]}.`);
  for (const { code, line, at, why } of D.breaks.slice(0, 5)) coded(code, `, ${where(line, at)}: ${why}`);
  const codes = [...new Set(T.found.code)].filter((each) => each !== ABSENT).map(text);
  const others = codes.filter((code) => !D.breaks.some((each) => each.code === code));
  if (D.verdict === "inconclusive") for (const code of others.slice(0, 3)) coded(code);
  for (const { claim_id, why, hint } of D.unjudged.claims.slice(0, 3))
    note(`Claim ${claim_id} is not judged: ${why}. What to do: --mode ${hint ?? "MODE"} judges it by that mode.`);
}

function show_about() {
  const theorem = D.theorem.applies ? "applies" : `does not apply: ${D.theorem.because}`;
  put("about", facts([
    ["read", D.inputs.map((each) => `${each.file}, ${plural(each.lines, "line")}`).join("; ")],
    ["judged by", `${D.mode === "auto" ? "the mode that each claim states" : `mode ${D.mode}`}, ${D.bundle} bundle`],
    ["theorem", theorem],
    ["positions", D.axis === "lines" ? "line numbers: the trace states no times" : "times of each stream, since its first line"],
    ["left out", D.left_out.join(", ") || "nothing"],
    ["made by", `resident-claims ${D.tool}, specification ${D.spec.slice(0, 12)}`],
    ["assumed", "the instrumentation states facts as they were"],
  ]));
}

function show_difference() {
  if (!D.against) return;
  const { files, rows, claims, more } = D.against, heads = ["", ...files.map((each) => each.join(", "))];
  const table = (body) => plain_table(heads, el("tbody", {}, body.map(([name, here, there]) =>
    el("tr", { class: here === there ? "" : "changed" }, el("th", { scope: "row" }, name), el("td", {}, here), el("td", {}, there)))));
  put("difference", el("h2", {}, "What differs"), table(rows),
    claims.length > 0 && [el("h3", {}, "Claims with another verdict"), table(claims)], more > 0 && el("p", {}, `and ${plural(more, "more claim")}`));
  $("difference").hidden = false;
}

// Filters.

function make_filters() {
  const options = (id, pairs) => put(id, pairs.map(([value, words]) => el("option", { value }, words)));
  const seen = new Set(T.event.kind), ids = [...new Set(T.claim.id)].slice(0, 1000);
  options("by-claim", [["", "all"], ...ids.map((id) => [id, cut(text(id), 40)])]);
  options("by-verdict", [["", "all"], ...D.names.verdicts.map((each) => [each, each])]);
  options("by-kind", [["", "all"], ["report", "reports"], ["fact", "facts"], ["loss", "losses"],
    ...D.names.kinds.map((kind, number) => [number, words(kind)]).filter(([number]) => seen.has(number))]);
  for (const id of ["by-claim", "by-verdict", "by-kind"]) $(id).addEventListener("change", apply_filters);
  let waits;
  $("search").addEventListener("input", () => { clearTimeout(waits); waits = setTimeout(apply_filters, 60); });
  $("filters").addEventListener("submit", (event) => event.preventDefault());
}

let laid = null; // for which filters the lanes were laid out

// Masks of claims, of texts and of requests first; then one pass over each table.
function apply_filters() {
  const { claim, request, event, found, touch } = T, [id, verdict, kind] = ["by-claim", "by-verdict", "by-kind"].map((each) => $(each).value);
  const searched = $("search").value.trim().toLowerCase(), narrow = id !== "" || verdict !== "";
  const hit = mask(D.texts.length, searched ? (number) => lower()[number].includes(searched) : () => true);
  const named = D.names.kinds.map((each) => searched !== "" && (words(each).includes(searched) || each.includes(searched)));
  const has = (number) => number === ABSENT ? !searched : hit[number] === 1;
  const mine = mask(claim.rows, (row) => (id === "" || claim.id[row] === Number(id)) && (verdict === "" || claim_verdict(row) === verdict));
  const near = new Uint8Array(D.texts.length + 1); // the requests that reports on these claims, or their losses, name
  if (narrow) for (let row = 0; row < touch.rows; row++) if (mine[touch.claim[row]]) near[event.named[touch.event[row]] + 1] = 1;
  const close = (name) => !narrow || (name !== ABSENT && near[name + 1] === 1);
  const of_kind = { "": () => true, report: (row) => event.report[row], fact: (row) => !event.report[row], loss: (row) => I.lossy[row] }[kind]
    ?? ((row) => event.kind[row] === Number(kind));
  const events = chosen_rows(event.rows, (row) => {
    if (!of_kind(row)) return false;
    let wanted = close(event.named[row]), seen = !searched || named[event.kind[row]] || has(event.named[row]) || has(event.about[row]);
    for (let i = I.claims.starts[row]; i < I.claims.starts[row + 1]; i++) {
      const of = touch.claim[I.claims.rows[i]];
      wanted ||= mine[of] === 1;
      seen ||= hit[claim.id[of]] === 1;
    }
    return wanted && seen;
  });
  const claims = chosen_rows(claim.rows, (row) => mine[row] && (has(claim.id[row]) || has(claim.owner[row]) || has(claim.object[row]) || has(claim.mode[row])));
  const requests = chosen_rows(request.rows, (row) => close(request.id[row]) && hit[request.id[row]]);
  const some = new Uint8Array(claim.rows), none = claims.length + requests.length === 0; // then all lanes are shown
  claims.forEach((row) => (some[row] = 1));
  const asked = JSON.stringify([searched, id, verdict, innerWidth, innerHeight]);
  const same = asked === laid; // but for the kind of events
  if (!same) lay_out(none ? chosen_rows(claim.rows, (row) => mine[row]) : claims, none ? chosen_rows(request.rows, () => true) : requests);
  laid = asked;
  if (!same) fill_table("verdicts", I.graver.filter((row) => some[found.claim[row]]));
  if (!same) fill_table("claims", claims);
  if (!same) fill_table("requests", requests);
  fill_table("events", events);
  put("match-count", searched || narrow || kind ? `${plural(claims.length, "claim")}, ${plural(requests.length, "request")}, ${plural(events.length, "event")}` : "");
  redraw();
}

const lower = () => (I.lower ??= D.texts.map((each) => each.toLowerCase()));

function mask(size, wanted) {
  const found = new Uint8Array(size);
  for (let row = 0; row < size; row++) found[row] = wanted(row) ? 1 : 0;
  return found;
}

function chosen_rows(size, wanted) {
  const rows = new Int32Array(size);
  let n = 0;
  for (let row = 0; row < size; row++) if (wanted(row)) rows[n++] = row;
  return rows.subarray(0, n);
}

// What is chosen: a claim, and perhaps a verdict, an event or a request.
function choose(target) {
  const { touch, event, found, request, claim: claims } = T, happened = target.event === undefined ? [] : I.claims.of(target.event);
  const claim = target.claim ?? (happened.length ? touch.claim[happened[0]] : chosen.claim), other = claim !== chosen.claim;
  chosen = { ...target, claim };
  const at = target.at ?? (target.found !== undefined ? found.at[target.found] : target.event !== undefined ? event.at[target.event]
    : target.request !== undefined ? request.at[target.request] : claim === ABSENT ? -1 : moment_of(claim).at);
  view.wanted = at >= 0 ? at : null;
  if (other) show_answers(claim);
  show_detail();
  const begin = claim === ABSENT ? 0 : claims.at[claim], length = claim === ABSENT ? 0 : last_of(claim) - begin;
  if (other && length > 0 && length < (view.to - view.from) / 3) show(begin - length * 0.1, begin + length * 1.1);
  else if (at >= 0) reveal(at);
  const row = rows.find((each) => (target.request !== undefined ? each.requests?.includes(target.request) : each.claim === claim)), box = $("scroll");
  if (row && (row.y < box.scrollTop || row.y + row.h > box.scrollTop + box.clientHeight)) box.scrollTop = row.y - 60;
  redraw();
}

// The next or the previous event in the table of events, from what is chosen on.
function step(by) {
  const { rows } = tables.events, here = chosen.event === undefined ? -1 : rows.indexOf(chosen.event);
  const at = here >= 0 ? here + by : rows.findIndex((row) => T.event.at[row] >= (view.wanted ?? 0)) + (by < 0 ? -1 : 0);
  if (rows[at] !== undefined) choose({ event: rows[at] });
}

// Pointers and keys.

const under = (x, y) => hits.findLast((hit) => x >= hit.x && x <= hit.x + hit.w && y >= hit.y && y <= hit.y + hit.h)?.target;

function tip(target, pointer) {
  const { event, slice, request } = T, box = $("tip");
  box.hidden = !target;
  if (!target) return;
  const lines = target.found !== undefined ? [`${words(obligation(target.found))}: violated`, text(T.found.why[target.found])]
    : target.event !== undefined ? [words(kind_of(target.event)), where(event.line[target.event], event.at[target.event]),
      event.about[target.event] !== ABSENT && text(event.about[target.event])]
    : target.slice !== undefined ? [D.names.states[slice.state[target.slice]], span(slice.end[target.slice] - slice.at[target.slice]),
      !slice.judged[target.slice] && "as reported after a break; nothing is concluded"]
    : target.request !== undefined ? [named("request", text(request.id[target.request])), span(request.end[target.request] - request.at[target.request])]
    : [text(T.claim.id[target.claim]), claim_verdict(target.claim)];
  box.replaceChildren(...lines.filter(Boolean).map((each) => el("div", {}, cut(each, 200))));
  box.style.left = `${Math.min(pointer.clientX + 14, innerWidth - box.offsetWidth - 8)}px`;
  box.style.top = `${Math.min(pointer.clientY + 14, innerHeight - box.offsetHeight - 8)}px`;
}

function listen() {
  const box = $("scroll");
  for (const area of [box, $("pool")]) {
    let held = null, moved = false;
    const local = (event) => [event.clientX - area.getBoundingClientRect().left, event.clientY - area.getBoundingClientRect().top];
    const meant = (event) => (area === box ? under(...local(event)) : undefined);
    area.addEventListener("pointerdown", ({ clientX, clientY }) => {
      held = { x: clientX, y: clientY, ...view, top: box.scrollTop };
      moved = false;
    });
    area.addEventListener("pointermove", (event) => {
      const [x] = local(event), { left, at } = scale(box.clientWidth);
      if (held && event.buttons && event.pointerType !== "touch") {
        moved ||= Math.abs(event.clientX - held.x) + Math.abs(event.clientY - held.y) > 4;
        const by = ((held.x - event.clientX) / (box.clientWidth - left)) * (held.to - held.from);
        if (moved) show(held.from + by, held.to + by);
        if (moved && area === box) box.scrollTop = held.top + held.y - event.clientY;
      }
      view.hover = x > left ? at(x) : null;
      area.style.cursor = meant(event) ? "pointer" : "default";
      tip(meant(event), event);
      redraw();
    });
    area.addEventListener("pointerleave", () => { view.hover = null; tip(); redraw(); });
    area.addEventListener("wheel", (event) => {
      const [x] = local(event), { left, at } = scale(box.clientWidth);
      if ((document.activeElement !== box && !event.ctrlKey) || x < left) return;
      event.preventDefault();
      zoom(event.deltaY > 0 ? 1.25 : 0.8, at(x));
    }, { passive: false });
    area.addEventListener("click", (event) => { if (!moved && meant(event)) choose(meant(event)); });
  }
  box.addEventListener("scroll", redraw);
  const keys = {
    "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1.4), 0: fit, ArrowLeft: () => pan(-0.15), ArrowRight: () => pan(0.15),
    ArrowUp: () => (box.scrollTop -= 60), ArrowDown: () => (box.scrollTop += 60), n: () => step(1), p: () => step(-1),
    Home: () => show(0, view.to - view.from), End: () => show(I.end - (view.to - view.from), I.end),
  };
  box.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  for (const [id, act] of [["in", () => zoom(0.6)], ["out", () => zoom(1.6)], ["fit", fit]]) $(id).addEventListener("click", act);
  theme_button(() => { colours = {}; redraw(); });
  addEventListener("resize", apply_filters);
}

function show_legend() {
  const states = new Set(T.slice.state), phases = new Set(T.phase.phase);
  const codes = new Map(Array.from(I.broken.rows, (row) => [D.observers[obligation(row)].code, words(obligation(row))]));
  put("legend", [
    ...D.names.states.filter((_, n) => states.has(n)).map((each) => [each, each]),
    ...D.names.phases.filter((_, n) => phases.has(n)).map((each) => [`request ${words(each)}`, each]),
  ].map(([said, key]) => el("li", {}, el("i", { class: `key ${key}` }), said)),
    ...["▼ report: what it said of the claim", "▲ fact: what the engine did", "● event of a request", "curve: from a loss to its report",
      "blue dashes: the moment of the numbers at the left",
      "orange dashes: from an action to the claims that it names", "known contents: blocks whose content the trace names"].map((each) => el("li", {}, each)),
    el("li", { class: "violated" }, "red: loss, harm, violation"),
    [...codes].map(([code, name]) => el("li", { class: "violated" }, el("b", {}, code), ` violated: ${name}`)),
    D.breaks.length > 0 && el("li", { class: "inconclusive" }, "amber dashes: lines are missing or contradict; what is drawn later is pale, and not judged"),
    el("li", {}, el("i", { class: "key deferred" }), "does not fit beside the claims, and the action on it"));
}

unpack().then(() => {
  show_verdict();
  show_about();
  show_difference();
  show_legend();
  make_tables();
  make_filters();
  listen();
  fit();
  apply_filters();
  const worst = ["violated", "inconclusive", "kept"].map((each) => Array.from(T.claim.verdict, (_, row) => row).find((row) => claim_verdict(row) === each));
  const claim = worst.find((each) => each !== undefined) ?? ABSENT, broken = claim === ABSENT ? [] : I.broken.of(claim);
  choose(broken.length ? { claim, found: broken[0] } : { claim });
  if (claim === ABSENT) show_answers(ABSENT);
  document.documentElement.dataset.ready = "yes";
}).catch((problem) => put("verdict", el("p", { class: "plain" }, `The page could not be shown: ${problem}`)));
