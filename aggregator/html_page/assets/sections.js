/* sections.js - findings, the roll, the time of ranks and steps */
const SEVERITIES = ['high', 'medium', 'low', 'note'];   // most serious first
const STATES = {present: 'good', partial: 'warn', raw: 'warn', unexpected:
  'warn', failed: 'bad', missing: 'bad'};
const STATE_MARKS = {partial: '½', raw: 'raw', unexpected: '?', failed: '!',
  missing: '×'};

const jobOf = key => {
  const row = rowsOf('job').find(r => r.key === key);
  return row ? row.value : null;
};
const stateCount = s => rowsOf('states').filter(r => r.state === s)
  .reduce((t, r) => t + r.n, 0);
const places = rowsOf('places');
const steps = rowsOf('steps').map(s => s.unnamed ? 'all'
  : range(s.first, s.last));
const placeName = p => range(p.first, p.last);
const placeLong = p => (p.first === p.last ? 'rank ' : 'ranks ') + placeName(p)
  + (p.hosts === 1 ? ' on ' + p.host : p.hosts > 1 ? ' on ' +
    many(p.hosts, 'host') : '');
const foldedRanks = data.fold.ranks > places.length;
const foldedSteps = data.fold.steps > steps.length;

/* ---- findings ---- */

const gravity = s => {
  const i = SEVERITIES.indexOf(s);
  return i < 0 ? SEVERITIES.length : i;
};

function severityBadge(s) {
  const g = gravity(s);
  return el('span', {class: 'badge ' + (['bad', 'warn'][g] || '')},
    s || 'finding');
}

function findingText(f) {
  const inside = [el('span', null, f.text || f.kind || '')];
  if (f.hint)
    inside.push(el('span', {class: 'more'}, 'Next: ' + f.hint));
  if (f.query || f.rule)
    inside.push(folded('Query and rule', () => el('div', null,
      f.query ? el('pre', {tabindex: '0'}, f.query) : null,
      f.rule ? el('p', null, 'Rule: ' + f.rule) : null)));
  return el('div', null, ...inside);
}

function findings() {
  const s = byId('findings'), list = rowsOf('findings');
  list.forEach(f => { f.gravity = gravity(f.severity); });
  const all = rowsOf('finding_counts').reduce((t, r) => t + r.n, 0);
  if (!list.length) {
    s.append(note('This result has no findings.'));
    return;
  }
  if (all > list.length)
    s.append(note('The first ' + count(list.length) + ' of ' + count(all) +
      ' findings; analysis.db has all of them.'));
  const t = new Table('findings', 'Findings', [
    {key: 'id', label: 'No.'},
    {key: 'gravity', label: 'Severity', text: true,
      show: f => severityBadge(f.severity)},
    {key: 'text', label: 'What', text: true, wide: true, show: findingText},
    {key: 'rank', label: 'Rank', show: f => isNumber(f.peer)
      ? (f.rank ?? '–') + ' → ' + f.peer : f.rank},
    {key: 'effect_ms', label: 'Effect', unit: 'ms',
      show: f => short(f.effect_ms)},
    {key: 'effect_percent', label: 'Of step', unit: '%',
      show: f => isNumber(f.effect_percent) ? decimals(f.effect_percent, 1)
        : '–'},
    {key: 'step', label: 'Step', show: f => String(f.step ?? '–')
      .replace(/^step/, '')},
    {key: 'kind', label: 'Kind', text: true,
      show: f => String(f.kind || '').replace(/_/g, ' ')},
  ], list);
  s.append(t.element);
}

/* ---- roll call ---- */

function rankMark(r) {
  const text = r.state === 'present' ? String(r.rank)
    : r.rank + ' ' + (STATE_MARKS[r.state] || '?');
  return el('span', {class: STATES[r.state] || 'warn', title: 'rank ' + r.rank +
    ': ' + r.state + (r.reason ? ': ' + r.reason : '')}, text);
}

const HOSTS_WHOLE_MAX = 32;             // more that are whole are one line

function hostsOf(roll) {
  const hosts = new Map();
  roll.slice().sort((a, b) => a.rank - b.rank).forEach(r => {
    const name = r.host || 'host not known';
    if (!hosts.has(name))
      hosts.set(name, []);
    hosts.get(name).push(r);
  });
  return [...hosts];
}

function hostList(roll) {
  const hosts = hostsOf(roll), whole = hosts.filter(([, ranks]) =>
    ranks.every(r => r.state === 'present'));
  const brief = whole.length > HOSTS_WHOLE_MAX;
  const digits = String(Math.max(...roll.map(r => r.rank))).length;
  const list = el('ul', {class: 'hosts'}, ...hosts.filter(h =>
    !brief || !whole.includes(h)).map(([name, ranks]) =>
    el('li', null, el('b', null, name),
      el('span', {class: 'ranks'}, ...ranks.map(rankMark)))));
  list.style.setProperty('--digits', digits);
  return el('div', null, brief ? el('p', null, 'Not drawn: ' +
    count(whole.length) + ' hosts (' + whole[0][0] + ' … ' +
    whole[whole.length - 1][0] + '), all of whose known ranks are ' +
    'present.') : null, list);
}

const rollColumns = [
  {key: 'rank', label: 'Rank'},
  {key: 'host', label: 'Host', text: true},
  {key: 'device_id', label: 'Device'},
  {key: 'state', label: 'State', text: true, show: r =>
    el('span', {class: 'badge ' + (STATES[r.state] || '')}, r.state)},
  {key: 'clock_ms', label: 'Clock offset', unit: 'ms',
    show: r => isNumber(r.clock_ms) ? decimals(r.clock_ms, 3) : '–'},
  {key: 'reason', label: 'Reason', text: true, wide: true},
];

/* "2–5, 8" of sorted numbers. */
function rangesOf(ranks) {
  const list = [];
  for (const r of ranks) {
    const last = list[list.length - 1];
    if (last && r === last[1] + 1)
      last[1] = r;
    else
      list.push([r, r]);
  }
  return list.map(([a, b]) => range(a, b)).join(', ');
}

/* Ranks with the same state and reason are one row. */
function absentTable(absent) {
  const rows = new Map();
  absent.slice().sort((a, b) => a.rank - b.rank).forEach(r => {
    const key = JSON.stringify([r.state, r.reason]);
    if (!rows.has(key))
      rows.set(key, {first: r.rank, state: r.state, reason: r.reason,
        ranks: [], hosts: new Set()});
    rows.get(key).ranks.push(r.rank);
    if (r.host)
      rows.get(key).hosts.add(r.host);
  });
  return new Table(null, 'Ranks that are not present', [
    {key: 'first', label: 'Ranks', text: true, show: r => rangesOf(r.ranks)},
    {key: 'host', label: 'Host', text: true, show: r => r.hosts.size > 1
      ? many(r.hosts.size, 'host') : [...r.hosts][0]},
    ...rollColumns.filter(c => c.key === 'state' || c.key === 'reason'),
  ], [...rows.values()]);
}

function rollCall() {
  const s = byId('roll'), roll = rowsOf('roll'), strays = rowsOf('strays');
  const absent = roll.filter(r => r.state !== 'present');
  const all = rowsOf('states').reduce((t, r) => t + r.n, 0);
  s.append(note(rowsOf('states').map(r => count(r.n) + ' ' + r.state)
    .join(', ') + '. Expected ranks come from: ' +
    (jobOf('roster_known_by') || 'not known') + '.'));
  if (absent.length)
    s.append(el('h3', null, 'Not present'), absentTable(absent).element);
  if (strays.length)
    s.append(el('h3', null, 'Captures of no rank'), new Table(null,
      'Captures of no rank', [
        {key: 'name', label: 'Capture', text: true},
        {key: 'host', label: 'Host', text: true},
        {key: 'state', label: 'State', text: true},
        {key: 'reason', label: 'Reason', text: true, wide: true}], strays)
      .element);
  s.append(el('h3', null, 'By host'));
  if (all > roll.length)
    s.append(note('Shown are ' + count(roll.length) + ' of ' + count(all) +
      ' ranks, first those that are not present.'));
  s.append(hostList(roll));
  s.append(folded('Table of all ranks', () =>
    new Table('roll', 'All ranks', rollColumns, roll).element));
}

/* ---- time ---- */

const KINDS = [['computing', 'Computing'],
  ['communication', 'Communication, not overlapped'], ['free', 'Free']];

/* A place's row: means over its steps, or of one step (-1: all). */
function timeRow(p, i, step) {
  const r = {place: i, rank: p.first, name: placeName(p), host: p.host,
    state: p.state};
  for (const key of Object.keys(data.times)) {
    const from = i * steps.length, all = data.times[key];
    r[key] = orNull(step < 0 ? mean(all.slice(from, from + steps.length))
      : all[from + step]);
  }
  const known = KINDS.some(([k]) => isNumber(r[k]));
  r.total = known ? KINDS.reduce((t, [k]) => t + (r[k] || 0), 0) : null;
  return r;
}

function timeRows(step) {
  const rows = places.map((p, i) => timeRow(p, i, step));
  const m = median(rows.map(r => r.computing));
  rows.forEach(r => {
    r.beside = m > 0 && isNumber(r.computing) ? (r.computing / m - 1) * 100
      : null;
  });
  return rows;
}

function timeTable(rows, onchange) {
  const number = (key, label) => ({key, label, unit: 'ms',
    show: r => decimals(r[key], 2)});
  const extra = ['bubble', 'preparing'].filter(k =>
    rows.some(r => r[k] > 0)).map(k => number(k, k[0].toUpperCase() +
      k.slice(1)));
  return new Table(null, 'Mean of the steps, or the step chosen above', [
    {key: 'rank', label: foldedRanks ? 'Ranks' : 'Rank', show: r => r.name},
    {key: 'host', label: 'Host', text: true},
    number('total', 'Step'), number('computing', 'Computing'),
    {key: 'beside', label: 'vs. median', unit: '%',
      show: r => signed(r.beside)},
    number('communication', 'Not overlapped'),
    number('overlapped', 'Overlapped'), number('free', 'Free'), ...extra,
  ], rows, onchange);
}

function timeTell(r) {
  const p = placeLong(places[r.place]);
  return r.total === null ? p + ': no time (' + r.state + ')'
    : p + ': step ' + ms(r.total) + ' = ' + KINDS.map(([k, t]) =>
      t.toLowerCase() + ' ' + ms(r[k])).join(' + ') + '; computing ' +
      signed(r.beside) + ' compared with the median';
}

function timeSection() {
  const s = byId('time');
  if (!data.times.computing.some(isNumber)) {
    s.append(note('No capture of this job has the times of steps.'));
    return;
  }
  const holder = el('div'), tableHolder = el('div');
  let shown = [], chart = null;
  const spec = () => ({labels: shown.map(r => r.name),
    series: KINDS.map(([k, name]) => ({name, css: k,
      values: shown.map(r => r[k])})),
    gone: shown.map(r => r.total === null),
    xTitle: foldedRanks ? 'Ranks, folded: the mean of each range' : 'Rank',
    yTitle: 'Time of a step, ms', tell: i => timeTell(shown[i])});
  const change = rows => {
    shown = rows;
    if (chart)
      redraw(chart);
  };
  const fill = step => {
    const t = timeTable(timeRows(step), change), old = tables.time;
    tables.time = t;
    if (old) {
      t.apply(old.filter, old.sort ? (old.down ? '-' : '') + old.sort.key
        : null);
    }
    tableHolder.replaceChildren(t.scroll, t.more);
    tools.replaceChildren(stepChoice, ...t.tools.children);
  };
  const tools = el('div', {class: 'tools'});
  const stepChoice = choice('Step', [['-1', 'mean of ' +
    many(data.fold.steps, 'step')]].concat(steps.map((x, i) => [String(i), x])),
    v => fill(Number(v)));
  s.append(tools, legend(KINDS.map(([k, t]) => [k, t])
    .concat(stateCount('missing') + stateCount('failed') + stateCount('raw')
      ? [['gone', 'no data']] : [])), holder);
  const d = folded('Table', () => tableHolder);
  s.append(d);
  d.append(tableHolder);
  fill(-1);
  chart = bars(holder, 'Step time of each rank, stacked', spec);
}

/* ---- ranks x steps ---- */

const MEASURES = {
  'computing': ['Computing', (p, j) => timeAt('computing', p, j)],
  'total': ['Step time', (p, j) => KINDS.reduce((t, [k]) =>
    t + (timeAt(k, p, j) || 0), 0) || null],
  'communication': ['Communication, not overlapped',
    (p, j) => timeAt('communication', p, j)],
  'free': ['Free', (p, j) => timeAt('free', p, j)],
};

const timeAt = (kind, p, step) => data.times[kind][p * steps.length + step];

/* Values, also in percent above the median of their step. */
function heatValues(measure) {
  const get = MEASURES[measure][1];
  const raw = places.map((_, p) => steps.map((__, j) => get(p, j)));
  const middles = steps.map((_, j) => median(raw.map(r => r[j])));
  return {raw, beside: raw.map(r => r.map((v, j) => isNumber(v) &&
    middles[j] > 0 ? (v / middles[j] - 1) * 100 : null)), middles};
}

function heatSpec(measure, how) {
  const v = heatValues(measure), beside = how === 'beside';
  const flip = steps.length > places.length;     // the longer side lies
  const pick = (i, j) => flip ? [j, i] : [i, j];
  const table = beside ? v.beside : v.raw;
  const ranks = places.map(placeName);
  const rankTitle = foldedRanks ? 'Ranks, folded' : 'Rank';
  const stepTitle = foldedSteps ? 'Steps, folded' : 'Step';
  return {nx: flip ? steps.length : places.length,
    ny: flip ? places.length : steps.length,
    value: (i, j) => { const [p, q] = pick(i, j); return table[p][q]; },
    gone: () => true, goneText: 'no data',
    scale: beside ? deviation(5, 1) : amounts(v.raw.flat(), 'ms'),
    xLabels: flip ? steps : ranks, yLabels: flip ? ranks : steps,
    xTitle: flip ? stepTitle : rankTitle, yTitle: flip ? rankTitle : stepTitle,
    tell: (i, j) => {
      const [p, q] = pick(i, j);
      return placeLong(places[p]) + ', step ' + steps[q] + ': ' +
        (isNumber(v.raw[p][q]) ? MEASURES[measure][0].toLowerCase() + ' ' +
          ms(v.raw[p][q]) + ', ' + signed(v.beside[p][q]) +
          ' compared with the median of the step, ' + ms(v.middles[q])
          : 'no data (' + places[p].state + ')');
    }};
}

function heatSection() {
  const s = byId('heat');
  if (!data.times.computing.some(isNumber)) {
    s.append(note('No capture of this job has the times of steps.'));
    return;
  }
  let measure = 'computing', how = 'beside', chart = null;
  s.append(el('div', {class: 'tools'},
    choice('Time', Object.entries(MEASURES).map(([k, m]) => [k, m[0]]), v => {
      measure = v;
      redraw(chart);
    }), choice('Colour', [['beside', 'compared with the median of the step'],
      ['amount', 'milliseconds']], v => {
      how = v;
      redraw(chart);
    })));
  chart = grid(s, 'Time by rank and step', () => heatSpec(measure, how));
  s.append(folded('Table of steps', () => heatTable().element));
}

function heatTable() {
  const v = heatValues('computing'), total = heatValues('total');
  const rows = steps.map((name, j) => {
    const column = v.raw.map(r => r[j]);
    const most = column.reduce((b, x, i) => isNumber(x) &&
      (b < 0 || x > column[b]) ? i : b, -1);
    return {step: j, name, total: orNull(total.middles[j]),
      middle: orNull(v.middles[j]), most: most < 0 ? null : column[most],
      who: most < 0 ? null : places[most].first,
      label: most < 0 ? '–' : placeName(places[most]),
      beside: most < 0 ? null : v.beside[most][j]};
  });
  return new Table('heat', 'Steps', [
    {key: 'step', label: 'Step', show: r => r.name},
    {key: 'total', label: 'Median step', unit: 'ms', show: r => short(r.total)},
    {key: 'middle', label: 'Median computing', unit: 'ms',
      show: r => short(r.middle)},
    {key: 'who', label: 'Slowest rank', show: r => r.label},
    {key: 'most', label: 'Its computing', unit: 'ms', show: r => short(r.most)},
    {key: 'beside', label: 'vs. median', unit: '%',
      show: r => signed(r.beside)},
  ], rows);
}
