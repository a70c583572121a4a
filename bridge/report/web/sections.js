// What the page shows below the figures, part by part.

const NAMES_SHOWN = 12;

const OUTCOMES = [
  ["succeeded", "good", ({sum}) => sum.succeeded], ["failed", "bad", ({sum}) => sum.failed]
];
const TOKENS = [
  ["read anew", "good", ({sum}) => sum.inputTokens],
  ["put into a cache", "third", ({sum}) => sum.cacheWriteTokens],
  ["written", "bad", ({sum}) => sum.outputTokens]
];
const PERCENTILES = [["dot middle", "p50"], ["dot late", "p95"]];
const keyOf = (parts) => parts.map(([word, kind]) => [kind, word]);
const dayColumn = {head: "Day", value: ({day}) => day, words: dayWords, isName: true};
const numbersOf = (parts) => parts.map(([word, , value]) => ({
  head: word[0].toUpperCase() + word.slice(1), value, words: whole
}));
const most = (rows, value) => rows.reduce((best, row) => value(row) > value(best) ? row : best);
const none = "Nothing has ended in this period.";

function byDay() {
  const rows = ({days}) => days;
  const orNone = (says) => (view) => view.days.length ? says(view) : none;
  const days = (draw) => (view, width) => view.days.length ? draw(view.days, view.period, width) : null;
  const range = (of) => orNone((view) => {
    const known = view.days.filter((row) => of(row) != null);
    if (!known.length) return "None of these has begun.";
    const [least, greatest] = [most(known, (row) => -of(row)), most(known, of)];
    if (least === greatest) return `p50 on ${dayWords(least.day)}: ${time(of(least))}.`;
    return `p50 from ${time(of(least))} (${dayWords(least.day)}) to ${time(of(greatest))} (${dayWords(greatest.day)}).`;
  });
  return part("Day by day",
    card({
      title: "Requests ended", key: keyOf(OUTCOMES), rows,
      columns: [dayColumn, ...numbersOf(OUTCOMES)],
      draw: days((rows, period, width) => stackedDays(rows, period, width, OUTCOMES, whole)),
      says: orNone(({days, sum}) => {
        const busiest = most(days, (row) => row.sum.ended);
        if (days.length === 1) return `${counted(sum.ended, "request")} on ${dayWords(busiest.day)}.`;
        return `${counted(sum.ended, "request")} on ${counted(days.length, "day")}; most on ${dayWords(busiest.day)}: ${whole(busiest.sum.ended)}.`;
      })
    }),
    card({
      title: "Success rate", rows,
      columns: [dayColumn, {head: "Success rate", value: ({sum}) => sum.successRate, words: percent}],
      draw: days((rows, period, width) => shareByDay(rows, period, width, ({sum}) => sum.successRate, "succeeded")),
      says: orNone(({days, sum}) => {
        const worst = most(days, (row) => -row.sum.successRate);
        if (days.length === 1) return `${percent(sum.successRate)} on ${dayWords(worst.day)}.`;
        return `${percent(sum.successRate)} in all; lowest on ${dayWords(worst.day)}: ${percent(worst.sum.successRate)}.`;
      })
    }),
    card({
      title: "Time to answer", key: PERCENTILES, rows,
      columns: [dayColumn, {head: "p50", value: ({sum}) => sum.p50, words: time}, {head: "p95", value: ({sum}) => sum.p95, words: time}],
      draw: days((rows, period, width) => timesByDay(rows, period, width, ({sum}) => sum.p50, ({sum}) => sum.p95)),
      says: range(({sum}) => sum.p50)
    }),
    card({
      title: "Queue wait", key: PERCENTILES, rows,
      columns: [dayColumn, {head: "p50", value: ({sum}) => sum.wait50, words: time}, {head: "p95", value: ({sum}) => sum.wait95, words: time}],
      draw: days((rows, period, width) => timesByDay(rows, period, width, ({sum}) => sum.wait50, ({sum}) => sum.wait95)),
      says: range(({sum}) => sum.wait50)
    }),
    card({
      title: "Tokens", wide: true, key: keyOf(TOKENS), rows,
      columns: [dayColumn, ...numbersOf(TOKENS), {head: "Read from a cache", value: ({sum}) => sum.cacheReadTokens, words: whole}],
      draw: days((rows, period, width) => stackedDays(rows, period, width, TOKENS, whole)),
      says: orNone(({sum}) => sum.tokens == null ? "Nobody told how many tokens were used." : `${whole(sum.tokens)} tokens that count against budgets; ${whole(sum.cacheReadTokens)} more came from a cache.`)
    }));
}

/** The same numbers for each agent, route or model. */
function byName() {
  const columns = [
    {head: "Name", value: ({name}) => name, isName: true},
    {head: "Ended", value: ({sum}) => sum.ended, words: whole, isFirst: true, bar: true},
    {head: "Success", value: ({sum}) => sum.successRate, words: percent},
    {head: "p50", value: ({sum}) => sum.p50, words: time},
    {head: "p95", value: ({sum}) => sum.p95, words: time},
    {head: "Wait p50", value: ({sum}) => sum.wait50, words: time},
    {head: "Wait p95", value: ({sum}) => sum.wait95, words: time},
    {head: "Verified", value: ({sum}) => sum.verifiedShare, words: percent},
    {head: "Retries", value: ({sum}) => sum.retries, words: whole},
    {head: "Corrections", value: ({sum}) => sum.corrections, words: whole},
    {head: "Degraded", value: ({sum}) => sum.degraded, words: whole},
    {head: "Tokens", value: ({sum}) => sum.tokens, words: short}
  ];
  const shownOf = ({names}) => names.slice(0, NAMES_SHOWN);
  const rest = ({names}) => names.length > NAMES_SHOWN ? ` The ${NAMES_SHOWN} with most requests are drawn; the table has all ${whole(names.length)}.` : "";
  const outcomes = card({
    title: "Requests ended", key: keyOf(OUTCOMES),
    draw: (view, width) => view.names.length ? stackedNames(shownOf(view), width, OUTCOMES) : null,
    says: (view) => view.names.length
      ? `Most: ${view.names[0].name}, ${whole(view.names[0].sum.ended)} of ${whole(view.sum.ended)}.${rest(view)}` : none
  });
  const times = card({
    title: "Time to answer", key: PERCENTILES,
    draw: (view, width) => view.names.length ? timesByName(shownOf(view), width) : null,
    says: (view) => {
      const known = shownOf(view).filter(({sum}) => sum.p95 != null);
      if (!known.length) return none;
      const slowest = most(known, ({sum}) => sum.p95);
      return `Slowest: ${slowest.name}, p95 ${time(slowest.sum.p95)}.`;
    }
  });
  const numbers = table("All numbers", columns, {sortable: true});
  const numbersCard = el("section", {class: "card wide"}, el("h3", {}, "All numbers"), numbers);
  const choice = el("fieldset", {class: "choice"}, el("legend", {class: "unseen"}, "Group by"),
    ...["agent", "route", "model"].map((name) => el("label", {},
      el("input", {type: "radio", name: "by", value: name, form: "filters"}),
      el("span", {}, name[0].toUpperCase() + name.slice(1)))));
  const made = part("By agent", outcomes, times, numbersCard);
  made.heading.after(choice);
  made.update = (view) => {
    made.heading.textContent = `By ${view.by}`;
    outcomes.update(view);
    times.update(view);
    numbers.update(view.names);
  };
  return made;
}

function failures() {
  const codes = ({sum}) => [...sum.failures]
    .map(([code, count]) => ({key: code, name: NAMES.code[code], count, means: told.meanings[code] ?? ""}))
    .sort((a, b) => b.count - a.count);
  return card({
    title: "Failures by code", wide: true,
    draw: (view, width) => {
      const rows = codes(view).slice(0, NAMES_SHOWN);
      return rows.length ? stackedNames(rows, width, [["failed", "bad", ({count}) => count]]) : null;
    },
    says: (view) => {
      const [first] = codes(view);
      if (!first) return view.sum.ended ? "No request has failed in this period." : none;
      const means = first.means ? `: ${first.means}` : "";
      return `${whole(view.sum.failed)} of ${counted(view.sum.ended, "request")} failed. Most often ${first.name} (${whole(first.count)})${means}.`;
    },
    columns: [
      {head: "Code", value: ({name}) => name, isName: true},
      {head: "Failed", value: ({count}) => count, words: whole},
      {head: "What it means", value: ({means}) => means}
    ],
    rows: codes
  });
}

function distribution(title, of, noun) {
  return card({
    title,
    draw: (view, width) => histogram(of(view.sum), width),
    says: ({sum}) => {
      const times = of(sum);
      if (!times.total) return sum.ended ? "None of these has begun." : none;
      if (times.total === 1) return `One request ${noun} ${time(times.quantile(0.5))}.`;
      return `Half of ${counted(times.total, "request")} ${noun} no longer than ${time(times.quantile(0.5))}, 95 of 100 no longer than ${time(times.quantile(0.95))}.`;
    },
    columns: [
      {head: "Time", value: ({from, to}) => `${time(from)} to ${time(to)}`, isName: true},
      {head: "Requests", value: ({count}) => count, words: whole}
    ],
    rows: ({sum}) => of(sum).bars()
  });
}

function details() {
  return part("Failures and times", failures(),
    distribution("How long answers took", (sum) => sum.durations, "took"),
    distribution("How long requests waited", (sum) => sum.waits, "waited"));
}

const STATUSES = [
  ["completed", "good", ({completed}) => completed], ["failed", "bad", ({failed}) => failed],
  ["cancelled", "late", ({cancelled}) => cancelled]
];

function flows() {
  const about = "Runs of flows and pipelines; the period counts here, agent, route and model do not.";
  return part("Flows", card({
    title: "Runs by flow", wide: true, key: keyOf(STATUSES),
    draw: ({flows}, width) => flows.length ? stackedNames(flows.slice(0, NAMES_SHOWN), width, STATUSES) : null,
    says: ({flows}) => flows.length
      ? `${counted(flows.reduce((sum, {ended}) => sum + ended, 0), "run")} of ${counted(flows.length, "flow")}. ${about}`
      : "No run of a flow has ended in this period.",
    columns: [
      {head: "Flow", value: ({name}) => name, isName: true},
      {head: "Runs", value: ({ended}) => ended, words: whole}, ...numbersOf(STATUSES),
      {head: "p50", value: ({times}) => times.quantile(0.5), words: time},
      {head: "p95", value: ({times}) => times.quantile(0.95), words: time},
      {head: "Agents", value: ({agents}) => agents, words: whole},
      {head: "Tokens", value: ({tokens}) => tokens, words: short}
    ],
    rows: ({flows}) => flows
  }));
}

const TASKS = [
  ["created", "third", ({created}) => created], ["closed", "good", ({closed}) => closed]
];
const VALIDATIONS = [
  ["passed", "good", ({passed}) => passed], ["failed", "bad", ({failed}) => failed],
  ["escalated", "late", ({escalated}) => escalated]
];

function tasks() {
  const total = (rows, value) => rows.reduce((sum, row) => sum + value(row), 0);
  const says = (parts, what) => ({tasks}) => {
    const sums = parts.map(([word, , value]) => [total(tasks, value), word]);
    if (!sums.some(([count]) => count)) return `No ${what} in this period.`;
    return `${sums.map(([count, word]) => `${whole(count)} ${word}`).join(", ")}.`;
  };
  const draw = (parts) => ({tasks, period}, width) =>
    tasks.some((row) => parts.some((part) => part[2](row))) ? stackedDays(tasks, period, width, parts, whole) : null;
  const both = [["Tasks", TASKS, "task was created or closed"], ["Validations", VALIDATIONS, "task was validated or escalated"]];
  return part("Tasks", ...both.map(([title, parts, what]) => card({
    title, key: keyOf(parts), draw: draw(parts), says: says(parts, what),
    columns: [dayColumn, ...numbersOf(parts)], rows: ({tasks}) => tasks
  })));
}
