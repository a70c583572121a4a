// What the reader chooses, and what is shown then. The choice is kept in the address.

const filters = document.getElementById("filters");
const PERIODS = [7, 30, 90];
const FILTERS = ["agent", "route", "model"];
const ALL = "all";

const oldest = DAYS.length ? Math.min(...DAYS) : TODAY;
const usualPeriod = TODAY - oldest < 30 ? ALL : "30";

function option(value, words) {
  return el("option", {value}, words);
}

function fillFilters() {
  const {period} = filters.elements;
  const useful = PERIODS.filter((days, at) => at === 0 || TODAY - oldest >= PERIODS[at - 1]);
  period.append(option(ALL, "All days"), ...useful.map((days) => option(days, `Last ${days} days`)));
  for (const filter of FILTERS) {
    const names = NAMES[filter].map((name, at) => option(at, name));
    filters.elements[filter].append(option(ALL, `All ${filter}s`), ...names);
  }
}

/** Choose what the address says, as far as it is there to be chosen. */
function choose(words) {
  const wanted = new URLSearchParams(words);
  for (const name of ["period", ...FILTERS]) {
    const select = filters.elements[name];
    const given = wanted.get(name);
    const at = FILTERS.includes(name) && given != null ? String(NAMES[name].indexOf(given)) : given;
    const usual = name === "period" ? usualPeriod : ALL;
    select.value = [...select.options].some(({value}) => value === at) ? at : usual;
  }
  const by = wanted.get("by");
  filters.elements.by.value = FILTERS.includes(by) ? by : "agent";
}

function keepChoice() {
  const words = new URLSearchParams();
  const {period, by} = filters.elements;
  if (period.value !== usualPeriod) words.set("period", period.value);
  if (by.value !== "agent") words.set("by", by.value);
  for (const filter of FILTERS) {
    const {value} = filters.elements[filter];
    if (value !== ALL) words.set(filter, NAMES[filter][value]);
  }
  history.replaceState(null, "", `#${words}`);
}

function bounds() {
  const {value} = filters.elements.period;
  if (value === ALL) return {first: oldest, last: TODAY, days: TODAY - oldest + 1};
  return {first: TODAY - value + 1, last: TODAY, days: Number(value)};
}

/** What the charts and tables are made of, for what is chosen. */
function viewOf() {
  const period = bounds();
  const by = filters.elements.by.value;
  const isWanted = (row) => FILTERS.every((filter) => {
    const {value} = filters.elements[filter];
    return value === ALL || told.cells[filter][row] === Number(value);
  });
  const rows = rowsBetween(told.cells, period.first, period.last).filter(isWanted);
  const start = period.first - period.days;
  // Of a time that is only half on record nothing can be said.
  const before = start >= oldest
    ? new Sum(rowsBetween(told.cells, start, period.first - 1).filter(isWanted)) : null;
  return {
    period, by, before, sum: new Sum(rows),
    days: [...groups(rows, (row) => DAYS[told.cells.day[row]])]
      .map(([day, of]) => ({day, sum: new Sum(of)})).sort((a, b) => a.day - b.day),
    names: [...groups(rows, (row) => told.cells[by][row])]
      .map(([key, of]) => ({key, name: NAMES[by][key], sum: new Sum(of)}))
      .sort((a, b) => b.sum.ended - a.sum.ended),
    flows: flowsBetween(period), tasks: tasksBetween(period)
  };
}

function flowsBetween({first, last}) {
  const {flows} = told;
  const status = (rows, word) => {
    const at = told.names.status.indexOf(word);
    let count = 0;
    for (const row of rows) {
      const ended = flows.ended[row];
      for (let i = 0; i < ended.length; i += 2) if (ended[i] === at) count += ended[i + 1];
    }
    return count;
  };
  const rows = rowsBetween(flows, first, last);
  return [...groups(rows, (row) => flows.flow[row])].map(([key, of]) => {
    const times = new Times();
    for (const row of of) times.add(flows.durations[row]);
    const [completed, failed, cancelled] = ["completed", "failed", "cancelled"].map((word) => status(of, word));
    const total = (column) => of.reduce((sum, row) => sum + flows[column][row], 0);
    return {
      key, name: NAMES.flow[key], times, completed, failed, cancelled,
      ended: completed + failed + cancelled, agents: total("agents"), tokens: total("tokens")
    };
  }).sort((a, b) => b.ended - a.ended);
}

function tasksBetween({first, last}) {
  const {tasks} = told;
  return rowsBetween(tasks, first, last).map((row) => ({
    day: DAYS[tasks.day[row]], created: tasks.created[row], closed: tasks.closed[row],
    passed: tasks.passed[row], failed: tasks.failed[row], escalated: tasks.escalated[row]
  })).sort((a, b) => a.day - b.day);
}

const SUMMED_UP = {
  agent: ["agent", "requests"], route: ["route", "requests"], model: ["model", "requests"],
  code: ["code", "failures"], flow: ["flow", "runs"]
};

/** What was summed up or left out so that the page stays small. */
function notes() {
  const said = Object.entries(SUMMED_UP).filter(([name]) => told.others.includes(name))
    .map(([name, [one, by]]) => `The ${counted(told.names[name].length, one)} with most ${by} are told apart; all the others are summed up as “(others)”.`);
  if (told.leftOut.days) {
    said.push(`${counted(told.leftOut.days, "day")} before ${dayWords(oldest)} are left out, with ${counted(told.leftOut.ended, "request")}.`);
  }
  said.push(`This counts what has ended since ${MOMENT.format(told.since)}.`);
  said.push(`Percentiles are right within ${percent(told.base ** 0.5 - 1)}.`);
  return said;
}

function start() {
  const made = MOMENT.format(told.until);
  document.title = `${shown(told.project)} – hostbridge report`;
  document.getElementById("subject").append(nameOf(shown(told.project)), ` · ${made}`);
  const main = document.getElementById("main");
  if (!told.days.length) {
    main.append(el("section", {class: "card empty"}, el("h2", {}, "Nothing has ended here yet"),
      el("p", {}, "As soon as requests, flows or tasks of this project have ended, this page shows how they went. To begin:"),
      el("pre", {}, "hostbridge ask \"Which modules lack tests?\"\nhostbridge report")));
    return;
  }

  document.getElementById("notes").append(...notes().map((note) => el("p", {}, note)));
  const overall = overview();
  const cards = [byDay(), byName(), details(), flows(), tasks()];
  main.append(overall, ...cards);
  filters.hidden = false;
  fillFilters();

  const drawn = [...main.querySelectorAll(".card")].filter((each) => each.draw);
  function draw() {
    // All are measured before one is changed: the browser works out the layout once.
    const widths = drawn.map((each) => each.width());
    drawn.forEach((each, at) => each.draw(widths[at]));
  }
  function show() {
    const view = viewOf();
    const {sum, period} = view;
    const {first, last} = period;
    const days = first === last ? dayWords(last) : `${dayWords(first)} to ${dayWords(last)}`;
    document.getElementById("found").textContent = sum.ended
      ? `${days}: ${counted(sum.ended, "request")} ended` : `${days}: nothing has ended`;
    overall.update(view);
    for (const each of cards) {
      if (each.update) each.update(view);
      else for (const one of each.querySelectorAll(".card")) one.update(view);
    }
    draw();
  }

  choose(location.hash.slice(1));
  show();
  // Some of its controls stand elsewhere on the page.
  document.addEventListener("change", () => { keepChoice(); show(); });
  filters.addEventListener("reset", (event) => {
    event.preventDefault();
    choose("");
    keepChoice();
    show();
  });
  filters.addEventListener("submit", (event) => event.preventDefault());
  new ResizeObserver(draw).observe(main);
  performance.mark("interactive");
}

start();
