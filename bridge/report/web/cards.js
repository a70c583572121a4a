// What a chart stands in. Each card and part is made once; `update` fills it anew.

/**
 * A chart with its heading, what it says in a sentence, and its table.
 *
 * `draw(view, width)` gives the chart or null; `says(view)` the sentence; `rows(view)` the
 * rows of the table. A view is what the reader has chosen, with its sums. `draw` of what
 * is returned follows `update`, and whenever its `width` is another.
 */
function card({title, wide, key, draw, says, columns, rows}) {
  const heading = el("h3", {}, title);
  const sentence = el("figcaption");
  const chart = el("div", {class: "chart"});
  const numbers = columns && table(title, columns);
  const details = numbers && el("details", {},
    el("summary", {}, "Numbers", el("span", {class: "unseen"}, `: ${title}`)), numbers);
  const made = el("section", {class: wide ? "card wide" : "card"}, heading,
    el("figure", {}, sentence, key && legend(key), chart), details);
  let view;
  let drawnAt = 0;

  made.width = () => Math.floor(chart.clientWidth);
  made.draw = (width) => {
    // Of a part that is hidden there is nothing to measure.
    if (!width || width === drawnAt) return;
    drawnAt = width;
    const svg = draw(view, width);
    if (svg) asImage(svg, `${title}. ${sentence.textContent}`);
    chart.replaceChildren(...(svg ? [svg] : []));
  };
  made.update = (given) => {
    view = given;
    drawnAt = 0;
    sentence.textContent = says(view);
    if (!numbers) return;
    const found = rows(view);
    details.hidden = !found.length;
    numbers.update(found);
  };
  return made;
}

/** Make a chart one image with one label; its parts have none of their own. */
function asImage(svg, label) {
  for (const labelled of svg.querySelectorAll("[aria-label]")) labelled.removeAttribute("aria-label");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
}

function part(title, ...children) {
  const heading = el("h2", {}, title);
  const made = el("section", {class: "part"}, heading, el("div", {class: "cards"}, ...children));
  made.heading = heading;
  return made;
}
