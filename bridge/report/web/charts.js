// Charts: each function takes what a table has, too, and a width, and returns an SVG.

const DAYS_SHOWN_AT_LEAST = 7;
const NAME_WIDTH = 7;

/** A chart in our looks; colours come from the style sheet, by variables. */
function plot(width, {marks, ...options}) {
  return Plot.plot({
    width,
    height: 220,
    marginLeft: 46,
    marginRight: 14,
    marginTop: 14,
    marginBottom: 26,
    className: "plot",
    style: {fontSize: "12px", overflow: "visible"},
    marks,
    ...options
  });
}

/** The box at the pointer; `title` gives its lines. */
function box(data, pointer, options) {
  return Plot.tip(data, pointer({
    fill: "var(--card)", stroke: "var(--edge)", fontSize: 12, lineHeight: 1.35, lineWidth: 26, ...options
  }));
}

/** Marks of whole numbers: none is in between. */
const countMarks = (most) => Math.max(1, Math.min(4, Math.ceil(most)));

const ticks = (width) => Math.max(2, Math.floor(width / 110));

/** The axis of days: of the chosen period, as far as there is anything. */
function daysAxis(rows, {first, last}, width) {
  const from = Math.min(Math.max(first, rows[0].day), last - DAYS_SHOWN_AT_LEAST + 1);
  return {
    type: "utc", domain: [dayDate(from - 0.5), dayDate(last + 0.5)], label: null,
    ticks: Math.min(ticks(width), last - from + 1)
  };
}

const dayOf = (row) => dayDate(row.day);

/** Bars of parts by day; `parts` are [word, class of its colour, value]. */
function stackedDays(rows, period, width, parts, words) {
  const bars = rows.flatMap((row) => {
    let below = 0;
    return parts.map(([, kind, value]) => {
      const from = below;
      below += value(row);
      return {row, kind, from, to: below};
    });
  });
  const tops = rows.map((row) => ({row, top: parts.reduce((sum, part) => sum + part[2](row), 0)}));
  const most = Math.max(1, ...tops.map(({top}) => top));
  const marks = countMarks(most);
  const x = daysAxis(rows, period, width);
  const inset = Math.min(4, Math.max(0.5, (width * DAY_MS) / (x.domain[1] - x.domain[0]) / 10));
  const lines = ({row}) => [
    dayWords(row.day), ...parts.map(([word, , value]) => `${word}: ${words(value(row))}`)
  ].join("\n");
  return plot(width, {
    x,
    y: {label: null, ticks: marks, tickFormat: short, domain: [0, most], nice: true},
    marks: [
      Plot.gridY({ticks: marks, strokeOpacity: 1, stroke: "var(--grid)"}),
      Plot.rectY(bars.filter(({from, to}) => to > from), {
        x1: ({row}) => dayDate(row.day - 0.5), x2: ({row}) => dayDate(row.day + 0.5),
        y1: "from", y2: "to", fill: ({kind}) => `var(--${kind})`, insetLeft: inset, insetRight: inset
      }),
      Plot.ruleY([0], {stroke: "var(--edge)"}),
      box(tops, Plot.pointerX, {x: ({row}) => dayOf(row), y: "top", title: lines})
    ],
    color: {type: "identity"}
  });
}

/** A line of shares by day, from 0 to 1. */
function shareByDay(rows, period, width, value, word) {
  const known = rows.filter((row) => value(row) != null);
  return plot(width, {
    x: daysAxis(rows, period, width),
    y: {label: null, domain: [0, 1], ticks: 4, tickFormat: percent},
    marks: [
      Plot.gridY({ticks: 4, strokeOpacity: 1, stroke: "var(--grid)"}),
      Plot.areaY(known, {x: dayOf, y: value, fill: "var(--good)", fillOpacity: 0.12}),
      Plot.lineY(known, {x: dayOf, y: value, stroke: "var(--good)", strokeWidth: 2}),
      Plot.dot(known, {x: dayOf, y: value, fill: "var(--good)", r: known.length > 60 ? 1.5 : 3}),
      Plot.ruleY([0], {stroke: "var(--edge)"}),
      box(known, Plot.pointerX, {
        x: dayOf, y: value, title: (row) => `${dayWords(row.day)}\n${word}: ${percent(value(row))}`
      })
    ]
  });
}

/** Two times with what is around them, if they are close: one bar is no wall. */
function apart(from, to) {
  const missing = Math.max(1, Math.sqrt(30 / (to / from)));
  return [from / missing, to * missing];
}

/** An axis of times in ms that holds all of these. */
function timesAxis(values, most) {
  const [least, greatest] = [Math.min(...values), Math.max(...values)];
  const [low, high] = apart(least, greatest);
  const from = FINE.findLast((mark) => mark <= low) ?? 1;
  const to = FINE.find((mark) => mark > high) ?? high * 1.1;
  return {type: "log", domain: [from, to], ticks: timeMarks(from, to, most), axis: null};
}

/** The marks of an axis of times; Plot's own would leave words out on a log scale. */
function timesMarks(axis, {ticks}) {
  const [line, words] = axis === "x" ? [Plot.gridX, Plot.axisX] : [Plot.gridY, Plot.axisY];
  return [
    line(ticks, {strokeOpacity: 1, stroke: "var(--grid)"}),
    words(ticks, {text: time, label: null, tickSize: 0})
  ];
}

/** The band between two percentiles by day. */
function timesByDay(rows, period, width, p50, p95) {
  const known = rows.filter((row) => p50(row) != null);
  if (!known.length) return null;
  const axis = timesAxis(known.flatMap((row) => [p50(row), p95(row)]), 5);
  const r = known.length > 60 ? 1.5 : 3;
  return plot(width, {
    marginLeft: 56,
    x: daysAxis(rows, period, width),
    y: axis,
    marks: [
      ...timesMarks("y", axis),
      Plot.areaY(known, {x: dayOf, y1: p50, y2: p95, fill: "var(--middle)", fillOpacity: 0.1}),
      Plot.lineY(known, {x: dayOf, y: p95, stroke: "var(--late)", strokeWidth: 1.5, strokeDasharray: "5,3"}),
      Plot.dot(known, {x: dayOf, y: p95, fill: "var(--card)", stroke: "var(--late)", r}),
      Plot.lineY(known, {x: dayOf, y: p50, stroke: "var(--middle)", strokeWidth: 2}),
      Plot.dot(known, {x: dayOf, y: p50, fill: "var(--middle)", r}),
      box(known, Plot.pointerX, {
        x: dayOf, y: p95,
        title: (row) => `${dayWords(row.day)}\np50: ${time(p50(row))}\np95: ${time(p95(row))}`
      })
    ]
  });
}

/** How often which time was taken; `times` is a `Times`. */
function histogram(times, width) {
  const bars = times.bars();
  if (!bars.length) return null;
  const [from, to] = apart(bars[0].from, bars.at(-1).to);
  const percentiles = [["p50", times.quantile(0.5)], ["p95", times.quantile(0.95)]];
  // Too close together, one word would cover the other.
  const between = (width * Math.log(percentiles[1][1] / percentiles[0][1])) / Math.log(to / from);
  const axis = {type: "log", domain: [from, to], ticks: timeMarks(from, to, ticks(width) + 2), axis: null};
  const marks = countMarks(Math.max(...bars.map(({count}) => count)));
  return plot(width, {
    marginTop: 24,
    x: axis,
    y: {label: null, ticks: marks, tickFormat: short, nice: true},
    marks: [
      Plot.gridY({ticks: marks, strokeOpacity: 1, stroke: "var(--grid)"}),
      ...timesMarks("x", axis),
      Plot.rectY(bars, {x1: "from", x2: "to", y: "count", fill: "var(--good)", insetLeft: 0.5, insetRight: 0.5}),
      Plot.ruleY([0], {stroke: "var(--edge)"}),
      Plot.ruleX(percentiles, {x: ([, ms]) => ms, stroke: "var(--ink)", strokeDasharray: "3,3"}),
      Plot.text(percentiles, {
        x: ([, ms]) => ms, frameAnchor: "top", dy: -12, text: ([name]) => name, fill: "var(--ink)",
        filter: ([name]) => name === "p95" || between > 26
      }),
      box(bars, Plot.pointerX, {
        x: ({from, to}) => Math.sqrt(from * to), y: "count",
        title: ({from, to, count}) => `${time(from)} to ${time(to)}\n${whole(count)}`
      })
    ]
  });
}

/** What is common to charts with a bar for each name; names are told apart by number. */
function named(rows, width) {
  const names = rows.map(({name}) => name);
  const longest = Math.min(Math.max(...names.map((name) => name.length)), width < 480 ? 15 : 24);
  const cut = (name) => name.length > longest ? `${[...name].slice(0, longest - 1).join("")}…` : name;
  return {
    height: 34 + rows.length * 26,
    marginLeft: 14 + longest * NAME_WIDTH,
    marginTop: 4,
    y: {type: "band", domain: rows.map(({key}) => key), tickFormat: (_, at) => cut(names[at]), tickSize: 0, label: null, padding: 0.25}
  };
}

/** Bars of parts by name; `parts` are [word, class of its colour, value]. */
function stackedNames(rows, width, parts) {
  const bars = rows.flatMap((row) => {
    let before = 0;
    return parts.map(([, kind, value]) => {
      const from = before;
      before += value(row);
      return {key: row.key, kind, from, to: before};
    });
  });
  const lines = (row) => [
    row.name, ...parts.map(([word, , value]) => `${word}: ${whole(value(row))}`)
  ].join("\n");
  const total = (row) => parts.reduce((sum, part) => sum + part[2](row), 0);
  const most = Math.max(1, ...rows.map(total));
  const marks = Math.min(ticks(width), Math.ceil(most));
  return plot(width, {
    ...named(rows, width),
    x: {label: null, ticks: marks, tickFormat: short, domain: [0, most]},
    color: {type: "identity"},
    marks: [
      Plot.gridX({ticks: marks, strokeOpacity: 1, stroke: "var(--grid)"}),
      Plot.barX(bars.filter(({from, to}) => to > from), {
        y: "key", x1: "from", x2: "to", fill: ({kind}) => `var(--${kind})`, insetRight: 0.5
      }),
      box(rows, Plot.pointerY, {y: "key", x: total, title: lines})
    ]
  });
}

/** From p50 to p95 by name. */
function timesByName(rows, width) {
  const known = rows.filter(({sum}) => sum.p50 != null);
  if (!known.length) return null;
  const [p50, p95] = [({sum}) => sum.p50, ({sum}) => sum.p95];
  const axis = timesAxis(known.flatMap((row) => [p50(row), p95(row)]), ticks(width) + 1);
  return plot(width, {
    ...named(rows, width),
    x: axis,
    marks: [
      ...timesMarks("x", axis),
      Plot.ruleY(known, {y: "key", x1: p50, x2: p95, stroke: "var(--middle)", strokeOpacity: 0.35, strokeWidth: 4}),
      Plot.dot(known, {y: "key", x: p95, fill: "var(--card)", stroke: "var(--late)", strokeWidth: 1.5, r: 4.5}),
      Plot.dot(known, {y: "key", x: p50, fill: "var(--middle)", r: 4.5}),
      box(known, Plot.pointerY, {
        y: "key", x: p95,
        title: (row) => `${row.name}\np50: ${time(p50(row))}\np95: ${time(p95(row))}`
      })
    ]
  });
}

/** The line of a figure by day, in its tile. */
function sparkline(rows, value) {
  const known = rows.filter((row) => value(row.sum) != null);
  if (known.length < 2) return null;
  const line = Plot.plot({
    width: 150, height: 28, margin: 3, className: "plot", axis: null,
    x: {type: "linear"}, y: {zero: true},
    marks: [
      Plot.lineY(known, {x: "day", y: ({sum}) => value(sum), stroke: "var(--good)", strokeWidth: 1.5})
    ]
  });
  // As wide as its tile, whatever that is.
  line.setAttribute("preserveAspectRatio", "none");
  line.setAttribute("aria-hidden", "true");
  return line;
}
