# Flags for every target, and the two kinds of target that the tree has.

add_compile_options (-Wall -Wextra -Wshadow -Wconversion -Wvla
                     -Wmissing-prototypes -Wstrict-prototypes -Wpointer-arith
                     -Wwrite-strings -Wformat=2 -fno-common)
if (ROLLCALL_WERROR)
  add_compile_options (-Werror)
endif ()
if (ROLLCALL_FAULTS)
  add_compile_definitions (ROLLCALL_FAULTS)
endif ()
if (ROLLCALL_SANITIZE)
  add_compile_options (-fsanitize=${ROLLCALL_SANITIZE} -fno-omit-frame-pointer
                       -fno-sanitize-recover=all)
  add_link_options (-fsanitize=${ROLLCALL_SANITIZE})
endif ()
if ((ROLLCALL_SANITIZE OR ROLLCALL_FAULTS) AND CMAKE_C_COMPILER_ID STREQUAL GNU)
  add_compile_options (-Wno-format-truncation)      # it guesses too much then
endif ()
add_compile_definitions (_GNU_SOURCE ROLLCALL_VERSION="${PROJECT_VERSION}")

# rollcall_library (NAME sources... LINK libraries...): a static library whose
# headers are included as "folder/file.h" from the folder above.
function (rollcall_library name)
  cmake_parse_arguments (arg "" "" "LINK" ${ARGN})
  add_library (${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  target_include_directories (${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries (${name} PUBLIC ${arg_LINK})
endfunction ()

# rollcall_installed (TARGET...): what target 'programs' builds
function (rollcall_installed)
  set_property (GLOBAL APPEND PROPERTY ROLLCALL_INSTALLED ${ARGN})
endfunction ()

# rollcall_program (NAME sources... LINK libraries... INTO folder)
function (rollcall_program name)
  cmake_parse_arguments (arg "" "INTO" "LINK" ${ARGN})
  add_executable (${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries (${name} PRIVATE ${arg_LINK})
  set_target_properties (${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                         ${PROJECT_BINARY_DIR}/bin)
  install (TARGETS ${name} RUNTIME DESTINATION ${arg_INTO})
  rollcall_installed (${name})
endfunction ()
