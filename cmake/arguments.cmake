# cmake/arguments.cmake - what follows "--" in the command line of a script
#
# As the list "arguments".  Paths may have blanks and commas, unlike in a -D.
set (arguments)
set (behind FALSE)
math (EXPR last "${CMAKE_ARGC} - 1")
foreach (i RANGE ${last})
  if (behind)
    list (APPEND arguments "${CMAKE_ARGV${i}}")
  elseif ("${CMAKE_ARGV${i}}" STREQUAL "--")
    set (behind TRUE)
  endif ()
endforeach ()
