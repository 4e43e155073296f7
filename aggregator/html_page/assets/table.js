/* table.js - tables that can be filtered and sorted
 *
 * A column is {key, label, unit, show, text}: 'show' makes a text or an element
 * of a row, 'text' says that it is no number.
 */
const ROWS_AT_ONCE = 200;
const tables = {};                      // by section

function cellText(column, row) {
  const v = column.show ? column.show(row) : row[column.key];
  return v === null || v === undefined ? '–' : v;
}

class Table {
  /* onchange(rows) is called with the rows that are left, in their order. */
  constructor(section, caption, columns, rows, onchange) {
    Object.assign(this, {section, columns, rows, onchange});
    this.words = rows.map(r => columns.map(c => {
      const v = cellText(c, r);
      return (v instanceof Node ? v.textContent : String(v)).toLowerCase();
    }).join(' \n'));
    this.filter = '';
    this.sort = null;
    this.down = false;
    this.all = false;
    this.build(caption);
    this.update();
    if (section && !tables[section])
      tables[section] = this;
  }

  build(caption) {
    this.input = el('input', {type: 'search', placeholder: 'text of a row'});
    this.input.addEventListener('input', () => {
      this.filter = this.input.value;
      this.update();
    });
    this.left = el('span', {role: 'status'});
    this.tools = el('div', {class: 'tools'},
      el('label', null, 'Filter', this.input), this.left);
    this.heads = this.columns.map(c => {
      const b = el('button', {type: 'button'},
        c.label + (c.unit ? ', ' + c.unit : '') + ' ');
      b.arrow = el('span', {'aria-hidden': 'true'});
      b.append(b.arrow);
      b.addEventListener('click', () => this.sortBy(c));
      return el('th', {scope: 'col', class: c.text ? '' : 'num'}, b);
    });
    this.body = el('tbody');
    this.table = el('table', null, el('caption', null, caption),
      el('thead', null, el('tr', null, ...this.heads)), this.body);
    this.more = el('button', {type: 'button', hidden: true});
    this.more.addEventListener('click', () => {
      this.all = true;
      this.update();
    });
    this.scroll = el('div', {class: 'scroll'}, this.table);
    this.element = el('div', {class: 'table'}, this.tools, this.scroll,
      this.more);
  }

  sortBy(column, down) {
    this.down = down !== undefined ? down
      : this.sort === column ? !this.down : !column.text;
    this.sort = column;
    this.update();
  }

  /* Rows without a value are last, whichever way. */
  compare(a, b) {
    const x = a[this.sort.key], y = b[this.sort.key];
    const none = v => v === null || v === undefined || v === '';
    if (none(x) || none(y))
      return none(x) - none(y);
    const c = isNumber(x) && isNumber(y) ? x - y
      : String(x).localeCompare(String(y), 'en', {numeric: true});
    return this.down ? -c : c;
  }

  update() {
    const words = this.filter.toLowerCase().split(/\s+/).filter(w => w);
    let left = this.rows.filter((r, i) =>
      words.every(w => this.words[i].includes(w)));
    if (this.sort)
      left = left.slice().sort((a, b) => this.compare(a, b));
    this.shown = left;
    this.heads.forEach((h, i) => {
      const on = this.columns[i] === this.sort;
      h.setAttribute('aria-sort', !on ? 'none'
        : this.down ? 'descending' : 'ascending');
      h.firstChild.arrow.textContent = !on ? '↕' : this.down ? '↓' : '↑';
    });
    this.left.textContent = left.length === this.rows.length
      ? many(left.length, 'row')
      : count(left.length) + ' of ' + many(this.rows.length, 'row');
    this.fill();
    if (this.onchange)
      this.onchange(left);
  }

  fill() {
    const rows = this.all ? this.shown : this.shown.slice(0, ROWS_AT_ONCE);
    this.body.replaceChildren(...rows.map(r => el('tr', null,
      ...this.columns.map(c => el('td', {class: c.text ? 'text ' +
        (c.wide ? 'wide' : '') : 'num'}, cellText(c, r))))));
    this.more.hidden = rows.length === this.shown.length;
    this.more.textContent = 'Show all ' + many(this.shown.length, 'row');
  }

  /* Of the address; a minus sorts downwards. */
  apply(filter, sort) {
    if (filter !== null) {
      this.input.value = this.filter = filter;
      this.update();
    }
    const key = sort && sort.replace(/^-/, '');
    const column = key && this.columns.find(c => c.key === key);
    if (column)
      this.sortBy(column, sort.startsWith('-'));
    let e = this.element.closest('details');
    if (e && (filter !== null || sort))
      e.open = true;
  }
}
