# cmake/embed_sql.cmake - files of SQL as a table of a C source
#
# cmake -D OUT=FILE.c -D HEADER=NAME.h -D TABLE=NAME -P embed_sql.cmake --
# a.sql b.sql...: a row "struct TABLE" for each file: its name, its text,
# and what is behind a line "-- query" in it, or NULL.  Lines that begin with
# "--" are comments; each line's indentation becomes one space, none behind a
# parenthesis, so no text in quotes may go over a line's end.
cmake_policy (VERSION 3.25)
include (${CMAKE_CURRENT_LIST_DIR}/arguments.cmake)

# flatten (TEXT VARIABLE): one line, as a C literal
function (flatten text out)
  string (REGEX REPLACE "\n *--[^\n]*" "" text "\n${text}")
  string (REGEX REPLACE "[(]\n *" "(" text "${text}")
  string (REGEX REPLACE "\n *" " " text "${text}")
  string (STRIP "${text}" text)
  string (REPLACE "\\" "\\\\" text "${text}")
  string (REPLACE "\"" "\\\"" text "${text}")
  set (${out} "\"${text}\"" PARENT_SCOPE)
endfunction ()

set (rows)
list (LENGTH arguments count)
foreach (path IN LISTS arguments)
  get_filename_component (name "${path}" NAME_WE)
  file (READ "${path}" text)
  string (FIND "${text}" "\n-- query\n" at)
  set (query NULL)
  if (NOT at EQUAL -1)
    string (SUBSTRING "${text}" ${at} -1 query)
    string (SUBSTRING "${text}" 0 ${at} text)
    flatten ("${query}" query)
  endif ()
  flatten ("${text}" text)
  string (APPEND rows "    { \"${name}\",\n      ${text},\n      ${query} },\n")
endforeach ()
file (WRITE ${OUT} "/* made by cmake/embed_sql.cmake */
#include \"${HEADER}\"

const struct ${TABLE} ${TABLE}[] = {
${rows}};

const size_t ${TABLE}_count = ${count};
")
