// Draws an observer: its states from top to bottom, its rules as arcs, and the path that was taken.

function picture(name, steps) {
  const { states, rules } = D.observers[name], box = 250, height = 46, gap = 20, left = 26;
  const visited = new Set([0, ...steps.flatMap((step) => [T.step.source[step], T.step.target[step]])]);
  const y = (state) => 8 + state * (height + gap), middle = (state) => y(state) + height / 2;
  const lit = new Map();
  steps.forEach((step, place) => {
    const key = `${T.step.source[step]} ${T.step.target[step]}`;
    if (!lit.has(key)) lit.set(key, []);
    lit.get(key).push(place + 1);
  });
  const edges = new Set(rules.flatMap(([, , sources, to]) => sources.filter((from) => from !== to).map((from) => `${from} ${to}`)));
  const total = y(states.length) - gap + 8, lanes = [];
  const arcs = [...new Set([...edges, ...lit.keys()])].map((key) => {
    const [from, to] = key.split(" ").map(Number), numbers = lit.get(key);
    const bend = from === to ? 26 : 22 + Math.abs(to - from) * 17;
    lanes.push(bend);
    const right = left + box, spread = from === to ? 9 : to > from ? 6 : -6;
    const begin = middle(from) + (from === to ? -spread : spread), end = middle(to) + (from === to ? spread : -spread * 0.6);
    const path = svg("path", {
      d: `M${right} ${begin} C${right + bend} ${begin} ${right + bend} ${end} ${right + 5} ${end}`,
      class: numbers ? "arc lit" : "arc", "marker-end": `url(#${numbers ? "lit" : "dim"})`,
    });
    if (!numbers) return [path, null];
    const label = cut(numbers.join(", "), 12), size = 12 + label.length * 6.5, mid = right + bend * 0.75;
    return [path, svg("g", { class: "badge" },
      svg("rect", { x: mid - size / 2, y: (begin + end) / 2 - 9, width: size, height: 18, rx: 9 }),
      svg("text", { x: mid, y: (begin + end) / 2 + 4, "text-anchor": "middle" }, label))];
  }).sort((a, b) => (a[1] !== null) - (b[1] !== null));
  const last = steps.length ? T.step.target[steps.at(-1)] : 0, width = left + box + Math.max(40, ...lanes) * 0.78 + 26;
  const boxes = states.map(([state, verdict, says], place) =>
    svg("g", { class: `state ${verdict} ${visited.has(place) ? "on" : "off"} ${place === last ? "last" : ""}` },
      svg("rect", { x: left, y: y(place), width: box, height, rx: 7 }),
      svg("text", { x: left + 12, y: y(place) + 18, class: "name" }, words(state)),
      svg("text", { x: left + 12, y: y(place) + 35, class: "says" }, cut(says, 44)),
      svg("title", {}, says)));
  const told = steps.map((step, place) => `${place + 1}: ${words(rules[T.step.rule[step]][0])}`).join("; ");
  return svg("svg", { viewBox: `0 0 ${width} ${total}`, role: "img", class: "observer",
    "aria-label": `The states of ${words(name)}. The path taken: ${told || "no rule fired"}.` },
    svg("defs", {}, ["dim", "lit"].map((id) =>
      svg("marker", { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
        svg("path", { d: "M0 0L8 4L0 8z", class: id })))),
    svg("circle", { cx: 8, cy: middle(0), r: 4, class: "start" }),
    svg("path", { d: `M8 ${middle(0)}H${left - 4}`, class: "arc lit", "marker-end": "url(#lit)" }),
    arcs.map(([path]) => path), boxes, arcs.map(([, badge]) => badge).filter(Boolean));
}
