/* base.js - data, numbers, elements; no text becomes markup anywhere */
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);

const byId = id => document.getElementById(id);

/* A table of the data as objects, one for each row. */
function rowsOf(key) {
  const t = data[key];
  if (!t)
    return [];
  return t.rows.map(row => {
    const o = {};
    t.columns.forEach((c, i) => { o[c] = row[i]; });
    return o;
  });
}

/* An element: el('p', {class: 'note'}, 'text', another element). */
function el(name, attributes, ...children) {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(attributes || {}))
    if (v !== null && v !== undefined && v !== false)
      e.setAttribute(k, v === true ? '' : v);
  e.append(...children.filter(c => c !== null && c !== undefined));
  return e;
}

const isNumber = x => typeof x === 'number' && Number.isFinite(x);

/* 'n' digits behind the point.  Making a format takes long: each is made once.
 */
const formats = [0, 1, 2, 3].map(n => new Intl.NumberFormat('en-US',
  {minimumFractionDigits: n, maximumFractionDigits: n}));
const decimals = (x, n) => isNumber(x)
  ? formats[n].format(x).replace(/^-(?=[0.]*$)/, '') : '–';

function short(x) {
  if (!isNumber(x))
    return '–';
  const a = Math.abs(x);
  return decimals(x, a === 0 || a >= 1000 ? 0 : a >= 10 ? 1 : a >= 0.1 ? 2
    : 3);
}

const ms = x => isNumber(x)
  ? Math.abs(x) >= 1e5 ? short(x / 1e3) + ' s' : short(x) + ' ms' : '–';
const gbps = x => isNumber(x) ? short(x) + ' GB/s' : '–';
const megabytes = x => !isNumber(x) ? '–' : x >= 1e6 ? short(x / 1e6) + ' TB'
  : x >= 1e3 ? short(x / 1e3) + ' GB' : short(x) + ' MB';
const percent = x => isNumber(x) ? decimals(x, 1) + ' %' : '–';
const signed = x => {
  const size = isNumber(x) ? percent(Math.abs(x)) : '–';
  return (!isNumber(x) || size === percent(0) ? '' : x > 0 ? '+' : '−') + size;
};
const count = x => isNumber(x) ? decimals(x, 0) : '–';
const many = (n, word) => count(n) + ' ' + word + (n === 1 ? '' : 's');
const range = (a, b) => a === b ? String(a) : a + '–' + b;

function median(list) {
  const s = list.filter(isNumber).sort((a, b) => a - b);
  if (!s.length)
    return NaN;
  const h = s.length >> 1;
  return s.length % 2 ? s[h] : (s[h - 1] + s[h]) / 2;
}

function mean(list) {
  const s = list.filter(isNumber);
  return s.length ? s.reduce((a, b) => a + b, 0) / s.length : NaN;
}

const orNull = x => isNumber(x) ? x : null;

/* A control with its label; 'choices' are [value, text]. */
function choice(label, choices, onchange) {
  const s = el('select', null, ...choices.map(([v, t]) =>
    el('option', {value: v}, t)));
  s.addEventListener('change', () => onchange(s.value));
  return el('label', null, label, s);
}

function legend(items, kind) {
  return el('ul', {class: 'legend ' + (kind || '')}, ...items.map(([c, t]) =>
    el('li', null, el('i', {class: c, 'aria-hidden': 'true'}), t)));
}

const note = (text, kind) => el('p', {class: 'note ' + (kind || '')}, text);

/* What is told at once, the rest on demand; filled when it is opened. */
function folded(title, fill) {
  const d = el('details', null, el('summary', null, title));
  let full = false;
  d.fill = () => {
    if (!full)
      d.append(fill());
    full = true;
  };
  d.addEventListener('toggle', () => { if (d.open) d.fill(); });
  return d;
}

/* The part of the address behind "#": SECTION?filter=TEXT&sort=-COLUMN */
function fromAddress() {
  const [section, query] = location.hash.slice(1).split('?');
  const p = new URLSearchParams(query || '');
  return {section, filter: p.get('filter'), sort: p.get('sort')};
}
