# znni_backend(cpu PRIMITIVES conv_direct ... SOURCES ... PUBLIC ... PRIVATE ...)
#
# A back end is a folder: one source file per primitive, named in PRIMITIVES with the folder that it is in, if any
# (conv/conv_direct), each defining `constinit const Primitive <name>` in namespace znni::<backend>. From that list comes the registry, a plain
# array of pointers, so that nothing registers itself and no second list is kept. A primitive without a test
# file stops the configuration; the tests are compiled from the same list (property ZNNI_PRIMITIVE_TESTS_<backend>).
function(znni_backend backend)
  cmake_parse_arguments(arg "" "" "PRIMITIVES;SOURCES;PUBLIC;PRIVATE" ${ARGN})
  set(declarations "")
  set(rows "")
  set(sources ${arg_SOURCES})
  foreach(path IN LISTS arg_PRIMITIVES)
    set(test "${PROJECT_SOURCE_DIR}/tests/primitives/${backend}/${path}_test.cpp")
    if(ZNNI_DEVELOPER AND NOT EXISTS "${test}")
      message(FATAL_ERROR "primitive ${backend}/${path} has no test: write ${test}")
    endif()
    list(APPEND sources "${path}.cpp")
    get_filename_component(primitive "${path}" NAME)
    set_property(GLOBAL APPEND PROPERTY ZNNI_PRIMITIVE_TESTS_${backend} "${test}")
    string(APPEND declarations "extern const Primitive ${primitive};\n")
    string(APPEND rows "    &${primitive},\n")
  endforeach()
  list(LENGTH arg_PRIMITIVES count)
  set(ZNNI_BACKEND "${backend}")
  set(ZNNI_COUNT "${count}")
  set(ZNNI_DECLARATIONS "${declarations}")
  set(ZNNI_ROWS "${rows}")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/registry.cpp.in" "${CMAKE_CURRENT_BINARY_DIR}/registry.cpp" @ONLY)
  znni_library(${backend} SOURCES ${sources} "${CMAKE_CURRENT_BINARY_DIR}/registry.cpp"
               PUBLIC znni::core ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
endfunction()
