// The part of the axis that is shown, and a canvas that is sharp on any screen.

const GUTTER = () => (innerWidth < 640 ? 104 : 196);
const view = { from: 0, to: 1, hover: null, wanted: null };

function sharp(canvas, width, height) {
  const ratio = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = "12px system-ui, sans-serif";
  pen.textBaseline = "middle";
  return pen;
}

// From a position to a column of the canvas and back.
function scale(width) {
  const left = GUTTER(), size = Math.max(1, width - left - 14), length = view.to - view.from;
  return {
    left, right: left + size,
    x: (at) => left + ((at - view.from) / length) * size,
    at: (x) => view.from + ((x - left) / size) * length,
  };
}

function whole_axis() {
  const margin = I.end * 0.03;
  show(-margin, I.end + margin);
}

function show(from, to) {
  const most = I.end * 1.06, least = D.axis === "lines" ? 2 : Math.min(100, most);
  const length = Math.min(most, Math.max(least, to - from));
  const begin = Math.min(Math.max((from + to - length) / 2, -I.end * 0.03), I.end * 1.03 - length);
  view.from = begin;
  view.to = begin + length;
  redraw();
}

function zoom(factor, at = (view.from + view.to) / 2) {
  show(at - (at - view.from) * factor, at + (view.to - at) * factor);
}

const pan = (part) => show(view.from + part * (view.to - view.from), view.to + part * (view.to - view.from));

// Put a position into view, without a change of scale where it is there already.
function reveal(at) {
  const length = view.to - view.from;
  if (at >= 0 && (at < view.from + length * 0.05 || at > view.to - length * 0.05))
    show(at - length / 2, at + length / 2);
}

// Round steps of the axis, some ten of them.
function ticks(width) {
  const rough = (view.to - view.from) / Math.max(2, width / 110), power = 10 ** Math.floor(Math.log10(rough));
  let step = [1, 2, 5, 10].map((n) => n * power).find((each) => each >= rough);
  if (D.axis === "lines") step = Math.max(1, Math.round(step));
  const found = [], first = Math.max(0, Math.ceil(view.from / step) * step);
  for (let at = first; at <= Math.min(view.to, I.end * 1.03); at += step) found.push([at, step]);
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
