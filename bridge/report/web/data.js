// What the page is told; bridge/report/page_data.py says in what form.

const told = JSON.parse(document.getElementById("data").textContent);

const DAY_MS = 86_400_000;
const COUNTS = [
  "ended", "succeeded", "retries", "corrections", "verifiable", "verified", "degraded",
  "inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens", "withoutUsage"
];

/** A day such as "2026-11-27", as a number of days that only counts on. */
function dayNumber(day) {
  return Math.floor(Date.parse(`${day}T00:00:00Z`) / DAY_MS);
}

/** Text in which nothing hides: controls and reordering marks as \u{202e}. */
function shown(text) {
  if (text && !text.trim()) return JSON.stringify(text);
  // A joiner inside an emoji is no secret.
  return text.replace(
    /(?!\u200d\p{Extended_Pictographic})[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu,
    (odd) => `\\u{${odd.codePointAt(0).toString(16)}}`
  );
}

/** The names of a column, in the order of their numbers; one may stand for the rest. */
function namesOf(column, unnamed) {
  const names = told.names[column].map((name) => shown(name) || unnamed);
  return told.others.includes(column) ? [...names, "(others)"] : names;
}

const NAMES = {
  agent: namesOf("agent", "(unknown)"),
  route: namesOf("route", "(unknown)"),
  model: namesOf("model", "(unknown)"),
  code: namesOf("code", "(none)"),
  flow: namesOf("flow", "(no name)"),
  status: namesOf("status", "(none)")
};
const DAYS = told.days.map(dayNumber);
const TODAY = dayNumber(told.today);
