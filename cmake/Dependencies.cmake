# Every library the project uses, with the least version it was tried with. The Debian packages that carry
# them are listed in deploy/packages/.
include(WireDependencies)
include(LibraryDependencies)

find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)          # writes transforms; runs structure and end-to-end tests

# Command lines.
find_package(CLI11 2.1 CONFIG REQUIRED)                            # CLI11::CLI11
find_package(nlohmann_json 3.11 CONFIG REQUIRED)                   # nlohmann_json::nlohmann_json

# Chart.js, in the page of planner --report: one minified file, the same on all processors.
find_file(ZNNI_CHART_JS NAMES chart.min.js chart.umd.js NO_CMAKE_FIND_ROOT_PATH
          PATHS /usr/share/javascript/chart.js /usr/share/nodejs/chart.js/dist
          DOC "Chart.js 3.9 or newer, minified, for all that a script element may load")
if(NOT ZNNI_CHART_JS)
  message(FATAL_ERROR "Chart.js is missing (Debian package libjs-chart.js): install it, or give -DZNNI_CHART_JS=FILE, "
                      "its chart.min.js")
endif()
file(READ "${ZNNI_CHART_JS}" chart_js_head LIMIT 200)
if(NOT chart_js_head MATCHES "Chart\\.js v([0-9.]+)" OR CMAKE_MATCH_1 VERSION_LESS 3.9)
  message(FATAL_ERROR "ZNNI_CHART_JS '${ZNNI_CHART_JS}' is not Chart.js 3.9 or newer: give its chart.min.js")
endif()

if(ZNNI_SERVER)
  include(ClientDependencies)
  find_package(OpenSSL 3.0 REQUIRED)                               # OpenSSL::Crypto
  find_package(spdlog 1.10 CONFIG REQUIRED)                        # spdlog::spdlog, compiled
  pkg_check_modules(HTTPLIB REQUIRED IMPORTED_TARGET cpp-httplib>=0.11)  # PkgConfig::HTTPLIB, metrics and probes
  find_package(HDF5 1.10 REQUIRED COMPONENTS C)                    # hdf5::hdf5
  find_package(TIFF 4.5 REQUIRED)                                  # TIFF::TIFF
  find_package(ZLIB REQUIRED)                                      # ZLIB::ZLIB
endif()

if(ZNNI_DEVELOPER)
  find_package(GTest 1.12 CONFIG REQUIRED)                         # GTest::gtest_main, GTest::gmock
endif()
