/* cells.js - grids of coloured cells: heat maps and matrices
 *
 * Nine classes of colour.  A scale is {css, bounds, format}: css 's' goes from
 * little to much, 'd' from one side through nothing to the other; a value is of
 * the class of how many of the eight bounds it has reached.
 */
const CELL_HEIGHT_MAX = 620;            // of all of them, in pixels

function classOf(scale, v) {
  let k = 0;
  while (k < 8 && v >= scale.bounds[k])
    k++;
  return k;
}

/* Percent; bounds that are the same for every job, so that pages can be
 * compared.  'worse' is 1 if more is worse, and -1 if less is.
 */
const deviation = (small, worse) => ({css: 'd', worse, unit: '%',
  bounds: [-10, -4, -2, -1, 1, 2, 4, 10].map(b => b * small),
  edge: b => (b < 0 ? '−' : '+') + Math.abs(b), brief: v => signed(v)});

/* From 0 to the largest; with a power, small ones are told apart as well. */
function amounts(values, unit, power) {
  const most = Math.max(0, ...values.filter(isNumber)) || 1;
  return {css: 's', unit, brief: short,
    edge: b => decimals(b, b >= 100 ? 0 : b >= 10 ? 1 : 2),
    bounds: [1, 2, 3, 4, 5, 6, 7, 8].map(i => most * (i / 9) ** (power || 1))};
}

/* What is worse is always on the same side of the colours. */
const cssOf = (scale, k) => scale.css + (scale.worse < 0 ? 8 - k : k);

function scaleLegend(scale) {
  const e = scale.bounds.map(scale.edge), items = [];
  for (let k = 0; k <= 8; k++)
    items.push([cssOf(scale, k), k === 0 ? '< ' + e[0] : k === 8 ? '≥ ' + e[7]
      : e[k - 1] + ' … ' + e[k]]);
  return items;
}

/* ---- one grid ----
 *
 * spec() -> {nx, ny, value(i, j), gone(i, j), scale, xLabels, yLabels, xTitle,
 * yTitle, square, goneText, tell(i, j)}
 */
function grid(parent, label, spec) {
  const keys = el('div', {class: 'keys'});
  const chart = addChart(parent, label, (c, width) => {
    const s = spec();
    drawGrid(c, width, s);
    keys.replaceChildren(el('span', null, s.scale.unit),
      legend(scaleLegend(s.scale).concat(s.goneText ? [['gone', s.goneText]]
        : []), 'strip'));
  });
  chart.element.insertBefore(keys, chart.readout);
  return chart;
}

function gridSizes(s, width) {
  const left = Math.max(44, textWidth(s.yLabels) + 12), right = 12;
  const room = Math.min(width - left - right, s.square ? 900 : Infinity);
  let cw = Math.min(room / s.nx, 64), ch = Math.min(cw, 32);
  if (!s.square)
    ch = Math.max(s.ny * 30 < 150 ? 30 : 12, Math.min(30, 150 / s.ny));
  ch = Math.min(ch, CELL_HEIGHT_MAX / s.ny);
  if (s.square && s.nx > 12)
    cw = Math.min(cw, ch * 1.6);
  return {left, cw, ch, top: 28};
}

function drawGrid(chart, width, s) {
  const z = gridSizes(s, width), w = z.cw * s.nx, h = z.ch * s.ny;
  const paths = [], gap = Math.min(z.cw, z.ch) > 8 ? 1 : 0;
  let gone = '';
  for (let j = 0; j < s.ny; j++)
    for (let i = 0; i < s.nx; i++) {
      const v = s.value(i, j);
      const d = box(i * z.cw, j * z.ch, z.cw - gap, z.ch - gap);
      if (isNumber(v)) {
        const k = classOf(s.scale, v);
        paths[k] = (paths[k] || '') + d;
      } else if (s.gone && s.gone(i, j)) {
        gone += d;
      }
    }
  size(chart, width, z.top + h + AXIS_BELOW);
  const g = chart.svg.append('g').attr('transform',
    'translate(' + z.left + ',' + z.top + ')');
  g.append('rect').attr({class: 'frame', x: -1.5, y: -1.5, width: w + 2,
    height: h + 2});
  paths.forEach((d, k) => g.append('path').attr({d,
    class: cssOf(s.scale, k) + ' flat'}));
  g.append('path').attr({class: 'gone', d: gone});
  if (z.cw >= 50 && z.ch >= 20)
    printValues(g, s, z);
  gridAxes(g, s, z, w, h);
  chart.cells = gridCells(s, z);
}

/* Where there is room, so that nobody needs the colours. */
function printValues(g, s, z) {
  for (let j = 0; j < s.ny; j++)
    for (let i = 0; i < s.nx; i++) {
      const v = s.value(i, j);
      if (!isNumber(v))
        continue;
      const k = classOf(s.scale, v);
      const strong = s.scale.css === 's' ? k > 4 : k === 0 || k === 8;
      g.append('text').attr({class: strong ? 'high' : 'low',
        x: (i + 0.5) * z.cw, y: (j + 0.5) * z.ch + 4, 'text-anchor': 'middle'})
        .text(s.scale.brief(v));
    }
}

function gridAxes(g, s, z, w, h) {
  axisBelow(g, s.xLabels, i => (i + 0.5) * z.cw, w, h, s.xTitle);
  const step = stride(s.ny, h, 15);
  s.yLabels.forEach((t, j) => {
    if (j % step === 0)
      g.append('text').attr({x: -8, y: (j + 0.5) * z.ch + 4,
        'text-anchor': 'end'}).text(t);
  });
  g.append('text').attr({class: 'title', x: 8 - z.left, y: -10})
    .text(s.yTitle);
}

function gridCells(s, z) {
  return {nx: s.nx, ny: s.ny, tell: s.tell,
    box: (i, j) => [z.left + i * z.cw, z.top + j * z.ch, z.cw, z.ch],
    at: (px, py) => {
      const i = Math.floor((px - z.left) / z.cw);
      const j = Math.floor((py - z.top) / z.ch);
      return i >= 0 && i < s.nx && j >= 0 && j < s.ny ? [i, j] : null;
    }};
}
