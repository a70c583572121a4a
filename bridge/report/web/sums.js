// Sums of cells, with what follows from them.

/** Counts of times by bucket, which add up. */
class Times {
  #counts = new Map();
  #sorted = null;
  total = 0;

  /** Add a list of pairs: how much further the next bucket is, and its count. */
  add(pairs) {
    let bucket = 0;
    this.#sorted = null;
    for (let at = 0; at < pairs.length; at += 2) {
      bucket += pairs[at];
      this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + pairs[at + 1]);
      this.total += pairs[at + 1];
    }
  }

  /** The least time, in ms, that this share of all does not exceed; or null. */
  quantile(share) {
    let rank = Math.max(1, Math.ceil(share * this.total));
    this.#sorted ??= [...this.#counts.keys()].sort((a, b) => a - b);
    for (const bucket of this.#sorted) {
      rank -= this.#counts.get(bucket);
      if (rank <= 0) return told.base ** (bucket + 0.5);
    }
    return null;
  }

  /** Bars of about a quarter of an octave: {from, to, count}, times in ms. */
  bars() {
    const wide = Math.max(1, Math.round(Math.log(2 ** 0.375) / Math.log(told.base)));
    const bars = new Map();
    for (const [bucket, count] of this.#counts) {
      const bar = Math.floor(bucket / wide);
      bars.set(bar, (bars.get(bar) ?? 0) + count);
    }
    return [...bars].sort(([a], [b]) => a - b).map(([bar, count]) => ({
      from: told.base ** (bar * wide),
      to: told.base ** ((bar + 1) * wide),
      count
    }));
  }
}

function share(part, whole) {
  return whole ? part / whole : null;
}

/** What some requests came to. */
class Sum {
  failures = new Map();
  durations = new Times();
  waits = new Times();

  constructor(rows = []) {
    for (const count of COUNTS) this[count] = 0;
    for (const row of rows) this.add(row);
  }

  add(row) {
    const {cells} = told;
    for (const count of COUNTS) this[count] += cells[count][row];
    const failures = cells.failures[row];
    for (let at = 0; at < failures.length; at += 2) {
      const before = this.failures.get(failures[at]) ?? 0;
      this.failures.set(failures[at], before + failures[at + 1]);
    }
    this.durations.add(cells.durations[row]);
    this.waits.add(cells.waits[row]);
  }

  get failed() { return this.ended - this.succeeded; }
  get successRate() { return share(this.succeeded, this.ended); }
  get verifiedShare() { return share(this.verified, this.verifiable); }
  /** Those that count against budgets; null if no request has told of any. */
  get tokens() {
    if (this.ended && this.withoutUsage >= this.ended) return null;
    return this.inputTokens + this.cacheWriteTokens + this.outputTokens;
  }
  get p50() { return this.durations.quantile(0.5); }
  get p95() { return this.durations.quantile(0.95); }
  get wait50() { return this.waits.quantile(0.5); }
  get wait95() { return this.waits.quantile(0.95); }
}

/** The rows of a table in columns whose day is within bounds, both included. */
function rowsBetween(table, first, last) {
  return table.day.flatMap((day, row) =>
    first <= DAYS[day] && DAYS[day] <= last ? [row] : []
  );
}

/** Rows in groups, by what `key` makes of each: a Map. */
function groups(rows, key) {
  const found = new Map();
  for (const row of rows) {
    const group = found.get(key(row));
    if (group) group.push(row);
    else found.set(key(row), [row]);
  }
  return found;
}
