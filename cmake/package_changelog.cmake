# Run by cpack between the copying of files and the packing: adds the changelog, as Debian's packages have it.
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH source)
file(GLOB_RECURSE copyright "${CPACK_TEMPORARY_DIRECTORY}/copyright")
list(FILTER copyright INCLUDE REGEX "/usr/share/doc/znni/copyright$")
list(LENGTH copyright count)
if(NOT count EQUAL 1)
  message(FATAL_ERROR "one usr/share/doc/znni/copyright was expected below ${CPACK_TEMPORARY_DIRECTORY}, there are ${count}")
endif()
cmake_path(REPLACE_FILENAME copyright "changelog.gz" OUTPUT_VARIABLE changelog)
execute_process(COMMAND python3 -B "${source}/deploy/debian/changelog.py" "${source}/CHANGELOG.md" "${CPACK_PACKAGE_CONTACT}"
                COMMAND gzip -9n OUTPUT_FILE "${changelog}" COMMAND_ERROR_IS_FATAL ANY)
