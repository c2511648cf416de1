// Draws the pool: blocks of claims and of requests in hand, against the capacity, and each tier.

const POOL = 118, TIER = 26, MOST_TIERS = 5;

const tiers_of = (stream) => [...(I.counts[stream]?.keys() ?? [])].filter((name) => name.startsWith("tier ")).slice(0, MOST_TIERS);
const most_of = (stream, name) => (I.counts[stream]?.get(name) ?? []).reduce((most, row) => Math.max(most, T.count.value[row]), 0);

// The most that each count of a stream comes to; the chart has room for it.
function heights(stream) {
  I.heights ??= new Map();
  if (!I.heights.has(stream))
    I.heights.set(stream, {
      pool: Math.max(1, most_of(stream, "usable") * 1.08, most_of(stream, "claimed") + most_of(stream, "active")),
      ...Object.fromEntries(tiers_of(stream).map((name) => [name, Math.max(1, most_of(stream, name))])),
    });
  return I.heights.get(stream);
}

function draw_pool() {
  const stream = chosen.claim === ABSENT ? 0 : T.claim.stream[chosen.claim], tiers = tiers_of(stream), most = heights(stream);
  const width = $("scroll").clientWidth, height = POOL + tiers.length * TIER;
  const pen = sharp($("pool"), width, height), { left, right, x, at } = scale(width);
  const y = (blocks) => POOL - 8 - (blocks / most.pool) * (POOL - 26), tier_y = (place) => POOL + place * TIER;
  for (let px = left; px < right + 14; px++) {
    const now = at(px + 0.5), of = (name) => count_at(stream, name, now);
    if (now < 0 || now > I.end) continue;
    const claimed = of("claimed") ?? 0, both = claimed + (of("active") ?? 0), usable = of("usable");
    fill_rect(pen, px, y(claimed), 1, y(0) - y(claimed), "claimed");
    fill_rect(pen, px, y(both), 1, y(claimed) - y(both), "active");
    if (usable !== null && both > usable && px % 6 < 3) fill_rect(pen, px, y(both), 1, y(usable) - y(both), "violated");
    if (usable !== null) fill_rect(pen, px, y(usable) - 1, 1, 2, "ink");
    tiers.forEach((name, place) => {
      const size = ((of(name) ?? 0) / most[name]) * (TIER - 8);
      if (size > 0) fill_rect(pen, px, tier_y(place + 1) - 4 - size, 1, size, "tier");
    });
  }
  const now = Math.max(0, view.hover ?? view.wanted ?? I.end);
  const narrow = left < 150, label = (name, value, dy, key) => {
    const string = narrow ? name.replace(/^(reserved for|needed by|known contents,) /, "") : name;
    fill_rect(pen, 10, key === "ink" ? dy - 2 : dy - 6, 10, key === "ink" ? 3 : 10, key);
    write(pen, fitted(pen, string, left - 38 - pen.measureText(value).width), 26, dy, "ink");
    pen.textAlign = "right";
    write(pen, value, left - 8, dy, "ink");
    pen.textAlign = "left";
  };
  fill_rect(pen, 0, 0, left, height, "panel");
  line(pen, left - 0.5, 0, left - 0.5, height, "edge");
  tiers.forEach((_, place) => line(pen, 0, tier_y(place) - 0.5, width, tier_y(place) - 0.5, "grid"));
  write(pen, fitted(pen, narrow ? place_text(now) : `Blocks at ${place_text(now)}`, left - 16, "600 12px"), 10, 14, "ink", "600 12px");
  if (!I.counts[stream]?.size) write(pen, NOT_STATED, 26, 36, "quiet");
  else pool_at(stream, now).forEach(([name, value, key], row) => label(name, value, row < 4 ? 35 + row * 20 : tier_y(row - 4) + 13, key));
  draw_hover(pen, x, height, left);
}

// What the pool looked like at a position, and a turn: words, value, colour.
function pool_at(stream, at, turn) {
  const of = (name) => count_at(stream, name, at, turn), free = of("free"), shown = (value) => (value === null ? NOT_STATED : whole(value));
  return [
    ["reserved for claims", shown(of("claimed")), "claimed"],
    ["needed by requests", shown(of("active")), "active"],
    free !== null && free < 0 ? ["short by", shown(-free), "violated"] : ["free", shown(free), "free"],
    ["capacity", shown(of("usable")), "ink"],
    ...tiers_of(stream).map((name) => [`known contents, ${name === "tier gpu" ? "GPU" : name.slice(5)}`, shown(of(name)), "tier"]),
  ];
}
