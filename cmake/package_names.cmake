# Run by cpack between the copying of files and the packing: /usr/bin/planner is a file of GNOME's package `planner`, a
# program of another kind, so that ours has another name in a package.
file(GLOB_RECURSE found "${CPACK_TEMPORARY_DIRECTORY}/planner")
list(FILTER found INCLUDE REGEX "/usr/bin/planner$")
list(LENGTH found count)
if(NOT count EQUAL 1)
  message(FATAL_ERROR "one usr/bin/planner was expected below ${CPACK_TEMPORARY_DIRECTORY}, there are ${count}")
endif()
cmake_path(REPLACE_FILENAME found "znni-planner" OUTPUT_VARIABLE renamed)
file(RENAME "${found}" "${renamed}")
