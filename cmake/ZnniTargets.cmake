# What every target of the project shares: language level, warnings, sanitizers, instruction set.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")

set(ZNNI_SANITIZE "" CACHE STRING "Sanitizers for the project's own code: e.g. address,undefined or thread")
# The family of processors: sources and headers that depend on it end in _${ZNNI_PROCESSOR}.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(ZNNI_PROCESSOR x86)
  set(ZNNI_ISA "-march=x86-64-v3" CACHE STRING "Least instruction set of the machines the binaries run on")
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(ZNNI_PROCESSOR aarch64)
  set(ZNNI_ISA "" CACHE STRING "Least instruction set of the machines the binaries run on")
else()
  message(FATAL_ERROR "processor '${CMAKE_SYSTEM_PROCESSOR}' is neither x86_64 nor aarch64: see the files *_aarch64.* "
                      "for what another family needs")
endif()

# How far the optimizer goes is the compiler's time. What computes (ZNNI_OPTIMIZED, which a folder sets for all of its own)
# has the level of CMAKE_BUILD_TYPE, and in the presets of sanitizers, whose level is low, -O1, because its tests take
# longer than its compiler. In a release tests' own code has -Og, since it has no loops worth more, and all else -O2, with
# loops over voxels as wide as -O3 makes them.
define_property(TARGET PROPERTY ZNNI_OPTIMIZED INITIALIZE_FROM_VARIABLE ZNNI_OPTIMIZED)
set(optimized "$<BOOL:$<TARGET_PROPERTY:ZNNI_OPTIMIZED>>")
set(of_tests "$<PATH:IS_PREFIX,${PROJECT_SOURCE_DIR}/tests,$<TARGET_PROPERTY:SOURCE_DIR>>")

add_library(znni_flags INTERFACE)
target_compile_options(znni_flags INTERFACE "$<$<AND:$<CONFIG:Debug>,${optimized}>:-O1>")
set(lower_level "$<AND:$<CONFIG:Release>,$<NOT:${optimized}>>")
target_compile_options(znni_flags INTERFACE
  "$<$<AND:$<COMPILE_LANGUAGE:C,CXX>,${lower_level}>:$<IF:${of_tests},-Og,-O2>>"
  "$<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,${lower_level},$<NOT:${of_tests}>>:-fvect-cost-model=dynamic>")
target_compile_options(znni_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wnon-virtual-dtor;-Werror;${ZNNI_ISA}>"
  # Kernels call the constexpr functions of the headers that they share with host code.
  "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;-Werror=all-warnings>")
# GCC 12 sees overlapping copies in std::string where there are none (its PR 105651).
target_compile_options(znni_flags INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>)
# GCC is the compiler whose warnings are errors. Clang, of the preset fuzz, has others, which only warn.
target_compile_options(znni_flags INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-error>)
# By its default GCC looks for memory to reuse each time its heap has doubled, which takes a tenth of its time.
target_compile_options(znni_flags INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-expand=1000>)
# With precompiled headers, at -Og and between the sanitizers' checks GCC sees variables without a value, and more of those
# copies, where there are none. So tests and sanitizers go without these warnings, which the product has.
set(wrong_warnings "$<COMPILE_LANG_AND_ID:CXX,GNU>")
if(NOT ZNNI_SANITIZE)
  set(wrong_warnings "$<AND:${wrong_warnings},${of_tests}>")
endif()
target_compile_options(znni_flags INTERFACE
  "$<${wrong_warnings}:-Wno-maybe-uninitialized;-Wno-array-bounds;-Wno-stringop-overflow>")
# In the preset dev tests' own code is compiled as in a release, to the letter, so that ccache has it from there: it is
# not checked, but for targets with ZNNI_CHECKED, whose sources are those of the product or whose subject is in headers.
# The libraries are checked. So a bad access of theirs is found wherever it lies on the heap, also in memory of a test.
define_property(TARGET PROPERTY ZNNI_CHECKED)
set(checked "$<COMPILE_LANGUAGE:C,CXX>")
if(ZNNI_SANITIZE AND CMAKE_BUILD_TYPE STREQUAL "Release")
  set(checked "$<AND:${checked},$<OR:$<NOT:${of_tests}>,$<BOOL:$<TARGET_PROPERTY:ZNNI_CHECKED>>>>")
  target_compile_options(znni_flags INTERFACE "$<${checked}:-UNDEBUG;-g1;$<IF:${optimized},-O1,-O0>>")
endif()
if(ZNNI_SANITIZE)
  target_compile_options(znni_flags INTERFACE
    "$<${checked}:-fsanitize=${ZNNI_SANITIZE};-fno-sanitize-recover=all;-fno-omit-frame-pointer>"
    # The address sanitizer reports an access by a null pointer or by one that overflowed, with its stack, and these
    # processors allow any alignment. Checks of these before every access would make the compiler of a kernel take twice
    # as long. Tests' own code is checked for bad addresses at most: what is undefined there would take as much time again.
    "$<${checked}:-fno-sanitize=null,alignment,pointer-overflow>"
    "$<$<AND:${checked},${of_tests}>:-fno-sanitize=undefined>"
    # Where the optimizer is off, the checks of addresses are calls, less work for the compiler than code in place.
    "$<$<AND:${checked},$<COMPILE_LANG_AND_ID:CXX,GNU>,$<NOT:${optimized}>>:--param=asan-instrumentation-with-call-threshold=0>")
  # The thread sanitizer finds nothing in a library whose data one thread alone has: ZNNI_SINGLE_THREADED leaves it out.
  target_compile_options(znni_flags INTERFACE "$<$<BOOL:$<TARGET_PROPERTY:ZNNI_SINGLE_THREADED>>:-fno-sanitize=thread>")
  target_link_options(znni_flags INTERFACE -fsanitize=${ZNNI_SANITIZE})
endif()
target_include_directories(znni_flags INTERFACE "${PROJECT_SOURCE_DIR}")

# znni_library(name SOURCES ... [PUBLIC libraries] [PRIVATE libraries]): static library znni_<name>,
# alias znni::<name>.
function(znni_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(znni_${name} STATIC ${arg_SOURCES})
  add_library(znni::${name} ALIAS znni_${name})
  target_link_libraries(znni_${name} PUBLIC ${arg_PUBLIC} PRIVATE $<BUILD_INTERFACE:znni_flags> ${arg_PRIVATE})
  target_include_directories(znni_${name} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>")
  znni_unity(znni_${name})
endfunction()

# znni_optimize(name...): sets ZNNI_OPTIMIZED for libraries.
function(znni_optimize)
  foreach(name IN LISTS ARGN)
    set_target_properties(znni_${name} PROPERTIES ZNNI_OPTIMIZED ON)
  endforeach()
endfunction()

# A program ends in words, not by SIGILL, on a processor that is too old for it: what looks at the processor is the one
# file that any x86-64 runs.
set(start_check_x86 "${PROJECT_SOURCE_DIR}/primitives/cpu/device/start_check_x86.cpp")
if(start_check_${ZNNI_PROCESSOR})
  add_library(znni_start_check OBJECT "${start_check_${ZNNI_PROCESSOR}}")
  target_compile_options(znni_start_check PRIVATE -Wall -Wextra -Werror -march=x86-64 -fno-sanitize=all)
endif()

# znni_program(name SOURCES ... LIBRARIES ...): an executable in build/<preset>/bin.
function(znni_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  if(TARGET znni_start_check)
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:znni_start_check>)
  endif()
  target_link_libraries(${name} PRIVATE znni_flags ${arg_LIBRARIES})
  # The linker may take a function of std from the program's own sources for that of a library that computes.
  set_target_properties(${name} PROPERTIES ZNNI_OPTIMIZED ON)
  znni_unity(${name})
endfunction()
