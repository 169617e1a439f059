# What `cmake --install` copies. Component `runtime`: programs, the shipped model, the licence. Component `development`:
# the libraries behind them, for programs that run plans themselves or stream volumes to a daemon. Component `service`: the unit of systemd. Component
# `cuda`: the back end for GPUs.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# znni_install_library(component name FOLDER...): the target znni::<name>, with the headers of these folders.
function(znni_install_library component name)
  set(headers "")
  foreach(folder IN LISTS ARGN)
    file(GLOB found CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*.hpp")
    list(APPEND headers ${found})
  endforeach()
  list(FILTER headers EXCLUDE REGEX "/planner/report/json.hpp$")  # of a library that programs need not have
  if(headers)
    target_sources(znni_${name} PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES ${headers})
    set(header_set FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/znni" COMPONENT development)
  endif()
  set_target_properties(znni_${name} PROPERTIES EXPORT_NAME ${name})
  install(TARGETS znni_${name} EXPORT ${component}
          ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development ${header_set})
endfunction()

znni_install_library(wire core primitives/core primitives/core/problems)
znni_install_library(engine cpu primitives/cpu primitives/cpu/vectors primitives/cpu/device primitives/cpu/elementwise
                     primitives/cpu/pool primitives/cpu/fft primitives/cpu/conv)
znni_install_library(engine hybrid primitives/hybrid)
znni_install_library(engine planner_lib planner/base planner/network planner/network/operations planner/geometry planner/plan
                     planner/costs planner/layers planner/train planner/search planner/split planner/measure planner/report planner/program)
znni_install_library(wire wire)
znni_install_library(engine wire_convert proto/convert proto/convert/base proto/convert/text proto/convert/onnx/graph
                     proto/convert/onnx/operators proto/convert/onnx/folding proto/convert/onnx/reader
                     proto/convert/onnx/writer)
znni_install_library(engine pipeline server/pipeline server/pipeline/job server/pipeline/schedule server/pipeline/split
                     server/volume)

set(components wire engine)
if(ZNNI_SERVER)
  znni_install_library(client wire_grpc)
  znni_install_library(client client client/cpp)
  list(APPEND components client)
endif()

set(package "${CMAKE_INSTALL_LIBDIR}/cmake/znni")
foreach(component IN LISTS components)
  install(EXPORT ${component} NAMESPACE znni:: FILE ${component}Targets.cmake DESTINATION "${package}"
          COMPONENT development)
endforeach()
configure_file("${PROJECT_SOURCE_DIR}/cmake/znniConfig.cmake.in" "${PROJECT_BINARY_DIR}/znniConfig.cmake" @ONLY)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/znniConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/znniConfig.cmake" "${PROJECT_BINARY_DIR}/znniConfigVersion.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/WireDependencies.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/LibraryDependencies.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/ClientDependencies.cmake"
        DESTINATION "${package}" COMPONENT development)

# Convolutions for programs of others, in plain C.
install(TARGETS znni_conv LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
install(FILES "${PROJECT_SOURCE_DIR}/server/conv/znni_conv.h" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/znni"
        COMPONENT development)

install(TARGETS planner RUNTIME COMPONENT runtime)
if(ZNNI_SERVER)
  install(TARGETS znnid znni znni-train RUNTIME COMPONENT runtime)
endif()
# Programs look for it there (primitives/core/modules.hpp). Not in the package: CUDA's libraries are none of Debian's.
if(TARGET znni_cuda_module)
  install(TARGETS znni_cuda_module LIBRARY DESTINATION lib/znni COMPONENT cuda)
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/deploy/models" DESTINATION "${CMAKE_INSTALL_DATADIR}/znni" COMPONENT runtime)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/deploy/debian/copyright"
              "${PROJECT_SOURCE_DIR}/docs/deploy.md" "${PROJECT_SOURCE_DIR}/docs/gpu.md"
              "${PROJECT_SOURCE_DIR}/docs/reliability.md"
        DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT runtime)
install(FILES "${PROJECT_SOURCE_DIR}/deploy/systemd/znnid.service" DESTINATION lib/systemd/system COMPONENT service)
