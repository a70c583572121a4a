// Numbers, times and days in words.

const UNITS = [
  [86_400_000, "d"], [3_600_000, "h"], [60_000, "min"], [1_000, "s"], [1, "ms"]
];
// Where the marks of an axis of times may stand, in ms: the finest that fit are taken.
const COARSE = [1, 1e2, 1e3, 1e4, 6e4, 6e5, 36e5, 216e5, 864e5, 6048e5];
const MIDDLE = [1, 10, 1e2, 1e3, 1e4, 6e4, 6e5, 36e5, 216e5, 864e5, 6048e5];
const FINE = [
  1, 2, 5, 10, 20, 50, 1e2, 2e2, 5e2, 1e3, 2e3, 5e3, 1e4, 2e4, 6e4, 12e4, 3e5, 6e5, 12e5,
  36e5, 72e5, 216e5, 432e5, 864e5, 1728e5, 6048e5, 25920e5
];
const WHOLE = new Intl.NumberFormat("en");
const SHORT = new Intl.NumberFormat("en", {notation: "compact", maximumFractionDigits: 1});
const DAY_PARTS = {day: "numeric", month: "short", timeZone: "UTC"};
const DAY = new Intl.DateTimeFormat("en-GB", DAY_PARTS);
const DAY_OF_OTHER_YEAR = new Intl.DateTimeFormat("en-GB", {...DAY_PARTS, year: "numeric"});
const MOMENT = new Intl.DateTimeFormat("en-GB", {dateStyle: "medium", timeStyle: "short"});
const NOTHING = "–";

const orNothing = (words) => (value) => value == null ? NOTHING : words(value);
const whole = orNothing((value) => WHOLE.format(value));
const short = orNothing((value) => value < 10_000 ? WHOLE.format(value) : SHORT.format(value));
const percent = orNothing((value) => {
  // Not quite all is not all.
  const tenths = value < 1 ? Math.min(Math.round(value * 1000), 999) : 1000;
  return `${tenths % 10 ? (tenths / 10).toFixed(1) : tenths / 10}%`;
});
const time = orNothing((ms) => {
  const [unit, name] = UNITS.find(([unit]) => ms >= unit) ?? UNITS.at(-1);
  return `${Number((ms / unit).toPrecision(ms / unit < 10 ? 2 : 3))} ${name}`;
});

const dayDate = (day) => new Date(day * DAY_MS);
const yearOf = (day) => dayDate(day).getUTCFullYear();

function dayWords(day) {
  const words = yearOf(day) === yearOf(TODAY) ? DAY : DAY_OF_OTHER_YEAR;
  return words.format(dayDate(day));
}

function counted(number, one, many = `${one}s`) {
  return `${whole(number)} ${number === 1 ? one : many}`;
}

/** About `most` marks for an axis of times that begins and ends there. */
function timeMarks(from, to, most) {
  const within = (marks) => marks.filter((mark) => from <= mark && mark <= to);
  return [FINE, MIDDLE].map(within).find((marks) => marks.length <= most) ?? within(COARSE);
}
