// Draws the pool: blocks of claims and of requests in hand, against the capacity, and each tier.

const POOL = 118, TIER = 26, MOST_TIERS = 5;

const tiers_of = (stream) =>
  [...(I.counts[stream]?.keys() ?? [])].filter((name) => name.startsWith("tier ")).slice(0, MOST_TIERS);
const stream_shown = () => (chosen.claim === ABSENT ? 0 : T.claim.stream[chosen.claim]);

function draw_pool() {
  const stream = stream_shown(), tiers = tiers_of(stream);
  const width = $("scroll").clientWidth, height = POOL + tiers.length * TIER;
  const pen = sharp($("pool"), width, height), { left, right, x, at } = scale(width);
  const counts = I.counts[stream] ?? new Map(), most = most_blocks(counts);
  const y = (blocks) => POOL - 8 - (blocks / most) * (POOL - 26);
  const columns = (draw) => {
    for (let px = left; px < right + 14; px++) draw(px, at(px + 0.5));
  };
  columns((px, now) => {
    if (now < 0 || now > I.end) return;
    const claimed = count_at(stream, "claimed", now) ?? 0, active = count_at(stream, "active", now) ?? 0;
    const usable = count_at(stream, "usable", now), both = claimed + active;
    fill_rect(pen, px, y(claimed), 1, y(0) - y(claimed), "claimed");
    fill_rect(pen, px, y(both), 1, y(claimed) - y(both), "active");
    if (usable !== null && both > usable) fill_rect(pen, px, y(both), 1, y(usable) - y(both), px % 6 < 3 ? "violated" : "active");
    if (usable !== null) fill_rect(pen, px, y(usable) - 1, 1, 2, "ink");
  });
  tiers.forEach((name, place) => {
    const top = POOL + place * TIER, high = Math.max(1, I.most.get(`${stream} ${name}`));
    line(pen, 0, top - 0.5, width, top - 0.5, "grid");
    columns((px, now) => {
      const value = now < 0 || now > I.end ? null : count_at(stream, name, now);
      if (value === null) return;
      const size = (value / high) * (TIER - 8);
      fill_rect(pen, px, top + TIER - 4 - size, 1, Math.max(1, size), "tier");
    });
  });
  const last = count_at(stream, "usable", Math.min(view.to, I.end));
  if (last !== null) {
    pen.textAlign = "right";
    pen.fillStyle = colour("ink");
    pen.font = "600 11px system-ui, sans-serif";
    pen.fillText(`capacity ${whole(last)}`, right + 10, y(last) - 9);
    pen.textAlign = "left";
  }
  label_pool(pen, stream, tiers, left, most, y, counts.size > 0);
  draw_hover(pen, x, 0, height, left);
}

// The most blocks that the chart has to show; computed once for each stream.
function most_blocks(counts) {
  I.most ??= new Map(
    I.counts.flatMap((each, stream) =>
      [...each].map(([name, rows]) => [`${stream} ${name}`, rows.reduce((a, row) => Math.max(a, T.count.value[row]), 0)])));
  const of = (name) => I.most.get(`${stream_shown()} ${name}`) ?? 0;
  return Math.max(1, of("usable") * 1.08, of("claimed") + of("active"));
}

function label_pool(pen, stream, tiers, left, most, y, stated) {
  const now = view.hover ?? view.wanted ?? I.end;
  fill_rect(pen, 0, 0, left, POOL + tiers.length * TIER, "panel");
  line(pen, left - 0.5, 0, left - 0.5, POOL + tiers.length * TIER, "edge");
  const write = (string, dy, name, font = "12px") => {
    pen.font = `${font} system-ui, sans-serif`;
    pen.fillStyle = colour(name);
    pen.fillText(fitted(pen, string, left - 34), 26, dy);
  };
  pen.font = "600 12px system-ui, sans-serif";
  pen.fillStyle = colour("ink");
  pen.fillText(fitted(pen, `Pool at ${place_text(Math.max(0, now))}`, left - 16), 10, 14);
  if (!stated) return write(NOT_STATED, 36, "quiet");
  pool_at(stream, now).forEach(([name, value, key], row) => {
    if (name.startsWith("tier ")) return;
    fill_rect(pen, 10, 29 + row * 20, 10, 10, key);
    write(`${name} ${value}`, 35 + row * 20, "ink");
  });
  tiers.forEach((name, place) => {
    const value = count_at(stream, name, now);
    fill_rect(pen, 10, POOL + place * TIER + 8, 10, 10, "tier");
    write(`${name} ${value ?? NOT_STATED}`, POOL + place * TIER + 13, "ink");
  });
}

// What the pool looked like at a position: words, value, colour.
function pool_at(stream, at) {
  const of = (name) => count_at(stream, name, at), free = of("free");
  const shown = (value) => (value === null ? NOT_STATED : whole(value));
  return [
    ["held by claims", shown(of("claimed")), "claimed"],
    ["active requests", shown(of("active")), "active"],
    free !== null && free < 0 ? ["short by", shown(-free), "violated"] : ["free", shown(free), "free"],
    ["capacity", shown(of("usable")), "ink"],
    ...tiers_of(stream).map((name) => [name, shown(of(name)), "tier"]),
  ];
}
