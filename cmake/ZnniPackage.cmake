# `cpack` in the build folder: one Debian package of the programs. What they depend on is read from the programs
# themselves (dpkg-shlibdeps), so that a package is for the release it was built on.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME znni)
set(CPACK_PACKAGE_CONTACT "ZNNi developers <znni@users.noreply.github.com>" CACHE STRING "Who makes the package: NAME <ADDRESS>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "maximum-throughput inference of 3D ConvNets over volumes")
set(CPACK_PACKAGE_DESCRIPTION "planner searches the fastest way to run a network under a
memory limit, znnid serves it over gRPC, znni streams volumes
through it.")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL runtime service)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/package_names.cmake"
                            "${PROJECT_SOURCE_DIR}/cmake/package_changelog.cmake"
                            "${PROJECT_SOURCE_DIR}/cmake/package_help.cmake")
include(CPack)
