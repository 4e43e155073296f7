/* main.js - the head of the page, and everything in its order */
function jobName() {
  const inputs = String(jobOf('inputs') || '').split('\n').filter(x => x)
    .map(x => x.replace(/\/+$/, '').split('/').pop());
  return jobOf('job') || inputs.slice(0, 3).join(', ') +
    (inputs.length > 3 ? ' and ' + (inputs.length - 3) + ' more' : '') ||
    'A job';
}

function tile(name, value, small) {
  return el('div', null, el('dt', null, name), el('dd', null, value,
    small ? ' ' : null, small ? el('small', null, small) : null));
}

function tiles() {
  const all = k => mean(data.times[k]);
  const [computing, waiting, free] = KINDS.map(([k]) => all(k));
  const total = (computing || 0) + (waiting || 0) + (free || 0);
  const share = v => total > 0 ? percent(v / total * 100) : '–';
  const expected = rowsOf('states').reduce((t, r) => t + (r.expected || 0), 0);
  const list = [
    tile('Ranks present', count(stateCount('present')), 'of ' +
      count(expected)),
    tile('Steps', count(data.fold.steps), steps.length && data.fold.steps > 1
      ? range(rowsOf('steps')[0].first, rowsOf('steps')[steps.length - 1].last)
      : ''),
    tile('Step time, mean', total > 0 ? ms(total) : '–'),
    tile('Computing', share(computing)),
    tile('Communication, not overlapped', share(waiting)),
    tile('Free', share(free)),
    tile('Findings', count(rowsOf('finding_counts').reduce((t, r) => t + r.n,
      0)))];
  byId('tiles').append(...list);
}

/* What one has to know before anything else is believed. */
function verdict() {
  const absent = rowsOf('states').filter(r => r.state !== 'present');
  const v = byId('verdict');
  const n = absent.reduce((t, r) => t + r.n, 0);
  if (jobOf('other_jobs'))
    v.after(note(jobOf('other_jobs') + '.'));
  if (!n) {
    v.textContent = 'Every rank that was expected is here.';
    return;
  }
  v.className = 'verdict note bad';
  v.append(el('strong', null, absent.map(r => many(r.n, 'rank') + ' ' + r.state)
    .join(', ') + '. '), 'Everything else on this page shows only the data ',
  'that arrived. ',
  el('a', {href: '#roll'}, 'Who, and why'));
}

function about() {
  const rows = rowsOf('job').filter(r => r.value !== null)
    .sort((a, b) => a.key < b.key ? -1 : 1);
  byId('about').append(el('dl', {class: 'facts'}, ...rows.flatMap(r => [
    el('dt', null, r.key.replace(/_/g, ' ')), el('dd', null, String(r.value))])
  ), note((foldedRanks ? count(data.fold.ranks) + ' ranks are folded into ' +
    count(places.length) + ' places. ' : '') + (foldedSteps ?
    count(data.fold.steps) + ' steps are folded into ' + count(steps.length) +
    ' places. ' : '') + 'To link to a table, add ?filter=TEXT and '
    + '&sort=COLUMN (or -COLUMN) to the name of its section, as in '
    + '#time?sort=-computing.'));
}

function goToAddress() {
  const a = fromAddress(), section = a.section && byId(a.section);
  if (!section || (a.filter === null && !a.sort))
    return;
  section.querySelectorAll('details').forEach(d => {
    if (d.fill && !d.closest('td')) {
      d.fill();
      d.open = true;
    }
  });
  if (tables[a.section])
    tables[a.section].apply(a.filter, a.sort);
  section.scrollIntoView();
}

function drawAll() {
  byId('title').textContent = jobName();
  document.title = jobName() + ' – rollcall report';
  for (const part of [verdict, tiles, findings, rollCall, timeSection,
    heatSection, linkSection, waitSection, groupSection, packetSection,
    memorySection, about])
    part();
  goToAddress();
}

const PRINT_WIDTH = 680;                // of A4 within its margins, in pixels

addEventListener('hashchange', goToAddress);
addEventListener('beforeprint', () =>
  charts.forEach(c => redraw(c, PRINT_WIDTH)));
addEventListener('afterprint', () => charts.forEach(c => redraw(c)));
new ResizeObserver(() => charts.forEach(c => {
  if (c.element.clientWidth && c.element.clientWidth !== c.width)
    redraw(c);
})).observe(document.querySelector('main'));
drawAll();
document.documentElement.dataset.ready = Math.round(performance.now());
