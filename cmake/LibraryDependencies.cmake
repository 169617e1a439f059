# What the installed libraries that plan and compute link beside WireDependencies.cmake.
find_package(PkgConfig REQUIRED)

# Planner, CPU back end.
find_package(dnnl 2.6 CONFIG REQUIRED)                             # DNNL::dnnl, the v2 API
find_package(OpenMP 4.5 REQUIRED COMPONENTS CXX)                   # OpenMP::OpenMP_CXX, the threads inside oneDNN
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc>=2.9)       # PkgConfig::HWLOC
if(ZNNI_FFT STREQUAL "fftw")
  pkg_check_modules(FFTW3F REQUIRED IMPORTED_TARGET fftw3f>=3.3)   # PkgConfig::FFTW3F, GPL
endif()

# Files.
find_package(ONNX 1.12 CONFIG REQUIRED)                            # onnx_proto: the message classes
