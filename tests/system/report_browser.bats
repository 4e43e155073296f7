#!/usr/bin/env bats
# rollcall report: the page in a real browser
#
# Pictures are kept in PICTURES, for people.

load helper
load browser

PAGE=out/cluster_analysis_output/report.html
PICTURES=${ROLLCALL_PICTURES:-$ROLLCALL_BIN/../report-pictures}

teardown ()
{
    browser_close
}

# page [OPTION]...: of a job that is made with these, in the browser
page ()
{
    make "$@"
    analyze
    "$ROLLCALL" report out
    browser_open
}

# rank_of first|last: the row of the table of step times
rank_of ()
{
    js "document.querySelector('#time tbody tr:$1-child td').textContent"
}

# keep NAME: a picture; it is not of one colour
keep ()
{
    mkdir -p "$PICTURES"
    picture "$PICTURES/$1.png"
    [ "$(stat -c %s "$PICTURES/$1.png")" -gt 20000 ] || fail "an empty picture"
}

@test "the page opens, and names the slow rank" {
    page --ranks 64 --steps 3 --ops 8 --slow-rank 17 --extras --level 1
    window 1300 900 light
    visit "$PAGE"
    quiet
    is "heading" "$(sql "SELECT value FROM Job WHERE key='job'")" \
        "$(js "document.querySelector('h1').textContent")"
    [ "$(js 'Number(document.documentElement.dataset.ready)')" -lt 20000 ]
    # ten sections: each has a heading and something to see
    is "sections" 10 "$(js "document.querySelectorAll('main section').length")"
    is "charts" 7 "$(js "document.querySelectorAll('figure svg').length")"
    is "without content" 0 "$(js "[...document.querySelectorAll('section')]
        .filter(s => s.children.length < 3).length")"
    # the heat map: one column stands out, and the chart says whose it is
    visit "$PAGE#heat?sort=-beside"
    is "slowest" 17 \
        "$(js "document.querySelector('#heat tbody td:nth-child(4)')
            .textContent")"
    js "document.getElementById('time').scrollIntoView()"
    keep light
    window 1300 900 dark
    keep dark
    quiet
}

@test "a table is sorted and filtered by its address, and by keys" {
    page --ranks 8 --steps 2 --slow-rank 5 --ranks-per-host 4
    window 1300 900 light
    visit "$PAGE#time?sort=-computing"
    is "slowest" 5 "$(rank_of first)"
    visit "$PAGE#time?sort=computing&filter=node1"
    is "rows" 4 "$(js "document.querySelectorAll('#time tbody tr').length")"
    # of its host the slow rank is last now
    is "last" 5 "$(rank_of last)"
    # by hand: the filter, then the button of a column's head
    visit "$PAGE"
    js "document.querySelector('#time summary').click();
        document.querySelector('#time input').focus()"
    type_text node0
    is "rows" 4 "$(js "document.querySelectorAll('#time tbody tr').length")"
    is "told" "4 of 8 rows" \
        "$(js "document.querySelector('#time [role=status]').textContent")"
    js "document.querySelectorAll('#time thead button')[3].focus()"
    press Enter 13
    is "sorted" descending "$(js "document.querySelectorAll('#time th')[3]
        .getAttribute('aria-sort')")"
    is "focus stays" Computing "$(js "document.activeElement.textContent
        .split(',')[0]")"
    quiet
}

@test "a chart is read with the arrow keys, and every stop can be seen" {
    local stops

    page --ranks 4 --steps 2 --slow-rank 2 --extras
    visit "$PAGE"
    js "document.querySelector('#time svg').focus()"
    press ArrowRight 39
    press ArrowRight 39
    press ArrowRight 39
    [[ "$(js "document.querySelector('#time .readout').textContent")" == \
        "rank 2 on node0: step "*"computing "*" ms"* ]]
    press Escape 27
    is "nothing is told" true \
        "$(js "document.querySelector('#time .readout').classList
            .contains('idle') ? 'true' : 'false'")"
    # from the top: the skip link first, then the sections, then their controls
    visit "$PAGE"
    stops=
    for _ in {1..24}; do
        press Tab 9
        stops+="$(js "(e => e.matches(':focus-visible') &&
            getComputedStyle(e).outlineStyle !== 'none' ? e.localName : '?')
            (document.activeElement)") "
    done
    [[ "$stops" == "a a "* && "$stops" != *"?"* && "$stops" != *body* ]] ||
        fail "stops: $stops"
    # no text is smaller than 12 px
    is "smallest text" 12 "$(js "document.querySelectorAll('details')
        .forEach(d => { d.open = true; });
        Math.min(...[...document.querySelectorAll('body *')]
            .filter(e => [...e.childNodes].some(n => n.nodeType === 3 &&
                n.data.trim()) && e.getClientRects().length)
            .map(e => parseFloat(getComputedStyle(e).fontSize)))")"
    quiet
}

@test "who is missing is told first, and names stay text" {
    page --ranks 4 --skip-ranks 2
    sql "UPDATE Roster SET host='<b id=evil>'||rank||'</b>';
         UPDATE CommGroup SET pg_name='<img src=x onerror=alert(1)>';
         INSERT INTO Finding (id, kind, severity, rank, text, query)
         VALUES (1001, 'something_new', 'unheard of', 3, '<i id=evil>x</i>', 'Q')"
    "$ROLLCALL" report out
    visit "$PAGE"
    quiet
    is "markup" 0 "$(js "document.querySelectorAll('#evil, main img').length")"
    [[ "$(js "document.getElementById('verdict').textContent")" == \
        "1 rank missing. "* ]]
    [[ "$(js "document.getElementById('roll').textContent")" == \
        *"no capture of it was found"* ]]
    [[ "$(js "document.getElementById('findings').textContent")" == \
        *"unheard of"*"<i id=evil>x</i>"* ]]
}

@test "a job of 1,024 ranks opens at once" {
    local took

    page --ranks 8 --steps 2
    sql "WITH RECURSIVE c(i) AS (SELECT 8 UNION ALL SELECT i+1 FROM c
             WHERE i<1023)
         INSERT INTO Roster SELECT i, 'node'||(i/8), i%8, i%8, 1, 'present',
             NULL, 0, 0, NULL, NULL FROM c;
         INSERT INTO StepTraceTime SELECT t.deviceId, t.step, t.computing,
             t.communication_not_overlapped, t.overlapped, t.communication,
             t.free, t.stage, t.bubble,
             t.communication_not_overlapped_and_exclude_receive, t.preparing,
             r.rank, t.capture FROM StepTraceTime t JOIN Roster r ON r.rank>7
             WHERE t.rank=0;
         INSERT INTO Wait SELECT 'step10', 1, a.rank, b.rank, 1, 0.1, 0
             FROM Roster a, Roster b WHERE a.rank%64=b.rank%64"
    "$ROLLCALL" report out
    visit "$PAGE"
    quiet
    # less than a second; a machine that is busy with other tests gets five
    took=$(js 'Number(document.documentElement.dataset.ready)')
    echo "drawn after $took ms"
    [ "$took" -lt 5000 ]
    is "elements" 1 "$(js "document.querySelectorAll('*').length < 4000
        ? 1 : document.querySelectorAll('*').length")"
}

@test "printed, charts fit the paper" {
    page --ranks 4 --steps 2 --extras
    visit "$PAGE"
    ask Page.printToPDF '{"preferCSSPageSize": true}'
    answer '$.result.data' | base64 -d >page.pdf
    is "kind" %PDF "$(head -c 4 page.pdf)"
    # drawn for the paper, then again for the screen
    js "dispatchEvent(new Event('beforeprint'))"
    is "width" 680 "$(js "document.querySelector('#time svg')
        .getAttribute('width')")"
    js "dispatchEvent(new Event('afterprint'))"
    [ "$(js "Number(document.querySelector('#time svg')
        .getAttribute('width'))")" -ne 680 ]
    quiet
}
