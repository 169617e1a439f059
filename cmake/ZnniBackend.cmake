# znni_backend(cpu PRIMITIVES conv_direct ... SOURCES ... PUBLIC ... PRIVATE ...)
#
# A back end is a folder: one source file per primitive, named in PRIMITIVES with the folder that it is in, if any
# (conv/conv_direct), each defining `constinit const Primitive <name>` in namespace znni::<backend>. From that list comes the registry, a plain
# array of pointers, so that nothing registers itself and no second list is kept. A primitive without a test
# file stops the configuration; the tests are compiled from the same list (property ZNNI_PRIMITIVE_TESTS_<backend>).
function(znni_backend backend)
  cmake_parse_arguments(arg "" "" "PRIMITIVES;SOURCES;PUBLIC;PRIVATE" ${ARGN})
  znni_registry(${backend} PRIMITIVE Primitive primitives/core/primitive.hpp registry ${arg_PRIMITIVES})
  znni_library(${backend} SOURCES ${arg_SOURCES} ${registry} PUBLIC znni::core ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
endfunction()

# znni_gradients(cpu GRADIENTS grad_direct ... SOURCES ... PRIVATE ...): the gradients of a back end, likewise, each a
# `constinit const GradientPrimitive <name>`. They are a library of their own, znni::<backend>_gradients, which no
# program that serves links.
function(znni_gradients backend)
  cmake_parse_arguments(arg "" "" "GRADIENTS;SOURCES;PRIVATE" ${ARGN})
  znni_registry(${backend} GRADIENT GradientPrimitive primitives/core/gradient.hpp gradient_registry ${arg_GRADIENTS})
  znni_library(${backend}_gradients SOURCES ${arg_SOURCES} ${gradient_registry}
               PUBLIC znni::${backend} PRIVATE ${arg_PRIVATE})
endfunction()

# znni_registry(backend kind type header function path...): writes <function>.cpp, which returns the table of the list
# <kind>S, and sets the variable <function> to it and the sources of the list.
function(znni_registry backend kind type header function)
  set(declarations "")
  set(rows "")
  set(sources "")
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE folder)
  foreach(path IN LISTS ARGN)
    set(test "${PROJECT_SOURCE_DIR}/tests/${folder}/${path}_test.cpp")
    if(ZNNI_DEVELOPER AND NOT EXISTS "${test}")
      message(FATAL_ERROR "primitive ${folder}/${path} has no test: write ${test}")
    endif()
    list(APPEND sources "${path}.cpp")
    get_filename_component(primitive "${path}" NAME)
    set_property(GLOBAL APPEND PROPERTY ZNNI_${kind}_TESTS_${backend} "${test}")
    string(APPEND declarations "extern const ${type} ${primitive};\n")
    string(APPEND rows "    &${primitive},\n")
  endforeach()
  list(LENGTH ARGN count)
  set(ZNNI_BACKEND "${backend}")
  set(ZNNI_LIST "${kind}S")
  set(ZNNI_FOLDER "${folder}")
  set(ZNNI_TYPE "${type}")
  set(ZNNI_HEADER "${header}")
  set(ZNNI_FUNCTION "${function}")
  set(ZNNI_COUNT "${count}")
  set(ZNNI_DECLARATIONS "${declarations}")
  set(ZNNI_ROWS "${rows}")
  set(written "${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/registry.cpp.in" "${written}" @ONLY)
  set(${function} ${sources} "${written}" PARENT_SCOPE)
endfunction()
