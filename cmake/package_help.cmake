# Run by cpack between the copying of files and the packing, after package_names.cmake: adds completions for bash and, if
# help2man is installed, manual pages.
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH source)
file(GLOB_RECURSE programs "${CPACK_TEMPORARY_DIRECTORY}/*/usr/bin/znn*" "${CPACK_TEMPORARY_DIRECTORY}/usr/bin/znn*")
list(LENGTH programs count)
if(count EQUAL 0)
  message(FATAL_ERROR "programs were expected in usr/bin below ${CPACK_TEMPORARY_DIRECTORY}, there are none")
endif()
list(GET programs 0 first)
cmake_path(GET first PARENT_PATH bin)
cmake_path(GET bin PARENT_PATH usr)

find_program(help2man help2man)
if(help2man)
  execute_process(COMMAND python3 -B "${source}/deploy/debian/manuals.py" "${usr}/share/man/man1"
                          "${CPACK_PACKAGE_VERSION}" ${programs} COMMAND_ERROR_IS_FATAL ANY)
else()
  message(WARNING "no manual pages: help2man is not installed (deploy/packages/package.txt)")
endif()

foreach(program IN LISTS programs)
  cmake_path(GET program FILENAME name)
  configure_file("${source}/deploy/completions.bash" "${usr}/share/bash-completion/completions/${name}" COPYONLY)
endforeach()
