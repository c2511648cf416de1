// Unpacks the data of the page: a head in JSON, and tables of columns with indexes over them.

const ABSENT = -1;
const D = {}; // the head
const T = {}; // the tables, by name: `rows`, and each column as an array
const I = {}; // the indexes

async function unpack() {
  const text = atob(document.getElementById("data").textContent);
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const size = new DataView(bytes.buffer).getUint32(0, true);
  Object.assign(D, JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size))));
  let place = 4 + size;
  for (const [name, { rows, columns }] of Object.entries(D.tables)) {
    T[name] = { rows };
    for (const [column, width] of columns) {
      T[name][column] = column_of(bytes, place, rows, width);
      place += rows * width;
    }
  }
  index();
}

// The numbers of a column, each the sum of the differences up to it, of which the lowest bytes
// come first. Eight bytes are read as two halves, since a script has no whole numbers of that size.
function column_of(bytes, place, rows, width) {
  const found = width === 4 ? new Int32Array(rows) : new Float64Array(rows);
  const half = (i, at) =>
    bytes[at + i] | (bytes[at + rows + i] << 8) | (bytes[at + 2 * rows + i] << 16) |
    (bytes[at + 3 * rows + i] << 24);
  let last = 0;
  for (let i = 0; i < rows; i++) {
    const low = half(i, place);
    last += width === 4 ? low : half(i, place + 4 * rows) * 4294967296 + (low >>> 0);
    found[i] = last;
  }
  return found;
}

// The rows of a table by the value of a column: those of value v are rows[starts[v]..starts[v + 1]],
// in their order. Rows for which `wanted` is false, and those without a value, are in none.
function group(keys, size, wanted = () => true) {
  const starts = new Int32Array(size + 1);
  for (let i = 0; i < keys.length; i++) if (keys[i] >= 0 && wanted(i)) starts[keys[i] + 1]++;
  for (let v = 0; v < size; v++) starts[v + 1] += starts[v];
  const next = starts.slice(), rows = new Int32Array(starts[size]);
  for (let i = 0; i < keys.length; i++) if (keys[i] >= 0 && wanted(i)) rows[next[keys[i]]++] = i;
  return { starts, rows, of: (v) => rows.subarray(starts[v], starts[v + 1]) };
}

// Lanes have numbers of their own: from here on a claim or a request is the number of its row.
function number_rows(table, ...columns) {
  const rows = new Int32Array(T[table].lane.reduce((most, each) => Math.max(most, each), -1) + 1);
  rows.fill(ABSENT);
  T[table].lane.forEach((lane, row) => (rows[lane] = row));
  for (const column of columns)
    for (let i = 0; i < column.length; i++) column[i] = rows[column[i]] ?? ABSENT;
}

function index() {
  const { claim, request, event, touch, slice, found, step, phase, count, link } = T;
  number_rows("claim", slice.claim, found.claim, touch.claim, link.claim, link.toclaim);
  number_rows("request", phase.request, event.request, link.request, link.torequest);
  I.slices = group(slice.claim, claim.rows);
  I.found = group(found.claim, claim.rows);
  I.steps = group(step.found, found.rows);
  const is_report = (i) => event.report[touch.event[i]] === 1;
  I.reports = group(touch.claim, claim.rows, is_report);
  I.facts = group(touch.claim, claim.rows, (i) => !is_report(i));
  I.losses = group(touch.claim, claim.rows, (i) => touch.lost[i] > 0);
  I.broken = group(found.claim, claim.rows, (i) => D.names.found[found.verdict[i]] === "violated");
  I.claims = group(touch.event, event.rows);
  I.phases = group(phase.request, request.rows);
  I.events = group(event.request, request.rows);
  I.links = group(link.claim, claim.rows);
  I.named = group(link.toclaim, claim.rows);
  I.conflicts = group(link.request, request.rows, (i) => D.names.links[link.kind[i]] === "conflict");
  const order = Object.keys(FOUND_MARKS).map((each) => D.names.found.indexOf(each));
  I.graver = Int32Array.from(order.flatMap((each) => [...group(found.verdict, D.names.found.length).of(each)]));
  I.lossy = new Uint8Array(event.rows);
  for (let i = 0; i < touch.rows; i++) if (touch.lost[i] > 0) I.lossy[touch.event[i]] = 1;
  touch.at = touch.event.length ? Float64Array.from(touch.event, (e) => event.at[e]) : [];
  I.counts = D.streams.map(() => new Map());
  for (let i = 0; i < count.rows; i++) {
    const of = I.counts[count.stream[i]], name = D.texts[count.name[i]];
    if (!of.has(name)) of.set(name, []);
    of.get(name).push(i);
  }
  const latest = (most, column) => column.reduce((a, b) => Math.max(a, b), most);
  I.end = Math.max(1, latest(latest(latest(0, event.at), claim.end), request.end));
}

// The first place in `rows` whose value in the column is at least `value`; the column never
// decreases over them.
function first_from(rows, column, value, low = 0) {
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (column[rows[middle]] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

// What a count was at a position, and at a turn if one is given: null where it is not stated.
function count_at(stream, name, at, turn = Infinity) {
  const rows = I.counts[stream]?.get(name);
  if (!rows) return null;
  const place = Math.min(first_from(rows, T.count.at, at + 0.5), first_from(rows, T.count.turn, turn + 0.5)) - 1;
  return place < 0 || !T.count.stated[rows[place]] ? null : T.count.value[rows[place]];
}
