// Tables of all that the lanes show, for readers and for print.

const PAGE = 100; // rows of a table that are shown at once
const tables = {};

function add_table(id, title, heads, cells) {
  const state = { rows: [], page: 0, title };
  const body = el("tbody"), count = el("p", { class: "count" });
  const turn = (by) => el("button", { type: "button", onclick: () => { state.page += by; state.draw(); } }, by < 0 ? "Previous" : "Next");
  const [back, next] = [turn(-1), turn(1)];
  const tab = el("button", { type: "button", role: "tab", id: `tab-${id}`, "aria-controls": `panel-${id}`, onclick: () => show_table(id) }, title);
  const panel = el("div", { role: "tabpanel", id: `panel-${id}`, "aria-labelledby": `tab-${id}`, class: "panel" },
    el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": title },
      el("table", {}, el("caption", {}, title), el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))), body)),
    el("div", { class: "pages" }, back, next, count));
  state.draw = () => {
    const from = state.page * PAGE, shown = state.rows.slice(from, from + PAGE);
    body.replaceChildren(...Array.from(shown, (row) => el("tr", {}, cells(row).map((cell) => el("td", {}, cell)))));
    back.disabled = state.page === 0;
    next.disabled = from + PAGE >= state.rows.length;
    count.textContent = state.rows.length ? `${(from + 1).toLocaleString("en")} to ${(from + shown.length).toLocaleString("en")} of ${state.rows.length.toLocaleString("en")}` : "none";
    tab.textContent = `${title} (${state.rows.length.toLocaleString("en")})`;
  };
  tables[id] = Object.assign(state, { tab, panel });
}

function fill_table(id, rows) {
  Object.assign(tables[id], { rows, page: 0 });
  tables[id].draw();
}

function show_table(id) {
  for (const [name, { tab, panel }] of Object.entries(tables)) {
    tab.setAttribute("aria-selected", name === id);
    tab.tabIndex = name === id ? 0 : -1;
    panel.hidden = name !== id;
  }
}

function make_tables() {
  const { claim, found, request, event } = T;
  add_table("verdicts", "Verdicts", ["Claim", "Obligation", "Verdict", "Where", "Because", "Expected instead, or what to do"], (row) => [
    link_to(text(claim.id[found.claim[row]]), { claim: found.claim[row] }),
    link_to(words(obligation(row)), { found: row, claim: found.claim[row] }),
    chip(found_verdict(row), FOUND_WORDS[found_verdict(row)]),
    found.line[row] === ABSENT ? "–" : where(found.line[row], found.at[row]), text(found.why[row]),
    found.code[row] !== ABSENT ? `${text(found.code[row])}: ${D.remedies[text(found.code[row])][1]}` : found.allowed[row] === ABSENT ? "–" : text(found.allowed[row]),
  ]);
  add_table("claims", "Claims", ["Claim", "Verdict", "Mode", "Owner", "Predicate", "Footprint", "State at the end", "Lines", "Losses"], (row) => [
    link_to(text(claim.id[row]), { claim: row }), chip(claim_verdict(row)), text(claim.mode[row]), text(claim.owner[row]),
    text(claim.predicate[row]), whole(claim.footprint[row]), D.names.states[claim.state[row]],
    `${claim.line[row]}–${claim.endline[row]}`, I.losses.of(row).length,
  ]);
  add_table("requests", "Requests", ["Request", "From", "Lasted", "Phases", "Finished"], (row) => [
    link_to(text(request.id[row]), { request: row }), where(request.line[row], request.at[row]), span(request.end[row] - request.at[row]),
    Array.from(I.phases.of(row).slice(0, 12), (each) => words(D.names.phases[T.phase.phase[each]])).join(", ") || NOT_STATED,
    request.finished[row] ? "yes" : "no",
  ]);
  add_table("events", "Events", ["Line", "At", "Event", "Role", "Claims", "Request", "States"], (row) => [
    event.line[row], place_text(event.at[row]), link_to(words(kind_of(row)), { event: row }), event.report[row] ? "report" : "fact",
    Array.from(I.claims.of(row).slice(0, 4), (each) => text(claim.id[T.touch.claim[each]])).join(", ") || "–",
    event.named[row] === ABSENT ? "–" : text(event.named[row]), event.about[row] === ABSENT ? "–" : text(event.about[row]),
  ]);
  const all = Object.values(tables), list = el("div", { role: "tablist", "aria-label": "Tables" }, all.map((each) => each.tab));
  list.addEventListener("keydown", (pressed) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[pressed.key], names = Object.keys(tables);
    if (!by) return;
    const id = names[(names.findIndex((name) => !tables[name].panel.hidden) + by + names.length) % names.length];
    show_table(id);
    tables[id].tab.focus();
  });
  put("tables", el("h2", {}, "As tables"), list, all.map((each) => each.panel));
  show_table("verdicts");
}
