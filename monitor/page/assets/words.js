// Words and elements: what a trace states is only ever put into the page as text.

const NOT_STATED = "not stated";
const SVG = "http://www.w3.org/2000/svg";

// An element; `attributes` that begin with "on" are listeners. Children are elements or texts.
function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((each) => each != null && each !== false));
  return element;
}

const $ = (id) => document.getElementById(id);
const put = (id, ...children) => $(id).replaceChildren(...children.flat(Infinity).filter(Boolean));

// Characters that are not seen, or that turn the direction of a text, as their numbers.
const visible = (string) => string.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (each) => `\\u{${each.codePointAt(0).toString(16)}}`);
const text = (number) => (number === ABSENT ? NOT_STATED : visible(D.texts[number]));
const whole = (number) => (number === ABSENT ? NOT_STATED : number.toLocaleString("en"));
const plural = (number, what) => `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;
const named = (what, name) => (name.toLowerCase().startsWith(what.toLowerCase()) ? name : `${what} ${name}`);
const words = (name) => name.replaceAll("_", " ");
const cut = (string, most) => (string.length <= most ? string : `${string.slice(0, most - 1)}…`);

// A length on the axis.
function span(length, step = 0) {
  if (D.axis === "lines") return plural(Math.round(length), "line");
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]])
    if (Math.abs(length) >= size || (step >= size && length === 0))
      return `${Number((length / size).toPrecision(6))} ${unit}`;
  return `${Math.round(length)} ns`;
}

const place_text = (at) => (D.axis === "lines" ? `line ${Math.round(at) + 1}` : span(at));
const where = (line, at) =>
  line === ABSENT ? NOT_STATED : D.axis === "lines" || at < 0 ? `line ${line}` : `line ${line}, at ${span(at)}`;

const VERDICT_MARKS = { kept: "✓", violated: "✕", inconclusive: "?" };
const FOUND_MARKS = {
  violated: "✕", inconclusive: "?", pending: "…", satisfied: "✓", unexercised: "–",
};
const FOUND_WORDS = { pending: "still owed", satisfied: "kept", unexercised: "not put to the test" };

function chip(verdict, words = verdict) {
  const mark = VERDICT_MARKS[verdict] ?? FOUND_MARKS[verdict];
  return el("span", { class: `chip ${verdict}` }, el("span", { "aria-hidden": "true" }, mark), ` ${words}`);
}

const claim_verdict = (claim) => D.names.verdicts[T.claim.verdict[claim]];
const found_verdict = (row) => D.names.found[T.found.verdict[row]];
const obligation = (row) => D.names.obligations[T.found.obligation[row]];
const kind_of = (event) => D.names.kinds[T.event.kind[event]];
const stream_name = (stream) =>
  [visible(D.streams[stream].name) || "stream without a name", ...(D.inputs.length > 1 ? [file_of(stream).split("/").at(-1)] : [])].join(" in ");
const file_of = (stream) => D.streams[stream].file;
const quoted = (stream, line) => {
  const found = D.quotes[file_of(stream)]?.[line];
  return found === undefined ? found : visible(found);
};

// A colour of the theme, for what is drawn on a canvas.
let colours = {};
const probe = document.head.appendChild(document.createElement("i"));
function colour(name) {
  if (!colours[name]) {
    probe.style.color = `var(--${name})`;
    colours[name] = getComputedStyle(probe).color;
  }
  return colours[name];
}
