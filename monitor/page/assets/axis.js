// The part of the axis that is shown, and a canvas with the shapes that are drawn on it.

const GUTTER = () => (innerWidth < 640 ? 104 : 196);
const view = { from: 0, to: 1, hover: null, wanted: null };

// From a position to a column of the canvas and back.
function scale(width) {
  const left = GUTTER(), size = Math.max(1, width - left - 14), length = view.to - view.from;
  return {
    left, right: left + size,
    x: (at) => left + ((at - view.from) / length) * size,
    at: (x) => view.from + ((x - left) / size) * length,
  };
}

function show(from, to) {
  const margin = I.end * 0.03, most = I.end + 2 * margin, least = D.axis === "lines" ? 2 : Math.min(100, most);
  const length = Math.min(most, Math.max(least, to - from));
  view.from = Math.min(Math.max((from + to - length) / 2, -margin), I.end + margin - length);
  view.to = view.from + length;
  redraw();
}

const zoom = (factor, at = (view.from + view.to) / 2) => show(at - (at - view.from) * factor, at + (view.to - at) * factor);
const pan = (part) => show(view.from + part * (view.to - view.from), view.to + part * (view.to - view.from));
const fit = () => show(-I.end, 2 * I.end);

// Put a position into view, without a change of scale where it is there already.
function reveal(at) {
  const length = view.to - view.from;
  if (at < view.from + length * 0.05 || at > view.to - length * 0.05) show(at - length / 2, at + length / 2);
}

// Round steps of the axis, some ten of them.
function ticks(width) {
  const rough = (view.to - view.from) / Math.max(2, width / 110), power = 10 ** Math.floor(Math.log10(rough));
  let step = [1, 2, 5, 10].map((n) => n * power).find((each) => each >= rough);
  if (D.axis === "lines") step = Math.max(1, Math.round(step));
  const found = [];
  for (let at = Math.max(0, Math.ceil(view.from / step) * step); at <= Math.min(view.to, I.end * 1.03); at += step) found.push([at, step]);
  return found;
}

let asked = false;
function redraw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    draw_lanes();
    draw_pool();
  });
}

// A canvas of so many points, sharp on any screen.
function sharp(canvas, width, height) {
  const ratio = devicePixelRatio || 1, pen = canvas.getContext("2d");
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.textBaseline = "middle";
  return pen;
}

const FONT = (font) => `${font} system-ui, sans-serif`;

function write(pen, string, x, y, name, font = "12px") {
  pen.font = FONT(font);
  pen.fillStyle = colour(name);
  pen.fillText(string, x, y);
}

// A text that is too wide without its middle.
function fitted(pen, string, width, font = "12px") {
  pen.font = FONT(font);
  const size = pen.measureText(string).width;
  if (size <= width) return string;
  const most = Math.max(1, Math.floor((string.length * width) / size) - 1);
  return `${string.slice(0, Math.ceil(most / 2))}…${string.slice(string.length - Math.floor(most / 2))}`;
}

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

function bar(pen, x, y, w, h, name, label = "", size = 12) {
  if (w < 4) return fill_rect(pen, x, y, Math.max(1, w), h, name);
  pen.fillStyle = colour(name);
  pen.beginPath();
  pen.roundRect(x, y, w, h, Math.min(4, w / 2));
  pen.fill();
  if (label) write(pen, label, x + 7, y + h / 2 + 0.5, "ink", `500 ${size}px`);
}

function triangle(pen, x, y, size, name) {
  pen.fillStyle = colour(name);
  pen.beginPath();
  pen.moveTo(x, y + size);
  pen.lineTo(x - 5, y - size / 2);
  pen.lineTo(x + 5, y - size / 2);
  pen.fill();
}
