/* charts.js - what charts share, and charts with bars */
const charts = [];                      // all of them, to be drawn again
const AXIS_LEFT = 64, AXIS_BELOW = 42;

/* A place for a chart in 'parent'.  draw(chart, width) fills chart.svg; what is
 * pointed at, or gone to by the arrow keys, is told below it.
 */
function addChart(parent, label, draw, idle) {
  const chart = {draw, at: null};
  chart.idle = idle || 'Point at the chart, or focus it and use the arrow keys,'
    + ' to read a value.';
  chart.holder = el('div');
  chart.readout = el('p', {class: 'readout idle', 'aria-live': 'polite'},
    chart.idle);
  chart.label = label;
  chart.element = el('figure', null, chart.holder, chart.readout);
  parent.append(chart.element);
  charts.push(chart);
  redraw(chart);
  return chart;
}

function redraw(chart, width) {
  const w = width || chart.element.clientWidth || 1000;
  chart.width = w;
  chart.cells = null;
  chart.holder.replaceChildren();
  chart.svg = d3.select(chart.holder).append('svg');
  chart.draw(chart, w);
  chart.svg.attr({role: 'img', 'aria-label': chart.label});
  if (chart.cells)
    listen(chart);
}

/* Sizes of the svg element; text is never scaled. */
function size(chart, width, height) {
  chart.svg.attr({width, height, viewBox: '0 0 ' + width + ' ' + height});
}

/* ---- pointing, and the arrow keys ----
 *
 * chart.cells = {nx, ny, at(px, py) -> [i, j] or null, box(i, j), tell(i, j)}
 */
function show(chart, place) {
  const c = chart.cells;
  chart.at = place;
  chart.svg.selectAll('.cursor').remove();
  chart.readout.classList.toggle('idle', !place);
  chart.readout.textContent = place ? c.tell(...place) : chart.idle;
  if (place) {
    const b = c.box(...place);
    chart.svg.append('rect').attr({class: 'cursor', x: b[0], y: b[1],
      width: Math.max(b[2], 1), height: Math.max(b[3], 1)});
  }
}

function onKey(chart, event) {
  const c = chart.cells, move = {ArrowLeft: [-1, 0], ArrowRight: [1, 0],
    ArrowUp: [0, -1], ArrowDown: [0, 1], Home: [-Infinity, 0],
    End: [Infinity, 0]}[event.key];
  if (event.key === 'Escape')
    return show(chart, null);
  if (!move || event.ctrlKey || event.altKey || event.metaKey)
    return;
  event.preventDefault();
  const to = (v, d, n) => Math.min(n - 1, Math.max(0, v + d));
  show(chart, chart.at ? [to(chart.at[0], move[0], c.nx),
    to(chart.at[1], move[1], c.ny)] : [0, 0]);
}

function listen(chart) {
  const node = chart.svg.node();
  node.setAttribute('tabindex', '0');
  node.addEventListener('pointermove', e => {
    const r = node.getBoundingClientRect();
    const place = chart.cells.at((e.clientX - r.left), (e.clientY - r.top));
    if (String(place) !== String(chart.at))
      show(chart, place);
  });
  node.addEventListener('pointerleave', () => show(chart, null));
  node.addEventListener('keydown', e => onKey(chart, e));
  node.addEventListener('blur', () => show(chart, null));
}

/* ---- axes ---- */

/* By its corners: neighbours that touch round their common edge alike. */
const box = (x, y, w, h) => 'M' + x.toFixed(2) + ',' + y.toFixed(2) + 'H' +
  (x + w).toFixed(2) + 'V' + (y + h).toFixed(2) + 'H' + x.toFixed(2) + 'z';

/* Every so many labels, so that they do not touch. */
function stride(n, room, widest) {
  const least = Math.ceil(n * widest / room);
  for (const s of [1, 2, 4, 5, 8, 10, 16, 20, 32, 64, 100, 128, 256])
    if (s >= least)
      return s;
  return least;
}

const textWidth = list => 10 + 7 * Math.max(1, ...list.map(t =>
  String(t).length));

function axisBelow(g, labels, centre, room, y, title) {
  const s = stride(labels.length, room, textWidth(labels));
  const axis = g.append('g').attr('class', 'axis');
  labels.forEach((t, i) => {
    if (i % s === 0)
      axis.append('text').attr({x: centre(i), y: y + 16,
        'text-anchor': 'middle'}).text(t);
  });
  g.append('text').attr({class: 'title', x: room / 2, y: y + 35,
    'text-anchor': 'middle'}).text(title);
}

function axisLeft(g, y, width, title, format) {
  g.append('g').attr('class', 'axis').call(d3.svg.axis().scale(y)
    .orient('left').ticks(5).tickSize(-width, 0).tickPadding(8)
    .tickFormat(format || (v => v.toLocaleString('en-US'))));
  g.append('text').attr({class: 'title', x: 8 - AXIS_LEFT, y: -10})
    .text(title);
}

/* ---- bars over a common axis ----
 *
 * spec() -> {labels, series: [{name, css, values}], grouped, gone: [bool],
 * xTitle, yTitle, tell(i), format}; values are stacked unless 'grouped'.
 */
function bars(parent, label, spec, height) {
  return addChart(parent, label, (chart, width) =>
    drawBars(chart, width, spec(), height || 300));
}

function topOf(s) {
  const sums = s.labels.map((_, i) => s.series.reduce((t, x) => {
    const v = isNumber(x.values[i]) ? x.values[i] : 0;
    return s.grouped ? Math.max(t, v) : t + v;
  }, 0));
  return Math.max(0, ...sums) || 1;
}

function drawBars(chart, width, s, height) {
  const top = 28, n = s.labels.length, right = 20;
  const w = width - AXIS_LEFT - right, h = height - top - AXIS_BELOW;
  const y = d3.scale.linear().domain([0, topOf(s)]).nice(5).range([h, 0]);
  const each = Math.min(w / Math.max(n, 1), 72), gap = each > 5
    ? Math.min(each * 0.25, 12) : each > 2.5 ? 0.6 : 0;
  size(chart, width, height);
  const g = chart.svg.append('g').attr('transform',
    'translate(' + AXIS_LEFT + ',' + top + ')');
  axisLeft(g, y, w, s.yTitle, s.format);
  drawSeries(g, s, y, h, each, gap);
  axisBelow(g, s.labels, i => (i + 0.5) * each, each * n, h, s.xTitle);
  chart.cells = {nx: n, ny: 1, tell: i => s.tell(i),
    box: i => [AXIS_LEFT + i * each + gap / 2 - 1, top, each - gap + 2, h],
    at: px => {
      const i = Math.floor((px - AXIS_LEFT) / each);
      return i >= 0 && i < n ? [i, 0] : null;
    }};
}

/* One path for each series, however many bars. */
function drawSeries(g, s, y, h, each, gap) {
  const base = s.labels.map(() => 0), k = s.grouped ? s.series.length : 1;
  const w = (each - gap) / k;
  s.series.forEach((x, j) => {
    let d = '';
    x.values.forEach((v, i) => {
      if (!isNumber(v) || v <= 0)
        return;
      const from = s.grouped ? 0 : base[i];
      d += box(i * each + gap / 2 + (s.grouped ? j * w : 0), y(from + v), w,
        y(from) - y(from + v));
      base[i] += v;
    });
    g.append('path').attr({class: x.css + (w < 4 ? ' flat' : ''), d});
  });
  if (s.gone)
    g.append('path').attr({class: 'gone', d: s.gone.map((x, i) => x
      ? box(i * each + gap / 2, 0, each - gap, h) : '').join('')});
}

/* ---- bars to the right, one for each row, with names ---- */
function lines(parent, label, spec) {
  return addChart(parent, label, (chart, width) =>
    drawLines(chart, width, spec()));
}

function drawLines(chart, width, s) {
  const n = s.labels.length, each = 24, top = 4;
  const left = Math.min(textWidth(s.labels) + 10, width * 0.35);
  const right = 84, w = width - left - right;
  const x = d3.scale.linear().domain([0, topOf(s)]).range([0, w]);
  size(chart, width, top + n * each + 4);
  const g = chart.svg.append('g').attr('transform',
    'translate(' + left + ',' + top + ')');
  const at = s.labels.map(() => 0);
  s.series.forEach(r => r.values.forEach((v, i) => {
    if (!isNumber(v) || v <= 0)
      return;
    g.append('path').attr({class: r.css,
      d: box(x(at[i]), i * each + 4, x(v), each - 8)});
    at[i] += v;
  }));
  s.labels.forEach((t, i) => {
    const room = Math.floor((left - 12) / 7);
    g.append('text').attr({x: -8, y: i * each + 16, 'text-anchor': 'end'})
      .text(t.length > room ? t.slice(0, room - 1) + '…' : t);
    g.append('text').attr({x: x(at[i]) + 6, y: i * each + 16}).text(ms(at[i]));
  });
  chart.cells = {nx: 1, ny: n, tell: (_, i) => s.tell(i),
    box: (_, i) => [left, top + i * each + 2, Math.max(x(at[i]), 4),
      each - 4],
    at: (px, py) => {
      const i = Math.floor((py - top) / each);
      return i >= 0 && i < n ? [0, i] : null;
    }};
}
