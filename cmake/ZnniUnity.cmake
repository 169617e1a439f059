# Sources in groups, compiled as one file each: headers and templates are most of what a source costs the compiler. OFF
# compiles each source for itself: slower as a whole, faster after a change of one source, and it shows a missing include.
set(ZNNI_UNITY ON CACHE STRING "Compile in groups: OFF, TESTS, or ON (all sources)")
set_property(CACHE ZNNI_UNITY PROPERTY STRINGS OFF TESTS ON)
set(ZNNI_UNITY_LINES 2000)
set(ZNNI_STD_HEADERS
  <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <cstdint> <cstring> <functional> <limits> <map> <memory>
  <mutex> <numeric> <optional> <random> <set> <span> <sstream> <string> <string_view> <thread> <utility> <variant> <vector>)

# znni_unity(target): in groups, if that is asked for. Sources with options of their own stay alone.
function(znni_unity target)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE folder)
  if(NOT ZNNI_UNITY OR (ZNNI_UNITY STREQUAL "TESTS" AND NOT folder MATCHES "^tests"))
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/cmake/unity_groups.py" ${ZNNI_UNITY_LINES} ${sources}
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" OUTPUT_VARIABLE groups COMMAND_ERROR_IS_FATAL ANY)
  foreach(source group IN ZIP_LISTS sources groups)
    # A name of its own, since a source may belong to two targets.
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${target}_${group}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # Where sources cannot go together, the headers of std are compiled once for all of them. Only under sanitizers, whose
  # builds go without the warnings that GCC 12 then gives wrongly (cmake/ZnniTargets.cmake). Sources with options of their
  # own have the property SKIP_PRECOMPILE_HEADERS.
  list(REMOVE_DUPLICATES groups)
  list(LENGTH groups count)
  get_target_property(type ${target} TYPE)
  if(ZNNI_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND count GREATER 3 AND type STREQUAL "STATIC_LIBRARY")
    target_precompile_headers(${target} PRIVATE ${ZNNI_STD_HEADERS})
  endif()
  # GCC takes a grouped source for a header.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endfunction()
