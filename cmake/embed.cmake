# cmake/embed.cmake - files as constants of a C source
#
# cmake -D OUT=FILE.c -D HEADER=NAME.h -D TYPE=struct ... -P embed.cmake --
# NAME=FILE...: files of one NAME are joined.  No file may have in it what would
# end or change the script element that it becomes.
cmake_policy (VERSION 3.25)
include (${CMAKE_CURRENT_LIST_DIR}/arguments.cmake)

set (source "/* made by cmake/embed.cmake */\n#include \"${HEADER}\"\n")
set (names)
foreach (pair IN LISTS arguments)
  string (REGEX MATCH "^([a-z_0-9]+)=(.*)$" ok "${pair}")
  set (name ${CMAKE_MATCH_1})
  set (path "${CMAKE_MATCH_2}")
  file (READ "${path}" hex HEX)
  string (TOLOWER "${path}" lower)
  if (lower MATCHES "[.]js$" AND
      hex MATCHES "3c2f73637269707|3c21")       # </scrip, <!
    message (FATAL_ERROR "${path} has </script or <! in it")
  endif ()
  list (APPEND names ${name})
  string (APPEND hex_${name} "${hex}")
endforeach ()
list (REMOVE_DUPLICATES names)
foreach (name IN LISTS names)
  string (REGEX REPLACE "(..)" "0x\\1," bytes "${hex_${name}}")
  string (APPEND source
          "static const unsigned char ${name}_data[] = {${bytes}};\n"
          "const ${TYPE} ${name} = { ${name}_data, sizeof (${name}_data) };\n")
endforeach ()
file (WRITE ${OUT} "${source}")
