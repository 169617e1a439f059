# Toolchain file: builds for 64-bit Arm on Debian's x86-64, tests under QEMU (docs/install.md has the commands).
# ZNNI_SYSROOT is the folder that deploy/lib/aarch64_sysroot has filled.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

set(ZNNI_SYSROOT "${CMAKE_CURRENT_LIST_DIR}/../build/aarch64-sysroot" CACHE PATH "Libraries for 64-bit Arm")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ZNNI_SYSROOT)
file(REAL_PATH "${ZNNI_SYSROOT}" CMAKE_SYSROOT)
if(NOT EXISTS "${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu")
  message(FATAL_ERROR "ZNNI_SYSROOT '${CMAKE_SYSROOT}' holds no libraries for Arm: fill it with deploy/lib/aarch64_sysroot")
endif()
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L "${CMAKE_SYSROOT}")

# Programs are the build machine's (protoc, python3), all else is the sysroot's.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${CMAKE_SYSROOT}")
set(ENV{PKG_CONFIG_LIBDIR} "${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig")
