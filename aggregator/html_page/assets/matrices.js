/* matrices.js - links, waiting, groups, packets, memory */
const ends = rowsOf('ends');
const endName = e => data.fold.by_host && e.hosts === 1 && e.host ? e.host
  : data.fold.by_host && e.host ? e.host + ' … ' + e.last_host
    : range(e.first, e.last);
const endLong = e => (e.ranks === 1 ? 'rank ' + e.first
  : endName(e) + ' (' + many(e.ranks, 'rank') + ')') +
  (!data.fold.by_host && e.hosts === 1 ? ' on ' + e.host : '');
const endKind = data.fold.by_host ? 'host'
  : ends.some(e => e.ranks > 1) ? 'ranks' : 'rank';
const absent = new Set(rowsOf('roll').filter(r => r.state !== 'present')
  .map(r => r.rank));
const endAbsent = e => e.ranks === 1 && absent.has(e.first);

/* What the links of a cell are together; null without any. */
function joined(links) {
  const sum = key => links.reduce((t, l) => t + (l[key] || 0), 0);
  const slow = links.reduce((a, b) =>
    isNumber(b.beside) && !(a.beside <= b.beside) ? b : a, links[0]);
  return links.length ? {mb: sum('mb'), ms: sum('ms'), links: sum('links'),
    gbps: sum('mb') / sum('ms'), slow, transports:
      links.map(l => l.transport || 'not known').join(', '),
    beside: slow.beside} : null;
}

/* ---- links ---- */

/* A link is compared with the median of its transport; of several in a cell it
 * is the slowest one.
 */
function linkRows() {
  const rows = rowsOf('links'), kinds = new Map();
  rows.forEach(l => {
    l.gbps = l.mb / l.ms;
    if (!kinds.has(l.transport))
      kinds.set(l.transport, []);
    kinds.get(l.transport).push(l.slowest);
  });
  rows.forEach(l => {
    const m = median(kinds.get(l.transport));
    l.beside = isNumber(l.slowest) && m > 0 ? (l.slowest / m - 1) * 100 : null;
    l.src_name = endName(ends[l.src]);
    l.dst_name = endName(ends[l.dst]);
  });
  return {rows, kinds: [...kinds.keys()].sort()};
}

const LINK_VIEWS = {
  beside: ['compared with the median of its transport', c => c.beside,
    () => deviation(5, -1)],
  gbps: ['bandwidth, GB/s', c => c.gbps, v => amounts(v, 'GB/s')],
  mb: ['data moved, MB', c => c.mb, v => amounts(v, 'MB', 2)],
};

function linkTell(c, i, j) {
  const where = endLong(ends[j]) + ' → ' + endLong(ends[i]);
  if (!c)
    return where + ': no link was used';
  return where + ': ' + gbps(c.gbps) + ', ' + megabytes(c.mb) + ' over ' +
    c.transports + (c.links > 1 && isNumber(c.beside) ? ', ' +
    many(c.links, 'link') + '; the slowest, ' + c.slow.slowest_src + ' → ' +
    c.slow.slowest_dst + ': ' + gbps(c.slow.slowest) : '') +
    (isNumber(c.beside) ? ', ' + signed(c.beside) +
    ' compared with the median of its transport' : '');
}

function linkSpec(rows, transport, view) {
  const cells = ends.map(() => ends.map(() => null));
  ends.forEach((_, j) => ends.forEach((__, i) => { cells[j][i] = []; }));
  rows.filter(l => transport === '' || String(l.transport) === transport)
    .forEach(l => cells[l.src][l.dst].push(l));
  const sums = cells.map(r => r.map(joined)), get = LINK_VIEWS[view][1];
  const names = ends.map(endName);
  const value = (i, j) => sums[j][i] ? get(sums[j][i]) : null;
  return {nx: ends.length, ny: ends.length, square: true, value,
    gone: (i, j) => endAbsent(ends[j]) || endAbsent(ends[i]),
    goneText: ends.some(endAbsent) ? 'no data of a rank' : null,
    scale: LINK_VIEWS[view][2](sums.flat().map(c => c ? get(c) : null)),
    xLabels: names, yLabels: names, xTitle: 'Destination ' + endKind,
    yTitle: 'Source ' + endKind, tell: (i, j) => linkTell(sums[j][i], i, j)};
}

function linkTable(rows) {
  const t = new Table('links', data.fold.by_host
    ? 'Links, added up by host and transport' : 'Links', [
    {key: 'src', label: 'Source', show: l => l.src_name},
    {key: 'dst', label: 'Destination', show: l => l.dst_name},
    {key: 'transport', label: 'Transport', text: true},
    {key: 'gbps', label: 'Bandwidth', unit: 'GB/s', show: l => short(l.gbps)},
    {key: 'beside', label: 'vs. median', unit: '%',
      show: l => signed(l.beside)},
    {key: 'mb', label: 'Data', unit: 'MB', show: l => short(l.mb)},
    {key: 'ms', label: 'Time', unit: 'ms', show: l => short(l.ms)},
    {key: 'slowest', label: 'Slowest link', unit: 'GB/s', show: l =>
      short(l.slowest) + ' (' + l.slowest_src + ' → ' + l.slowest_dst + ')'},
  ], rows);
  t.sortBy(t.columns[4], false);
  return t;
}

function linkSection() {
  const s = byId('links'), {rows, kinds} = linkRows();
  if (!rows.length) {
    s.append(note('No capture of this job has link totals (the profiler ' +
      'records them from level 1 on).'));
    return;
  }
  let transport = '', view = 'beside', chart = null;
  s.append(el('div', {class: 'tools'},
    choice('Transport', [['', 'all']].concat(kinds.map(k => [String(k),
      k || 'not known'])), v => {
      transport = v;
      redraw(chart);
    }), choice('Colour', Object.entries(LINK_VIEWS).map(([k, v]) => [k, v[0]]),
      v => {
        view = v;
        redraw(chart);
      })));
  chart = grid(s, 'Bandwidth from each ' + endKind + ' to each other',
    () => linkSpec(rows, transport, view));
  s.append(folded('Table of links', () => linkTable(rows).element));
}

/* ---- waiting ---- */

function waitSpec() {
  const cells = ends.map(() => ends.map(() => null));
  rowsOf('waits').forEach(w => { cells[w.waiting][w.late] = w; });
  const names = ends.map(endName);
  return {nx: ends.length, ny: ends.length, square: true,
    value: (i, j) => cells[j][i] ? cells[j][i].wait_ms : null,
    gone: (i, j) => endAbsent(ends[j]) || endAbsent(ends[i]),
    goneText: ends.some(endAbsent) ? 'no data of a rank' : null,
    scale: amounts(cells.flat().map(c => c && c.wait_ms),
      'ms waited in all steps', 2),
    xLabels: names, yLabels: names, xTitle: 'Late ' + endKind,
    yTitle: 'Waiting ' + endKind,
    tell: (i, j) => {
      const c = cells[j][i];
      return endLong(ends[j]) + (c ? ' waited ' + ms(c.wait_ms) + ' for ' +
        endLong(ends[i]) + ' in ' + many(c.ops, 'op') + ' of all steps'
        : ' did not wait for ' + endLong(ends[i]));
    }};
}

function waitSection() {
  const s = byId('blame'), late = rowsOf('late');
  if (!late.length) {
    s.append(note('No op of this job shows which rank came last: that takes ' +
      'ops that all ranks of a group recorded.'));
    return;
  }
  if (Number(jobOf('wait_ops_incomplete')) > 0)
    s.append(note('Ops that are not counted, because a rank of their group ' +
      'did not record them: ' + count(Number(jobOf('wait_ops_incomplete'))) +
      '.', 'bad'));
  if (late[0].late_ranks > late.length)
    s.append(note('The table has the ' + count(late.length) + ' of ' +
      count(late[0].late_ranks) + ' late ranks that others waited for most.'));
  grid(s, 'Waiting time of each ' + endKind + ' for each other', waitSpec);
  s.append(folded('Table of late ranks', () => new Table('blame',
    'Ranks that others waited for', [
      {key: 'rank', label: 'Late rank'},
      {key: 'host', label: 'Host', text: true},
      {key: 'wait_ms', label: 'Others waited in all steps', unit: 'ms',
        show: r => short(r.wait_ms)},
      {key: 'ops', label: 'Waits', show: r => count(r.ops)},
      {key: 'waiting', label: 'Ranks waiting', show: r => count(r.waiting)},
      {key: 'steps', label: 'Steps', show: r => count(r.steps)},
      {key: 'clock_ms', label: 'Clocks differ by up to', unit: 'ms',
        show: r => isNumber(r.clock_ms) ? decimals(r.clock_ms, 3) : '–'},
    ], late).element));
}

/* ---- groups ---- */

const GROUPS_DRAWN = 20;

function groupSection() {
  const s = byId('groups'), groups = rowsOf('groups');
  if (!groups.length) {
    s.append(note('No capture of this job names a group.'));
    return;
  }
  groups.forEach(g => {
    g.name = (g.pg_name || 'group') + ' (' + (g.group_id || g.group_name ||
      g.id) + ')';
    g.rest = isNumber(g.ms) ? Math.max(0, g.ms - (g.wait_ms || 0)) : null;
    g.share = g.ms > 0 && isNumber(g.wait_ms) ? g.wait_ms / g.ms * 100 : null;
  });
  const all = rowsOf('group_count')[0].n;
  let shown = groups.slice(0, GROUPS_DRAWN);
  if (all > groups.length)
    s.append(note('The ' + count(groups.length) + ' of ' + count(all) +
      ' groups that take the most time.'));
  const holder = el('div');
  s.append(legend([['rest', 'Moving data'], ['wait', 'Waiting']]), holder);
  const chart = lines(holder, 'Communication time of a rank by group', () => ({
    labels: shown.map(g => g.name), series: [
      {css: 'rest', values: shown.map(g => g.rest)},
      {css: 'wait', values: shown.map(g => g.ms === null ? null : g.wait_ms)}],
    tell: i => shown[i].name + ': ' + many(shown[i].ranks || 0, 'rank') +
      ', ' + ms(shown[i].ms) + ' each, ' + percent(shown[i].share) +
      ' of it waiting'}));
  const t = new Table('groups', 'Groups', [
    {key: 'name', label: 'Group', text: true},
    {key: 'type', label: 'Type', text: true},
    {key: 'size', label: 'Size', show: g => count(g.size)},
    {key: 'ranks', label: 'Ranks seen', show: g => count(g.ranks)},
    {key: 'ops', label: 'Ops of all ranks', show: g => count(g.ops)},
    {key: 'ms', label: 'Time of a rank', unit: 'ms', show: g => short(g.ms)},
    {key: 'wait_ms', label: 'Waiting', unit: 'ms',
      show: g => short(g.wait_ms)},
    {key: 'share', label: 'Waiting', unit: '%', show: g => isNumber(g.share)
      ? decimals(g.share, 1) : '–'},
  ], groups, rows => {
    shown = rows.slice(0, GROUPS_DRAWN);
    redraw(chart);
  });
  s.append(folded('Table of groups', () => t.element));
}

/* ---- packets ---- */

/* 2^power MB, as a size. */
function sizeName(power) {
  const n = ['B', 'KB', 'MB', 'GB'], k = Math.floor(power / 10) + 2;
  const i = Math.min(3, Math.max(0, k));
  return count(2 ** (power + 20 - 10 * i)) + ' ' + n[i];
}

const PACKET_VIEWS = {
  mb: ['Share of the data', r => r.mb],
  count: ['Share of the packets', r => r.count],
  ms: ['Share of the time', r => r.ms],
};

function packetSection() {
  const s = byId('packets'), rows = rowsOf('packets');
  if (!rows.length) {
    s.append(note('No capture of this job has the sizes of packets.'));
    return;
  }
  const kinds = [...new Set(rows.map(r => r.transport))];
  const low = Math.min(...rows.map(r => r.power));
  const powers = d3.range(low, Math.max(...rows.map(r => r.power)) + 1);
  rows.forEach(r => { r.gbps = r.ms > 0 ? r.mb / r.ms : null; });
  let view = 'mb', chart = null;
  const at = (k, p) => rows.find(r => r.transport === k && r.power === p);
  const shares = k => {
    const get = PACKET_VIEWS[view][1];
    const sum = rows.filter(r => r.transport === k).reduce((t, r) =>
      t + get(r), 0);
    return powers.map(p => at(k, p) ? get(at(k, p)) / sum * 100 : null);
  };
  s.append(el('div', {class: 'tools'}, choice('Height',
    Object.entries(PACKET_VIEWS).map(([k, v]) => [k, v[0]]), v => {
      view = v;
      redraw(chart);
    })), legend(kinds.map((k, i) => ['t' + i, k])));
  chart = bars(s, 'Histogram of packet sizes by transport', () => ({
    labels: powers.map(sizeName), grouped: true,
    series: kinds.map((k, i) => ({name: k, css: 't' + i, values: shares(k)})),
    xTitle: 'Size of a packet, from this to twice as much',
    yTitle: PACKET_VIEWS[view][0] + ', % of the transport’s',
    tell: i => 'from ' + sizeName(powers[i]) + ': ' + (kinds.map(k =>
      at(k, powers[i])).filter(r => r).map(r => r.transport + ' ' +
        many(r.count, 'packet') + ', ' + megabytes(r.mb) + ', ' + gbps(r.gbps))
      .join('; ') || 'none')}), 260);
  s.append(folded('Table of packet sizes', () => new Table('packets',
    'Packets', [
      {key: 'transport', label: 'Transport', text: true},
      {key: 'power', label: 'Size from', show: r => sizeName(r.power)},
      {key: 'count', label: 'Packets', show: r => count(r.count)},
      {key: 'mb', label: 'Data', unit: 'MB', show: r => short(r.mb)},
      {key: 'ms', label: 'Time', unit: 'ms', show: r => short(r.ms)},
      {key: 'gbps', label: 'Bandwidth', unit: 'GB/s', show: r => short(r.gbps)},
    ], rows).element));
}

/* ---- memory ---- */

const memoryName = r => [r.component, r.kind].filter(x => x).join(' ');

function memorySection() {
  const s = byId('memory'), rows = rowsOf('memory');
  if (!rows.length) {
    s.append(note('No capture of this job has memory peaks.'));
    return;
  }
  const kinds = [...new Set(rows.map(memoryName))].map(name => ({name,
    rows: rows.filter(r => memoryName(r) === name)}));
  kinds.forEach(k => { k.most = Math.max(...k.rows.map(r => r.peak)); });
  kinds.sort((a, b) => b.most - a.most);
  rows.forEach(r => {
    r.name = placeName(places[r.place]);
    r.host = places[r.place].host;
    r.what = memoryName(r);
  });
  let kind = 0, chart = null;
  const values = () => {
    const v = places.map(() => null);
    kinds[kind].rows.forEach(r => { v[r.place] = r.peak / 1024; });
    return v;
  };
  s.append(el('div', {class: 'tools'}, choice('Peak of', kinds.map((k, i) =>
    [String(i), k.name]), v => {
      kind = Number(v);
      redraw(chart);
    })));
  chart = bars(s, 'Memory peak of each rank', () => {
    const v = values();
    return {labels: places.map(placeName), series: [{name: kinds[kind].name,
      css: 'bar', values: v}], gone: v.map(x => x === null),
      xTitle: foldedRanks ? 'Ranks, folded: the highest of each range' : 'Rank',
      yTitle: 'Peak, GiB', tell: i => placeLong(places[i]) + ': ' +
        kinds[kind].name + ' ' + (isNumber(v[i]) ? short(v[i]) + ' GiB'
        : 'not known')};
  }, 240);
  s.append(folded('Table of memory peaks', () => new Table('memory',
    'Memory peaks', [
      {key: 'place', label: foldedRanks ? 'Ranks' : 'Rank', show: r => r.name},
      {key: 'host', label: 'Host', text: true},
      {key: 'what', label: 'Peak of', text: true},
      {key: 'peak', label: 'Peak', unit: 'MiB', show: r => short(r.peak)},
    ], rows).element));
}
