// The figures at the top. `good` is the direction that is better, if one is.
const FIGURES = [
  {name: "Requests ended", value: (sum) => sum.ended, words: short},
  {name: "Success rate", value: (sum) => sum.successRate, words: percent, good: 1},
  {name: "Time to answer, p50", value: (sum) => sum.p50, words: time, good: -1},
  {name: "Time to answer, p95", value: (sum) => sum.p95, words: time, good: -1},
  {name: "Verified answers", value: (sum) => sum.verifiedShare, words: percent, good: 1},
  {name: "Tokens", value: (sum) => sum.tokens, words: short},
  {name: "Queue wait, p50", value: (sum) => sum.wait50, words: time, good: -1},
  {name: "Queue wait, p95", value: (sum) => sum.wait95, words: time, good: -1},
  {name: "Retries", value: (sum) => sum.retries, words: short, good: -1},
  {name: "Corrections", value: (sum) => sum.corrections, words: short, good: -1}
];

/** How a figure differs from the period before, as an element. */
function change({value, words, good}, {sum, before, period}) {
  if (!before?.ended || value(before) == null || value(sum) == null) return null;
  const [now, then] = [value(sum), value(before)];
  if (words(now) === words(then)) return el("p", {class: "change"}, "as before");
  const up = now > then;
  const points = Math.abs(now - then) * 100;
  const much = words === percent
    ? `${points < 10 ? points.toFixed(1) : points.toFixed(0)} points`
    : then ? `${whole(Math.round(100 * Math.abs(now / then - 1)))}%` : words(now);
  const kind = !good ? "" : (up ? 1 : -1) === good ? " better" : " worse";
  return el("p", {class: `change${kind}`},
    el("span", {"aria-hidden": "true"}, up ? "▲ " : "▼ "),
    el("span", {class: "unseen"}, up ? "up " : "down "),
    `${much}`, el("span", {class: "from"}, ` from ${words(then)}`),
    el("span", {class: "unseen"}, ` in the ${period.days} days before`));
}

function overview() {
  const tiles = el("dl", {class: "tiles"});
  const made = el("section", {class: "part"}, el("h2", {}, "Overview"), tiles);
  const note = el("p", {class: "about"});
  made.append(note);
  made.update = (view) => {
    tiles.replaceChildren(...FIGURES.map((figure) =>
      el("div", {class: "tile"}, el("dt", {}, figure.name),
        el("dd", {}, el("p", {class: "value"}, figure.words(figure.value(view.sum))),
          change(figure, view), sparkline(view.days, figure.value)))));
    note.textContent = aboutFigures(view);
  };
  return made;
}

function aboutFigures({sum, before, period}) {
  const about = ["p50: half took no longer; p95: 95 of 100 took no longer."];
  if (sum.verifiable) {
    about.push(`Verified: of ${counted(sum.verifiable, "answer")} of which it can be told, the share that rests on a command that was seen to run.`);
  }
  if (sum.withoutUsage) {
    about.push(`No tokens are known of ${counted(sum.withoutUsage, "request")}.`);
  }
  if (before?.ended) about.push(`Changes compare with the ${period.days} days before.`);
  return about.join(" ");
}
