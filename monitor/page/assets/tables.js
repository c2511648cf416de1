// Tables of all that the lanes show, for readers and for print.

const PAGE = 100; // rows of a table that are shown at once
const tables = {};

function add_table(id, title, heads, cells) {
  const table = { rows: [], page: 0 }, body = el("tbody"), count = el("span", { class: "count" }), summary = el("summary");
  const turn = (by) => el("button", { type: "button", onclick: () => { table.page += by; table.draw(); } }, by < 0 ? "Previous" : "Next");
  const [back, next] = [turn(-1), turn(1)];
  table.draw = () => {
    const { rows } = table, from = table.page * PAGE, shown = rows.subarray(from, from + PAGE), number = (n) => n.toLocaleString("en");
    summary.textContent = `${title} (${number(rows.length)})`;
    if (!details.open) return;
    body.replaceChildren(...Array.from(shown, (row, place) => el("tr", {}, cells(row, shown[place - 1]).map((cell) => el("td", {}, cell)))));
    back.disabled = table.page === 0;
    next.disabled = from + PAGE >= rows.length;
    count.textContent = rows.length ? `${number(from + 1)} to ${number(from + shown.length)} of ${number(rows.length)}` : "none";
  };
  const details = el("details", { id: `table-${id}`, ontoggle: () => table.draw() }, summary,
    el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": title }, plain_table(heads, body)),
    el("div", { class: "pages" }, back, next, count));
  tables[id] = Object.assign(table, { details });
}

const plain_table = (heads, body) =>
  el("table", {}, el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))), body);

function fill_table(id, rows) {
  Object.assign(tables[id], { rows, page: 0 }).draw();
}

function make_tables() {
  const { claim, found, request, event } = T;
  // What one break decides has one reason, which is stated once.
  const as_above = (row, before) => before !== undefined && found.code[row] !== ABSENT &&
    ["claim", "code", "line", "why"].every((each) => found[each][row] === found[each][before]) ? ["as above", "as above"] : null;
  const or_dash = (number) => (number === ABSENT ? "–" : text(number));
  add_table("verdicts", "Verdicts", ["Claim", "Obligation", "Verdict", "Where", "Because", "Expected instead, or what to do"], (row, before) => [
    link_to(text(claim.id[found.claim[row]]), { claim: found.claim[row] }),
    link_to(words(obligation(row)), { found: row, claim: found.claim[row] }),
    chip(found_verdict(row), FOUND_WORDS[found_verdict(row)]),
    found.line[row] === ABSENT ? "–" : where(found.line[row], found.at[row]), ...as_above(row, before) ?? [text(found.why[row]),
    found.code[row] === ABSENT ? or_dash(found.allowed[row]) : `${text(found.code[row])}: ${D.remedies[text(found.code[row])][1]}`],
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
    or_dash(event.named[row]), or_dash(event.about[row]),
  ]);
  const all = Object.values(tables).map((each) => each.details);
  all[0].open = true;
  put("tables", el("h2", {}, "As tables"), all);
  addEventListener("beforeprint", () => all.forEach((each) => (each.open = true)));
}
