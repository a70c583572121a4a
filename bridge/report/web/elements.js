// Elements. Whatever comes from outside becomes text or the value of a property.

/** An element with attributes and children; a child that is a string becomes text. */
function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value != null && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child != null));
  return made;
}

/** A name from outside: letters that run from right to left move nothing beside it. */
const nameOf = (name) => el("bdi", {}, name);

/**
 * A table that its reader can sort, if it is told to be `sortable`.
 *
 * `columns` are {head, value, words, isName, bar}; of each row a cell shows the words of
 * its value. `update(rows)` fills it.
 */
function table(label, columns, {sortable = false} = {}) {
  let rows = [];
  let sort = sortable ? {column: columns.find((each) => each.isFirst), down: true} : null;
  const heads = columns.map((column) => el("th", {scope: "col", class: column.isName && "name"}));
  const body = el("tbody");
  const made = el("table", {}, el("caption", {class: "unseen"}, label),
    el("thead", {}, el("tr", {}, ...heads)), body);

  columns.forEach((column, at) => {
    if (!sortable) return heads[at].append(column.head);
    const button = el("button", {type: "button"}, column.head);
    button.addEventListener("click", () => {
      const again = sort.column === column;
      sort = {column, down: again ? !sort.down : !column.isName};
      fill();
    });
    heads[at].append(button);
  });

  function compare(a, b) {
    const [left, right] = [sort.column.value(a), sort.column.value(b)];
    if (left == null || right == null) return (left == null) - (right == null);
    const order = typeof left === "string" ? left.localeCompare(right, "en") : left - right;
    return sort.down ? -order : order;
  }

  function fill() {
    if (sort) {
      rows = rows.toSorted(compare);
      columns.forEach((column, at) => {
        const order = sort.down ? "descending" : "ascending";
        if (column === sort.column) heads[at].setAttribute("aria-sort", order);
        else heads[at].removeAttribute("aria-sort");
      });
    }
    body.replaceChildren(...rows.map((row) => el("tr", {}, ...columns.map((column) => {
      const words = (column.words ?? String)(column.value(row));
      if (column.isName) return el("th", {scope: "row", class: "name"}, nameOf(words));
      const cell = el("td", {}, words);
      if (column.bar) {
        const most = Math.max(...rows.map(column.value));
        cell.className = "bar";
        cell.style.setProperty("--part", `${(100 * column.value(row)) / most}%`);
      }
      return cell;
    }))));
  }

  // Wider than a narrow screen, it is moved by the keyboard, too.
  const region = el("div", {class: "table", role: "region", "aria-label": label, tabindex: 0}, made);
  region.update = (given) => {
    rows = given;
    fill();
  };
  return region;
}

/** What the colours of a chart mean: [class, word] each. */
function legend(entries) {
  return el("ul", {class: "legend"}, ...entries.map(([kind, word]) =>
    el("li", {}, el("span", {class: `swatch ${kind}`, "aria-hidden": "true"}), word)));
}
