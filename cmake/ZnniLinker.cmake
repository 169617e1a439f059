# Links C++ programs with lld where it is installed (Debian package lld): in a quarter of the time of GNU's linker.
include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=lld ZNNI_HAS_LLD)
if(ZNNI_HAS_LLD)
  add_link_options("$<$<LINK_LANGUAGE:CXX>:-fuse-ld=lld>")
endif()
